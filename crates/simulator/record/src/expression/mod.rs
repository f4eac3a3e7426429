//! Numbers of a record, by name: `mean(flow[media*].throughput_bps) / 1e3`.
//!
//! A path names numbers of a [`Summary`] as `summary.json` has them: `flow[NAME].throughput_bps`, `link[west->east].dropped_packets.early`,
//! `host[NAME]..`, `attacker[NAME]..`, and what belongs to no one: `jain_index`, `interval.to`. In a name `*` stands for any characters, so
//! that a path may name several numbers; functions make one of them. Names stand in the record, and paths are checked against it: a
//! name that there is not, or a key that none of the named has, is an error; a key that only others have (`timeouts` of a flow that is no
//! TCP), or that holds nothing (the delay of a flow of which nothing came), has no number.

mod fault;
mod function;
mod keys;
mod names;
mod node;
mod parse;
mod path;
mod unit;

use crate::Summary;
pub use fault::ExpressionFault;
use fault::shown;
pub use names::Names;
use node::{Node, Operator};
use serde::Deserialize;
use serde_json::Value;
use std::fmt;
use std::str::FromStr;

/// A number that can be asked of any record.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub struct Expression {
    text: String,
    root: Node,
}

/// An expression that is none, or that does not fit a record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{expression}: {why}")]
pub struct ExpressionError {
    /// As it is written.
    pub expression: String,
    /// What is wrong, and what would be right.
    pub why: ExpressionFault,
}

impl FromStr for Expression {
    type Err = ExpressionError;

    fn from_str(text: &str) -> Result<Self, ExpressionError> {
        let wrong = |why| ExpressionError { expression: shown(text), why };
        let root = parse::parse(text).and_then(|root| root.check_constants().map(|()| root)).map_err(wrong)?;
        Ok(Self { text: text.trim().to_owned(), root })
    }
}

impl TryFrom<String> for Expression {
    type Error = ExpressionError;

    fn try_from(text: String) -> Result<Self, ExpressionError> {
        text.parse()
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A record whose numbers are asked for by name.
#[derive(Clone, Debug)]
pub struct Numbers(Value);

impl Numbers {
    /// Those of this summary.
    #[must_use]
    pub fn new(summary: &Summary) -> Self {
        // Plain structs and string keys are JSON; a summary that were none would have no number.
        Self::from(serde_json::to_value(summary).unwrap_or(Value::Null))
    }
}

/// Counts that a summary leaves out where they are 0: here they are 0.
const LEFT_OUT: [(&str, &[&str], &str); 5] = [
    ("links", &[], "duplicated_packets"),
    ("links", &[], "reordered_packets"),
    ("flows", &[], "duplicate_packets"),
    ("flows", &["sessions"], "refused"),
    ("flows", &["pages"], "refused"),
];

/// A summary's JSON.
impl From<Value> for Numbers {
    fn from(mut summary: Value) -> Self {
        for (list, keys, count) in LEFT_OUT {
            for one in summary.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
                let place = keys.iter().try_fold(one, |place, key| place.get_mut(key));
                if let Some(Value::Object(place)) = place {
                    place.entry(count).or_insert(0.into());
                }
            }
        }
        Self(summary)
    }
}

impl Expression {
    /// Its value; none where the record has no such number, or it is not finite.
    ///
    /// # Errors
    /// If a path names what the record does not have, or several numbers where one is wanted.
    pub fn of(&self, numbers: &Numbers) -> Result<Option<f64>, ExpressionError> {
        let wrong = |why| ExpressionError { expression: self.text.clone(), why };
        match self.root.of(&numbers.0).map_err(wrong)? {
            None => Ok(None),
            Some(values) => match values[..] {
                [one] => Ok(Some(one).filter(|one| one.is_finite())),
                _ => Err(wrong(ExpressionFault::Several { count: values.len() })),
            },
        }
    }
}

impl Expression {
    /// Whether it reads a percentile of a [histogram](crate::Histogram), whose exactness is that of a bucket.
    #[must_use]
    pub fn reads_percentile(&self) -> bool {
        self.root.any(&mut |node| matches!(node, Node::Path(path) if path.is_percentile()))
    }
}

#[cfg(test)]
mod tests;
