//! Two sessions connected by a path: a link with a rate and a queue, and a delay in each direction.

use headway_rtp::{
    Duration, Ecn, Event, Handled, Instant, Media, MediaKind, Random, Rate, RtpPacket, Session, SessionOptions,
};
use std::collections::{BTreeMap, VecDeque};

/// Offset of the receiver's clock.
const OFFSET: Duration = Duration::from_secs(1000);
/// Bytes of IP and UDP.
const HEADER: u64 = 28;

/// Source of RTP packets: at most 1200 B each 10 ms or less, at the encoder's rate.
pub(crate) struct Stream {
    pub(crate) ssrc: u32,
    pub(crate) priority: u8,
    pub(crate) kind: MediaKind,
    /// Rate; `None`: the session's encoder rate.
    pub(crate) rate: Option<Rate>,
    pub(crate) lifetime: Duration,
    pub(crate) sequence: u16,
    pub(crate) sent: u64,
    pub(crate) received: u64,
    next: Instant,
}

impl Stream {
    pub(crate) fn new(ssrc: u32, priority: u8, kind: MediaKind, rate: Option<Rate>) -> Self {
        let (lifetime, next) = (Duration::from_millis(400), Instant::ZERO);
        Self { ssrc, priority, kind, rate, lifetime, sequence: 65_500, sent: 0, received: 0, next }
    }
}

struct Flying {
    at: Instant,
    ecn: Ecn,
    bytes: Vec<u8>,
}

/// Sender, path and receiver.
pub(crate) struct Path {
    pub(crate) sender: Session,
    pub(crate) receiver: Session,
    pub(crate) streams: Vec<Stream>,
    pub(crate) rate: Rate,
    pub(crate) delay: Duration,
    /// Longest queue of the link.
    pub(crate) buffer: Duration,
    /// Queue above which packets that are ECN-capable are marked.
    pub(crate) mark_above: Option<Duration>,
    /// Returns whether the n-th RTP packet or RTCP datagram is lost.
    pub(crate) drop_packet: fn(u64) -> bool,
    pub(crate) drop_report: fn(u64) -> bool,
    /// Returns the additional delay of the n-th RTCP datagram.
    pub(crate) delay_report: fn(u64) -> Duration,
    now: Instant,
    free: Instant,
    data: VecDeque<Flying>,
    reports: Vec<Flying>,
    counts: (u64, u64),
    pub(crate) events: Vec<(Instant, Event)>,
    /// RTP bytes that arrived in each second.
    pub(crate) arrived: BTreeMap<u64, u64>,
    /// Queueing delay of each arrived packet, in ms.
    pub(crate) queued_ms: Vec<f64>,
    pub(crate) refused: u64,
    pub(crate) marked: u64,
}

impl Path {
    pub(crate) fn new(sender: SessionOptions, receiver: SessionOptions, streams: Vec<Stream>) -> Self {
        let now = Instant::from_secs(1);
        Self {
            sender: Session::new(now, sender, Random::new(1, "sender")).unwrap(),
            receiver: Session::new(now + OFFSET, receiver, Random::new(2, "receiver")).unwrap(),
            streams,
            rate: Rate::from_bits_per_second(1_000_000),
            delay: Duration::from_millis(25),
            buffer: Duration::from_millis(300),
            mark_above: None,
            drop_packet: |_| false,
            drop_report: |_| false,
            delay_report: |_| Duration::ZERO,
            now,
            free: now,
            data: VecDeque::new(),
            reports: Vec::new(),
            counts: (0, 0),
            events: Vec::new(),
            arrived: BTreeMap::new(),
            queued_ms: Vec::new(),
            refused: 0,
            marked: 0,
        }
    }

    /// Runs for this time.
    pub(crate) fn run(&mut self, time: Duration) {
        let until = self.now + time;
        while self.now < until {
            self.produce();
            self.arrive();
            self.sender.handle_timeout(self.now);
            self.receiver.handle_timeout(self.now + OFFSET);
            self.transmit();
            while let Some(event) = self.sender.poll_event() {
                self.events.push((self.now, event));
            }
            let back = |at: Instant| at.checked_sub(OFFSET).unwrap_or(self.now);
            let next = [
                self.streams.iter().map(|stream| stream.next).min(),
                self.data.front().map(|flying| flying.at),
                self.reports.iter().map(|flying| flying.at).min(),
                self.sender.poll_timeout(),
                self.receiver.poll_timeout().map(back),
                Some(until),
            ];
            let next = next.into_iter().flatten().min().unwrap_or(until);
            // A timer that is due now must have been handled.
            assert!(next > self.now, "no progress at {:?}", self.now);
            self.now = next;
        }
    }

