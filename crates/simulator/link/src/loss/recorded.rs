//! The text of a loss trace: what a channel that somebody has measured did.
//!
//! Either a figure a packet, `0` for one that came and `1` for one that was lost, as many on a line as one likes, blanks between them or not:
//! ```text
//! 0000 0110 0000
//! 1
//! ```
//! or steps, a line each: from when on, in seconds since the start of the run, and with which probability packets are lost from then on:
//! ```text
//! 10,0.02
//! 12.5,1
//! 12.9,0.02
//! ```
//! Times rise. Blank lines and lines that start with `#` are comments.

use headway_units::{Bytes, Duration, Probability};

/// A loss trace, read.
#[derive(Clone, Debug, PartialEq)]
pub enum LossTrace {
    /// Of each packet, whether it is lost; never empty.
    Packets(Vec<bool>),
    /// The probability from an instant on, after the start of the run; rising, never empty.
    Steps(Vec<(Duration, Probability)>),
}

/// Why a text is no loss trace.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{problem}", .line.map(|line| format!("line {line}: ")).unwrap_or_default())]
pub struct LossTraceError {
    /// Where, counted from 1; `None` if it is the text as a whole.
    pub line: Option<u64>,
    /// What.
    pub problem: LossTraceProblem,
}

/// What is wrong in a loss trace, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LossTraceProblem {
    /// Longer than [`LossTrace::LARGEST_TEXT`].
    #[error("a loss trace of {0} is too long: at most 16MiB are read")]
    TooLong(Bytes),
    /// Neither a packet nor a step in it.
    #[error("there is nothing in it: expected packets, such as 00100, or steps, such as 12.5,0.1")]
    Empty,
    /// Neither figures nor a step.
    #[error("\"{0:.40}\" is neither packets, such as 00100, nor a step of seconds and probability, such as 12.5,0.1")]
    Unknown(String),
    /// Figures among steps, or steps among figures.
    #[error("packets and steps do not go together: a trace has the ones or the others")]
    Mixed,
    /// No time.
    #[error("\"{0:.40}\" is no time in seconds, such as 12.5")]
    Time(String),
    /// No probability.
    #[error("\"{0:.40}\" is no probability: write one from 0 to 1, such as 0.1")]
    Probability(String),
    /// A step before the one above it.
    #[error("the step at {0} does not come later than the one before")]
    Order(Duration),
}

impl LossTrace {
    /// The longest text that is read, 16 MiB: more than an hour of 4000 packets a second.
    pub const LARGEST_TEXT: Bytes = Bytes::new(16 << 20);

    /// Reads a loss trace.
    ///
    /// # Errors
    /// At the first line that is neither a comment, packets nor a step that rises; if there is nothing in it, or too much.
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
    // Only figures: behind "1m" the "s" below would make a unit.
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
    fn a_figure_is_a_packet() {
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
    fn what_is_wrong_is_told_with_its_line() {
        for (text, expected) in [
            ("", "there is nothing in it: expected packets, such as 00100, or steps, such as 12.5,0.1"),
            ("# no\n", "there is nothing in it: expected packets, such as 00100, or steps, such as 12.5,0.1"),
            (
                "001\n0021\n",
                "line 2: \"0021\" is neither packets, such as 00100, nor a step of seconds and probability, such as 12.5,0.1",
            ),
            ("0,0.5\n\n101\n", "line 3: packets and steps do not go together: a trace has the ones or the others"),
            ("101\n1,0.5\n", "line 2: packets and steps do not go together: a trace has the ones or the others"),
            ("1m,0.5\n", "line 1: \"1m\" is no time in seconds, such as 12.5"),
            (",0.5\n", "line 1: \"\" is no time in seconds, such as 12.5"),
            ("-1,0.5\n", "line 1: \"-1\" is no time in seconds, such as 12.5"),
            ("1,1.5\n", "line 1: \"1.5\" is no probability: write one from 0 to 1, such as 0.1"),
            ("1,NaN\n", "line 1: \"NaN\" is no probability: write one from 0 to 1, such as 0.1"),
            ("1,0.5,2\n", "line 1: \"0.5,2\" is no probability: write one from 0 to 1, such as 0.1"),
            ("1,0.5\n1.0,0.7\n", "line 2: the step at 1s does not come later than the one before"),
        ] {
            assert_eq!(LossTrace::parse(text).unwrap_err().to_string(), expected, "{text:?}");
        }
        let long = " ".repeat((16 << 20) + 1);
        assert!(LossTrace::parse(&long).unwrap_err().to_string().contains("too long: at most 16MiB"));
    }
}
