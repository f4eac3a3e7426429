//! Losses: those that are found late, and those that reduce the window (section 5 of the draft).

use super::is_due;
use super::rules::{LossRule, VIRTUAL_RTT_S};
use headway_units::{Duration, Instant};
use std::collections::VecDeque;

const LOSS_RATE_THRESHOLD: f64 = 0.01;
/// Round trips with losses that raise the level of congestion from 0 to 1, and without losses that lower it to 0.
const RTTS_WITH_LOSS: f64 = 3.0;
const RTTS_WITHOUT_LOSS: f64 = 2.0;
/// Level of congestion below which the window may grow.
const LEVEL_OF_GROWTH: f64 = 0.01;
/// Time by which a packet may be overtaken.
const REORDERING: Duration = Duration::from_millis(30);
/// Number of later packets after which a missing packet is lost.
const MAX_LATER: u64 = 512;
/// Maximum number of packets recorded.
const CAPACITY: usize = 1 << 14;

/// Decision whether losses reduce the window.
#[derive(Clone, Debug)]
pub(super) struct Losses {
    rule: LossRule,
    /// `loss_rate`, the average over packets.
    rate: f64,
    /// Level of congestion, 0 to 1.
    level: f64,
    round: Option<Instant>,
    lost_in_round: bool,
}

impl Losses {
    pub(super) const fn new(rule: LossRule) -> Self {
        Self { rule, rate: 0.0, level: 0.0, round: None, lost_in_round: false }
    }

    /// Handles a report. `share` is MSS/`ref_wnd`, `delay` the average queue delay as a share of its target. Returns
    /// whether the losses reduce the window.
    pub(super) fn on_report(
        &mut self,
        now: Instant,
        srtt_s: f64,
        share: f64,
        delay: f64,
        lost: u64,
        received: u64,
    ) -> bool {
        match self.rule {
            LossRule::Each => lost > 0,
            LossRule::AboveRate => {
                let gain = (LOSS_RATE_THRESHOLD / 4.0).min(share / 2.0);
                let mut reduces = false;
                for _ in 0..lost {
                    reduces |= self.rate > LOSS_RATE_THRESHOLD || delay > 0.25;
                    self.rate += gain * (1.0 - self.rate);
                }
                (0..received).for_each(|_| self.rate *= 1.0 - gain);
                reduces
            }
            LossRule::ThreeRoundTrips => {
                self.lost_in_round |= lost > 0;
                if is_due(self.round, now, srtt_s.max(VIRTUAL_RTT_S)) {
                    let step = if self.lost_in_round { 1.0 / RTTS_WITH_LOSS } else { -1.0 / RTTS_WITHOUT_LOSS };
                    self.level = (self.level + step).clamp(0.0, 1.0);
                    (self.round, self.lost_in_round) = (Some(now), false);
                }
                lost > 0 && (self.level > 0.999 || delay > 0.5)
            }
        }
    }

    /// Returns whether the losses of the last round trips keep the window from growing.
    pub(super) fn prevent_growth(&self) -> bool {
        self.level >= LEVEL_OF_GROWTH
    }
}

/// Packet with the time at which it was written.
#[derive(Clone, Copy, Debug)]
struct Written {
    number: u64,
    written: Instant,
}

/// Missing packets that are not lost yet. A packet is lost if one that was sent more than 30 ms later has arrived. The
/// time between the writing of the two is added to the 30 ms, because a pause between frames is no delay. A packet is
/// also lost if more than 512 later ones were sent.
#[derive(Clone, Debug, Default)]
pub(super) struct LateLosses {
    sent: VecDeque<Written>,
    missing: VecDeque<(Written, Instant)>,
}

impl LateLosses {
    /// Records a packet that waited for `age`.
    pub(super) fn on_send(&mut self, now: Instant, number: u64, age: Duration) {
        if self.sent.len() >= CAPACITY {
            self.sent.pop_front();
        }
        self.sent.push_back(Written { number, written: now.checked_sub(age).unwrap_or(Instant::ZERO) });
    }

