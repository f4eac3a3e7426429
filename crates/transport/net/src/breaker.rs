//! Circuit breaker (RFC 8083, RFC 8084): ends a connection whose data harms the network or does not arrive, under
//! any controller.
//!
//! A correct controller never triggers it. It protects against faulty controllers, `none`, and controllers of
//! programs. RFC 8083 has four rules for RTP and its reports. Here they use the state of a DCCP connection:
//!
//! - **No reports** (section 4.1): the sender sends data and receives nothing for 15 s (three RTCP intervals of 5 s),
//!   or for 60 round trips if that is longer.
//! - **Not arriving** (section 4.2): the sender receives packets, but for that time no acknowledgement covers a newer
//!   packet.
//! - **Congestion** (section 4.3): over five periods, each of one second or of four round trips if that is longer, the
//!   sender sends more than ten times the rate of TCP:
//!   ```text
//!                   s
//!   X = ------------------------ , b = 1
//!        R sqrt(2 b p / 3)
//!   ```
//!   with R the smoothed round-trip time and p the loss rate. Each of the five periods must be congested as well: a
//!   controller needs some round trips to adapt to a narrower path, and one bad period shows only a fault of the
//!   path (RFC 8084 section 4, requirements 4, 6 and 9). A sender that has halved its rate has adapted: the rate of
//!   its newest period is less than half of the mean.
//! - **Unusable** (section 4.4, which leaves the bounds open): in each of twenty such periods more than half of the
//!   packets are lost, and the sender sends more than ten times the rate of the whole equation of RFC 5348 section 3.1.
//!   The timeouts in that equation slow TCP on such a path.
//!
//! The first two rules apply to senders that do not adapt. A sender has adapted if it sends less than a tenth of its
//! rate before the silence, or if its controller allows less than a tenth of the earlier rate; small packets may still
//! fit into that. In 60 round trips a nofeedback timer (RFC 5348 section 4.4) halves a rate fifteen times. Dialect
//! headway-1 probes a silent path for a minute, which is harmless at any media rate. A sender with less than one packet
//! in each period is harmless too: [`idle_give_up`](headway_dccp::ConnectionOptions::idle_give_up) ends a connection
//! whose peer is gone.
//!
//! A sender without congestion control fills queues, which lengthens its round trips and so the time of the rules. A
//! further rule ends it: more packets are in flight than the largest Sequence Window, 2^20, and no new packet is
//! acknowledged between two updates.
//!
//! A peer may send no acknowledgements unasked, as the peer of `none` may. The sender [asks](Step::Ask) it with a
//! Sync, and the SyncAck acknowledges (RFC 4340 section 7.5.4). Without loss reports the peer must at least answer.

use headway_dccp::Status;
use headway_units::{Duration, Instant, Rate};
use std::collections::VecDeque;
use std::fmt;

/// Shortest measuring period.
const PERIOD: Duration = Duration::from_secs(1);
/// Shortest measuring period, in round trips.
const PERIOD_TRIPS: u64 = 4;
/// CB_INTERVAL, in periods: at least 20 round trips; RFC 8083 requires ten.
const PERIODS: usize = 5;
/// "Likely on the order of seconds, or tens of seconds" (RFC 8083 section 4.4).
const UNUSABLE_PERIODS: u32 = 20;
/// "Consumes bandwidth arbitrarily and does not compete fairly with TCP within an order of magnitude"
/// (RFC 8083 section 4.3).
const ORDER_OF_MAGNITUDE: f64 = 10.0;
/// Three times Td, which is 5 s (RFC 8083 section 4.1).
const SILENCE: Duration = Duration::from_secs(15);
/// Longest silence, in round trips.
const SILENCE_TRIPS: u64 = 60;
/// Maximum rate of probes of a silent path, in packets per second: one each 200 ms (RFC 8085 section 3.1.3), and the
/// first.
const PROBES: f64 = 6.0;
/// Maximum number of packets in flight: the bound of Sequence Windows.
const MAX_IN_FLIGHT: u64 = 1 << 20;

/// Counters of a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Observed {
    /// Data packets sent.
    pub(crate) data: u64,
    /// Packets of all types sent.
    pub(crate) sent: u64,
    /// Bytes sent.
    pub(crate) bytes: u64,
    /// Packets reported lost by the peer.
    pub(crate) lost: u64,
    /// Greatest acknowledged packet.
    pub(crate) acknowledged: u64,
    /// Packets received.
    pub(crate) received: u64,
    pub(crate) rtt: Option<Duration>,
    /// Rate that the controller allows.
    pub(crate) allowed: Option<Rate>,
}

impl From<&Status> for Observed {
    fn from(Status { counters, rtt, sender, .. }: &Status) -> Self {
        Self {
            data: counters.sent_data_packets,
            sent: counters.sent_packets,
            bytes: counters.sent_bytes,
            lost: counters.lost_packets,
            acknowledged: counters.acknowledged_packets,
            received: counters.received_packets,
            rtt: *rtt,
            allowed: sender.and_then(|sender| sender.target_rate),
        }
    }
}

