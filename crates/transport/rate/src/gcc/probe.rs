//! Probe clusters and their results (`bitrate_prober.cc`, `probe_bitrate_estimator.cc` of libwebrtc).
//!
//! A cluster is at least five packets and 15 ms of data, sent at a rate above the media rate. libwebrtc sends padding if
//! no media waits. A sender half cannot send packets, so that a cluster consists of media only: it starts when enough
//! data waits, and is discarded if none has waited for 5 s. The queue of an encoder that follows the rate is empty. At
//! the start, when its rate is farthest from that of the path, packets are therefore held back until a cluster has
//! enough data.

use super::ReportedPacket;
use super::ms_between;
use crate::contract::{Next, Permit};
use headway_units::{Duration, Instant};
use std::collections::VecDeque;

const MIN_PACKETS: u32 = 5;
const MIN_TIME_S: f64 = 0.015;
/// Time for which a cluster waits for data.
const MAX_WAIT: Duration = Duration::from_secs(5);
/// Time after the first request in which packets are held back to fill a cluster, and maximum time of one packet.
const START: Duration = Duration::from_secs(2);
const MAX_HOLD: Duration = Duration::from_millis(200);
/// Share of the packets and bytes of a cluster that must arrive.
const MIN_RECEIVED: f64 = 0.8;
/// Maximum time in which the packets are sent, and in which they arrive.
const MAX_INTERVAL: Duration = Duration::from_secs(1);
/// Ratio of the receive rate to the send rate below which the link is saturated, and that of an invalid result.
const SATURATED: f64 = 0.9;
const INVALID: f64 = 2.0;
/// Share of the receive rate that is used of a saturated link.
const UTILIZATION: f64 = 0.95;
/// Number of clusters whose results are awaited.
const MAX_CLUSTERS: usize = 8;

/// Cluster that is being sent, or was sent.
#[derive(Clone, Copy, Debug)]
struct Cluster {
    bps: f64,
    started: Instant,
    /// Numbers of the first and last packet, and the number of packets and bytes sent.
    numbers: Option<(u64, u64)>,
    packets: u32,
    bytes: f64,
    arrived: Option<Arrived>,
}

/// Packets of a cluster that have arrived: the first and last sending and arrival times, with the sizes of the last
/// packet sent and of the first one received.
#[derive(Clone, Copy, Debug)]
struct Arrived {
    packets: u32,
    bytes: f64,
    sent: (Instant, Instant),
    last_sent_bytes: f64,
    arrived: (Instant, Instant),
    first_arrived_bytes: f64,
}

impl Cluster {
    fn min_bytes(bps: f64) -> f64 {
        bps * MIN_TIME_S / 8.0
    }

    fn is_complete(&self, now: Instant) -> bool {
        let is_late = now.since(self.started) > MAX_INTERVAL;
        is_late || self.packets >= MIN_PACKETS && self.bytes >= Self::min_bytes(self.bps)
    }

    /// Returns when the next packet of the cluster is due.
    fn due(&self) -> Instant {
        self.started + Duration::from_secs_f64(8.0 * self.bytes / self.bps)
    }

    fn includes(&self, number: u64) -> bool {
        self.numbers.is_some_and(|(first, last)| (first..=last).contains(&number))
    }

    /// Adds an arrival. Returns the rate, if enough packets have arrived.
    fn add(&mut self, packet: &ReportedPacket, at: Instant) -> Option<f64> {
        let (sent, bytes) = (packet.sent, packet.bytes);
        let arrived = self.arrived.get_or_insert(Arrived {
            packets: 0,
            bytes: 0.0,
            sent: (sent, sent),
            last_sent_bytes: bytes,
            arrived: (at, at),
            first_arrived_bytes: bytes,
        });
        arrived.packets += 1;
        arrived.bytes += bytes;
        if sent >= arrived.sent.1 {
            (arrived.sent.1, arrived.last_sent_bytes) = (sent, bytes);
        }
        if at < arrived.arrived.0 {
            (arrived.arrived.0, arrived.first_arrived_bytes) = (at, bytes);
        }
        arrived.sent.0 = arrived.sent.0.min(sent);
        arrived.arrived.1 = arrived.arrived.1.max(at);
        let is_enough = f64::from(arrived.packets) >= MIN_RECEIVED * f64::from(MIN_PACKETS)
            && arrived.bytes >= MIN_RECEIVED * Self::min_bytes(self.bps);
        if is_enough { arrived.bps() } else { None }
    }
}

