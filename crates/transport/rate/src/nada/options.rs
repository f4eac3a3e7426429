//! Options of the controller `nada`.

#[cfg(feature = "schema")]
use crate::schema::{Deserialize, JsonSchema, Serialize};
use headway_units::{Dialect, Duration, OptionError, Options, Rate, check_range};

/// Options of the controller `nada` (RFC 8698). Its parameters in section 6.3 of the RFC that are no options are
/// constants.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields))]
pub struct NadaOptions {
    /// Weight of the flow when flows share a bottleneck (`PRIO`), from 0.01 to 100.
    pub priority: f64,
    /// Minimum sending rate (`RMIN`), at least 1kbps.
    pub min_rate: Rate,
    /// Maximum sending rate (`RMAX`), at least `min_rate`. The rate of the flow at equilibrium is proportional to it.
    pub max_rate: Rate,
    /// Congestion signal, a delay, at which a flow of priority 1 has its maximum rate (`XREF`), from 1ms to 1s.
    pub reference_signal: Duration,
}

impl Options for NadaOptions {
    /// Returns the values of RFC 8698 section 6.3.
    fn preset(_: Dialect) -> Self {
        Self {
            priority: 1.0,
            min_rate: Rate::from_bits_per_second(150_000),
            max_rate: Rate::from_bits_per_second(1_500_000),
            reference_signal: Duration::from_millis(10),
        }
    }

    fn check(&self) -> Result<(), OptionError> {
        check_range("priority", self.priority, 0.01..=100.0)?;
        check_range("reference_signal", self.reference_signal, Duration::from_millis(1)..=Duration::from_secs(1))?;
        if self.min_rate < Rate::from_bits_per_second(1000) {
            return Err(OptionError::new("min_rate", "it is at least 1kbps"));
        }
        if self.max_rate < self.min_rate {
            return Err(OptionError::new("max_rate", "it is at least min_rate"));
        }
        Ok(())
    }
}
