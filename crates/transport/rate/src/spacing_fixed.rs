//! Fixed spacing of packets without feedback: the packet-spacing agent of "packet spacing: an enabling mechanism for
//! delivering multimedia content in computational grids" (section 2, Figure 3). With a spacing of 0 it is the paper's
//! blasting.
//!
//! ```text
//! rate = 8 s / (tx + ts)     ts from the end of a packet to the start of the next, tx on the sender's line
//! ```

use crate::contract::{Need, Next, Permit, SenderContext, SenderHalf, Sending, Stamp, Status};
use crate::report::Feedback;
#[cfg(feature = "schema")]
use crate::schema::{Deserialize, JsonSchema, Serialize};
use crate::toolbox::Pacer;
use headway_units::{Bytes, Dialect, Duration, Ecn, Instant, OptionError, Options, Rate, check_range};

/// Longest gap between packets (`t_mbi` of RFC 5348 section 4.3).
const MAX_GAP: Duration = Duration::from_secs(64);

/// Options of the controller `spacing-fixed`, which sends packets with a constant spacing and ignores feedback.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields))]
pub struct SpacingFixedOptions {
    /// Time between packets, as `apart` defines it, up to 64s. 0s: packets are sent at the rate of the sender's
    /// interface.
    pub spacing: Duration,
    /// Definition of the time between packets to which `spacing` applies.
    pub apart: SpacingReference,
    /// Maximum delay of a packet, up to 64s, that does not delay later packets: they are spaced from the time at which
    /// the packet was due. 0s: they are spaced from the time at which it was sent, so that the delays of real timers
    /// accumulate. After a pause, the packets due in this time may be sent in a burst.
    pub catch_up: Duration,
}

/// Definition of the time between packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(rename_all = "kebab-case"))]
pub enum SpacingReference {
    /// The spacing is from the end of a packet to the start of the next (figure 3 of the packet spacing paper).
    Gap,
    /// The spacing is from the start of a packet to the start of the next, at least its transmission time on the
    /// sender's interface.
    Period,
}

impl Options for SpacingFixedOptions {
    /// Returns a spacing of 1 ms, the paper's best for sixteen senders.
    fn preset(_: Dialect) -> Self {
        Self { spacing: Duration::from_millis(1), apart: SpacingReference::Gap, catch_up: Duration::ZERO }
    }

    fn check(&self) -> Result<(), OptionError> {
        check_range("spacing", self.spacing, Duration::ZERO..=MAX_GAP)?;
        check_range("catch_up", self.catch_up, Duration::ZERO..=MAX_GAP)
    }
}

/// Sender half of the controller `spacing-fixed`, which paces packets by a constant spacing and ignores feedback.
#[derive(Debug)]
pub struct SpacingFixedSender {
    spacing_s: f64,
    apart: SpacingReference,
    pacer: Pacer,
    line: Rate,
    header: u64,
    size: Bytes,
}

impl SpacingFixedSender {
    pub(crate) fn new(options: &SpacingFixedOptions, context: SenderContext) -> Self {
        Self {
            spacing_s: options.spacing.as_secs_f64(),
            apart: options.apart,
            pacer: Pacer::new(options.catch_up),
            line: context.line_rate.unwrap_or(Rate::from_bits_per_second(u64::MAX)),
            header: context.header.count(),
            size: context.packet_size,
        }
    }

    fn period_s(&self) -> f64 {
        let tx_s = Pacer::gap_s(Bytes::new(self.size.count().saturating_add(self.header)), self.line);
        match self.apart {
            SpacingReference::Gap => tx_s + self.spacing_s,
            SpacingReference::Period => self.spacing_s.max(tx_s),
        }
    }

    /// Returns the exact gap that paces the next packet: its time after the last packet, in s, not rounded to
    /// nanoseconds. `None` before the first packet, or if the next packet is due earlier, to make up for a delay.
    #[must_use]
    pub fn last_gap_s(&self) -> Option<f64> {
        self.pacer.last_gap_s()
    }
}

impl SenderHalf for SpacingFixedSender {
    const NEEDS: &'static [Need] = &[Need::LineRate];

    fn poll_send(&mut self, now: Instant, _: &Next) -> Permit {
        self.pacer.permit(now)
    }

    fn on_send(&mut self, now: Instant, sending: &Sending) -> Stamp {
        if sending.data {
            self.size = sending.size;
            self.pacer.on_send(now, self.period_s());
        }
        // No response to marks.
        Stamp { ecn: Ecn::NotEct, ..Stamp::default() }
    }

