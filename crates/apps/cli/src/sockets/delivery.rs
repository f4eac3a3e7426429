//! Outcomes of the datagrams of a source, and the check that a sender has delivered what it was asked to deliver.

use super::console::plural;
use headway_units::Probability;
use serde::Serialize;

/// Numbers of datagrams by their outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Outcomes {
    /// Datagrams of the source.
    pub(super) written: u64,
    pub(super) delivered: u64,
    /// Datagrams that were sent and did not arrive, or that the peer's program did not read.
    pub(super) lost: u64,
    /// Datagrams that expired, that a full send queue dropped, or that were too long for a packet.
    pub(super) unsent: u64,
}

impl Outcomes {
    /// Returns the number of datagrams without an outcome: queued, in flight, or without a report.
    pub(super) const fn open(&self) -> u64 {
        self.written.saturating_sub(self.delivered + self.lost + self.unsent)
    }

    const fn plus(self, other: Self) -> Self {
        Self {
            written: self.written + other.written,
            delivered: self.delivered + other.delivered,
            lost: self.lost + other.lost,
            unsent: self.unsent + other.unsent,
        }
    }

    /// Returns these outcomes without the datagrams that have none.
    const fn settled(self) -> Self {
        Self { written: self.written - self.open(), ..self }
    }

    /// Returns the missing datagrams as a sentence: their number, share and outcomes.
    fn missing_text(&self, of: &str) -> String {
        let missing = self.written - self.delivered;
        let part = |number: u64, what: &str| (number > 0).then(|| format!("{number} {what}"));
        let parts = [part(self.lost, "lost"), part(self.unsent, "never sent"), part(self.open(), "unaccounted for")];
        format!(
            "{missing} of {}{of} ({}) {} not delivered: {}",
            plural(self.written, "datagram", "datagrams"),
            percent(missing, self.written),
            if missing == 1 { "was" } else { "were" },
            parts.into_iter().flatten().collect::<Vec<_>>().join(", "),
        )
    }
}

/// Returns a share of a number above 0, in percent. Only shares of exactly 0 and 1 are printed as 0 % and 100 %.
fn percent(part: u64, whole: u64) -> String {
    let (scaled, whole) = (u128::from(part) * 10_000, u128::from(whole));
    let nearest = (scaled + whole / 2) / whole;
    let hundredths = if scaled == 0 || scaled == 10_000 * whole { nearest } else { nearest.clamp(1, 9999) };
    format!("{}.{:02} %", hundredths / 100, hundredths % 100)
}

/// Outcomes of the datagrams of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Delivery {
    /// Outcomes of datagrams without a lifetime, which must arrive.
    pub(super) lasting: Outcomes,
    /// Outcomes of datagrams with a lifetime, some of which may be too late.
    pub(super) expiring: Outcomes,
}

/// Figures of a delivery in the JSON lines.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct DeliveryReport {
    written_packets: u64,
    delivered_packets: u64,
    lost_packets: u64,
    unsent_packets: u64,
    unaccounted_packets: u64,
    /// Share of the written datagrams that were delivered, from 0 to 1; absent without datagrams.
    delivered_ratio: Option<f64>,
}

impl Delivery {
    pub(super) const fn of(&mut self, expires: bool) -> &mut Outcomes {
        if expires { &mut self.expiring } else { &mut self.lasting }
    }

    pub(super) const fn total(&self) -> Outcomes {
        self.lasting.plus(self.expiring)
    }

    pub(super) fn report(&self) -> DeliveryReport {
        let all = self.total();
        DeliveryReport {
            written_packets: all.written,
            delivered_packets: all.delivered,
            lost_packets: all.lost,
            unsent_packets: all.unsent,
            unaccounted_packets: all.open(),
            delivered_ratio: (all.written > 0).then(|| all.delivered as f64 / all.written as f64),
        }
    }

    /// Returns the share of delivered datagrams in percent; empty without datagrams.
    pub(super) fn share_text(&self) -> String {
        let Outcomes { written, delivered, .. } = self.total();
        if written == 0 { String::new() } else { format!(" ({})", percent(delivered, written)) }
    }

