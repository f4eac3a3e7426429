//! What the programs at both ends of a flow see of it: what was written, when it went, and what came when.

use crate::stamp;
use headway_media::Media;
use headway_net::Fate;
use headway_record::{DelaySummary, FlowLabel, FlowMeter, FlowPacket, FlowSummary, Histogram, Measured};
use headway_sim::{Data, FlowClocks, Frames};
use headway_units::Instant;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Datagrams that are remembered; of older ones nothing comes any more.
const MOST: usize = 1 << 18;

/// The two ends share it: one machine has one time.
#[derive(Debug)]
pub(crate) struct Ends {
    seen: Mutex<Seen>,
    clocks: Option<FlowClocks>,
    /// Whether what is written waits to be sent.
    waits: bool,
}

#[derive(Debug)]
struct Seen {
    meter: FlowMeter,
    /// In the order of their numbers, and the first one's.
    written: VecDeque<Written>,
    first: u64,
    /// The newest that has come.
    newest: u64,
    frames: Frames,
    late: Histogram,
}

/// A datagram that was handed over.
#[derive(Clone, Copy, Debug)]
struct Written {
    data: Data,
    /// When it went last.
    left: Option<Instant>,
}

impl Seen {
    fn at(&mut self, number: u64) -> Option<&mut Written> {
        self.written.get_mut(usize::try_from(number.checked_sub(self.first)?).ok()?)
    }
}

