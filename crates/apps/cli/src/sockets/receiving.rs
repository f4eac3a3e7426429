//! Figures of received datagrams.

use super::console::plural;
use super::delays::{DelayMeter, Delays};
use super::endpoint::MAX_UNREAD;
use super::metrics::Page;
use super::recording::Values;
use super::watch::Figures;
use headway_net::{Clock, Connection, Duration, MediaKind, OneWayDelay};
use headway_record::{FlowLabel, FlowMeter, FlowPacket, FlowSummary, Interval, Measured};
use headway_units::{DropCause, Instant};
use serde::Serialize;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Counters of a connection, updated by the thread that reads it.
#[derive(Debug, Default)]
pub(super) struct ReceiveCounters {
    packets: AtomicU64,
    bytes: AtomicU64,
    /// Number of received datagrams that the output did not accept: the system refused to forward them, or the command
    /// ended before they were written.
    refused: AtomicU64,
    /// Whether the output has not yet accepted the newest datagram.
    pending: AtomicBool,
    meter: Option<Arc<Meter>>,
    delays: Option<Arc<DelayMeter>>,
}

/// Meter of all datagrams for a record.
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

    /// Counts a datagram. The time at which it was sent is unknown.
    fn add(&self, bytes: usize) {
        let (now, bytes) = (self.clock.now(), u32::try_from(bytes).unwrap_or(u32::MAX));
        let packet = FlowPacket { sent_at: now, wire_bytes: bytes, kind: MediaKind::Data, deadline: None };
        self.meter.lock().unwrap_or_else(PoisonError::into_inner).received(now, &packet, bytes);
    }

    /// Returns the summary for a record. Sizes exclude headers. Sent datagrams are the received, the
    /// dropped and the missing ones.
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

impl ReceiveCounters {
    pub(super) fn new(meter: Option<Arc<Meter>>, delays: Option<Arc<DelayMeter>>) -> Self {
        Self { meter, delays, ..Self::default() }
    }

    /// Counts a received datagram. `is_accepted`: whether the output accepted it.
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

    /// Sets whether a datagram is being written to the output.
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

/// Incoming connection.
pub(super) struct Incoming {
    pub(super) connection: Arc<Connection>,
    pub(super) counters: Arc<ReceiveCounters>,
    /// Number of missing datagrams at the last update. A closed connection has no status.
    pub(super) missing: u64,
    /// Number of datagrams restored by forward error correction, at the last update.
    pub(super) restored: u64,
    /// Negotiated rate controller, if it is known.
    controller: Option<&'static str>,
    /// Time since which the connection is closed and the output accepts nothing, and the number of datagrams at that
    /// time.
    stalled: Option<(Instant, u64)>,
}

/// Datagrams from the peer of a connection that also sends.
pub(super) struct ReverseFlow {
    incoming: Mutex<Incoming>,
    receiving: Mutex<Receiving>,
    meter: Arc<Meter>,
    delays: Option<Arc<DelayMeter>>,
    /// Label of the flow in a record.
    label: FlowLabel,
    /// Number of failed handshakes at the endpoint.
    refused_handshakes: AtomicU64,
}

impl ReverseFlow {
    pub(super) fn new(
        clock: Clock,
        connection: &Arc<Connection>,
        delays: Option<Arc<DelayMeter>>,
        label: FlowLabel,
    ) -> Self {
        let meter = Arc::new(Meter::new(clock));
        let counters = Arc::new(ReceiveCounters::new(Some(Arc::clone(&meter)), delays.clone()));
        let incoming = Incoming::new(Arc::clone(connection), counters);
        let receiving = Receiving::new(clock.now());
        let (incoming, receiving) = (Mutex::new(incoming), Mutex::new(receiving));
        Self { incoming, receiving, meter, delays, label, refused_handshakes: AtomicU64::new(0) }
    }

    /// Returns the counters.
    pub(super) fn counters(&self) -> Arc<ReceiveCounters> {
        Arc::clone(&self.incoming.lock().unwrap_or_else(PoisonError::into_inner).counters)
    }

    /// Sets the number of failed handshakes at the endpoint.
    pub(super) fn set_refused(&self, number: u64) {
        self.refused_handshakes.store(number, Ordering::Relaxed);
    }

    /// Updates the status of the connection while it is open.
    pub(super) fn update_status(&self) {
        self.incoming.lock().unwrap_or_else(PoisonError::into_inner).update_status();
    }