    fn produce(&mut self) {
        let rate = self.sender.rate().unwrap_or(Rate::from_bits_per_second(150_000));
        for stream in &mut self.streams {
            while stream.next <= self.now {
                let rate = stream.rate.unwrap_or(rate).bits_per_second().max(10_000);
                let bytes = (rate / 800).clamp(50, 1188);
                let gap = Duration::from_nanos((bytes + 12) * 8_000_000_000 / rate);
                stream.next = stream.next.max(self.now) + gap;
                let payload = vec![0; bytes as usize];
                let packet = RtpPacket {
                    marker: true,
                    payload_type: 96,
                    sequence: stream.sequence,
                    ssrc: stream.ssrc,
                    payload: &payload,
                    ..RtpPacket::default()
                };
                stream.sequence = stream.sequence.wrapping_add(1);
                stream.sent += 1;
                let mut bytes = vec![];
                packet.encode(&mut bytes).unwrap();
                let (kind, priority, expires) = (stream.kind, stream.priority, Some(self.now + stream.lifetime));
                let media = Media { kind, priority, expires, ..Media::new(self.now, bytes) };
                self.sender.send(self.now, media).unwrap();
            }
        }
    }

    fn transmit(&mut self) {
        let mut datagram = vec![];
        while let Some(transmit) = self.sender.poll_transmit(self.now, &mut datagram) {
            assert!(!transmit.is_rtcp);
            self.counts.0 += 1;
            let start = self.free.max(self.now);
            let queue = start.since(self.now);
            if queue > self.buffer || (self.drop_packet)(self.counts.0) {
                continue;
            }
            let is_marked = transmit.ecn.is_capable() && self.mark_above.is_some_and(|above| queue > above);
            self.marked += u64::from(is_marked);
            let ecn = if is_marked { Ecn::Ce } else { transmit.ecn };
            self.free = start + self.rate.time_of(headway_rtp::Bytes::new(datagram.len() as u64 + HEADER));
            self.queued_ms.push(queue.as_secs_f64() * 1e3);
            self.data.push_back(Flying { at: self.free + self.delay, ecn, bytes: datagram.clone() });
        }
        while let Some(transmit) = self.receiver.poll_transmit(self.now + OFFSET, &mut datagram) {
            assert!(transmit.is_rtcp);
            self.counts.1 += 1;
            if !(self.drop_report)(self.counts.1) {
                let at = self.now + self.delay + (self.delay_report)(self.counts.1);
                self.reports.push(Flying { at, ecn: Ecn::NotEct, bytes: datagram.clone() });
            }
        }
    }

    fn arrive(&mut self) {
        while let Some(flying) = self.data.pop_front_if(|flying| flying.at <= self.now) {
            match self.receiver.handle(self.now + OFFSET, &flying.bytes, flying.ecn) {
                Ok(Handled::Rtp(packet)) => {
                    let second = self.now.as_nanos() / 1_000_000_000;
                    *self.arrived.entry(second).or_default() += flying.bytes.len() as u64 + HEADER;
                    let stream = self.streams.iter_mut().find(|stream| stream.ssrc == packet.ssrc).unwrap();
                    stream.received += 1;
                }
                Ok(Handled::Rtcp) => panic!("RTP taken for RTCP"),
                Err(_) => self.refused += 1,
            }
        }
        let mut due: Vec<Flying> = self.reports.extract_if(.., |flying| flying.at <= self.now).collect();
        due.sort_by_key(|flying| flying.at);
        for flying in due {
            assert_eq!(self.sender.handle(self.now, &flying.bytes, flying.ecn), Ok(Handled::Rtcp));
        }
    }

    /// Returns the mean rate on the link in the seconds `from..to` after the start, in kb/s.
    pub(crate) fn kbps(&self, from: u64, to: u64) -> f64 {
        let bytes: u64 = self.arrived.range(from + 1..=to).map(|(_, bytes)| bytes).sum();
        bytes as f64 * 8e-3 / (to - from) as f64
    }
}