impl Arrived {
    fn bps(&self) -> Option<f64> {
        let rate = |bytes: f64, (from, to): (Instant, Instant)| {
            let ms = ms_between(from, to);
            (ms > 0.0 && ms <= 1000.0 * MAX_INTERVAL.as_secs_f64()).then(|| 8000.0 * bytes / ms)
        };
        let sent = rate(self.bytes - self.last_sent_bytes, self.sent)?;
        let received = rate(self.bytes - self.first_arrived_bytes, self.arrived)?;
        if received > INVALID * sent {
            None
        } else if received < SATURATED * sent {
            Some(UTILIZATION * received)
        } else {
            Some(sent.min(received))
        }
    }
}

/// Sender of probe clusters.
#[derive(Clone, Debug, Default)]
pub(super) struct Prober {
    /// Rates of the clusters that wait for data, with the times of their requests.
    waiting: VecDeque<(Instant, f64)>,
    sending: Option<Cluster>,
    sent: VecDeque<Cluster>,
    /// End of the time in which packets may be held back; `None` before the first request.
    start_end: Option<Instant>,
    /// Time until which packets are held back for the first cluster that waits.
    hold_until: Option<Instant>,
}

impl Prober {
    /// Requests a cluster of this rate.
    pub(super) fn request(&mut self, now: Instant, bps: f64) {
        self.start_end.get_or_insert(now + START);
        if self.waiting.len() < MAX_CLUSTERS {
            self.waiting.push_back((now, bps));
        }
    }

    /// Returns when the next packet of a cluster may be sent; `None` if no cluster is being sent, and none can start.
    /// `header` is the number of bytes of headers per packet.
    pub(super) fn permit(&mut self, now: Instant, next: &Next, header: f64) -> Option<Permit> {
        let waits = next.waiting.count() as f64;
        if let Some(cluster) = self.sending.filter(|cluster| cluster.is_complete(now) || waits == 0.0) {
            self.finish(cluster);
        }
        if self.sending.is_none() {
            while self.waiting.pop_front_if(|(requested, _)| now.since(*requested) > MAX_WAIT).is_some() {}
            let (_, bps) = *self.waiting.front()?;
            let needed = Cluster::min_bytes(bps).max(f64::from(MIN_PACKETS) * (next.size.count() as f64 + header));
            if waits < needed || waits == 0.0 {
                return self.hold(now, waits);
            }
            self.waiting.pop_front();
            self.hold_until = None;
            self.sending = Some(Cluster { bps, started: now, numbers: None, packets: 0, bytes: 0.0, arrived: None });
        }
        let due = self.sending?.due();
        Some(if due <= now { Permit::Now } else { Permit::At(due) })
    }

    /// Returns until when packets are held back for a cluster, at the start. They are not held back again if their data
    /// was not enough in time.
    fn hold(&mut self, now: Instant, waits: f64) -> Option<Permit> {
        if waits == 0.0 || self.start_end.is_none_or(|end| now >= end) {
            return None;
        }
        let until = *self.hold_until.get_or_insert(now + MAX_HOLD);
        if now < until {
            Some(Permit::At(until))
        } else {
            self.start_end = Some(now);
            None
        }
    }

    fn finish(&mut self, cluster: Cluster) {
        if self.sent.len() == MAX_CLUSTERS {
            self.sent.pop_front();
        }
        self.sent.push_back(cluster);
        self.sending = None;
    }

    pub(super) fn on_send(&mut self, number: u64, bytes: f64) {
        if let Some(cluster) = &mut self.sending {
            cluster.numbers = Some((cluster.numbers.map_or(number, |(first, _)| first), number));
            cluster.packets += 1;
            cluster.bytes += bytes;
        }
    }

    /// Handles a packet that arrived. Returns the result of its cluster, if enough of its packets have arrived.
    pub(super) fn on_arrival(&mut self, packet: &ReportedPacket, arrived: Instant) -> Option<f64> {
        let cluster = self.sent.iter_mut().chain(&mut self.sending).find(|cluster| cluster.includes(packet.number))?;
        cluster.add(packet, arrived)
    }
}

