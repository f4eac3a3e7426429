//! The circuit breaker (RFC 8083, RFC 8084) ends a connection whose data harms the network or does not arrive, for any controller.
//!
//! A controller that works never meets it. It is there for faulty controllers, for `none`, and for those that programs write. RFC 8083 has
//! four rules for RTP and its reports. Here they use what a DCCP connection knows:
//!
//! - **No reports** (section 4.1): the sender sends data and receives nothing for 15 s (three of RTCP's 5 s) and 60 round trips.
//! - **Not arriving** (section 4.2): the sender receives packets, but for the same time no acknowledgement has named a later packet.
//! - **Congestion** (section 4.3): over five periods of a second, or four round trips if that is longer, the sender sends ten times what TCP
//!   would send:
//!   ```text
//!                   s
//!   X = ------------------------ , b = 1
//!        R sqrt(2 b p / 3)
//!   ```
//!   with R the smoothed round trip and p the fraction lost. Each of the five periods must be congested as well: a controller needs some
//!   round trips to adapt to a path that has become narrow, and one bad period shows a fault of the path only (RFC 8084 section 4,
//!   requirements 4, 6 and 9). A sender that has halved its rate has adapted: its newest period has less than half of the mean rate.
//! - **Unusable** (section 4.4, which leaves the bounds open): in each of twenty such periods more than half is lost, and the sender sends ten
//!   times what the whole equation of RFC 5348 section 3.1 gives. The timeouts in that equation are what slows TCP on such a path.
//!
//! The first two rules are for senders that do not adapt. A sender has adapted if it sends a tenth of its rate from before the silence, or if
//! its controller allows a tenth of the earlier rate; small packets may still fit into that. In 60 round trips a nofeedback timer (RFC 5348
//! section 4.4) has halved a rate fifteen times. Dialect headway-1 probes a silent path for a minute, which does no harm at any rate of the
//! media. A sender of less than one packet in each period does no harm:
//! [`idle_give_up`](headway_dccp::ConnectionOptions::idle_give_up) ends a connection whose peer is gone.
//!
//! A sender without control fills queues. This lengthens its round trips, and so the time of the rules. A further rule ends it: more packets
//! are under way than the largest Sequence Window holds, 2^20, and no new one is acknowledged from one look to the next.
//!
//! A peer may send no acknowledgements without being asked, as the peer of `none` may. A Sync [asks](Step::Ask) it, and the SyncAck
//! acknowledges (RFC 4340 section 7.5.4). Without loss reports the peer must at least answer.

use headway_dccp::Status;
use headway_units::{Duration, Instant, Rate};
use std::collections::VecDeque;
use std::fmt;

/// The shortest time over which is measured.
const PERIOD: Duration = Duration::from_secs(1);
/// And in round trips.
const PERIOD_TRIPS: u64 = 4;
/// CB_INTERVAL, in periods: 20 round trips at least, of which RFC 8083 wants ten.
const PERIODS: usize = 5;
/// "Likely on the order of seconds, or tens of seconds" (RFC 8083 section 4.4).
const UNUSABLE_PERIODS: u32 = 20;
/// "Consumes bandwidth arbitrarily and does not compete fairly with TCP within an order of magnitude" (RFC 8083 section 4.3).
const ORDER_OF_MAGNITUDE: f64 = 10.0;
/// Three times Td, which is 5 s (RFC 8083 section 4.1).
const SILENCE: Duration = Duration::from_secs(15);
/// And in round trips.
const SILENCE_TRIPS: u64 = 60;
/// The most probes of a silent path, in packets a second: one each 200 ms (RFC 8085 section 3.1.3), and the first.
const PROBES: f64 = 6.0;
/// Packets on the way, at most: the bound of our Sequence Windows.
const MOST_ON_THE_WAY: u64 = 1 << 20;

/// What a connection has counted so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Observed {
    /// Packets with data that have gone.
    pub(crate) data: u64,
    /// Packets of all types that have gone.
    pub(crate) sent: u64,
    /// Their bytes.
    pub(crate) bytes: u64,
    /// Those that the peer says are lost.
    pub(crate) lost: u64,
    /// The greatest that it has acknowledged.
    pub(crate) acknowledged: u64,
    /// Packets that have come.
    pub(crate) received: u64,
    pub(crate) rtt: Option<Duration>,
    /// What the controller allows.
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

/// Why the circuit breaker has ended a connection, with what it has measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Tripped {
    /// Data goes on, and for so long nothing has come from the peer (RFC 8083 section 4.1).
    NoReports(Duration),
    /// The peer is there, but for so long it has acknowledged no packet (RFC 8083 section 4.2).
    NotArriving(Duration),
    /// More than ten times what TCP would send (RFC 8083 section 4.3).
    Congestion {
        /// What has gone.
        rate: Rate,
        /// What TCP would send.
        tcp: Rate,
        /// Packets lost of a thousand.
        lost: u16,
        /// Over so long.
        over: Duration,
    },
    /// So many packets have gone since the last one that the peer has acknowledged.
    TooMany(u64),
    /// More than half of the data has been lost for so long, and nothing was done about it (RFC 8083 section 4.4).
    Unusable {
        /// Packets lost of a thousand, of late.
        lost: u16,
        /// For so long.
        over: Duration,
    },
}

impl fmt::Display for Tripped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = |lost: u16| f64::from(lost) / 10.0;
        match *self {
            Self::NoReports(over) => write!(f, "data goes, and nothing has come from the peer for {over}"),
            Self::NotArriving(over) => write!(f, "data goes, and the peer has acknowledged none for {over}"),
            Self::TooMany(packets) => write!(f, "{packets} packets went, and the peer has acknowledged none of them"),
            Self::Congestion { rate, tcp, lost, over } => write!(
                f,
                "over {over} {rate} went, where TCP would send {tcp}, and {} % of the packets were lost",
                percent(lost)
            ),
            Self::Unusable { lost, over } => {
                write!(f, "for {over} more than half of the packets were lost, of late {} %", percent(lost))
            }
        }
    }
}