/// Reason why the circuit breaker ended a connection, with the measured values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BreakerReason {
    /// The sender sent data but received nothing from the peer for this long (RFC 8083 section 4.1).
    NoReports(Duration),
    /// The sender received packets, but the peer acknowledged no new packet for this long (RFC 8083 section 4.2).
    NotArriving(Duration),
    /// The sending rate was more than ten times that of TCP on this path (RFC 8083 section 4.3).
    Congestion {
        /// Rate at which the sender sent.
        rate: Rate,
        /// Rate at which TCP would send on this path.
        tcp: Rate,
        /// Loss rate over this time, in lost packets per 1000 packets sent.
        lost: u16,
        /// Time over which the rates and losses were measured: five periods of at least 1 s.
        over: Duration,
    },
    /// More than 2^20 packets were in flight and the peer acknowledged no new one. The value is the number of packets
    /// sent after the last acknowledged packet.
    Unacknowledged(u64),
    /// More than half of the packets were lost for a long time and the sender did not adapt (RFC 8083 section 4.4).
    Unusable {
        /// Loss rate of the last measuring period, in lost packets per 1000 packets sent.
        lost: u16,
        /// Time for which more than half of the packets were lost.
        over: Duration,
    },
}

impl fmt::Display for BreakerReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |lost: u16| f64::from(lost) / 10.0;
        match *self {
            Self::NoReports(over) => {
                write!(f, "the sender has sent data and received nothing from the peer for {over}")
            }
            Self::NotArriving(over) => {
                write!(f, "the sender has sent data and the peer has acknowledged none for {over}")
            }
            Self::Unacknowledged(packets) => write!(f, "the peer has acknowledged none of the last {packets} packets"),
            Self::Congestion { rate, tcp, lost, over } => write!(
                f,
                "the sender sent {rate} over {over}; TCP would send {tcp}, with {} % of the packets lost",
                percent(lost)
            ),
            Self::Unusable { lost, over } => {
                write!(f, "more than half of the packets were lost for {over}, {} % in the last period", percent(lost))
            }
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Nothing,
    /// Data is sent but not acknowledged: ask the peer.
    Ask,
    /// End the connection.
    Trip(BreakerReason),
}

/// Packets and bytes of one period.
#[derive(Clone, Copy, Debug)]
struct Period {
    time: Duration,
    data: u64,
    sent: u64,
    bytes: u64,
    lost: u64,
    /// Round-trip time at the end of the period, in seconds.
    rtt: f64,
}

#[derive(Debug)]
pub(crate) struct Breaker {
    began: Instant,
    before: Observed,
    /// Greatest packet acknowledged at the last update.
    acknowledged: u64,
    periods: VecDeque<Period>,
    /// Time of the periods with data but without an acknowledgement.
    silent: Duration,
    /// Greatest rate in that time, in data packets per second.
    peak: f64,
    /// Rate that the controller allowed before.
    allowed: Option<Rate>,
    /// Whether a packet was received in that time.
    has_received: bool,
    /// Number of consecutive unusable periods, and their length.
    unusable: (u32, Duration),
}

impl Breaker {
    pub(crate) fn new(now: Instant) -> Self {
        Self {
            began: now,
            before: Observed::default(),
            acknowledged: 0,
            periods: VecDeque::with_capacity(PERIODS),
            silent: Duration::ZERO,
            peak: 0.0,
            allowed: None,
            has_received: false,
            unusable: (0, Duration::ZERO),
        }
    }

    /// Updates the measurements; called about once a second while data is sent. Later observations count as if they
    /// were made now.
    pub(crate) fn update(&mut self, now: Instant, seen: Observed) -> Step {
        let in_flight = seen.sent.saturating_sub(seen.acknowledged);
        if std::mem::replace(&mut self.acknowledged, seen.acknowledged) == seen.acknowledged
            && in_flight > MAX_IN_FLIGHT
        {
            return Step::Trip(BreakerReason::Unacknowledged(in_flight));
        }
        let (min_period, elapsed) = (PERIOD.max(seen.rtt.unwrap_or_default() * PERIOD_TRIPS), now.since(self.began));
        if elapsed < min_period {
            return Step::Nothing;
        }
        let before = std::mem::replace(&mut self.before, seen);
        self.began = now;
        let period = Period {
            // After a pause without updates, only the time of new data counts.
            time: elapsed.min(min_period * 2),
            data: seen.data.saturating_sub(before.data),
            sent: seen.sent.saturating_sub(before.sent),
            bytes: seen.bytes.saturating_sub(before.bytes),
            lost: seen.lost.saturating_sub(before.lost),
            rtt: seen.rtt.unwrap_or_default().as_secs_f64(),
        };
        if self.periods.len() == PERIODS {
            self.periods.pop_front();
        }
        self.periods.push_back(period);
        let tripped = self.silence(&before, &seen, period).or_else(|| self.congestion(period));
        match tripped {
            Some(why) => Step::Trip(why),
            None if self.silent > Duration::ZERO => Step::Ask,
            None => Step::Nothing,
        }
    }

