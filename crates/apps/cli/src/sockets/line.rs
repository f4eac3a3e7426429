//! A connection that a source writes to, and what becomes of what it writes.

use super::delays::DelayMeter;
use super::receiving::Back;
use super::recv::failure;
use super::sending::{Sending, Sent};
use super::teller::Teller;
use super::teller::how_many;
use crate::error::Failure;
use crate::interrupt;
use headway_media::Fragment;
use headway_net::{Clock, Closed, Connection, Duration, Event, Media, Options, SecureError, SendError};
use headway_record::FlowLabel;
use headway_units::QueueSize;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// So long nothing looks whether the user wants to stop.
const LOOK: Duration = Duration::from_millis(100);
/// From one line of figures to the next.
const LINE: Duration = Duration::from_secs(1);
/// How long what waits is waited for once the user wants to stop; and without a word of what has been sent.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long the end of the connection is waited for.
const END: Duration = Duration::from_secs(3);
/// Datagrams that go with one call.
const BATCH: usize = 32;
/// How long a path is searched for how much a packet takes, by patient sources: some round trips.
const SEARCH: Duration = Duration::from_secs(3);

/// Whether there is more to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Supply {
    /// There may be.
    Runs,
    /// No more: what waits still goes.
    Ends,
    /// No more is wanted: what waits may go for a second.
    Stops,
    /// What waits is of no use any more.
    Gone,
}

/// Shared by the thread of the source and the one that hears what becomes of it.
pub(super) struct Line {
    pub(super) clock: Clock,
    connection: Arc<Connection>,
    /// What comes on it, where that is handed on.
    back: Option<Back>,
    sending: Mutex<Sending>,
    /// The largest packet, with all headers.
    mtu: u64,
    /// Datagrams that may wait while a patient source writes on.
    room: usize,
    /// Events that may wait while it does.
    untold: usize,
    /// The source had better end.
    stop: AtomicBool,
    too_long: Mutex<TooLong>,
}

/// Datagrams that were too long for a packet.
#[derive(Clone, Copy, Default)]
struct TooLong {
    datagrams: u64,
    /// The last of them, and as many bytes as went then.
    bytes: usize,
    largest: usize,
}

impl Line {
    pub(super) fn new(clock: Clock, connection: Connection, label: FlowLabel, options: &Options) -> Self {
        let room = match options.queue.rules.limit {
            QueueSize::Packets(packets) => packets / 2,
            QueueSize::Bytes(bytes) => bytes.count() / 2 / options.connection.mtu.count().max(1),
        };
        Self {
            clock,
            connection: Arc::new(connection),
            back: None,
            sending: Mutex::new(Sending::new(clock.now(), label, options.queue.rules.resend)),
            mtu: options.connection.mtu.count(),
            room: usize::try_from(room).unwrap_or(usize::MAX).clamp(1, 128),
            untold: options.events / 2,
            stop: AtomicBool::new(false),
            too_long: Mutex::default(),
        }
    }

    /// What comes on it is handed on, and counted under this label.
    pub(super) fn with_back(mut self, label: FlowLabel, delays: Option<Arc<DelayMeter>>) -> Self {
        self.back = Some(Back::new(self.clock, &self.connection, delays, label));
        self
    }

    pub(super) const fn back(&self) -> Option<&Back> {
        self.back.as_ref()
    }

    fn sending(&self) -> MutexGuard<'_, Sending> {
        self.sending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Whether the source had better end.
    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Waits until the connection is there: then its largest datagram is known.
    pub(super) fn connected(&self) -> Result<(), Closed> {
        self.connection.connected()
    }

    /// Bytes of the largest datagram that goes now.
    pub(super) fn largest(&self) -> usize {
        self.connection.largest()
    }

    /// Whether a datagram of so many bytes goes in a packet. As long as the path is being searched for how much one takes, it is waited for.
    pub(super) fn takes(&self, bytes: usize) -> bool {
        let until = self.clock.now() + SEARCH;
        while bytes > self.connection.largest() {
            if bytes as u64 > self.mtu || self.clock.now() >= until || self.is_stopped() {
                return false;
            }
            std::thread::park_timeout(std::time::Duration::from_millis(10));
        }
        true
    }

