//! Whether a response has the shape of its kind, looked at before it is decoded.
//!
//! The codec crate makes room for as many array elements as a count announces: thirty bytes that claim two thousand million partitions would end
//! the process. So every frame is walked first: each count and length must be borne out by bytes that are there. A frame that passes makes the
//! codec allocate in proportion to its size. Not here: which fields a response has (`layouts`), what they mean (`messages`).

use kafka_protocol::messages::ApiKey;

use crate::kafka::wire::layouts::layout_of;

/// The fields of a response, and from which version on it is "flexible" (KIP-482: compact lengths and tagged fields).
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) flexible_since: i16,
    pub(super) fields: &'static [Field],
}

/// One field or run of fields.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) since: i16,
    pub(super) until: i16,
    /// `Some`: stands among the tagged fields.
    pub(super) tag: Option<u32>,
    pub(super) kind: Kind,
}

/// What a field holds.
#[derive(Debug)]
pub(super) enum Kind {
    /// So many bytes.
    Fixed(usize),
    /// A string, perhaps null.
    Text,
    /// Bytes, perhaps null; records too.
    Bytes,
    /// An array, perhaps null.
    Array(&'static Self),
    /// Other fields.
    Struct(&'static [Field]),
    /// Other fields behind a byte that says whether they are there.
    Optional(&'static [Field]),
}

/// A field of every version from `since` on.
pub(super) const fn since(since: i16, kind: Kind) -> Field {
    within(since, i16::MAX, kind)
}

/// A field of these versions.
pub(super) const fn within(since: i16, until: i16, kind: Kind) -> Field {
    Field { since, until, tag: None, kind }
}

/// A tagged field.
pub(super) const fn tagged(tag: u32, since: i16, kind: Kind) -> Field {
    Field { since, until: i16::MAX, tag: Some(tag), kind }
}

/// Looks at a response frame, header and body.
///
/// # Errors
/// What is wrong with it, in words.
pub(super) fn check(frame: &[u8], api: ApiKey, version: i16, header_version: i16) -> Result<(), String> {
    let layout = layout_of(api).ok_or("this client has no layout of it")?;
    let mut walker = Walker { rest: frame, version, is_flexible: header_version > 0 };
    walker.fields(&[since(0, Kind::Fixed(4))])?;
    walker.is_flexible = version >= layout.flexible_since;
    walker.fields(layout.fields)
}

struct Walker<'a> {
    rest: &'a [u8],
    version: i16,
    is_flexible: bool,
}

impl Walker<'_> {
    fn fields(&mut self, fields: &[Field]) -> Result<(), String> {
        let version = self.version;
        let is_there = |field: &&Field| (field.since..=field.until).contains(&version);
        for field in fields.iter().filter(is_there).filter(|field| field.tag.is_none()) {
            self.value(&field.kind)?;
        }
        if self.is_flexible {
            self.tagged_fields(fields)?;
        }
        Ok(())
    }

    fn tagged_fields(&mut self, fields: &[Field]) -> Result<(), String> {
        let count = self.varint()?;
        for _ in 0..count {
            let (tag, bytes) = (self.varint()?, self.varint()? as usize);
            let known = fields.iter().find(|field| field.tag == Some(tag) && (field.since..=field.until).contains(&self.version));
            let (value, after) = self.rest.split_at_checked(bytes).ok_or_else(|| self.short("tagged field", bytes))?;
            if let Some(field) = known {
                self.rest = value;
                self.value(&field.kind)?;
                if !self.rest.is_empty() {
                    return Err(format!("tagged field {tag} is said to have {bytes} bytes, {} more than it has", self.rest.len()));
                }
            }
            self.rest = after;
        }
        Ok(())
    }

    fn value(&mut self, kind: &Kind) -> Result<(), String> {
        match kind {
            Kind::Fixed(bytes) => self.skip("field", *bytes),
            Kind::Text => match self.text_bytes()? {
                Some(bytes) => self.skip("string", bytes),
                None => Ok(()),
            },
            // Bytes are counted as an array's elements are.
            Kind::Bytes => self.array(&Kind::Fixed(1)),
            Kind::Array(element) => self.array(element),
            Kind::Struct(fields) => self.fields(fields),
            Kind::Optional(fields) => match self.take()? {
                [1] => self.fields(fields),
                [0xff] => Ok(()),
                [byte] => Err(format!("a byte {byte} where 1 (there) or 255 (not there) is expected")),
            },
        }
    }

    fn array(&mut self, element: &Kind) -> Result<(), String> {
        let Some(count) = self.count()? else { return Ok(()) };
        if let Kind::Fixed(bytes) = element {
            return self.skip("array", count.saturating_mul(*bytes));
        }
        if count > self.rest.len() {
            return Err(format!("an array of {count} elements is announced, and {} bytes are left", self.rest.len()));
        }
        (0..count).try_for_each(|_| self.value(element))
    }

    /// Length of a string; `None`: null.
    fn text_bytes(&mut self) -> Result<Option<usize>, String> {
        if self.is_flexible {
            return Ok((self.varint()? as usize).checked_sub(1));
        }
        match i16::from_be_bytes(self.take()?) {
            -1 => Ok(None),
            length => usize::try_from(length).map(Some).map_err(|_| format!("a string of length {length}")),
        }
    }

    /// Elements of an array; `None`: null.
    fn count(&mut self) -> Result<Option<usize>, String> {
        if self.is_flexible {
            return Ok((self.varint()? as usize).checked_sub(1));
        }
        match i32::from_be_bytes(self.take()?) {
            -1 => Ok(None),
            count => usize::try_from(count).map(Some).map_err(|_| format!("an array of length {count}")),
        }
    }

    fn varint(&mut self) -> Result<u32, String> {
        let mut value = 0_u32;
        for shift in [0, 7, 14, 21, 28] {
            let [byte] = self.take()?;
            let part = u32::from(byte & 0x7f);
            if part << shift >> shift != part {
                break;
            }
            value |= part << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err("a number of more than 32 bits".to_owned())
    }

    fn take<const BYTES: usize>(&mut self) -> Result<[u8; BYTES], String> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or_else(|| self.short("number", BYTES))?;
        self.rest = rest;
        Ok(*taken)
    }

    fn skip(&mut self, what: &str, bytes: usize) -> Result<(), String> {
        self.rest = self.rest.get(bytes..).ok_or_else(|| self.short(what, bytes))?;
        Ok(())
    }

    fn short(&self, what: &str, bytes: usize) -> String {
        format!("a {what} of {bytes} bytes is announced, and {} bytes are left", self.rest.len())
    }
}