    fn on_feedback(&mut self, _: Instant, _: &Feedback<'_>) {}

    fn status(&self) -> Status {
        let bits = self.size.count() as f64 * 8.0;
        let rate = Some(Rate::from_bits_per_second((bits / self.period_s().max(1e-9)) as u64));
        Status { target_rate: rate, pacing_rate: rate, ..Status::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_units::Random;

    fn sender(size: u64, spacing_us: u64, apart: SpacingReference) -> SpacingFixedSender {
        let spacing = Duration::from_micros(spacing_us);
        of(size, &SpacingFixedOptions { spacing, apart, ..SpacingFixedOptions::preset(Dialect::Rfc) })
    }

    fn of(size: u64, options: &SpacingFixedOptions) -> SpacingFixedSender {
        // Headers of 40 B are transmitted, too.
        let mut context = SenderContext::new(Instant::ZERO, Bytes::new(size - 40), Random::new(1, "fixed"));
        context.header = Bytes::new(40);
        context.line_rate = Some(Rate::from_bits_per_second(100_000_000));
        SpacingFixedSender::new(options, context)
    }

    /// Returns the time at which a backlogged sender sends the n-th packet.
    fn nth(mut sender: SpacingFixedSender, size: u64, n: u64) -> Instant {
        let mut now = Instant::ZERO;
        for number in 0..n {
            sender.on_send(now, &Sending::new(number, Some(Bytes::new(size - 40))));
            now = match sender.poll_send(now, &Next::default()) {
                Permit::At(at) => at,
                permit => panic!("{permit:?}"),
            };
        }
        now
    }

    /// Vector `psp.psa.fluid` (Figure 3): 8 s / (tx + ts) in bit/s, with tx on a line of 100 Mb/s.
    #[test]
    fn psp_figure_3_rates() {
        for (size, spacing_us, bps) in [
            (512, 0, 100_000_000.0),
            (512, 50, 45_030_782.8),
            (512, 500, 7_571_724.34),
            (512, 1050, 3_754_491.46),
            (1500, 0, 100_000_000.0),
            (1500, 1000, 10_714_285.7),
            (1500, 3000, 3_846_153.85),
        ] {
            let seconds = nth(sender(size, spacing_us, SpacingReference::Gap), size, 1000).as_secs_f64();
            let found = 8000.0 * size as f64 / seconds;
            assert!((found / bps - 1.0).abs() < 1e-7, "{size} B, {spacing_us} us: {found}");
        }
    }

    /// Vector `psp.receiver-gap`, start to start: 1500 us plus 8 s / 100 Mb/s, or 1500 us, at least the transmission
    /// time.
    #[test]
    fn psp_3_2_3_periods() {
        for (size, gap_ns) in [(508, 1_540_640), (1430, 1_614_400), (1500, 1_620_000)] {
            assert_eq!(nth(sender(size, 1500, SpacingReference::Gap), size, 1).as_nanos(), gap_ns);
            assert_eq!(nth(sender(size, 1500, SpacingReference::Period), size, 1).as_nanos(), 1_500_000);
        }
        assert_eq!(nth(sender(1500, 100, SpacingReference::Period), 1500, 1).as_nanos(), 120_000);
    }

    #[test]
    fn a_late_packet_causes_no_burst() {
        let mut sender = sender(1500, 880, SpacingReference::Gap);
        sender.on_send(Instant::ZERO, &Sending::new(0, Some(Bytes::new(1460))));
        let late = Instant::from_millis(50);
        assert_eq!(sender.poll_send(late, &Next::default()), Permit::Now);
        sender.on_send(late, &Sending::new(1, Some(Bytes::new(1460))));
        assert_eq!(sender.poll_send(late, &Next::default()), Permit::At(Instant::from_millis(51)));
    }

    /// A timer that is 60 us late sends 943 instead of 1000 packets per second, unless they may catch up. After a pause
    /// of 50 ms, 2 ms of catching up permit two extra packets.
    #[test]
    fn timer_delays_accumulate_without_catch_up() {
        let millis = Duration::from_millis;
        for (catch_up, seconds) in [(millis(0), 1.060), (millis(2), 1.000_06)] {
            let (spacing, apart) = (millis(1), SpacingReference::Period);
            let mut sender = of(500, &SpacingFixedOptions { spacing, apart, catch_up });
            let mut now = Instant::ZERO;
            for number in 0..1000 {
                sender.on_send(now, &Sending::new(number, Some(Bytes::new(460))));
                let Permit::At(at) = sender.poll_send(now, &Next::default()) else { panic!("{number}") };
                now = at + Duration::from_micros(60);
            }
            assert!((now.as_secs_f64() - seconds).abs() < 1e-9, "{now}");
            now += millis(50);
            let mut burst = 0;
            while sender.poll_send(now, &Next::default()) == Permit::Now {
                sender.on_send(now, &Sending::new(1000 + burst, Some(Bytes::new(460))));
                burst += 1;
            }
            assert_eq!(burst, 1 + catch_up.as_nanos() / 1_000_000);
        }
    }
}
