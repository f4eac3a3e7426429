//! What connections have brought.

use super::delays::{DelayMeter, Delays};
use super::end::UNREAD;
use super::metrics::Page;
use super::recording::Values;
use super::teller::how_many;
use super::watch::Figures;
use headway_net::{Clock, Connection, Duration, MediaKind, OneWayDelay, Options};
use headway_record::{FlowLabel, FlowMeter, FlowPacket, FlowSummary, Interval, Measured};
use headway_units::{DropCause, Instant};
use serde::Serialize;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A connection's datagrams, counted by the thread that reads them.
#[derive(Debug, Default)]
pub(super) struct Came {
    packets: AtomicU64,
    bytes: AtomicU64,
    /// Datagrams that the system did not hand on.
    refused: AtomicU64,
    /// The output has not accepted the newest one yet.
    pending: AtomicBool,
    meter: Option<Arc<Meter>>,
    delays: Option<Arc<DelayMeter>>,
}

/// All datagrams, for a record.
#[derive(Debug)]
pub(super) struct Meter {
    clock: Clock,
    meter: Mutex<FlowMeter>,
}

impl Meter {
    pub(super) fn new(clock: Clock) -> Self {
        let measured = Measured::between(clock.now(), Instant::FAR_FUTURE);
        Self { clock, meter: Mutex::new(FlowMeter::new(&measured)) }
    }

    /// Nobody knows here when it was sent.
    fn add(&self, bytes: usize) {
        let (now, bytes) = (self.clock.now(), u32::try_from(bytes).unwrap_or(u32::MAX));
        let packet = FlowPacket { sent_at: now, wire_bytes: bytes, kind: MediaKind::Data, deadline: None };
        self.meter.lock().unwrap_or_else(PoisonError::into_inner).received(now, &packet, bytes);
    }

    /// What a record says of it all. Sizes are those of the datagrams; sent were those that came and those that are missing.
    pub(super) fn summary(&self, received: &Received, label: FlowLabel) -> FlowSummary {
        let meter = self.meter.lock().unwrap_or_else(PoisonError::into_inner);
        let mut flow = meter.summary(label, self.clock.now());
        (flow.one_way_delay_s, flow.jitter_s) = (None, None);
        let Received { missing_packets, dropped_packets, .. } = *received;
        flow.sent_packets = flow.received_packets.saturating_add(missing_packets).saturating_add(dropped_packets);
        flow.lost_packets.add_many(DropCause::Channel, missing_packets);
        flow.lost_packets.add_many(DropCause::Host, dropped_packets);
        flow.loss_ratio = received.loss_ratio;
        if let Some(delays) = received.delays {
            delays.record(&mut flow);
        }
        flow
    }
}

impl Came {
    pub(super) fn new(meter: Option<Arc<Meter>>, delays: Option<Arc<DelayMeter>>) -> Self {
        Self { meter, delays, ..Self::default() }
    }

    /// A datagram has arrived and is handed on, unless the system has refused it.
    pub(super) fn add(&self, bytes: usize, delay: Option<OneWayDelay>, is_accepted: bool) {
        if !is_accepted {
            self.refused.fetch_add(1, Ordering::Relaxed);
            return;
        }
        self.packets.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        if let Some(meter) = &self.meter {
            meter.add(bytes);
        }
        if let (Some(delays), Some(delay)) = (&self.delays, delay) {
            delays.add(delay);
        }
    }

    /// Whether the output is being handed a datagram.
    pub(super) fn set_pending(&self, pending: bool) {
        self.pending.store(pending, Ordering::Relaxed);
    }

    pub(super) fn is_pending(&self) -> bool {
        self.pending.load(Ordering::Relaxed)
    }

    pub(super) fn packets(&self) -> u64 {
        self.packets.load(Ordering::Relaxed)
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }
}

/// A connection that is read, or was.
pub(super) struct Incoming {
    pub(super) connection: Arc<Connection>,
    pub(super) came: Arc<Came>,
    /// As last seen: a connection that is over has none.
    pub(super) missing: u64,
    /// The rate controller that both ends have agreed on, once it is known.
    controller: Option<&'static str>,
    /// Since when the connection is over and the output accepts nothing, and the datagrams that were counted by then.
    stalled: Option<(Instant, u64)>,
}

/// What comes on the one connection of who sends on it, too.
pub(super) struct Back {
    incoming: Mutex<Incoming>,
    receiving: Mutex<Receiving>,
    meter: Arc<Meter>,
    delays: Option<Arc<DelayMeter>>,
    /// What a record calls it.
    label: FlowLabel,
}

