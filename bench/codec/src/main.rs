//! Times each case in turn, ROUNDS times. Prints a line per case: its name and the nanoseconds per operation of each
//! round. usage: headway-bench-codec ROUNDS MILLISECONDS

mod codec;
mod controller;
mod limit;
mod peer;

use std::time::{Duration, Instant};

/// Repeated operation of a case.
type Operation = Box<dyn FnMut()>;

/// Creates an operation with a buffer for a packet, zeroed once.
fn with_buffer(operation: impl Fn(&mut [u8]) + 'static) -> Operation {
    let mut buffer = vec![0; 1100];
    Box::new(move || operation(&mut buffer))
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|word| word.parse().unwrap_or(1));
    let rounds = arguments.next().unwrap_or(5);
    let span = Duration::from_millis(arguments.next().unwrap_or(50));
    let mut cases: Vec<(&str, Operation, Vec<f64>)> =
        [codec::cases(), peer::cases(), limit::cases(), controller::cases()]
            .into_iter()
            .flatten()
            .map(|(name, operation)| (name, operation, vec![]))
            .collect();
    for _ in 0..rounds {
        for (_, operation, times) in &mut cases {
            times.push(time(operation, span));
        }
    }
    for (name, _, times) in cases {
        let times: Vec<_> = times.iter().map(|nanos| format!("{nanos:.3}")).collect();
        println!("{name} {}", times.join(" "));
    }
}

/// Returns nanoseconds per operation, measured over about `span`.
#[expect(clippy::disallowed_methods, reason = "this program measures time")]
fn time(operation: &mut Operation, span: Duration) -> f64 {
    let mut done = 0u32;
    let begin = Instant::now();
    loop {
        for _ in 0..1000 {
            operation();
        }
        done += 1000;
        let passed = begin.elapsed();
        if passed >= span {
            return passed.as_nanos() as f64 / f64::from(done);
        }
    }
}
