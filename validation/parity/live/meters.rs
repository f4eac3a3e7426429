//! Measurements of a flow at both applications: datagrams written, sent and received, with their times.

use crate::stamp;
use headway_media::Media;
use headway_net::Fate;
use headway_record::{DelaySummary, FlowLabel, FlowMeter, FlowPacket, FlowSummary, Histogram, Measured};
use headway_sim::{Data, FlowClocks, Frames};
use headway_units::Instant;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Maximum number of datagrams that are kept; older ones no longer arrive.
const MAX_DATAGRAMS: usize = 1 << 18;

/// Meters of a flow, which both ends share: on one machine, both use the same time.
#[derive(Debug)]
pub(crate) struct Meters {
    state: Mutex<State>,
    clocks: Option<FlowClocks>,
    /// Whether datagrams wait in a send queue.
    has_send_queue: bool,
}

#[derive(Debug)]
struct State {
    meter: FlowMeter,
    /// Datagrams in the order of their numbers; `first` is the number of the first.
    written: VecDeque<Written>,
    first: u64,
    /// Largest number received.
    newest: u64,
    frames: Frames,
    source_error: Histogram,
}

/// Datagram that was passed to the transport.
#[derive(Clone, Copy, Debug)]
struct Written {
    data: Data,
    /// Time of its last transmission.
    sent_at: Option<Instant>,
}

impl State {
    fn at(&mut self, number: u64) -> Option<&mut Written> {
        self.written.get_mut(usize::try_from(number.checked_sub(self.first)?).ok()?)
    }
}