    /// Returns the current figures and starts the next interval.
    pub(super) fn line(&self, now: Instant, last: bool) -> ReverseReport {
        let incoming = self.incoming.lock().unwrap_or_else(PoisonError::into_inner);
        let mut receiving = self.receiving.lock().unwrap_or_else(PoisonError::into_inner);
        let line = receiving.line(now, std::iter::once(&*incoming), last);
        let refused_handshakes = self.refused_handshakes.load(Ordering::Relaxed);
        let received = Received { refused_handshakes, ..line }.with_delays(self.delays.as_deref());
        ReverseReport { received, flow: self.meter.summary(&received, receiving.labelled(&self.label)) }
    }
}

/// Figures of received datagrams, and their flow in a record.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ReverseReport {
    #[serde(flatten)]
    pub(super) received: Received,
    #[serde(skip)]
    pub(super) flow: FlowSummary,
}

/// Totals of received and missing datagrams.
#[derive(Clone, Copy, Debug, Default)]
struct Total {
    packets: u64,
    bytes: u64,
    missing: u64,
    restored: u64,
    dropped: u64,
}

impl Total {
    fn add(&mut self, incoming: &Incoming) {
        let refused = incoming.counters.refused.load(Ordering::Relaxed);
        self.packets += incoming.counters.packets();
        self.bytes += incoming.counters.bytes();
        self.missing += incoming.missing;
        self.restored += incoming.restored;
        self.dropped += refused + incoming.connection.dropped_datagrams();
    }
}

impl Incoming {
    pub(super) const fn new(connection: Arc<Connection>, counters: Arc<ReceiveCounters>) -> Self {
        Self { connection, counters, missing: 0, restored: 0, controller: None, stalled: None }
    }

    /// Counts as refused the datagrams that the output has not accepted: all unread ones, and the one that is being
    /// written.
    pub(super) fn abandon(&self) {
        let mut datagram = Vec::new();
        let mut waits = || matches!(self.connection.recv_timeout(&mut datagram, Duration::ZERO), Some(Ok(())));
        // A sender that has not received the close may send more.
        let waiting = (0..MAX_UNREAD).take_while(|_| waits()).count();
        let refused = waiting as u64 + u64::from(self.counters.is_pending());
        self.counters.refused.fetch_add(refused, Ordering::Relaxed);
    }

    /// Returns the time for which the output has accepted no datagram of the closed connection.
    pub(super) fn stalled_for(&mut self, now: Instant) -> Duration {
        let counted = self.counters.packets() + self.counters.refused.load(Ordering::Relaxed);
        if self.connection.status().is_some() || !self.counters.is_pending() {
            self.stalled = None;
            return Duration::ZERO;
        }
        let (since, _) = *self.stalled.take_if(|(_, before)| *before == counted).get_or_insert((now, counted));
        self.stalled = Some((since, counted));
        now.since(since)
    }

    pub(super) fn update_status(&mut self) {
        if let Some(status) = self.connection.status() {
            let fec = self.connection.fec_counters().unwrap_or_default();
            self.restored = fec.restored;
            self.missing = status.counters.missing_data_packets.saturating_sub(fec.missing_restored);
            self.controller = status.receive_controller;
        }
    }
}

/// Figures of received datagrams. Names are those of `summary.json`, if it has them.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Received {
    /// Interval from the start to now, in s.
    pub(super) interval: Interval,
    pub(super) last: bool,
    /// Number of open connections.
    pub(super) connections: usize,
    pub(super) received_packets: u64,
    pub(super) received_bytes: u64,
    /// Number of packets with data that have not arrived although later ones have, without those whose datagrams were
    /// restored. Lost MTU probes and acknowledgments do not count.
    pub(super) missing_packets: u64,
    /// Number of lost datagrams that forward error correction restored. They count as received.
    pub(super) restored_packets: u64,
    /// Number of received datagrams that were dropped, because the output was too slow or the system refused them.
    pub(super) dropped_packets: u64,
    /// Number of failed handshakes.
    pub(super) refused_handshakes: u64,
    /// Share of datagrams that are missing or dropped.
    pub(super) loss_ratio: f64,
    /// One-way delays, if they are measured.
    #[serde(flatten)]
    pub(super) delays: Option<Delays>,
    /// Payload rate since the start, in bit/s.
    pub(super) goodput_bps: f64,
    /// Figures since the previous report.
    pub(super) now: Now,
}