impl Ends {
    /// Those of a flow whose ends have these clocks, and whose datagrams wait in a send queue, or go at once.
    pub(crate) fn new(measured: &Arc<Measured>, clocks: Option<FlowClocks>, waits: bool) -> Self {
        let seen = Seen {
            meter: FlowMeter::new(measured),
            written: VecDeque::new(),
            first: 0,
            newest: 0,
            frames: Frames::default(),
            late: Histogram::default(),
        };
        Self { seen: Mutex::new(seen), clocks, waits }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The sender's time, when this is the true one.
    pub(crate) fn to_sender(&self, now: Instant) -> Instant {
        self.clocks.map_or(now, |clocks| clocks.sender.read(now))
    }

    /// The true time at which the sender's clock shows this.
    pub(crate) fn of_sender(&self, local: Instant) -> Instant {
        self.clocks.map_or(local, |clocks| clocks.sender.when_read(local))
    }

    /// The source had something to write at `due`, and does so now.
    pub(crate) fn woke(&self, now: Instant, due: Instant) {
        self.seen().late.record(now.since(due).as_nanos());
    }

    /// A datagram of the source's, which has the times of the sender's clock, is about to be handed over. Returns its bytes.
    pub(crate) fn write(&self, now: Instant, media: &Media) -> Vec<u8> {
        let mut data = Data::from(media);
        if let Some(clocks) = self.clocks {
            (data.created, data.deadline) = (clocks.sender.when(data.created), clocks.sender.when(data.deadline));
        }
        let seen = &mut *self.seen();
        seen.meter.written(data.kind, deadline(&data));
        if let Some(frame) = data.begins() {
            seen.meter.frame_written(&frame);
        }
        if self.waits {
            seen.meter.queued(now, data.kind);
        }
        if seen.written.len() == MOST {
            seen.written.pop_front();
            seen.first += 1;
        }
        let number = seen.first + seen.written.len() as u64;
        seen.written.push_back(Written { data, left: (!self.waits).then_some(now) });
        stamp::stamped(number, data.payload as usize)
    }

    /// The sender has heard what became of a datagram.
    pub(crate) fn hear(&self, now: Instant, number: u64, fate: Fate) {
        let seen = &mut *self.seen();
        let Some(written) = seen.at(number) else { return };
        match fate {
            Fate::Sent(_) => {
                written.left = Some(now);
                let data = written.data;
                seen.meter.left_send_queue(now, data.kind, now.since(data.created));
            }
            Fate::Unsent { cause, lateness } => {
                let kind = written.data.kind;
                seen.meter.unsent(now, kind, cause, lateness);
            }
            // Who hears of it later than its receiver says nothing new.
            Fate::Delivered | Fate::Dropped(_) | Fate::Lost | Fate::Unknown | Fate::Withdrawn => {}
        }
    }

    /// A datagram has come to the receiver's program.
    pub(crate) fn came(&self, now: Instant, datagram: &[u8]) {
        let seen = &mut *self.seen();
        let Some(number) = stamp::number(datagram, seen.newest) else { return };
        let Some(Written { data, left }) = seen.at(number).copied() else { return };
        seen.newest = seen.newest.max(number);
        // It may be here before the sender has heard that it went.
        let sent_at = left.unwrap_or(data.created);
        let wire_bytes = datagram.len() as u32;
        let packet = FlowPacket { sent_at, wire_bytes, kind: data.kind, deadline: deadline(&data) };
        seen.meter.received(now, &packet, wire_bytes);
        if let Some(frame) = seen.frames.insert(&data) {
            seen.meter.frame_complete(now, &frame);
        }
    }

    /// What the programs know better than the link: delays between them, what was in time, and what never went.
    pub(crate) fn complete(&self, on_link: FlowSummary, end: Instant) -> FlowSummary {
        let ends = self.seen().meter.summary(FlowLabel::default(), end);
        FlowSummary {
            goodput_bps: ends.goodput_bps,
            one_way_delay_s: ends.one_way_delay_s,
            jitter_s: ends.jitter_s,
            on_time_ratio: ends.on_time_ratio,
            late_ratio: ends.late_ratio,
            frames: ends.frames,
            send_queue: ends.send_queue,
            ..on_link
        }
    }

    /// How long after its time the source was asked.
    pub(crate) fn lateness(&self) -> Option<DelaySummary> {
        self.seen().late.summary()
    }
}

fn deadline(data: &Data) -> Option<Instant> {
    (data.deadline != Instant::FAR_FUTURE).then_some(data.deadline)
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_units::{Duration, MediaKind, SendDrop};

    fn media(created: Instant, size: u64) -> Media {
        let expires = Some(created + Duration::from_millis(100));
        let size = headway_units::Bytes::new(size);
        Media { payload: (), size, kind: MediaKind::Audio, priority: 0, created, expires, fragment: None, method: None }
    }

    /// Of three one comes in time, 30 ms after it went, one too late, and one never goes.
    #[test]
    fn what_the_programs_see_is_counted_by_the_records_formulas() {
        let ms = Instant::from_millis;
        let measured = Measured::between(ms(0), ms(2000));
        let ends = Ends::new(&measured, None, true);
        let datagrams: Vec<Vec<u8>> = (0..3).map(|at| ends.write(ms(at * 20), &media(ms(at * 20), 50))).collect();
        let sent = Fate::Sent(headway_units::Seq48::new(9));
        ends.hear(ms(10), 0, sent);
        ends.came(ms(40), &datagrams[0]);
        ends.hear(ms(50), 2, Fate::Unsent { cause: SendDrop::Expired, lateness: Duration::from_millis(1) });
        ends.hear(ms(60), 1, sent);
        ends.came(ms(121), &datagrams[1]);
        let summary = ends.complete(FlowMeter::new(&measured).summary(FlowLabel::default(), ms(2000)), ms(2000));
        assert_eq!(summary.on_time_ratio[&MediaKind::Audio], 1.0 / 3.0);
        assert_eq!(summary.late_ratio[&MediaKind::Audio], 1.0 / 3.0);
        assert_eq!(summary.goodput_bps, 200.0);
        let delay = summary.one_way_delay_s.unwrap();
        assert_eq!((delay.mean, delay.max), (0.0455, 0.061));
        let queue = &summary.send_queue[&MediaKind::Audio];
        assert_eq!((queue.written_packets, queue.sent_packets, queue.expired_packets), (3, 2, 1));
        assert_eq!(queue.mean_wait_s, Some(0.025));
    }

    /// Without a send queue a datagram goes when it is written.
    #[test]
    fn what_goes_at_once_is_under_way_from_then_on() {
        let ms = Instant::from_millis;
        let measured = Measured::between(ms(0), ms(1000));
        let ends = Ends::new(&measured, None, false);
        let datagram = ends.write(ms(7), &media(ms(5), 50));
        ends.came(ms(30), &datagram);
        let summary = ends.complete(FlowMeter::new(&measured).summary(FlowLabel::default(), ms(1000)), ms(1000));
        assert_eq!((summary.one_way_delay_s.unwrap().mean, summary.send_queue.len()), (0.023, 0));
    }

    /// A sender's clock that is an hour ahead and a tenth too fast changes nothing of what is told.
    #[test]
    fn what_is_told_is_in_true_time() {
        use headway_units::{Clock, Drift};
        let fast = Clock::new("1h".parse().unwrap(), "100000ppm".parse().unwrap(), Drift::default(), Duration::ZERO);
        let clocks = FlowClocks { sender: fast, receiver: Clock::default() };
        let ms = Instant::from_millis;
        let measured = Measured::between(ms(0), ms(2000));
        let ends = Ends::new(&measured, Some(clocks), true);
        assert_eq!(ends.of_sender(ends.to_sender(ms(500))), ms(500));
        let created = fast.local(ms(500));
        // 100 ms by its clock are 90.9 ms.
        let [early, late] = [590, 591].map(|at| (ends.write(ms(500), &media(created, 8)), ms(at)));
        for (datagram, at) in [early, late] {
            ends.came(at, &datagram);
        }
        let summary = ends.complete(FlowMeter::new(&measured).summary(FlowLabel::default(), ms(2000)), ms(2000));
        assert_eq!(summary.on_time_ratio[&MediaKind::Audio], 0.5);
    }
}