impl Meters {
    /// Creates the meters of a flow whose ends have these clocks.
    pub(crate) fn new(measured: &Arc<Measured>, clocks: Option<FlowClocks>, has_send_queue: bool) -> Self {
        let state = State {
            meter: FlowMeter::new(measured),
            written: VecDeque::new(),
            first: 0,
            newest: 0,
            frames: Frames::default(),
            source_error: Histogram::default(),
        };
        Self { state: Mutex::new(state), clocks, has_send_queue }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the reading of the sender's clock at the true time `now`.
    pub(crate) fn to_sender(&self, now: Instant) -> Instant {
        self.clocks.map_or(now, |clocks| clocks.sender.read(now))
    }

    /// Returns the true time at which the sender's clock reads `local`.
    pub(crate) fn of_sender(&self, local: Instant) -> Instant {
        self.clocks.map_or(local, |clocks| clocks.sender.when_read(local))
    }

    /// Records that the source, which was due at `due`, writes at `now`.
    pub(crate) fn record_source_error(&self, now: Instant, due: Instant) {
        self.state().source_error.record(now.since(due).as_nanos());
    }

    /// Records a datagram of the source, whose times are of the sender's clock. Returns its bytes.
    pub(crate) fn write(&self, now: Instant, media: &Media) -> Vec<u8> {
        let mut data = Data::from(media);
        if let Some(clocks) = self.clocks {
            (data.created, data.deadline) = (clocks.sender.when(data.created), clocks.sender.when(data.deadline));
        }
        let state = &mut *self.state();
        state.meter.written(data.kind, deadline(&data));
        if let Some(frame) = data.begins() {
            state.meter.frame_written(&frame);
        }
        if self.has_send_queue {
            state.meter.queued(now, data.kind);
        }
        if state.written.len() == MAX_DATAGRAMS {
            state.written.pop_front();
            state.first += 1;
        }
        let number = state.first + state.written.len() as u64;
        state.written.push_back(Written { data, sent_at: (!self.has_send_queue).then_some(now) });
        stamp::stamped(number, data.payload as usize)
    }

    /// Records the fate of a datagram, of which the sender was notified.
    pub(crate) fn on_fate(&self, now: Instant, number: u64, fate: Fate) {
        let state = &mut *self.state();
        let Some(written) = state.at(number) else { return };
        match fate {
            Fate::Sent(_) => {
                written.sent_at = Some(now);
                let data = written.data;
                state.meter.left_send_queue(now, data.kind, now.since(data.created));
            }
            Fate::Unsent { cause, lateness } => {
                let kind = written.data.kind;
                state.meter.unsent(now, kind, cause, lateness);
            }
            // The receiver has recorded the delivery.
            Fate::Delivered | Fate::Dropped(_) | Fate::Lost | Fate::Unknown | Fate::Withdrawn => {}
        }
    }

    /// Records a datagram that the receiving application has read.
    pub(crate) fn on_received(&self, now: Instant, datagram: &[u8]) {
        let state = &mut *self.state();
        let Some(number) = stamp::number(datagram, state.newest) else { return };
        let Some(Written { data, sent_at }) = state.at(number).copied() else { return };
        state.newest = state.newest.max(number);
        // The datagram may arrive before the sender is notified that it was sent.
        let sent_at = sent_at.unwrap_or(data.created);
        let wire_bytes = datagram.len() as u32;
        let packet = FlowPacket { sent_at, wire_bytes, kind: data.kind, deadline: deadline(&data) };
        state.meter.received(now, &packet, wire_bytes);
        if let Some(frame) = state.frames.insert(&data) {
            state.meter.frame_complete(now, &frame);
        }
    }

    /// Completes the summary of the link by the measurements of the applications: delays, deadlines and the send queue.
    pub(crate) fn complete(&self, on_link: FlowSummary, end: Instant) -> FlowSummary {
        let own = self.state().meter.summary(FlowLabel::default(), end);
        FlowSummary {
            goodput_bps: own.goodput_bps,
            one_way_delay_s: own.one_way_delay_s,
            jitter_s: own.jitter_s,
            on_time_ratio: own.on_time_ratio,
            late_ratio: own.late_ratio,
            frames: own.frames,
            send_queue: own.send_queue,
            ..on_link
        }
    }

    /// Returns the delays between the times at which the source was due and was polled.
    pub(crate) fn source_error(&self) -> Option<DelaySummary> {
        self.state().source_error.summary()
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

    /// One of three datagrams arrives on time, 30 ms after it was sent, one arrives late, and one is not sent.
    #[test]
    fn measurements_have_the_definitions_of_the_record() {
        let ms = Instant::from_millis;
        let measured = Measured::between(ms(0), ms(2000));
        let meters = Meters::new(&measured, None, true);
        let datagrams: Vec<Vec<u8>> = (0..3).map(|at| meters.write(ms(at * 20), &media(ms(at * 20), 50))).collect();
        let sent = Fate::Sent(headway_units::Seq48::new(9));
        meters.on_fate(ms(10), 0, sent);
        meters.on_received(ms(40), &datagrams[0]);
        meters.on_fate(ms(50), 2, Fate::Unsent { cause: SendDrop::Expired, lateness: Duration::from_millis(1) });
        meters.on_fate(ms(60), 1, sent);
        meters.on_received(ms(121), &datagrams[1]);
        let summary = meters.complete(FlowMeter::new(&measured).summary(FlowLabel::default(), ms(2000)), ms(2000));
        assert_eq!(summary.on_time_ratio[&MediaKind::Audio], 1.0 / 3.0);
        assert_eq!(summary.late_ratio[&MediaKind::Audio], 1.0 / 3.0);
        assert_eq!(summary.goodput_bps, 200.0);
        let delay = summary.one_way_delay_s.unwrap();
        assert_eq!((delay.mean, delay.max), (0.0455, 0.061));
        let queue = &summary.send_queue[&MediaKind::Audio];
        assert_eq!((queue.written_packets, queue.sent_packets, queue.expired_packets), (3, 2, 1));
        assert_eq!(queue.mean_wait_s, Some(0.025));
    }

    #[test]
    fn without_a_send_queue_datagrams_are_sent_when_written() {
        let ms = Instant::from_millis;
        let measured = Measured::between(ms(0), ms(1000));
        let meters = Meters::new(&measured, None, false);
        let datagram = meters.write(ms(7), &media(ms(5), 50));
        meters.on_received(ms(30), &datagram);
        let summary = meters.complete(FlowMeter::new(&measured).summary(FlowLabel::default(), ms(1000)), ms(1000));
        assert_eq!((summary.one_way_delay_s.unwrap().mean, summary.send_queue.len()), (0.023, 0));
    }

    /// A sender's clock that is an hour ahead and 10 % fast does not change the summary.
    #[test]
    fn summaries_are_in_true_time() {
        use headway_units::{Clock, Drift};
        let fast = Clock::new("1h".parse().unwrap(), "100000ppm".parse().unwrap(), Drift::default(), Duration::ZERO);
        let clocks = FlowClocks { sender: fast, receiver: Clock::default() };
        let ms = Instant::from_millis;
        let measured = Measured::between(ms(0), ms(2000));
        let meters = Meters::new(&measured, Some(clocks), true);
        assert_eq!(meters.of_sender(meters.to_sender(ms(500))), ms(500));
        let created = fast.local(ms(500));
        // 100 ms by its clock are 90.9 ms.
        let [early, late] = [590, 591].map(|at| (meters.write(ms(500), &media(created, 8)), ms(at)));
        for (datagram, at) in [early, late] {
            meters.on_received(at, &datagram);
        }
        let summary = meters.complete(FlowMeter::new(&measured).summary(FlowLabel::default(), ms(2000)), ms(2000));
        assert_eq!(summary.on_time_ratio[&MediaKind::Audio], 0.5);
    }
}
