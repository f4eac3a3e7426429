//! The packet traces of one run.

use crate::Error;
use crate::folder::Folder;
use headway_media::Unsent;
use headway_record::PacketIndex;
use headway_scenario::Scenario;
use headway_sim::{
    CongestionEvent, LinkEvent, Ns2Trace, Observer, OfferedPacket, Packet, PacketTrace, PcapngTrace, PerfettoTrace,
    Place, RoundTrip,
};
use headway_units::{DropCause, Duration, Instant};

/// Format of a packet trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceFormat {
    /// Trace in ns-2's format, in `trace.tr`.
    Ns2,
    /// Trace for nam, the ns-2 animator, in `trace.nam`.
    Nam,
    /// Capture of the packets that each link transmits, for Wireshark, in `trace.pcapng`.
    Pcapng,
    /// Table with one row per packet and link, in `packets.arrow`, with the index `packets.index.json`.
    Packets,
    /// Transmissions, drops, queues, windows and timeouts, for Perfetto, in `trace.perfetto.json`.
    Perfetto,
}

impl TraceFormat {
    /// All formats.
    pub const ALL: [Self; 5] = [Self::Ns2, Self::Nam, Self::Pcapng, Self::Packets, Self::Perfetto];

    /// Returns the name of the format: `ns2`, `nam`, `pcapng`, `packets` or `perfetto`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ns2 => "ns2",
            Self::Nam => "nam",
            Self::Pcapng => "pcapng",
            Self::Packets => "packets",
            Self::Perfetto => "perfetto",
        }
    }

    /// Returns the name of the trace file of this format, such as `trace.tr`.
    #[must_use]
    pub const fn file(self) -> &'static str {
        match self {
            Self::Ns2 => "trace.tr",
            Self::Nam => "trace.nam",
            Self::Pcapng => "trace.pcapng",
            Self::Packets => "packets.arrow",
            Self::Perfetto => "trace.perfetto.json",
        }
    }

    /// Returns the names of all files of this trace.
    pub(crate) fn files(self) -> impl Iterator<Item = &'static str> {
        let index = (self == Self::Packets).then_some(Folder::PACKET_INDEX);
        [self.file()].into_iter().chain(index)
    }
}

/// Observer that records packet traces.
pub trait Tracing: Observer {
    /// Returns the formats that are recorded.
    fn formats(&self) -> Vec<TraceFormat>;

    /// Returns the bytes of the trace of this format that have become complete since the last call.
    ///
    /// # Errors
    /// The data cannot be encoded.
    fn take(&mut self, format: TraceFormat) -> Result<Vec<u8>, Error>;

    /// Returns the index of `packets.arrow` after the run; `None` if there is no such trace.
    fn packet_index(&self) -> Option<&PacketIndex> {
        None
    }
}

/// No trace.
impl Tracing for () {
    fn formats(&self) -> Vec<TraceFormat> {
        Vec::new()
    }

    fn take(&mut self, _: TraceFormat) -> Result<Vec<u8>, Error> {
        Ok(Vec::new())
    }
}

/// Only the packet table.
impl Tracing for PacketTrace {
    fn formats(&self) -> Vec<TraceFormat> {
        vec![TraceFormat::Packets]
    }

    fn take(&mut self, _: TraceFormat) -> Result<Vec<u8>, Error> {
        Ok(Self::take(self)?)
    }

    fn packet_index(&self) -> Option<&PacketIndex> {
        self.index()
    }
}

/// Observer that records any set of packet traces of a run.
#[derive(Debug)]
pub struct Traces {
    ns2: Option<Ns2Trace>,
    nam: Option<Ns2Trace>,
    pcapng: Option<PcapngTrace>,
    packets: Option<PacketTrace>,
    perfetto: Option<PerfettoTrace>,
}

impl Traces {
    /// Creates empty traces of these formats.
    #[must_use]
    pub fn new(scenario: &Scenario, formats: &[TraceFormat]) -> Self {
        let wants = |format| formats.contains(&format);
        Self {
            ns2: wants(TraceFormat::Ns2).then(|| Ns2Trace::new(scenario)),
            nam: wants(TraceFormat::Nam).then(|| Ns2Trace::nam(scenario)),
            pcapng: wants(TraceFormat::Pcapng).then(|| PcapngTrace::new(scenario)),
            packets: wants(TraceFormat::Packets).then(|| PacketTrace::new(scenario)),
            perfetto: wants(TraceFormat::Perfetto).then(|| PerfettoTrace::new(scenario)),
        }
    }
}

