//! Recorded losses: a sequence of packets, or a loss probability that changes over time.

use super::{LossTrace, Place};
use headway_units::{Dialect, Instant, OptionError, Random};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Options of a loss model of `kind = "trace"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// File with the trace: 0 (delivered) or 1 (lost) for each packet, repeated after the last one; or lines of a time
    /// in seconds and the loss probability from then on.
    pub file: String,
    /// Where on the link packets are lost: before the queue or after the transmission.
    pub place: Place,
    /// Contents of `file`, set by the caller after reading it; with `None` no packet is lost.
    #[serde(skip)]
    pub trace: Option<Arc<LossTrace>>,
}

impl headway_units::Options for Options {
    fn preset(_: Dialect) -> Self {
        Self { file: String::new(), place: Place::BeforeQueue, trace: None }
    }

    fn check(&self) -> Result<(), OptionError> {
        if self.file.is_empty() {
            return Err(OptionError::new("file", "a trace loss needs a file,").with_example("\"losses.txt\""));
        }
        Ok(())
    }
}

/// A running loss model with a trace.
#[derive(Debug)]
pub struct Trace {
    place: Place,
    trace: Option<Arc<LossTrace>>,
    /// Index of the next packet, or of the next step.
    next: usize,
    probability: f64,
}

impl Trace {
    pub(super) fn new(options: &Options) -> Self {
        Self { place: options.place, trace: options.trace.clone(), next: 0, probability: 0.0 }
    }

    pub(super) fn place(&self) -> Place {
        self.place
    }

    pub(super) fn loses(&mut self, now: Instant, random: &mut Random) -> bool {
        match self.trace.as_deref() {
            None => false,
            Some(LossTrace::Packets(packets)) => {
                let lost = packets.get(self.next).copied().unwrap_or_default();
                self.next = if self.next + 1 < packets.len() { self.next + 1 } else { 0 };
                lost
            }
            Some(LossTrace::Steps(steps)) => {
                while let Some((at, probability)) = steps.get(self.next)
                    && now >= Instant::ZERO + *at
                {
                    self.probability = probability.value();
                    self.next += 1;
                }
                random.uniform() < self.probability
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_units::Options as _;

    fn playing(text: &str) -> Trace {
        let trace = Some(Arc::new(LossTrace::parse(text).unwrap()));
        let options = Options { file: "losses.txt".into(), trace, ..Options::preset(Dialect::Rfc) };
        options.check().unwrap();
        Trace::new(&options)
    }

    #[test]
    fn recorded_packets_repeat_from_the_start() {
        let (mut loss, mut random) = (playing("0010\n1\n"), Random::new(5, "loss"));
        let lost: Vec<_> = (0..15).filter(|_| loss.loses(Instant::ZERO, &mut random)).collect();
        assert_eq!(lost, [2, 4, 7, 9, 12, 14]);
    }

    /// 100000 packets at 10 % have 10000 losses, standard deviation 95; there are none before the first step.
    #[test]
    fn each_step_applies_until_the_next() {
        let (mut loss, mut random) = (playing("1,1\n2,0\n4,0.1\n"), Random::new(5, "loss"));
        let lost = [0, 999, 1000, 1999, 2000, 3999].map(|millis| loss.loses(Instant::from_millis(millis), &mut random));
        assert_eq!(lost, [false, false, true, true, false, false]);
        let later = (0..100_000).filter(|_| loss.loses(Instant::from_secs(1000), &mut random)).count();
        assert!(later.abs_diff(10_000) < 5 * 95, "{later}");
    }

    #[test]
    fn steps_without_packets_are_skipped() {
        let (mut loss, mut random) = (playing("1,0\n2,0.5\n3,1\n"), Random::new(5, "loss"));
        assert!(loss.loses(Instant::from_secs(3), &mut random));
    }

    #[test]
    fn a_trace_has_a_file() {
        assert_eq!(Options::preset(Dialect::Rfc).check().unwrap_err().key, "file");
    }
}
