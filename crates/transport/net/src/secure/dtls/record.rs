//! Unauthenticated parts of the records of a datagram (RFC 6347 section 4.1, RFC 9147 section 4): what is needed to
//! decide which datagrams may reach a session.

/// Length of a header of DTLS 1.2 or of plaintext in 1.3.
pub(super) const PLAIN_HEADER: usize = 13;
const ALERT: u8 = 21;
pub(super) const HANDSHAKE: u8 = 22;
const APPLICATION_DATA: u8 = 23;

/// RFC 7983 section 7: returns whether the first byte is one of DTLS.
pub(super) fn is_dtls(datagram: &[u8]) -> bool {
    matches!(datagram.first(), Some(20..=63))
}

/// Summary of the records of a datagram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Shape {
    records: usize,
    /// Number of plaintext records, which anyone can forge.
    pub(super) plain: usize,
    /// Whether one is a plaintext alert. These are ignored; a peer that really ended is noticed by its silence.
    pub(super) plain_alert: bool,
    /// Whether all records are, or may be, application data: DTLS 1.3 encrypts the type.
    only_data: bool,
}

impl Shape {
    /// Parses the records; `None` unless they fill the datagram.
    pub(super) fn of(mut datagram: &[u8]) -> Option<Self> {
        let mut shape = Self { only_data: true, ..Self::default() };
        while let Some(&first) = datagram.first() {
            let (length, plain) =
                if first & 0xe0 == 0x20 { (protected_len(datagram)?, false) } else { plain_len(datagram)? };
            datagram = datagram.get(length..)?;
            shape.records += 1;
            shape.plain += usize::from(plain);
            shape.plain_alert |= plain && first == ALERT;
            shape.only_data &= !plain && (first == APPLICATION_DATA || first & 0xe0 == 0x20);
        }
        (shape.records > 0).then_some(shape)
    }
    /// Returns whether this may be one packet of a session with another address.
    pub(super) fn may_have_moved(&self) -> bool {
        self.only_data && self.records == 1
    }
}

/// RFC 9147 section 4, figure 3. A record without a length extends to the end of the datagram; so does one with a
/// connection ID, which is never negotiated.
fn protected_len(datagram: &[u8]) -> Option<usize> {
    let first = *datagram.first()?;
    let number = if first & 0x08 == 0 { 1 } else { 2 };
    if first & 0x14 != 0x04 {
        return Some(datagram.len());
    }
    let length = datagram.get(1 + number..3 + number)?;
    Some(3 + number + usize::from(u16::from_be_bytes([length[0], length[1]])))
}

/// RFC 6347 section 4.1; returns also whether the epoch is that of plaintext.
fn plain_len(datagram: &[u8]) -> Option<(usize, bool)> {
    let header = datagram.get(..PLAIN_HEADER)?;
    Some((PLAIN_HEADER + usize::from(u16::from_be_bytes([header[11], header[12]])), header[3..5] == [0, 0]))
}

/// Returns the type of the first handshake message, in plaintext.
pub(super) fn handshake_type(datagram: &[u8]) -> Option<u8> {
    let plain = datagram.first() == Some(&HANDSHAKE) && datagram.get(3..5) == Some(&[0, 0]);
    plain.then(|| datagram.get(PLAIN_HEADER).copied()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9147 section 4, figure 4: the full and the minimal header of 1.3, and that of 1.2.
    #[test]
    fn records_are_recognized_by_their_headers() {
        let full = [0x2f, 0, 1, 0, 3, 7, 7, 7];
        let minimal = [0x23, 1, 7, 7, 7];
        let data_12 = [23, 0xfe, 0xfd, 0, 1, 0, 0, 0, 0, 0, 5, 0, 1, 9];
        let mut alert = data_12;
        (alert[0], alert[4]) = (21, 0);
        for one in [&full[..], &minimal, &data_12] {
            assert!(Shape::of(one).is_some_and(|shape| shape.may_have_moved() && shape.plain == 0), "{one:?}");
        }
        let two = Shape::of(&[&full[..], &alert].concat()).unwrap();
        assert!(two.plain == 1 && two.plain_alert && !two.may_have_moved());
        assert!(!Shape::of(&[&full[..], &minimal].concat()).unwrap().may_have_moved());
        for wrong in [&[][..], &full[..7], &data_12[..13], &[20; 12]] {
            assert_eq!(Shape::of(wrong), None, "{wrong:?}");
        }
    }
}
