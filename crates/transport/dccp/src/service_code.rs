//! Service codes (RFC 4340 section 8.1.2, RFC 5595), which identify the application of a connection.

use std::fmt;

/// 32-bit service code, which identifies the application of a connection (RFC 4340 section 8.1.2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ServiceCode(pub u32);

impl ServiceCode {
    /// No service.
    pub const NONE: Self = Self(0);
    /// Invalid code: a Request with it is answered with Reset 8, "Bad Service Code".
    pub const INVALID: Self = Self(u32::MAX);

    /// Creates the code that the RFC writes as `SC:text`: one to four ASCII characters, padded on the right with
    /// spaces. `None` if `text` is empty, longer, or has characters other than letters, digits and `-_+.*/?@`.
    #[must_use]
    pub fn from_ascii(text: &str) -> Option<Self> {
        let mut bytes = *b"    ";
        bytes.get_mut(..text.len())?.copy_from_slice(text.as_bytes());
        (!text.is_empty() && text.bytes().all(is_code_character)).then_some(Self(u32::from_be_bytes(bytes)))
    }
}

fn is_code_character(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_+.*/?@".contains(&byte)
}

/// Formats the code as the RFC does: `SC:RTPV`, or `SC=17` if it is not text.
impl fmt::Display for ServiceCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.0.to_be_bytes();
        match str::from_utf8(&bytes).map(|text| text.trim_end_matches(' ')) {
            Ok(text) if Self::from_ascii(text) == Some(*self) => write!(f, "SC:{text}"),
            _ => write!(f, "SC={}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4340 section 8.1.2 ("fdpz", "DISC") and RFC 5762 section 5.4 ("RTPV").
    #[test]
    fn codes_of_the_rfcs() {
        assert_eq!(ServiceCode::from_ascii("fdpz"), Some(ServiceCode(1_717_858_426)));
        assert_eq!(ServiceCode::from_ascii("DISC"), Some(ServiceCode(1_145_656_131)));
        assert_eq!(ServiceCode::from_ascii("RTPV"), Some(ServiceCode(0x5254_5056)));
        assert_eq!(ServiceCode::from_ascii("fd"), Some(ServiceCode(0x6664_2020)));
        for wrong in ["", "fdpzz", "a b", "é"] {
            assert_eq!(ServiceCode::from_ascii(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn formats_as_in_the_rfc() {
        assert_eq!(ServiceCode(1_717_858_426).to_string(), "SC:fdpz");
        assert_eq!(ServiceCode(0x6664_2020).to_string(), "SC:fd");
        assert_eq!(ServiceCode(17).to_string(), "SC=17");
        assert_eq!(ServiceCode(0x2020_2020).to_string(), "SC=538976288");
    }
}
