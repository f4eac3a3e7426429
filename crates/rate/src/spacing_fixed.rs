//! Packets a fixed time apart, whatever becomes of them: the packet-spacing agent of "packet spacing: an enabling mechanism for delivering
//! multimedia content in computational grids" (section 2, Figure 3). Without spacing it is the paper's blasting.
//!
//! ```text
//! rate = 8 s / (tx + ts)     ts from the end of a packet to the start of the next, tx on the sender's line
//! ```

use crate::contract::{Need, Next, Permit, SenderContext, SenderHalf, Sending, Stamp, Status};
use crate::report::Feedback;
use crate::toolbox::Pacer;
use headway_units::{Bytes, Dialect, Duration, Ecn, Instant, Options, Rate};

/// Options of `spacing-fixed`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(deny_unknown_fields)
)]
pub struct SpacingFixedOptions {
    /// How far packets are apart; 0s: as fast as the line takes them.
    pub spacing: Duration,
    /// From where to where.
    pub apart: Apart,
}

/// From where to where spacing is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(rename_all = "kebab-case")
)]
pub enum Apart {
    /// From the end of a packet to the start of the next (Figure 3).
    Gap,
    /// From start to start, but no closer than the line takes them.
    Period,
}

impl Options for SpacingFixedOptions {
    /// 1 ms: the paper's best for sixteen senders.
    fn preset(_: Dialect) -> Self {
        Self { spacing: Duration::from_millis(1), apart: Apart::Gap }
    }
}

/// Spaces packets, and hears nothing.
#[derive(Debug)]
pub struct SpacingFixedSender {
    spacing_s: f64,
    apart: Apart,
    pacer: Pacer,
    line: Rate,
    header: u64,
    /// Data of the last packet.
    size: Bytes,
}

impl SpacingFixedSender {
    pub(crate) fn new(options: &SpacingFixedOptions, context: SenderContext) -> Self {
        Self {
            spacing_s: options.spacing.as_secs_f64(),
            apart: options.apart,
            pacer: Pacer::new(Duration::ZERO),
            line: context.line_rate.unwrap_or(Rate::from_bits_per_second(u64::MAX)),
            header: context.header.count(),
            size: context.packet_size,
        }
    }

    fn period_s(&self) -> f64 {
        let tx_s = Pacer::gap_s(Bytes::new(self.size.count().saturating_add(self.header)), self.line);
        match self.apart {
            Apart::Gap => tx_s + self.spacing_s,
            Apart::Period => self.spacing_s.max(tx_s),
        }
    }
}

impl SenderHalf for SpacingFixedSender {
    const NEEDS: &'static [Need] = &[Need::LineRate];

    fn poll_send(&mut self, now: Instant, _: &Next) -> Permit {
        self.pacer.permit(now)
    }

    fn gap_s(&self) -> Option<f64> {
        self.pacer.last_gap_s()
    }

    fn on_send(&mut self, now: Instant, sending: &Sending) -> Stamp {
        if sending.data {
            self.size = sending.size;
            self.pacer.on_send(now, self.period_s());
        }
        // Nobody would answer a mark.
        Stamp { ecn: Ecn::NotEct, ..Stamp::default() }
    }

    fn on_feedback(&mut self, _: Instant, _: &Feedback<'_>) {}

    fn status(&self) -> Status {
        let bits = self.size.count() as f64 * 8.0;
        let rate = Some(Rate::from_bits_per_second((bits / self.period_s().max(1e-9)) as u64));
        Status { target_rate: rate, pacing_rate: rate, ..Status::default() }
    }
}
