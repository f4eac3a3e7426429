//! The text format of loss traces, measurements of the losses of a channel.
//!
//! A trace is a sequence of packets, `0` for a delivered and `1` for a lost packet, with any number of packets per
//! line and optional white space:
//! ```text
//! 0000 0110 0000
//! 1
//! ```
//! or a list of steps, one per line: a time in seconds since the start of the run, and the loss probability from then
//! on:
//! ```text
//! 10,0.02
//! 12.5,1
//! 12.9,0.02
//! ```
//! Times increase. Blank lines and lines that start with `#` are comments.

use headway_units::{Bytes, Duration, Probability};

/// A parsed loss trace.
#[derive(Clone, Debug, PartialEq)]
pub enum LossTrace {
    /// Whether each packet is lost; never empty.
    Packets(Vec<bool>),
    /// Times from the start of the run and the loss probability from then on; in order of time, never empty.
    Steps(Vec<(Duration, Probability)>),
}

/// The reason why a text is not a loss trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{problem}", .line.map(|line| format!("line {line}: ")).unwrap_or_default())]
pub struct LossTraceError {
    /// Line, from 1; `None` for an error of the whole text.
    pub line: Option<u64>,
    /// What is wrong with the line or the text.
    pub problem: LossTraceProblem,
}

/// A problem of a loss trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LossTraceProblem {
    /// The text is longer than [`LossTrace::LARGEST_TEXT`].
    #[error("a loss trace of {0} is too long; expected at most 16MiB")]
    TooLong(Bytes),
    /// The text has neither packets nor steps.
    #[error("the trace is empty; expected packets, such as 00100, or steps, such as 12.5,0.1")]
    Empty,
    /// A line is neither packets nor a step.
    #[error("\"{0:.40}\" is invalid; expected packets, such as 00100, or seconds and probability, such as 12.5,0.1")]
    Unknown(String),
    /// The text has both packets and steps.
    #[error("a trace cannot have both packets and steps")]
    Mixed,
    /// The time of a step is not a time in seconds.
    #[error("\"{0:.40}\" is not a time; expected seconds, such as 12.5")]
    Time(String),
    /// The probability of a step is not from 0 to 1.
    #[error("\"{0:.40}\" is not a probability; expected 0 to 1, such as 0.1")]
    Probability(String),
    /// A step is not later than the previous one.
    #[error("the step at {0} is not later than the previous one")]
    Order(Duration),
}

impl LossTrace {
    /// Maximum size of the text, 16 MiB: more than an hour of 4000 packets per second.
    pub const LARGEST_TEXT: Bytes = Bytes::new(16 << 20);

    /// Parses a loss trace.
    ///
    /// # Errors
    /// Returns an error if the text is empty or too long; else the first line that is neither a comment nor packets
    /// nor a step in order of time.
    pub fn parse(text: &str) -> Result<Self, LossTraceError> {
        let whole = |problem| LossTraceError { line: None, problem };
        let length = Bytes::new(text.len() as u64);
        if length > Self::LARGEST_TEXT {
            return Err(whole(LossTraceProblem::TooLong(length)));
        }
        let (mut packets, mut steps) = (Vec::new(), Vec::new());
        for (line, number) in text.trim_start_matches('\u{feff}').lines().zip(1..) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let read = match line.split_once(',') {
                Some((time, probability)) => step(time.trim(), probability.trim(), &mut steps),
                None => figures(line, &mut packets),
            };
            let mixed = !packets.is_empty() && !steps.is_empty();
            let read = read.and(if mixed { Err(LossTraceProblem::Mixed) } else { Ok(()) });
            read.map_err(|problem| LossTraceError { line: Some(number), problem })?;
        }
        match (packets.is_empty(), steps.is_empty()) {
            (false, _) => Ok(Self::Packets(packets)),
            (true, false) => Ok(Self::Steps(steps)),
            (true, true) => Err(whole(LossTraceProblem::Empty)),
        }
    }
}

fn figures(line: &str, packets: &mut Vec<bool>) -> Result<(), LossTraceProblem> {
    for figure in line.chars().filter(|figure| !figure.is_whitespace()) {
        match figure {
            '0' => packets.push(false),
            '1' => packets.push(true),
            _ => return Err(LossTraceProblem::Unknown(quoted(line))),
        }
    }
    Ok(())
}

fn step(time: &str, probability: &str, steps: &mut Vec<(Duration, Probability)>) -> Result<(), LossTraceProblem> {
    // Digits only: `1m` and the `s` added below would be a unit.
    let plain = time.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let at = plain.then(|| format!("{time}s").parse::<Duration>().ok()).flatten();
    let at = at.ok_or_else(|| LossTraceProblem::Time(quoted(time)))?;
    let probability = probability
        .parse()
        .ok()
        .and_then(Probability::new)
        .ok_or_else(|| LossTraceProblem::Probability(quoted(probability)))?;
    if steps.last().is_some_and(|(before, _)| at <= *before) {
        return Err(LossTraceProblem::Order(at));
    }
    steps.push((at, probability));
    Ok(())
}

fn quoted(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_digit_is_a_packet() {
        let text = "\u{feff}# measured\n0010\r\n\n 1 1\t0\n";
        let packets = [false, false, true, false, true, true, false].to_vec();
        assert_eq!(LossTrace::parse(text).unwrap(), LossTrace::Packets(packets));
    }

    #[test]
    fn a_step_is_a_time_and_a_probability() {
        let step = |millis, probability| (Duration::from_millis(millis), Probability::new(probability).unwrap());
        let steps = vec![step(0, 0.0), step(12_500, 1.0), step(12_900, 0.02)];
        assert_eq!(LossTrace::parse("0,0\n12.5, 1\n# back\n12.9,2e-2\n").unwrap(), LossTrace::Steps(steps));
    }

    #[test]
    fn errors_name_the_line() {
        for (text, expected) in [
            ("", "the trace is empty; expected packets, such as 00100, or steps, such as 12.5,0.1"),
            ("# no\n", "the trace is empty; expected packets, such as 00100, or steps, such as 12.5,0.1"),
            (
                "001\n0021\n",
                "line 2: \"0021\" is invalid; expected packets, such as 00100, or seconds and probability, such as 12.5,0.1",
            ),
            ("0,0.5\n\n101\n", "line 3: a trace cannot have both packets and steps"),
            ("101\n1,0.5\n", "line 2: a trace cannot have both packets and steps"),
            ("1m,0.5\n", "line 1: \"1m\" is not a time; expected seconds, such as 12.5"),
            (",0.5\n", "line 1: \"\" is not a time; expected seconds, such as 12.5"),
            ("-1,0.5\n", "line 1: \"-1\" is not a time; expected seconds, such as 12.5"),
            ("1,1.5\n", "line 1: \"1.5\" is not a probability; expected 0 to 1, such as 0.1"),
            ("1,NaN\n", "line 1: \"NaN\" is not a probability; expected 0 to 1, such as 0.1"),
            ("1,0.5,2\n", "line 1: \"0.5,2\" is not a probability; expected 0 to 1, such as 0.1"),
            ("1,0.5\n1.0,0.7\n", "line 2: the step at 1s is not later than the previous one"),
        ] {
            assert_eq!(LossTrace::parse(text).unwrap_err().to_string(), expected, "{text:?}");
        }
        let long = " ".repeat((16 << 20) + 1);
        assert!(LossTrace::parse(&long).unwrap_err().to_string().contains("too long; expected at most 16MiB"));
    }
}