    fn written(&self, number: u64) -> Option<Written> {
        let place = self.sent.binary_search_by_key(&number, |packet| packet.number).ok()?;
        self.sent.get(place).copied()
    }

    /// Adds a packet that is missing although three later ones have arrived, in the order of numbers.
    pub(super) fn add(&mut self, number: u64, sent: Instant) {
        let Some(packet) = self.written(number) else { return };
        if self.missing.len() < CAPACITY {
            self.missing.push_back((packet, sent));
        }
    }

    /// Handles the arrival of packet `newest`, sent at `sent`. Returns the number of packets that are lost.
    pub(super) fn on_arrival(&mut self, newest: u64, sent: Instant) -> u64 {
        let Some(arrived) = self.written(newest) else { return 0 };
        let before = self.missing.len();
        self.missing.retain(|(missing, missing_sent)| {
            let gap = arrived.written.since(missing.written);
            *missing_sent + REORDERING + gap >= sent && newest.saturating_sub(missing.number) <= MAX_LATER
        });
        let oldest = self.missing.front().map_or(newest, |(missing, _)| missing.number).min(newest);
        while self.sent.pop_front_if(|packet| packet.number < oldest.saturating_sub(MAX_LATER)).is_some() {}
        (before - self.missing.len()) as u64
    }

    pub(super) fn clear(&mut self) {
        self.sent.clear();
        self.missing.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    /// Section 5 of the draft: a window of 20 MSS, packets 1 to 5 lost.
    #[test]
    fn a_loss_rate_above_the_threshold() {
        let all: Value = serde_json::from_str(include_str!("../../tests/data/scream2.json")).unwrap();
        let rows = all["loss_rate"].as_array().unwrap();
        assert_eq!(rows.len(), 4);
        let mut losses = Losses::new(LossRule::AboveRate);
        for packet in 1..=12 {
            let lost = u64::from(packet <= 5);
            losses.on_report(Instant::ZERO, 0.05, 1.0 / 20.0, 0.0, lost, 1 - lost);
            let row = rows.iter().find(|row| row[0] == packet);
            if let Some(row) = row {
                assert!((losses.rate - row[1].as_f64().unwrap()).abs() < 1e-12, "{packet}: {}", losses.rate);
                let mut next = losses.clone();
                let reduces = next.on_report(Instant::ZERO, 0.05, 1.0 / 20.0, 0.0, 1, 0);
                assert_eq!(reduces, row[2].as_bool().unwrap(), "{packet}");
            }
        }
        assert!(Losses::new(LossRule::AboveRate).on_report(Instant::ZERO, 0.05, 0.05, 0.26, 1, 0), "a long queue");
    }

    /// A loss in each round trip of 50 ms reduces the window from the third one; two round trips without losses clear
    /// the level.
    #[test]
    fn three_round_trips_with_losses() {
        let mut losses = Losses::new(LossRule::ThreeRoundTrips);
        let lost = [1, 1, 1, 1, 0, 1, 0, 0, 1];
        let reduces = [false, false, true, true, false, false, false, false, false];
        for (trip, (lost, reduces)) in lost.into_iter().zip(reduces).enumerate() {
            let now = Instant::from_millis(1000 + 50 * trip as u64);
            assert_eq!(losses.on_report(now, 0.05, 0.05, 0.0, lost, 10), reduces, "{trip}");
        }
        assert!(losses.prevent_growth());
    }

    /// Packets every 10 ms. If each is written when it is sent, a missing one is lost after 512 later ones. If all are
    /// written at once, it is lost after more than 30 ms.
    #[test]
    fn losses_are_found_by_time() {
        for (at_once, later) in [(false, 513), (true, 4)] {
            let mut late = LateLosses::default();
            let at = |number: u64| Instant::from_millis(10 * number);
            for number in 1..=600 {
                let written = if at_once { Instant::ZERO } else { at(number) };
                late.on_send(at(number), number, at(number).since(written));
            }
            late.add(2, at(2));
            let found = (5..=600).find(|number| late.on_arrival(*number, at(*number)) == 1);
            assert_eq!(found, Some((2 + later).max(5)), "{at_once}");
        }
    }
}
