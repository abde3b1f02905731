//! The fields of a record's body, read off its bytes one by one: Kafka's flexible encoding (KIP-482), which all metadata records use.
//!
//! A count or length is believed only as far as bytes are there for it. Not here: which fields a record has (its own file), frames.

use uuid::Uuid;

use super::RecordError;
use crate::ids::BrokerId;

/// What is left of a record's body.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(super) fn new(body: &'a [u8]) -> Self {
        Self { rest: body }
    }

    /// How many bytes are left.
    pub(super) fn left(&self) -> usize {
        self.rest.len()
    }

    pub(super) fn bool(&mut self) -> Result<bool, RecordError> {
        Ok(self.i8()? != 0)
    }

    pub(super) fn i8(&mut self) -> Result<i8, RecordError> {
        Ok(i8::from_be_bytes(self.take()?))
    }

    pub(super) fn i16(&mut self) -> Result<i16, RecordError> {
        Ok(i16::from_be_bytes(self.take()?))
    }

    pub(super) fn u16(&mut self) -> Result<u16, RecordError> {
        Ok(u16::from_be_bytes(self.take()?))
    }

    pub(super) fn i32(&mut self) -> Result<i32, RecordError> {
        Ok(i32::from_be_bytes(self.take()?))
    }

    pub(super) fn i64(&mut self) -> Result<i64, RecordError> {
        Ok(i64::from_be_bytes(self.take()?))
    }

    pub(super) fn uuid(&mut self) -> Result<Uuid, RecordError> {
        Ok(Uuid::from_bytes(self.take()?))
    }

    pub(super) fn broker(&mut self) -> Result<BrokerId, RecordError> {
        self.i32().map(BrokerId)
    }

    /// An unsigned varint of at most 32 bits.
    pub(super) fn varint(&mut self) -> Result<u32, RecordError> {
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
        Err(RecordError::Number)
    }

    /// A string that may be null.
    pub(super) fn text_or_null(&mut self) -> Result<Option<String>, RecordError> {
        let Some(length) = self.length()? else { return Ok(None) };
        let bytes = self.bytes(length)?;
        std::str::from_utf8(bytes).map(|text| Some(text.to_owned())).map_err(|_| RecordError::Text)
    }

    pub(super) fn text(&mut self) -> Result<String, RecordError> {
        self.text_or_null()?.ok_or(RecordError::Null)
    }

    /// An array that may be null, of elements that take at least `bytes_min` bytes each.
    pub(super) fn array_or_null<T>(
        &mut self,
        bytes_min: usize,
        mut element: impl FnMut(&mut Self) -> Result<T, RecordError>,
    ) -> Result<Option<Vec<T>>, RecordError> {
        let Some(count) = self.length()? else { return Ok(None) };
        if count.saturating_mul(bytes_min) > self.rest.len() {
            return Err(RecordError::Short { needed: count.saturating_mul(bytes_min), left: self.rest.len() });
        }
        (0..count).map(|_| element(self)).collect::<Result<_, _>>().map(Some)
    }

    pub(super) fn array<T>(
        &mut self,
        bytes_min: usize,
        element: impl FnMut(&mut Self) -> Result<T, RecordError>,
    ) -> Result<Vec<T>, RecordError> {
        self.array_or_null(bytes_min, element)?.ok_or(RecordError::Null)
    }

    pub(super) fn brokers(&mut self) -> Result<Vec<BrokerId>, RecordError> {
        self.array(4, Self::broker)
    }

    pub(super) fn brokers_or_null(&mut self) -> Result<Option<Vec<BrokerId>>, RecordError> {
        self.array_or_null(4, Self::broker)
    }

    pub(super) fn uuids(&mut self) -> Result<Vec<Uuid>, RecordError> {
        self.array(16, Self::uuid)
    }

    pub(super) fn uuids_or_null(&mut self) -> Result<Option<Vec<Uuid>>, RecordError> {
        self.array_or_null(16, Self::uuid)
    }

    /// The tagged fields at the end of a structure. `read` is given each with its bytes, and says whether it knows the tag: others are
    /// skipped by their length. A known field must use up its bytes.
    pub(super) fn tagged(&mut self, mut read: impl FnMut(u32, &mut Self) -> Result<bool, RecordError>) -> Result<(), RecordError> {
        for _ in 0..self.varint()? {
            let tag = self.varint()?;
            let length = self.varint()? as usize;
            let mut field = Fields::new(self.bytes(length)?);
            if read(tag, &mut field)? && field.left() > 0 {
                return Err(RecordError::Surplus { bytes: field.left() });
            }
        }
        Ok(())
    }

    /// Tagged fields of a structure that has none that matter.
    pub(super) fn no_tagged(&mut self) -> Result<(), RecordError> {
        self.tagged(|_, _| Ok(false))
    }

    /// A compact length; `None`: null.
    fn length(&mut self) -> Result<Option<usize>, RecordError> {
        Ok((self.varint()? as usize).checked_sub(1))
    }

    fn bytes(&mut self, length: usize) -> Result<&'a [u8], RecordError> {
        let short = RecordError::Short { needed: length, left: self.rest.len() };
        let (bytes, rest) = self.rest.split_at_checked(length).ok_or(short)?;
        self.rest = rest;
        Ok(bytes)
    }

    fn take<const BYTES: usize>(&mut self) -> Result<[u8; BYTES], RecordError> {
        let short = RecordError::Short { needed: BYTES, left: self.rest.len() };
        let (taken, rest) = self.rest.split_first_chunk().ok_or(short)?;
        self.rest = rest;
        Ok(*taken)
    }
}