impl Tracing for Traces {
    fn formats(&self) -> Vec<TraceFormat> {
        let there = [
            self.ns2.as_ref().map(|_| TraceFormat::Ns2),
            self.nam.as_ref().map(|_| TraceFormat::Nam),
            self.pcapng.as_ref().map(|_| TraceFormat::Pcapng),
            self.packets.as_ref().map(|_| TraceFormat::Packets),
            self.perfetto.as_ref().map(|_| TraceFormat::Perfetto),
        ];
        there.into_iter().flatten().collect()
    }

    fn take(&mut self, format: TraceFormat) -> Result<Vec<u8>, Error> {
        match format {
            TraceFormat::Ns2 => Ok(self.ns2.as_mut().map(Ns2Trace::take).unwrap_or_default()),
            TraceFormat::Nam => Ok(self.nam.as_mut().map(Ns2Trace::take).unwrap_or_default()),
            TraceFormat::Perfetto => Ok(self.perfetto.as_mut().map(PerfettoTrace::take).unwrap_or_default()),
            TraceFormat::Pcapng => Ok(self.pcapng.as_mut().map(PcapngTrace::take).unwrap_or_default()),
            TraceFormat::Packets => {
                self.packets.as_mut().map_or(Ok(Vec::new()), |packets| Tracing::take(packets, format))
            }
        }
    }

    fn packet_index(&self) -> Option<&PacketIndex> {
        self.packets.as_ref()?.index()
    }
}

impl Observer for Traces {
    const WATCHES: bool = true;
    const HOPS: bool = true;
    const FLOW_EVENTS: bool = true;

    fn link_event(&mut self, now: Instant, event: LinkEvent, link: usize, packet: &Packet) {
        for trace in self.ns2.iter_mut().chain(&mut self.nam) {
            trace.link_event(now, event, link, packet);
        }
        if let Some(trace) = &mut self.pcapng {
            trace.link_event(now, event, link, packet);
        }
    }

    fn hop_offered(&mut self, now: Instant, hop: &OfferedPacket<'_>) {
        if let Some(trace) = &mut self.packets {
            trace.hop_offered(now, hop);
        }
        if let Some(trace) = &mut self.perfetto {
            trace.hop_offered(now, hop);
        }
    }

    fn hop_transmitted(&mut self, slot: usize, start: Instant, end: Instant) {
        if let Some(trace) = &mut self.packets {
            trace.hop_transmitted(slot, start, end);
        }
        if let Some(trace) = &mut self.perfetto {
            trace.hop_transmitted(slot, start, end);
        }
    }

    fn hop_marked(&mut self, slot: usize) {
        if let Some(trace) = &mut self.packets {
            trace.hop_marked(slot);
        }
    }

    fn hop_ended(&mut self, now: Instant, slot: usize, dropped: Option<DropCause>) {
        if let Some(trace) = &mut self.packets {
            trace.hop_ended(now, slot, dropped);
        }
    }

    fn round_trip(&mut self, now: Instant, flow: usize, trip: RoundTrip) {
        if let Some(trace) = &mut self.perfetto {
            trace.round_trip(now, flow, trip);
        }
    }

    fn window(&mut self, now: Instant, flow: usize, sender: &headway_tcp::Sender) {
        if let Some(trace) = &mut self.perfetto {
            trace.window(now, flow, sender);
        }
    }

    fn dropped(&mut self, now: Instant, place: Place, cause: DropCause, packet: &Packet) {
        if let Some(trace) = &mut self.perfetto {
            trace.dropped(now, place, cause, packet);
        }
    }

    fn congestion_event(&mut self, now: Instant, flow: usize, congestion_event: CongestionEvent, resent: Option<i64>) {
        if let Some(trace) = &mut self.perfetto {
            trace.congestion_event(now, flow, congestion_event, resent);
        }
    }

    fn unsent(&mut self, now: Instant, flow: usize, unsent: &Unsent) {
        if let Some(trace) = &mut self.perfetto {
            trace.unsent(now, flow, unsent);
        }
    }

    fn late(&mut self, now: Instant, by: Duration, packet: &Packet) {
        if let Some(trace) = &mut self.perfetto {
            trace.late(now, by, packet);
        }
    }

    fn ended(&mut self, now: Instant) {
        if let Some(trace) = &mut self.packets {
            trace.ended(now);
        }
        if let Some(trace) = &mut self.perfetto {
            trace.ended(now);
        }
    }
}
