//! Reset codes (RFC 4340 section 5.6).

use std::fmt;

/// Reset code with its three data bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Reset {
    /// Reason of the Reset.
    pub code: ResetCode,
    /// Data 1 to Data 3 of the packet; zero unless the code defines them.
    pub data: [u8; 3],
}

/// Reset code, RFC 4340 section 5.6, Table 2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ResetCode(pub u8);

const NAMES: [&str; 13] = [
    "Unspecified",
    "Closed",
    "Aborted",
    "No Connection",
    "Packet Error",
    "Option Error",
    "Mandatory Error",
    "Connection Refused",
    "Bad Service Code",
    "Too Busy",
    "Bad Init Cookie",
    "Aggression Penalty",
    "Encapsulated Port Reuse",
];

impl ResetCode {
    /// Unspecified; unknown codes are treated like it.
    pub const UNSPECIFIED: Self = Self(0);
    /// Normal close.
    pub const CLOSED: Self = Self(1);
    /// The sender gave up for lack of progress.
    pub const ABORTED: Self = Self(2);
    /// No such connection exists.
    pub const NO_CONNECTION: Self = Self(3);
    /// A valid packet of an unexpected type arrived; Data 1 is the type.
    pub const PACKET_ERROR: Self = Self(4);
    /// An option is invalid; Data 1 is its type, Data 2 and 3 are its first two bytes of data, or 0 for bytes that it
    /// lacks.
    pub const OPTION_ERROR: Self = Self(5);
    /// An option after Mandatory could not be processed; Data as for [`Self::OPTION_ERROR`].
    pub const MANDATORY_ERROR: Self = Self(6);
    /// The server's port has no listener.
    pub const CONNECTION_REFUSED: Self = Self(7);
    /// The server's port does not serve the service code of the Request.
    pub const BAD_SERVICE_CODE: Self = Self(8);
    /// The server accepts no more connections.
    pub const TOO_BUSY: Self = Self(9);
    /// The echoed Init Cookie is invalid or missing.
    pub const BAD_INIT_COOKIE: Self = Self(10);
    /// The peer evades congestion control.
    pub const AGGRESSION_PENALTY: Self = Self(11);
    /// The UDP ports already carry another connection (RFC 6773 section 3.8); Data 1 is the type of
    /// the rejected packet, Data 2 and 3 are its UDP source port.
    pub const ENCAPSULATED_PORT_REUSE: Self = Self(12);

    /// Returns the name of the code in RFC 4340 section 5.6, or of code 12 in RFC 6773; `None` for reserved and
    /// CCID-specific codes.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        NAMES.get(usize::from(self.0)).copied()
    }
    /// Returns whether the meaning of the code depends on a CCID (128 to 255, RFC 4340 section 10.3).
    #[must_use]
    pub const fn is_ccid_specific(self) -> bool {
        self.0 >= 128
    }
}

impl fmt::Display for ResetCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None if self.0 < 128 => write!(f, "Reserved {}", self.0),
            None => write!(f, "CCID-specific {}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_their_numbers() {
        assert_eq!(ResetCode::CLOSED.to_string(), "Closed");
        assert_eq!(ResetCode::AGGRESSION_PENALTY.to_string(), "Aggression Penalty");
        assert_eq!(ResetCode::ENCAPSULATED_PORT_REUSE.to_string(), "Encapsulated Port Reuse");
        assert_eq!(ResetCode(13).to_string(), "Reserved 13");
        assert_eq!(ResetCode(192).to_string(), "CCID-specific 192");
    }
}
