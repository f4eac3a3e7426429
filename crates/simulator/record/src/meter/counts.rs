//! Packet counts by drop cause.

use headway_units::DropCause;
use serde::ser::SerializeStruct;
use std::collections::BTreeMap;

/// Number of dropped packets by [`DropCause`]. In JSON an object with all causes, including zeros, so that runs can be
/// compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DropCounts([u64; DropCause::ALL.len()]);

impl DropCounts {
    /// Adds a packet dropped by `cause`.
    pub fn add(&mut self, cause: DropCause) {
        self.add_many(cause, 1);
    }

    /// Adds `packets` dropped by `cause`.
    pub fn add_many(&mut self, cause: DropCause, packets: u64) {
        self.0[cause as usize] += packets;
    }

    /// Returns the number of packets dropped by `cause`.
    #[must_use]
    pub fn of(&self, cause: DropCause) -> u64 {
        self.0[cause as usize]
    }

    /// Returns the number of packets dropped by any cause.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }
}

impl serde::Serialize for DropCounts {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut counts = serializer.serialize_struct("DropCounts", self.0.len())?;
        for (cause, count) in DropCause::ALL.into_iter().zip(&self.0) {
            counts.serialize_field(cause.name(), count)?;
        }
        counts.end()
    }
}

impl<'de> serde::Deserialize<'de> for DropCounts {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let named: BTreeMap<String, u64> = serde::Deserialize::deserialize(deserializer)?;
        let mut counts = Self::default();
        for (name, count) in named {
            let Some(cause) = DropCause::ALL.into_iter().find(|cause| cause.name() == name) else {
                let known = DropCause::ALL.map(DropCause::name).join(", ");
                return Err(serde::de::Error::custom(format!(
                    "unknown drop cause \"{name}\"; expected one of {known}"
                )));
            };
            counts.0[cause as usize] = count;
        }
        Ok(counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cause_has_a_separate_count() {
        for (index, cause) in DropCause::ALL.into_iter().enumerate() {
            let mut counts = DropCounts::default();
            counts.add(cause);
            assert_eq!(counts.0[index], 1, "{cause:?}");
            assert_eq!((counts.of(cause), counts.total()), (1, 1), "{cause:?}");
        }
    }

    #[test]
    fn json_has_every_cause_and_rejects_others() {
        let mut counts = DropCounts::default();
        counts.add_many(DropCause::Early, 1);
        let json = serde_json::to_string(&counts).unwrap();
        assert_eq!(json, r#"{"queue_full":0,"early":1,"channel":0,"too_big":0,"host":0,"policer":0}"#);
        assert_eq!(serde_json::from_str::<DropCounts>(&json).unwrap(), counts);
        let message = serde_json::from_str::<DropCounts>(r#"{"gremlins":1}"#).unwrap_err().to_string();
        assert!(message.contains("expected one of queue_full, early, channel, too_big, host, policer"), "{message}");
    }
}