    /// Returns the error if too few datagrams were delivered: fewer than the share `least` of all datagrams, or without
    /// it any datagram without a lifetime. `stopped`: a signal or a time limit has ended the source, so that datagrams
    /// without an outcome do not count.
    pub(super) fn failure(&self, least: Option<Probability>, stopped: bool) -> Option<String> {
        let counted = |outcomes: Outcomes| if stopped { outcomes.settled() } else { outcomes };
        if let Some(least) = least {
            let all = counted(self.total());
            // Probabilities are at most 1, so that this holds without datagrams, too.
            return ((all.delivered as f64) < least.value() * all.written as f64)
                .then(|| format!("{}; --min-delivered requires {:.2} %", all.missing_text(""), 100.0 * least.value()));
        }
        let lasting = counted(self.lasting);
        let of = if self.expiring.written > 0 { " without a lifetime" } else { "" };
        (lasting.delivered < lasting.written)
            .then(|| format!("{}; set --min-delivered to allow losses", lasting.missing_text(of)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn outcomes(written: u64, delivered: u64, lost: u64, unsent: u64) -> Outcomes {
        Outcomes { written, delivered, lost, unsent }
    }

    fn share(text: &str) -> Option<Probability> {
        Some(text.parse().unwrap())
    }

    #[test]
    fn datagrams_without_a_lifetime_must_be_delivered() {
        let lasting = |lasting| Delivery { lasting, ..Delivery::default() };
        assert_eq!(lasting(outcomes(9000, 9000, 0, 0)).failure(None, false), None);
        assert_eq!(lasting(outcomes(0, 0, 0, 0)).failure(None, false), None);
        let hint = "; set --min-delivered to allow losses";
        for (of, stopped, why) in [
            (
                outcomes(9000, 8988, 10, 2),
                false,
                "12 of 9000 datagrams (0.13 %) were not delivered: 10 lost, 2 never sent",
            ),
            (
                outcomes(9000, 8988, 10, 2),
                true,
                "12 of 9000 datagrams (0.13 %) were not delivered: 10 lost, 2 never sent",
            ),
            (outcomes(1, 0, 1, 0), false, "1 of 1 datagram (100.00 %) was not delivered: 1 lost"),
            (outcomes(4, 1, 0, 0), false, "3 of 4 datagrams (75.00 %) were not delivered: 3 unaccounted for"),
            (outcomes(9, 1, 1, 0), true, "1 of 2 datagrams (50.00 %) was not delivered: 1 lost"),
        ] {
            assert_eq!(lasting(of).failure(None, stopped), Some(format!("{why}{hint}")));
        }
        // Datagrams that wait when the user stops the sender do not count.
        assert_eq!(lasting(outcomes(4, 1, 0, 0)).failure(None, true), None);
    }

    #[test]
    fn datagrams_with_a_lifetime_count_only_for_a_minimum_share() {
        let delivery = Delivery { lasting: outcomes(10, 10, 0, 0), expiring: outcomes(90, 88, 1, 1) };
        assert_eq!(delivery.failure(None, false), None);
        assert_eq!(delivery.failure(share("98%"), false), None);
        let why =
            "2 of 100 datagrams (2.00 %) were not delivered: 1 lost, 1 never sent; --min-delivered requires 99.00 %";
        assert_eq!(delivery.failure(share("99%"), false).as_deref(), Some(why));
        let late = Delivery { lasting: outcomes(10, 9, 1, 0), ..delivery };
        assert_eq!(late.failure(share("90%"), false), None);
        let why = late.failure(None, false).unwrap();
        assert!(why.starts_with("1 of 10 datagrams without a lifetime (10.00 %) was not delivered: 1 lost; "), "{why}");
        assert_eq!(Delivery::default().failure(share("100%"), false), None);
    }

    #[test]
    fn only_a_complete_delivery_is_printed_as_one() {
        let share = |written, delivered| {
            Delivery { lasting: outcomes(written, delivered, 0, 0), ..Delivery::default() }.share_text()
        };
        assert_eq!(
            [share(100_000, 99_999), share(3, 3), share(3, 0), share(0, 0)],
            [" (99.99 %)", " (100.00 %)", " (0.00 %)", ""]
        );
    }
}