    /// Returns whether data was sent in the present period, with this number of data packets since the start.
    pub(crate) const fn has_more(&self, data: u64) -> bool {
        data > self.before.data
    }

    fn silence(&mut self, before: &Observed, seen: &Observed, period: Period) -> Option<BreakerReason> {
        if seen.acknowledged > before.acknowledged || period.data == 0 {
            (self.silent, self.peak, self.allowed, self.has_received) = (Duration::ZERO, 0.0, seen.allowed, false);
            return None;
        }
        let rate = total(&self.periods).packet_rate();
        self.silent += period.time;
        self.peak = self.peak.max(rate);
        self.has_received |= seen.received > before.received;
        let longest = SILENCE.max(seen.rtt.unwrap_or_default() * SILENCE_TRIPS);
        if self.silent < longest || self.has_backed_off(rate, seen.allowed) {
            return None;
        }
        Some(if self.has_received {
            BreakerReason::NotArriving(self.silent)
        } else {
            BreakerReason::NoReports(self.silent)
        })
    }

    /// Returns whether the sender only probes the path or sends a tenth, or its controller allows a tenth. The
    /// allowed rate counts bytes, of which small packets have few.
    fn has_backed_off(&self, rate: f64, allowed: Option<Rate>) -> bool {
        let tenth = |now: f64, before: f64| now * ORDER_OF_MAGNITUDE < before;
        let bits = |rate: Rate| rate.bits_per_second() as f64;
        rate <= PROBES
            || tenth(rate, self.peak)
            || allowed.zip(self.allowed).is_some_and(|(now, before)| tenth(bits(now), bits(before)))
    }

    fn congestion(&mut self, newest: Period) -> Option<BreakerReason> {
        let all = total(&self.periods);
        if newest.is_unusable() {
            self.unusable = (self.unusable.0 + 1, self.unusable.1 + newest.time);
        } else {
            self.unusable = (0, Duration::ZERO);
        }
        let all_congested = self.periods.len() == PERIODS && self.periods.iter().all(Period::is_congested);
        // The mean contains the rate from before the path changed.
        let has_halved = newest.packet_rate() * 2.0 < all.packet_rate();
        if all_congested && !has_halved && all.is_congested() {
            let (rate, lost) = (all.rate(), all.per_mille());
            let tcp =
                Rate::from_bits_per_second((rate.bits_per_second() as f64 * all.tcp() / all.packet_rate()) as u64);
            return Some(BreakerReason::Congestion { rate, tcp, lost, over: all.time });
        }
        let (periods, over) = self.unusable;
        (periods >= UNUSABLE_PERIODS).then_some(BreakerReason::Unusable { lost: newest.per_mille(), over })
    }
}

fn total(periods: &VecDeque<Period>) -> Period {
    let none = Period { time: Duration::ZERO, data: 0, sent: 0, bytes: 0, lost: 0, rtt: f64::INFINITY };
    periods.iter().fold(none, |all, one| Period {
        time: all.time + one.time,
        data: all.data + one.data,
        sent: all.sent + one.sent,
        bytes: all.bytes + one.bytes,
        lost: all.lost + one.lost,
        // TCP is fastest with the shortest round trip.
        rtt: all.rtt.min(one.rtt),
    })
}

impl Period {
    /// Returns the data packets per second. Sizes cancel: `s` is the same for this sender and TCP.
    fn packet_rate(&self) -> f64 {
        self.data as f64 / self.time.as_secs_f64().max(f64::MIN_POSITIVE)
    }

    fn rate(&self) -> Rate {
        Rate::from_bits_per_second((self.bytes as f64 * 8.0 / self.time.as_secs_f64().max(f64::MIN_POSITIVE)) as u64)
    }

    /// Returns the loss rate p. Losses are reported a round trip later, so they may exceed the packets sent.
    fn lost(&self) -> f64 {
        (self.lost as f64 / self.sent.max(1) as f64).min(1.0)
    }

    fn per_mille(&self) -> u16 {
        (self.lost() * 1000.0) as u16
    }

    /// Returns the rate of TCP, X / s, in packets per second.
    fn tcp(&self) -> f64 {
        1.0 / (self.rtt * (2.0 * self.lost() / 3.0).sqrt()).max(f64::MIN_POSITIVE)
    }

    /// "Transmitting at least one RTP packet every max(Tdr, Tr) seconds" (RFC 8083 section 4.3).
    fn is_measured(&self) -> bool {
        self.lost > 0 && self.rtt > 0.0 && self.packet_rate() >= 1.0
    }

    fn is_congested(&self) -> bool {
        self.is_measured() && self.packet_rate() > ORDER_OF_MAGNITUDE * self.tcp()
    }

    fn is_unusable(&self) -> bool {
        let p = self.lost();
        let timeouts = 4.0 * self.rtt * 3.0 * (3.0 * p / 8.0).sqrt() * p * (1.0 + 32.0 * p * p);
        let whole = 1.0 / (1.0 / self.tcp() + timeouts);
        self.is_measured() && p > 0.5 && self.packet_rate() > ORDER_OF_MAGNITUDE * whole
    }
}

#[cfg(test)]
mod tests;
