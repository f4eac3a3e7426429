//! The DSCP of the IP header (RFC 2474).

use crate::decimal::shorten;
use std::fmt;
use std::str::FromStr;

/// Differentiated services code point, the six bits of the IP header that select a class of traffic (RFC 2474 section
/// 3). Text: a name such as `"ef"`, or a number from 0 to 63.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dscp(u8);

/// Class selectors (RFC 2474 section 4.2.2), assured forwarding (RFC 2597 section 6), expedited forwarding (RFC 3246
/// section 2.7), VOICE-ADMIT (RFC 5865 section 2.3), lower effort (RFC 8622 section 4).
const NAMES: [(u8, &str); 23] = [
    (0, "cs0"),
    (1, "le"),
    (8, "cs1"),
    (10, "af11"),
    (12, "af12"),
    (14, "af13"),
    (16, "cs2"),
    (18, "af21"),
    (20, "af22"),
    (22, "af23"),
    (24, "cs3"),
    (26, "af31"),
    (28, "af32"),
    (30, "af33"),
    (32, "cs4"),
    (34, "af41"),
    (36, "af42"),
    (38, "af43"),
    (40, "cs5"),
    (44, "va"),
    (46, "ef"),
    (48, "cs6"),
    (56, "cs7"),
];

impl Dscp {
    /// Code point 0, the default of unmarked packets (RFC 2474 section 4.1).
    pub const CS0: Self = Self(0);
    /// Number of code points.
    pub const COUNT: usize = 64;

    /// Returns the code point `value` if it is from 0 to 63.
    #[must_use]
    pub const fn new(value: u8) -> Option<Self> {
        if value < Self::COUNT as u8 { Some(Self(value)) } else { None }
    }

    /// Returns the code point, 0 to 63.
    #[must_use]
    pub const fn value(self) -> u8 {
        self.0
    }

    /// Returns the name, if the code point has one.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        NAMES.into_iter().find(|(value, _)| *value == self.0).map(|(_, name)| name)
    }
}

impl fmt::Display for Dscp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.write_str(name),
            None => self.0.fmt(f),
        }
    }
}

/// Error of parsing a DSCP.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{text}\" is no DSCP: write cs0 to cs7, af11 to af43, ef, va, le, or a number from 0 to 63")]
pub struct ParseDscpError {
    /// Rejected text, shortened.
    pub text: String,
}

impl FromStr for Dscp {
    type Err = ParseDscpError;

    fn from_str(text: &str) -> Result<Self, ParseDscpError> {
        let named = NAMES.into_iter().find(|(_, name)| *name == text).map(|(value, _)| value);
        let digits = || text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten();
        named.or_else(digits).and_then(Self::new).ok_or_else(|| ParseDscpError { text: shorten(text) })
    }
}

#[cfg(feature = "schema")]
const _: () = {
    impl serde::Serialize for Dscp {
        fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            match self.name() {
                Some(name) => serializer.serialize_str(name),
                None => serializer.serialize_u8(self.0),
            }
        }
    }
    impl<'de> serde::Deserialize<'de> for Dscp {
        fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            struct Either;
            impl serde::de::Visitor<'_> for Either {
                type Value = Dscp;
                fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str("a DSCP, such as \"ef\" or 46")
                }
                fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Dscp, E> {
                    text.parse().map_err(E::custom)
                }
                fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Dscp, E> {
                    self.visit_str(&number.to_string())
                }
                fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Dscp, E> {
                    self.visit_str(&number.to_string())
                }
            }
            deserializer.deserialize_any(Either)
        }
    }
    impl schemars::JsonSchema for Dscp {
        fn schema_name() -> std::borrow::Cow<'static, str> {
            "Dscp".into()
        }
        fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
            schemars::json_schema!({
                "description": "a DSCP by name (cs0 to cs7, af11 to af43, ef, va, le) or number",
                "anyOf": [{ "type": "integer", "minimum": 0, "maximum": 63 }, { "type": "string" }]
            })
        }
    }
};

#[cfg(test)]
mod tests {
    use super::*;

    /// CSx is x000 (RFC 2474 section 4.2.2.2); AFxy is 8x + 2y (RFC 2597 section 6); EF is 101110 (RFC 3246 section
    /// 2.7); VOICE-ADMIT 101100 (RFC 5865 section 2.3); LE 000001 (RFC 8622 section 4).
    #[test]
    fn names_are_those_of_their_rfcs() {
        let value = |name: &str| name.parse::<Dscp>().unwrap().value();
        for x in 0..8 {
            assert_eq!(value(&format!("cs{x}")), 8 * x);
        }
        for (x, y) in (1..5).flat_map(|x| (1..4).map(move |y| (x, y))) {
            assert_eq!(value(&format!("af{x}{y}")), 8 * x + 2 * y);
        }
        assert_eq!([value("ef"), value("va"), value("le")], [0b10_1110, 0b10_1100, 0b00_0001]);
        // 8 class selectors, 12 assured forwarding classes and 3 others, each once.
        let mut values = NAMES.map(|(value, _)| value).to_vec();
        values.dedup();
        assert_eq!((values.len(), values.is_sorted()), (8 + 12 + 3, true));
    }

    #[test]
    fn every_dscp_survives_printing() {
        for value in 0..64 {
            let dscp = Dscp::new(value).unwrap();
            assert_eq!(dscp.to_string().parse(), Ok(dscp));
            assert_eq!(value.to_string().parse(), Ok(dscp));
            #[cfg(feature = "schema")]
            assert_eq!(serde_json::from_value::<Dscp>(serde_json::to_value(dscp).unwrap()).unwrap(), dscp);
        }
        assert_eq!(Dscp::new(64), None);
        for text in ["64", "256", "-1", "+1", "EF", "af44", "af51", "cs8", "", "1.5"] {
            let message = text.parse::<Dscp>().unwrap_err().to_string();
            assert!(message.contains("is no DSCP: write cs0 to cs7"), "{message}");
        }
    }
}
