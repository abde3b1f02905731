//! Whose connection it is: the client id in the header of its first request. Nothing else of Kafka's protocol is read here.
//!
//! The first bytes are kept back until the id is known, which is with the first read of any real client: a request whose header is not
//! complete does nothing at a broker either.

use bytes::{Bytes, BytesMut};

/// Length, api key, api version and correlation id come before the client id's length.
const BEFORE_ID: usize = 12;
/// Longest client id that is waited for; what claims to be longer is no client of ours.
const ID_BYTES_MAX: usize = 512;
/// Ends the client id of whoever looks at a link in a group's name.
pub(super) const LOOKER: &str = "look";

/// The beginning of a connection.
#[derive(Debug, Default)]
pub(super) struct Greeting {
    first: BytesMut,
    is_over: bool,
}

/// What has become of bytes at the beginning of a connection.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Heard {
    /// They are kept back: the id is not complete.
    NotYet,
    /// All that was kept back, and the group if the id names one.
    Named(Bytes, Option<String>),
}

impl Greeting {
    /// Whether bytes go on without being looked at.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Takes bytes of the client.
    pub(super) fn hear(&mut self, bytes: &[u8]) -> Heard {
        self.first.extend_from_slice(bytes);
        match client_id(&self.first) {
            None => Heard::NotYet,
            Some(id) => {
                let group = id.and_then(group_of).map(str::to_owned);
                Heard::Named(self.give_up(), group)
            }
        }
    }

    /// The client says no more: what was kept back goes on as it is.
    pub(super) fn give_up(&mut self) -> Bytes {
        self.is_over = true;
        std::mem::take(&mut self.first).freeze()
    }
}

/// The client id of a request's first bytes; `None`: more bytes are needed. `Some(None)`: there is none.
fn client_id(bytes: &[u8]) -> Option<Option<&str>> {
    let length = bytes.get(BEFORE_ID..BEFORE_ID + 2)?;
    let Ok(length) = usize::try_from(i16::from_be_bytes([length[0], length[1]])) else { return Some(None) };
    if length > ID_BYTES_MAX {
        return Some(None);
    }
    let id = bytes.get(BEFORE_ID + 2..BEFORE_ID + 2 + length)?;
    Some(std::str::from_utf8(id).ok())
}

/// The group of a client id: clients are called `GROUP-0`, `GROUP-1` and so on.
fn group_of(client_id: &str) -> Option<&str> {
    let (group, member) = client_id.rsplit_once('-')?;
    let is_member = !member.is_empty() && (member == LOOKER || member.bytes().all(|byte| byte.is_ascii_digit()));
    is_member.then_some(group)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ApiVersions v3 as a client called `id` begins.
    fn request(id: Option<&str>) -> Vec<u8> {
        let mut bytes = vec![0, 0, 0, 40, 0, 18, 0, 3, 0, 0, 0, 1];
        match id {
            Some(id) => {
                bytes.extend_from_slice(&i16::try_from(id.len()).unwrap().to_be_bytes());
                bytes.extend_from_slice(id.as_bytes());
            }
            None => bytes.extend_from_slice(&(-1_i16).to_be_bytes()),
        }
        bytes.extend_from_slice(b"and the rest");
        bytes
    }

    fn heard(bytes: &[u8]) -> Heard {
        Greeting::default().hear(bytes)
    }

    #[test]
    fn a_client_belongs_to_the_group_that_its_id_begins_with() {
        let rows = [
            (Some("steady-0"), Some("steady")),
            (Some("steady-2-17"), Some("steady-2")),
            (Some("steady-look"), Some("steady")),
            (Some("chaos-probe"), None),
            (Some("rdkafka"), None),
            (Some("steady-"), None),
            (Some(""), None),
            (None, None),
        ];
        for (id, group) in rows {
            assert_eq!(heard(&request(id)), Heard::Named(request(id).into(), group.map(str::to_owned)), "{id:?}");
        }
    }

    #[test]
    fn it_is_named_at_the_same_byte_however_the_bytes_come() {
        let bytes = request(Some("steady-0"));
        let needed = BEFORE_ID + 2 + "steady-0".len();
        for cut in 0..bytes.len() {
            let mut greeting = Greeting::default();
            let first = greeting.hear(&bytes[..cut]);
            if cut < needed {
                assert_eq!(first, Heard::NotYet, "cut at {cut}");
                assert_eq!(greeting.hear(&bytes[cut..]), Heard::Named(bytes.clone().into(), Some("steady".to_owned())));
            } else {
                assert_eq!(first, Heard::Named(bytes[..cut].to_vec().into(), Some("steady".to_owned())));
            }
            assert!(greeting.is_over());
        }
    }

    #[test]
    fn what_is_no_request_of_ours_goes_on_unnamed() {
        let mut tls = vec![0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3, 9, 0x7f, 0xff];
        assert_eq!(heard(&tls), Heard::Named(tls.clone().into(), None));
        tls[12..].copy_from_slice(&[0, 2]);
        tls.extend_from_slice(&[0xff, 0xfe]);
        assert_eq!(heard(&tls), Heard::Named(tls.clone().into(), None), "no text");
        let mut greeting = Greeting::default();
        assert_eq!(greeting.hear(b"short"), Heard::NotYet);
        assert_eq!(greeting.give_up(), Bytes::from_static(b"short"));
    }
}
