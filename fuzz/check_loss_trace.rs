//! Invariants of any text that is read as a loss trace, and of a channel that plays it. Shared by the fuzz target and
//! the test that replays `fuzz/corpus`.

use headway_link::loss::Loss;
use headway_link::{LossOptions, LossTrace};
use headway_units::{Dialect, Instant, Probability, Random, Registry};
use std::sync::Arc;

pub(crate) fn check(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let trace = match LossTrace::parse(&text) {
        Ok(trace) => Arc::new(trace),
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let mut options = LossOptions::preset("trace", Dialect::Rfc).expect("a kind of this crate");
    if let LossOptions::Trace(options) = &mut options {
        options.trace = Some(Arc::clone(&trace));
    }
    let (mut loss, mut random) = (Loss::new(&options), Random::new(1, "fuzz"));
    match &*trace {
        LossTrace::Packets(packets) => {
            assert!(!packets.is_empty() && packets.len() <= text.len());
            for _ in 0..2 {
                assert!(packets.iter().all(|lost| loss.loses(Instant::ZERO, &mut random) == *lost), "it begins again");
            }
        }
        LossTrace::Steps(steps) => {
            assert!(!steps.is_empty() && steps.len() <= text.lines().count());
            assert!(steps.windows(2).all(|pair| pair[0].0 < pair[1].0), "steps rise");
            for (at, probability) in steps {
                let lost = loss.loses(Instant::ZERO + *at, &mut random);
                assert!(!lost || *probability > Probability::ZERO, "a packet with probability 0 is lost");
                assert!(lost || *probability < Probability::ONE, "a packet with probability 1 is delivered");
            }
        }
    }
}