impl Back {
    pub(super) fn new(
        clock: Clock,
        connection: &Arc<Connection>,
        delays: Option<Arc<DelayMeter>>,
        label: FlowLabel,
    ) -> Self {
        let meter = Arc::new(Meter::new(clock));
        let came = Arc::new(Came::new(Some(Arc::clone(&meter)), delays.clone()));
        let incoming = Incoming::new(Arc::clone(connection), came);
        let receiving = Receiving::new(clock.now());
        Self { incoming: Mutex::new(incoming), receiving: Mutex::new(receiving), meter, delays, label }
    }

    /// Where its datagrams are counted.
    pub(super) fn came(&self) -> Arc<Came> {
        Arc::clone(&self.incoming.lock().unwrap_or_else(PoisonError::into_inner).came)
    }

    /// Sees what the connection knows, as long as there is one.
    pub(super) fn look(&self) {
        self.incoming.lock().unwrap_or_else(PoisonError::into_inner).look();
    }

    /// A line, and the beginning of the next.
    pub(super) fn line(&self, now: Instant, last: bool) -> BackSoFar {
        let incoming = self.incoming.lock().unwrap_or_else(PoisonError::into_inner);
        let mut receiving = self.receiving.lock().unwrap_or_else(PoisonError::into_inner);
        let received = receiving.line(now, std::iter::once(&*incoming), last).with_delays(self.delays.as_deref());
        BackSoFar { received, flow: self.meter.summary(&received, receiving.labelled(&self.label)) }
    }
}

/// What has come, and what a record says of it.
#[derive(Clone, Debug, Serialize)]
pub(super) struct BackSoFar {
    #[serde(flatten)]
    pub(super) received: Received,
    #[serde(skip)]
    pub(super) flow: FlowSummary,
}

/// Datagrams that connections have brought, and those that they have not.
#[derive(Clone, Copy, Debug, Default)]
struct Total {
    packets: u64,
    bytes: u64,
    missing: u64,
    dropped: u64,
}

impl Total {
    fn add(&mut self, incoming: &Incoming) {
        let refused = incoming.came.refused.load(Ordering::Relaxed);
        self.packets += incoming.came.packets();
        self.bytes += incoming.came.bytes();
        self.missing += incoming.missing;
        self.dropped += refused + incoming.connection.dropped_datagrams();
    }
}

impl Incoming {
    pub(super) const fn new(connection: Arc<Connection>, came: Arc<Came>) -> Self {
        Self { connection, came, missing: 0, controller: None, stalled: None }
    }

    /// Counts the datagrams that the output has not accepted as refused: those that wait to be read, and the one that is being written.
    pub(super) fn abandon(&self) {
        let mut datagram = Vec::new();
        let mut waits = || matches!(self.connection.recv_timeout(&mut datagram, Duration::ZERO), Some(Ok(())));
        // A sender that does not hear the close may send more.
        let waiting = (0..UNREAD).take_while(|_| waits()).count();
        let refused = waiting as u64 + u64::from(self.came.is_pending());
        self.came.refused.fetch_add(refused, Ordering::Relaxed);
    }

    /// Returns how long the output has accepted no datagram since the connection is over.
    pub(super) fn stalled_for(&mut self, now: Instant) -> Duration {
        let counted = self.came.packets() + self.came.refused.load(Ordering::Relaxed);
        if self.connection.status().is_some() || !self.came.is_pending() {
            self.stalled = None;
            return Duration::ZERO;
        }
        let (since, _) = *self.stalled.take_if(|(_, before)| *before == counted).get_or_insert((now, counted));
        self.stalled = Some((since, counted));
        now.since(since)
    }

    pub(super) fn look(&mut self) {
        if let Some(status) = self.connection.status() {
            self.missing = status.counters.missing_data_packets;
            self.controller = Options::controller_name(status.receive_ccid);
        }
    }
}

/// What has come so far; the names are those of `summary.json` where it has them.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Received {
    /// From the start to now, in s.
    pub(super) interval: Interval,
    pub(super) last: bool,
    /// Connections now.
    pub(super) connections: usize,
    pub(super) received_packets: u64,
    pub(super) received_bytes: u64,
    /// Datagrams that have not arrived, or not yet, although later ones have. A lost probe of the path MTU or acknowledgment is none.
    pub(super) missing_packets: u64,
    /// Datagrams that arrived and that the output did not get: it was too slow, or the system refused them.
    pub(super) dropped_packets: u64,
    /// Handshakes of peers that failed.
    pub(super) refused_handshakes: u64,
    /// Share of the datagrams that are missing or that the output did not get.
    pub(super) loss_ratio: f64,
    /// One-way delays, where they are measured.
    #[serde(flatten)]
    pub(super) delays: Option<Delays>,
    /// Bits of datagrams a second, of the whole time.
    pub(super) goodput_bps: f64,
    /// Since the line before.
    pub(super) now: Now,
}