    /// Waits for room, so that nothing is thrown away, what is told of them neither; how many datagrams there is room for.
    pub(super) fn room(&self) -> usize {
        self.connection.room(self.room);
        while self.connection.waiting_events() > self.untold && !self.is_stopped() {
            std::thread::park_timeout(std::time::Duration::from_millis(1));
        }
        BATCH.min(self.room)
    }

    /// Datagrams are handed over. One that is longer than a packet is counted, and lost.
    ///
    /// # Errors
    ///
    /// The connection is over.
    pub(super) fn send(&self, all: &[Media<'_>]) -> Result<(), Closed> {
        self.send_frames(all, &[])
    }

    /// The same for datagrams of frames; the nth fragment is that of the nth datagram.
    pub(super) fn send_frames(&self, all: &[Media<'_>], fragments: &[Fragment]) -> Result<(), Closed> {
        if all.is_empty() {
            return Ok(());
        }
        // Locked before, lest what becomes of them is told before they are known.
        let mut sending = self.sending();
        let now = self.clock.now();
        for (media, _) in all.iter().zip(fragments).filter(|(_, fragment)| fragment.index == 0) {
            sending.frame_written(now, media.kind);
        }
        match self.connection.send_all(all) {
            Ok(first) => {
                for (at, (number, media)) in (first..).zip(all).enumerate() {
                    sending.written(now, number, media.kind, media.payload.len(), fragments.get(at).copied());
                }
                Ok(())
            }
            Err(SendError::TooLarge { len, largest }) => {
                let mut too_long = self.too_long.lock().unwrap_or_else(PoisonError::into_inner);
                *too_long = TooLong { datagrams: too_long.datagrams + all.len() as u64, bytes: len, largest };
                Ok(())
            }
            Err(SendError::Closed(why)) => Err(why),
            // Methods are checked before: no other error is left.
            Err(_) => Err(Closed::Here),
        }
    }

    /// Hears what becomes of all that is sent, and tells it, until the connection is over: because it ends, or the source does
    /// (`supply`), or the user wants it.
    pub(super) fn follow(
        &self,
        teller: &Teller,
        mut supply: impl FnMut() -> Supply,
        mut each_second: impl FnMut(&Sent) -> Result<(), Failure>,
    ) -> Outcome {
        let now = self.clock.now();
        let mut watch = Watch { line_at: now + LINE, heard_at: now, too_long: 0, connected: false };
        let (mut asked_at, mut failed) = (None, None);
        let why = loop {
            if let Some(why) = self.hear(&mut watch) {
                break Some(why);
            }
            if let Err(failure) = self.tell(&mut watch, teller, &mut each_second) {
                failed = Some(failure);
                break None;
            }
            let (now, supply) = (self.clock.now(), supply());
            if interrupt::asked() || supply == Supply::Stops {
                self.stop();
                if now.since(*asked_at.get_or_insert(now)) >= PATIENCE {
                    break None;
                }
            }
            let ends = supply != Supply::Runs || asked_at.is_some();
            // A source that had nothing to send still needs the peer's answer.
            let answered = watch.connected || asked_at.is_some();
            if ends && answered && self.is_settled(watch.heard_at) || supply == Supply::Gone {
                break None;
            }
        };
        self.stop();
        let why = why.unwrap_or_else(|| self.close(&mut watch));
        let whole = self.line(self.clock.now(), true);
        let mut ended = Outcome { why, failed, connected: watch.connected, whole };
        ended.whole.flow.connection_failure = ended.failure();
        ended
    }

    /// Events until now; why the connection is over, if it is.
    fn hear(&self, watch: &mut Watch) -> Option<Closed> {
        let mut event = self.connection.event_timeout(LOOK);
        let mut sending = self.sending();
        while let Some(happened) = event {
            watch.heard_at = self.clock.now();
            if let Event::Connected | Event::Largest(_) = happened {
                sending.look(watch.heard_at, &self.connection, self.mtu);
            }
            watch.connected |= happened == Event::Connected;
            if let Event::Closed(why) = happened {
                return Some(why);
            }
            sending.heard(watch.heard_at, &happened);
            event = self.connection.event_timeout(Duration::ZERO);
        }
        None
    }

    fn tell(
        &self,
        watch: &mut Watch,
        teller: &Teller,
        each_second: &mut impl FnMut(&Sent) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let now = self.clock.now();
        if now < watch.line_at {
            return Ok(());
        }
        watch.line_at = (watch.line_at + LINE).max(now);
        self.sending().look(now, &self.connection, self.mtu);
        self.back.iter().for_each(Back::look);
        let line = self.line(now, false);
        let TooLong { datagrams, bytes, largest } = *self.too_long.lock().unwrap_or_else(PoisonError::into_inner);
        if datagrams > watch.too_long {
            watch.too_long = datagrams;
            teller.warn(&format!(
                "warning: {} too long for a packet, and not sent; the last had {bytes} bytes, where {largest} went",
                how_many(datagrams, "datagram was", "datagrams were"),
            ));
        }
        teller.line(&line)?;
        teller.live(line.live());
        each_second(&line)
    }

    fn line(&self, now: headway_units::Instant, last: bool) -> Sent {
        let back = self.back.as_ref().map(|back| back.line(now, last));
        Sent { back, ..self.sending().line(now, last) }
    }

    /// Nothing waits, and of what has gone nothing more will be heard.
    fn is_settled(&self, heard_at: headway_units::Instant) -> bool {
        let sending = self.sending();
        let silence = PATIENCE + sending.rtt() + sending.rtt();
        sending.is_settled() || sending.waiting() == 0 && self.clock.now().since(heard_at) > silence
    }

    fn close(&self, watch: &mut Watch) -> Closed {
        let now = self.clock.now();
        self.sending().look(now, &self.connection, self.mtu);
        self.back.iter().for_each(Back::look);
        self.connection.start_close();
        while self.clock.now() < now + END {
            if let Some(why) = self.hear(watch) {
                return why;
            }
        }
        Closed::NoAnswer
    }
}

/// What the thread that hears keeps.
struct Watch {
    line_at: headway_units::Instant,
    heard_at: headway_units::Instant,
    too_long: u64,
    connected: bool,
}

/// How a connection ended.
pub(super) struct Outcome {
    pub(super) why: Closed,
    /// What went wrong here, for which it was closed.
    pub(super) failed: Option<Failure>,
    /// Whether there ever was one.
    pub(super) connected: bool,
    pub(super) whole: Sent,
}

impl Outcome {
    /// Fails if the peer closed before the source had ended, or before it had acknowledged everything: the job of the sender is not done.
    pub(super) fn check_job(&mut self, source_has_ended: bool) {
        let (unaccounted, waiting) = (self.whole.unaccounted(), self.whole.waiting());
        if !self.connected || self.failed.is_some() || source_has_ended && unaccounted == 0 && waiting == 0 {
            return;
        }
        let early = if source_has_ended { "everything was delivered" } else { "the source had ended" };
        let unsent = if waiting > 0 { format!(", {waiting} not sent") } else { String::new() };
        let failure = format!(
            "the receiver closed the connection before {early}: {} of {} delivered, {unaccounted} unaccounted for{unsent}",
            self.whole.flow.received_packets,
            how_many(self.whole.flow.sent_packets, "datagram", "datagrams"),
        );
        self.whole.flow.connection_failure = Some(failure.clone());
        self.failed = Some(Failure::Sockets(failure));
    }

    /// Fails if this end closed before the peer had answered: nothing was sent to it.
    pub(super) fn check_answer(&mut self) {
        if self.why == Closed::Here && !self.connected && self.failed.is_none() {
            let failure = "the peer did not answer before this end closed".to_owned();
            self.whole.flow.connection_failure = Some(failure.clone());
            self.failed = Some(Failure::Sockets(failure));
        }
    }

    /// Why the connection failed, unless one of the two ends has closed it.
    fn failure(&self) -> Option<String> {
        match &self.why {
            Closed::ByPeer if !self.connected => Some(
                "the server turned this end away: it may let in only who has a fingerprint that it knows (--identity here, --allow there)".to_owned(),
            ),
            Closed::NoAnswer | Closed::Security(SecureError::NoAnswer) if !self.connected => Some(
                "the peer does not answer: nobody may listen there, something on the way may keep it out, or one of the two ends has --insecure \
                 and the other has not".to_owned(),
            ),
            why => failure(why),
        }
    }

    /// Nothing, if one of the two ends has closed; else why it is over.
    pub(super) fn by_a_close(self) -> Result<(), Failure> {
        let failure = self.failure().map(Failure::Sockets);
        self.failed.or(failure).map_or(Ok(()), Err)
    }
}
