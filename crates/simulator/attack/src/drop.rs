//! An on-path attacker that drops packets of the connection. No endpoint can prevent this.

use crate::{Context, Fate};
use headway_units::{Dialect, Instant, Probability};
use serde::{Deserialize, Serialize};

/// Options of an attack of `kind = "drop"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// Probability that the attacker drops a packet of the flow, in either direction, during the attack.
    pub share: Probability,
}

impl headway_units::Options for Options {
    fn preset(_: Dialect) -> Self {
        Self { share: Probability::new(1.0).unwrap_or(Probability::ZERO) }
    }
}

/// State of a running attack that drops packets.
#[derive(Debug)]
pub struct Drop {
    options: Options,
    context: Context,
}

impl Drop {
    pub(crate) fn new(options: &Options, context: Context) -> Self {
        Self { options: options.clone(), context }
    }

    pub(crate) fn handle(&mut self, now: Instant) -> Fate {
        if self.context.hits(now, self.options.share) { Fate::Dropped } else { Fate::Forwarded }
    }
}