#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Now {
    pub(super) goodput_bps: f64,
}

/// Adds up what connections bring.
#[derive(Debug)]
pub(super) struct Receiving {
    start: Instant,
    /// Of connections that are over.
    ended: Total,
    /// When the line before was, and what had come by then.
    before: (Instant, u64),
    /// The rate controllers of all connections.
    controllers: BTreeSet<&'static str>,
}

impl Receiving {
    pub(super) const fn new(now: Instant) -> Self {
        Self {
            start: now,
            ended: Total { packets: 0, bytes: 0, missing: 0, dropped: 0 },
            before: (now, 0),
            controllers: BTreeSet::new(),
        }
    }

    /// This one brings nothing more.
    pub(super) fn over(&mut self, incoming: &Incoming) {
        self.controllers.extend(incoming.controller);
        self.ended.add(incoming);
    }

    /// The label with the rate controllers of the connections so far, if there were any.
    pub(super) fn labelled(&self, label: &FlowLabel) -> FlowLabel {
        let mut label = label.clone();
        if !self.controllers.is_empty() {
            label.kind = self.controllers.iter().copied().collect::<Vec<_>>().join(", ");
        }
        label
    }

    /// A line, and the beginning of the next.
    pub(super) fn line<'a>(&mut self, now: Instant, open: impl Iterator<Item = &'a Incoming>, last: bool) -> Received {
        let (mut connections, mut total) = (0, self.ended);
        for incoming in open {
            connections += 1;
            self.controllers.extend(incoming.controller);
            total.add(incoming);
        }
        let Total { packets, bytes, missing, dropped } = total;
        let (at, had) = std::mem::replace(&mut self.before, (now, bytes));
        let to = now.since(self.start).as_secs_f64();
        let rate = |bytes: u64, seconds: f64| if seconds > 0.0 { 8.0 * bytes as f64 / seconds } else { 0.0 };
        let lost = missing + dropped;
        let all = packets + lost;
        Received {
            interval: Interval { from: 0.0, to },
            last,
            connections,
            received_packets: packets,
            received_bytes: bytes,
            missing_packets: missing,
            dropped_packets: dropped,
            refused_handshakes: 0,
            delays: None,
            loss_ratio: if all > 0 { lost as f64 / all as f64 } else { 0.0 },
            goodput_bps: rate(bytes, to),
            now: Now { goodput_bps: rate(bytes - had, now.since(at).as_secs_f64()) },
        }
    }
}

impl Received {
    pub(super) fn with_delays(self, meter: Option<&DelayMeter>) -> Self {
        Self { delays: meter.map(|meter| meter.delays(self.missing_packets + self.dropped_packets)), ..self }
    }

    /// For people, on one line.
    pub(super) fn live(&self) -> String {
        let connections = how_many(self.connections as u64, "connection", "connections");
        format!("{connections}, {}", self.line(self.now.goodput_bps))
    }

    /// For people, at the end.
    pub(super) fn whole(&self) -> String {
        self.line(self.goodput_bps)
    }

    fn line(&self, goodput_bps: f64) -> String {
        let unread = match self.dropped_packets {
            0 => String::new(),
            dropped => format!(", {dropped} dropped by this end"),
        };
        format!(
            "{:.1} s: {:.3} Mb/s, {}, {} missing{unread} ({:.2} %){}",
            self.interval.to,
            1e-6 * goodput_bps,
            how_many(self.received_packets, "datagram", "datagrams"),
            self.missing_packets,
            100.0 * self.loss_ratio,
            self.delays.map(|delays| delays.text()).unwrap_or_default(),
        )
    }
}

impl Figures for Received {
    fn interval(&self) -> Interval {
        self.interval
    }

    fn values(&self) -> Vec<Values> {
        let lost = self.missing_packets + self.dropped_packets;
        vec![[Some(self.now.goodput_bps), Some(lost as f64), None, None, None, None]]
    }

    fn page(&self) -> String {
        let mut page = Page::default();
        page.gauge("connections", "Connections now.", Some(self.connections as f64));
        page.counter("received_packets", "Datagrams that came.", self.received_packets);
        page.counter("received_bytes", "Bytes of these.", self.received_bytes);
        page.gauge(
            "missing_packets",
            "Datagrams that have not arrived, although later ones have.",
            Some(self.missing_packets as f64),
        );
        let dropped = "Datagrams that arrived and that the output did not get.";
        page.counter("dropped_packets", dropped, self.dropped_packets);
        page.counter("refused_handshakes", "Handshakes of peers that failed.", self.refused_handshakes);
        page.gauge("goodput_bps", "Bits of datagrams that came, a second.", Some(self.now.goodput_bps));
        if let Some(delays) = &self.delays {
            delays.page(&mut page);
        }
        page.0
    }
}