#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct Now {
    pub(super) goodput_bps: f64,
}

/// Sums of the figures of all connections.
#[derive(Debug)]
pub(super) struct Receiving {
    start: Instant,
    /// Totals of closed connections.
    ended: Total,
    /// Time of the previous report, and number of bytes at that time.
    before: (Instant, u64),
    /// Rate controllers of all connections.
    controllers: BTreeSet<&'static str>,
}

impl Receiving {
    pub(super) const fn new(now: Instant) -> Self {
        Self {
            start: now,
            ended: Total { packets: 0, bytes: 0, missing: 0, restored: 0, dropped: 0 },
            before: (now, 0),
            controllers: BTreeSet::new(),
        }
    }

    /// Adds a closed connection to the totals.
    pub(super) fn end(&mut self, incoming: &Incoming) {
        self.controllers.extend(incoming.controller);
        self.ended.add(incoming);
    }

    /// Returns the label with the rate controllers of all connections, if there are any.
    pub(super) fn labelled(&self, label: &FlowLabel) -> FlowLabel {
        let mut label = label.clone();
        if !self.controllers.is_empty() {
            label.kind = self.controllers.iter().copied().collect::<Vec<_>>().join(", ");
        }
        label
    }

    /// Returns the current figures and starts the next interval.
    pub(super) fn line<'a>(&mut self, now: Instant, open: impl Iterator<Item = &'a Incoming>, last: bool) -> Received {
        let (mut connections, mut total) = (0, self.ended);
        for incoming in open {
            connections += 1;
            self.controllers.extend(incoming.controller);
            total.add(incoming);
        }
        let Total { packets, bytes, missing, restored, dropped } = total;
        let (at, previous_bytes) = std::mem::replace(&mut self.before, (now, bytes));
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
            restored_packets: restored,
            dropped_packets: dropped,
            refused_handshakes: 0,
            delays: None,
            loss_ratio: if all > 0 { lost as f64 / all as f64 } else { 0.0 },
            goodput_bps: rate(bytes, to),
            now: Now { goodput_bps: rate(bytes - previous_bytes, now.since(at).as_secs_f64()) },
        }
    }
}

impl Received {
    pub(super) fn with_delays(self, meter: Option<&DelayMeter>) -> Self {
        Self { delays: meter.map(|meter| meter.delays(self.missing_packets + self.dropped_packets)), ..self }
    }

    /// Returns the text of the status line.
    pub(super) fn live_text(&self) -> String {
        let connections = plural(self.connections as u64, "connection", "connections");
        format!("{connections}, {}", self.line(self.now.goodput_bps))
    }

    /// Returns the text of the final report.
    pub(super) fn total_text(&self) -> String {
        self.line(self.goodput_bps)
    }

    fn line(&self, goodput_bps: f64) -> String {
        let dropped_text = match self.dropped_packets {
            0 => String::new(),
            dropped => format!(", {dropped} dropped by the receiver"),
        };
        let restored_text = match self.restored_packets {
            0 => String::new(),
            restored => format!(", {restored} restored"),
        };
        format!(
            "{:.1} s: {:.3} Mb/s, {}, {} missing{restored_text}{dropped_text} ({:.2} % lost){}",
            self.interval.to,
            1e-6 * goodput_bps,
            plural(self.received_packets, "datagram", "datagrams"),
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
        vec![[Some(self.now.goodput_bps), Some(lost as f64), None, None, None, None, None, None]]
    }

    fn page(&self) -> String {
        let mut page = Page::default();
        page.gauge("connections", "Number of open connections.", Some(self.connections as f64));
        page.counter("received_packets", "Number of received datagrams.", self.received_packets);
        page.counter("received_bytes", "Number of received bytes, without headers.", self.received_bytes);
        page.gauge(
            "missing_packets",
            "Number of packets with data that have not arrived although later ones have, and were not restored.",
            Some(self.missing_packets as f64),
        );
        let restored = "Number of lost datagrams that forward error correction restored.";
        page.counter("restored_packets", restored, self.restored_packets);
        let dropped = "Number of received datagrams that were dropped.";
        page.counter("dropped_packets", dropped, self.dropped_packets);
        page.counter("refused_handshakes", "Number of failed handshakes.", self.refused_handshakes);
        page.gauge("goodput_bps", "Payload rate, in bit/s.", Some(self.now.goodput_bps));
        if let Some(delays) = &self.delays {
            delays.page(&mut page);
        }
        page.0
    }
}
