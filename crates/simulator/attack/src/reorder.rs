//! An on-path attacker that delays packets, so that later ones overtake them.

use crate::{Context, Fate};
use headway_units::{Dialect, Duration, Instant, Probability};
use serde::{Deserialize, Serialize};

/// Options of an attack of `kind = "reorder"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// Probability that the attacker delays a packet of the flow, in either direction, during the attack.
    pub share: Probability,
    /// Time for which the attacker holds a delayed packet. Later packets may overtake it.
    pub delay: Duration,
}

impl headway_units::Options for Options {
    fn preset(_: Dialect) -> Self {
        Self { share: Probability::new(0.1).unwrap_or(Probability::ZERO), delay: Duration::from_millis(100) }
    }
}

/// State of a running attack that delays packets.
#[derive(Debug)]
pub struct Reorder {
    options: Options,
    context: Context,
}

impl Reorder {
    pub(crate) fn new(options: &Options, context: Context) -> Self {
        Self { options: options.clone(), context }
    }

    pub(crate) fn handle(&mut self, now: Instant) -> Fate {
        if self.context.hits(now, self.options.share) { Fate::Delayed(self.options.delay) } else { Fate::Forwarded }
    }
}
