//! The packet traces of one run.

use headway_scenario::Scenario;
use headway_sim::{LinkEvent, Ns2Trace, Observer, Packet, PcapngTrace};
use headway_units::Instant;

/// In what words packets are traced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceFormat {
    /// ns-2's `.tr` lines, in `trace.tr`.
    Ns2,
    /// What every link transmits, for Wireshark, in `trace.pcapng`.
    Pcapng,
}

impl TraceFormat {
    /// Every one.
    pub const ALL: [Self; 2] = [Self::Ns2, Self::Pcapng];

    /// What it is called: `ns2`, `pcapng`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ns2 => "ns2",
            Self::Pcapng => "pcapng",
        }
    }

    /// The file that a trace is in.
    #[must_use]
    pub const fn file(self) -> &'static str {
        match self {
            Self::Ns2 => "trace.tr",
            Self::Pcapng => "trace.pcapng",
        }
    }
}

/// Those that were asked for.
#[derive(Debug)]
pub struct Traces {
    ns2: Option<Ns2Trace>,
    pcapng: Option<PcapngTrace>,
}

impl Traces {
    /// None of a packet yet.
    #[must_use]
    pub fn new(scenario: &Scenario, formats: &[TraceFormat]) -> Self {
        let wants = |format| formats.contains(&format);
        Self {
            ns2: wants(TraceFormat::Ns2).then(|| Ns2Trace::new(scenario)),
            pcapng: wants(TraceFormat::Pcapng).then(|| PcapngTrace::new(scenario)),
        }
    }

    /// Each that there is, once.
    #[must_use]
    pub fn formats(&self) -> Vec<TraceFormat> {
        let ns2 = self.ns2.as_ref().map(|_| TraceFormat::Ns2);
        let pcapng = self.pcapng.as_ref().map(|_| TraceFormat::Pcapng);
        ns2.into_iter().chain(pcapng).collect()
    }

    /// What was traced since the last call.
    pub fn take(&mut self, format: TraceFormat) -> Vec<u8> {
        match format {
            TraceFormat::Ns2 => self.ns2.as_mut().map(Ns2Trace::take),
            TraceFormat::Pcapng => self.pcapng.as_mut().map(PcapngTrace::take),
        }
        .unwrap_or_default()
    }
}

impl Observer for Traces {
    const WATCHES: bool = true;

    fn link_event(&mut self, now: Instant, event: LinkEvent, link: usize, packet: &Packet) {
        if let Some(trace) = &mut self.ns2 {
            trace.link_event(now, event, link, packet);
        }
        if let Some(trace) = &mut self.pcapng {
            trace.link_event(now, event, link, packet);
        }
    }
}