/// What is to be done now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Nothing,
    /// Data goes, and nobody has said that it comes: the peer is to be asked.
    Ask,
    /// The connection is to end.
    Trip(Tripped),
}

/// What has gone in a period.
#[derive(Clone, Copy, Debug)]
struct Period {
    time: Duration,
    data: u64,
    sent: u64,
    bytes: u64,
    lost: u64,
    /// In seconds, at its end: a path that has become longer was not so before.
    rtt: f64,
}

#[derive(Debug)]
pub(crate) struct Breaker {
    began: Instant,
    before: Observed,
    /// The greatest packet that had been acknowledged at the last look.
    acknowledged: u64,
    periods: VecDeque<Period>,
    /// How long data has gone in each period without an acknowledgement.
    silent: Duration,
    /// The greatest rate in that time, in packets of data a second.
    peak: f64,
    /// What the controller allowed before.
    allowed: Option<Rate>,
    /// Something has come in that time.
    heard: bool,
    /// Periods in a row of which most was lost, and how long they were.
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
            heard: false,
            unusable: (0, Duration::ZERO),
        }
    }

    /// To be called every second or so while data goes. What is seen later than that counts as if it were not.
    pub(crate) fn update(&mut self, now: Instant, seen: Observed) -> Step {
        let on_the_way = seen.sent.saturating_sub(seen.acknowledged);
        if std::mem::replace(&mut self.acknowledged, seen.acknowledged) == seen.acknowledged
            && on_the_way > MOST_ON_THE_WAY
        {
            return Step::Trip(Tripped::TooMany(on_the_way));
        }
        let (least, elapsed) = (PERIOD.max(seen.rtt.unwrap_or_default() * PERIOD_TRIPS), now.since(self.began));
        if elapsed < least {
            return Step::Nothing;
        }
        let before = std::mem::replace(&mut self.before, seen);
        self.began = now;
        let period = Period {
            // After a pause, during which nobody has looked, data goes again.
            time: elapsed.min(least * 2),
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

    /// Whether data has gone in the present period.
    pub(crate) const fn has_more(&self, seen: &Observed) -> bool {
        seen.data > self.before.data
    }

    fn silence(&mut self, before: &Observed, seen: &Observed, period: Period) -> Option<Tripped> {
        if seen.acknowledged > before.acknowledged || period.data == 0 {
            (self.silent, self.peak, self.allowed, self.heard) = (Duration::ZERO, 0.0, seen.allowed, false);
            return None;
        }
        let rate = total(&self.periods).packet_rate();
        self.silent += period.time;
        self.peak = self.peak.max(rate);
        self.heard |= seen.received > before.received;
        let longest = SILENCE.max(seen.rtt.unwrap_or_default() * SILENCE_TRIPS);
        if self.silent < longest || self.has_answered(rate, seen.allowed) {
            return None;
        }
        Some(if self.heard { Tripped::NotArriving(self.silent) } else { Tripped::NoReports(self.silent) })
    }

    /// Returns whether the sender only probes the path or sends a tenth, or its controller allows a tenth: in bytes, which small packets
    /// are few of.
    fn has_answered(&self, rate: f64, allowed: Option<Rate>) -> bool {
        let tenth = |now: f64, before: f64| now * ORDER_OF_MAGNITUDE < before;
        let bits = |rate: Rate| rate.bits_per_second() as f64;
        rate <= PROBES
            || tenth(rate, self.peak)
            || allowed.zip(self.allowed).is_some_and(|(now, before)| tenth(bits(now), bits(before)))
    }

    fn congestion(&mut self, newest: Period) -> Option<Tripped> {
        let all = total(&self.periods);
        if newest.is_unusable() {
            self.unusable = (self.unusable.0 + 1, self.unusable.1 + newest.time);
        } else {
            self.unusable = (0, Duration::ZERO);
        }
        let each = self.periods.len() == PERIODS && self.periods.iter().all(Period::is_congested);
        // The mean contains the rate from before the path changed.
        let has_halved = newest.packet_rate() * 2.0 < all.packet_rate();
        if each && !has_halved && all.is_congested() {
            let (rate, lost) = (all.rate(), all.per_mille());
            let tcp =
                Rate::from_bits_per_second((rate.bits_per_second() as f64 * all.tcp() / all.packet_rate()) as u64);
            return Some(Tripped::Congestion { rate, tcp, lost, over: all.time });
        }
        let (periods, over) = self.unusable;
        (periods >= UNUSABLE_PERIODS).then_some(Tripped::Unusable { lost: newest.per_mille(), over })
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
        // With the shortest TCP would send most.
        rtt: all.rtt.min(one.rtt),
    })
}

impl Period {
    /// Packets of data a second. Sizes do not matter: `s` is the same in what goes and in what TCP would send.
    fn packet_rate(&self) -> f64 {
        self.data as f64 / self.time.as_secs_f64().max(f64::MIN_POSITIVE)
    }

    fn rate(&self) -> Rate {
        Rate::from_bits_per_second((self.bytes as f64 * 8.0 / self.time.as_secs_f64().max(f64::MIN_POSITIVE)) as u64)
    }

    /// p. What is lost is known a round trip later, so that it may be more than went.
    fn lost(&self) -> f64 {
        (self.lost as f64 / self.sent.max(1) as f64).min(1.0)
    }

    fn per_mille(&self) -> u16 {
        (self.lost() * 1000.0) as u16
    }

    /// What TCP would send, in packets a second: X / s.
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
