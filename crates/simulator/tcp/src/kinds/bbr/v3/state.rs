//! The states of BBR and their gains (section 5.1, table 1).

const STARTUP_PACING_GAIN: f64 = 2.77;
const STARTUP_CWND_GAIN: f64 = 2.0;
const DRAIN_PACING_GAIN: f64 = 0.5;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRtt,
}

impl State {
    pub(super) fn is_probe_bw(self) -> bool {
        matches!(self, Self::Down | Self::Cruise | Self::Refill | Self::Up)
    }

    /// Returns the pacing gain and the window gain.
    pub(super) fn gains(self) -> (f64, f64) {
        match self {
            Self::Startup => (STARTUP_PACING_GAIN, STARTUP_CWND_GAIN),
            Self::Drain => (DRAIN_PACING_GAIN, STARTUP_CWND_GAIN),
            Self::Down => (0.9, 2.0),
            Self::Cruise | Self::Refill => (1.0, 2.0),
            Self::Up => (1.25, 2.25),
            Self::ProbeRtt => (1.0, 0.5),
        }
    }
}