#[cfg(test)]
mod tests {
    use super::super::vectors::near;
    use super::*;
    use headway_units::Bytes;

    fn next(waiting: u64) -> Next {
        let mut next = Next::new(Bytes::new(1000));
        next.waiting = Bytes::new(waiting);
        next
    }

    /// A cluster of 800 kb/s is five packets of 1000 B, 10 ms apart. It does not start with 4999 B, which are held back.
    #[test]
    fn a_cluster_waits_for_data_and_is_paced() {
        let mut prober = Prober::default();
        prober.request(Instant::ZERO, 800e3);
        assert_eq!(prober.permit(Instant::ZERO, &next(4999), 0.0), Some(Permit::At(Instant::from_millis(200))));
        let mut now = Instant::from_millis(100);
        for packet in 0..5 {
            assert_eq!(prober.permit(now, &next(9000), 0.0), Some(Permit::Now), "{packet}");
            prober.on_send(7 + packet, 1000.0);
            now += Duration::from_millis(10);
            let after = if packet < 4 { Some(Permit::At(now)) } else { None };
            assert_eq!(prober.permit(Instant::from_millis(100 + 10 * packet), &next(9000), 0.0), after);
        }
        assert_eq!(prober.sent.len(), 1);
    }

    /// Packets that are not enough for a cluster after 200 ms are sent, and later ones, too. From 2 s on no packets are
    /// held back.
    #[test]
    fn packets_are_held_back_at_the_start() {
        let mut prober = Prober::default();
        prober.request(Instant::ZERO, 800e3);
        assert_eq!(prober.permit(Instant::from_millis(50), &next(0), 0.0), None);
        let until = Some(Permit::At(Instant::from_millis(300)));
        assert_eq!(prober.permit(Instant::from_millis(100), &next(1000), 0.0), until);
        assert_eq!(prober.permit(Instant::from_millis(299), &next(4000), 0.0), until);
        assert_eq!(prober.permit(Instant::from_millis(300), &next(4000), 0.0), None);
        assert_eq!(prober.permit(Instant::from_millis(400), &next(1000), 0.0), None);
        let mut late = Prober::default();
        late.request(Instant::ZERO, 800e3);
        assert_eq!(late.permit(Instant::from_secs(2), &next(1000), 0.0), None);
    }

    #[test]
    fn a_cluster_expires() {
        let mut prober = Prober::default();
        prober.request(Instant::ZERO, 800e3);
        assert_eq!(prober.permit(Instant::from_millis(5001), &next(9000), 0.0), None);
    }

    /// Five packets of 1000 B are sent each 10 ms, 800 kb/s, and arrive each `gap_ms`.
    fn result(gap_ms: u64, received: u64) -> Option<f64> {
        let mut prober = Prober::default();
        prober.request(Instant::ZERO, 800e3);
        for packet in 0..5 {
            prober.permit(Instant::from_millis(10 * packet), &next(9000), 0.0);
            prober.on_send(packet, 1000.0);
        }
        let mut result = None;
        for number in 0..received {
            let (sent, arrived) = (Instant::from_millis(10 * number), Instant::from_millis(100 + gap_ms * number));
            let packet = ReportedPacket { number, sent, bytes: 1000.0, is_lost: false, arrived: Some(arrived) };
            result = prober.on_arrival(&packet, arrived);
        }
        result
    }

    /// Four of five packets suffice. At a gap of 20 ms, 400 kb/s arrive, and 95 % of that is the result. A receive rate
    /// above twice the send rate is invalid.
    #[test]
    fn results() {
        near(result(10, 5).unwrap(), 800e3, 1e-6);
        near(result(8, 5).unwrap(), 800e3, 1e-6);
        near(result(11, 5).unwrap(), 8000.0 / 0.011, 1e-6);
        near(result(20, 5).unwrap(), 380e3, 1e-6);
        near(result(10, 4).unwrap(), 800e3, 1e-6);
        assert_eq!((result(10, 3), result(4, 5), result(300, 5)), (None, None, None));
    }
}
