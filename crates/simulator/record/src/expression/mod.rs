//! Numbers of a record, by name: `mean(flow[media*].throughput_bps) / 1e3`.
//!
//! A path selects numbers of a [`Summary`] by the keys of `summary.json`: `flow[NAME].throughput_bps`,
//! `link[west->east].dropped_packets.early`, `host[NAME]..`, `attacker[NAME]..`, `jain_index`, `interval.to`. In a
//! name, `*` matches any characters, so that a path may select several numbers, which functions reduce to one. An
//! unknown name, or a key that no record or no selected element can have, is an error. A key that only other elements
//! have (`timeouts` of a flow without TCP), or without a value (the delay of a flow without received packets), has no
//! value.

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
use fault::quoted;
pub use names::Names;
use node::{Node, Operator};
use serde::Deserialize;
use serde_json::Value;
use std::fmt;
use std::str::FromStr;

/// An expression that computes a number from a record.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub struct Expression {
    text: String,
    root: Node,
}

/// Error of an expression that is invalid, or that selects a value that a record does not have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{expression}: {fault}")]
pub struct ExpressionError {
    /// Text of the expression.
    pub expression: String,
    /// Reason of the error, with the valid alternatives.
    pub fault: ExpressionFault,
}

impl FromStr for Expression {
    type Err = ExpressionError;

    fn from_str(text: &str) -> Result<Self, ExpressionError> {
        let error = |fault| ExpressionError { expression: quoted(text), fault };
        let root = parse::parse(text).and_then(|root| root.check_constants().map(|()| root)).map_err(error)?;
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

/// The numbers of a record, for the evaluation of expressions.
#[derive(Clone, Debug)]
pub struct Numbers(Value);

impl Numbers {
    /// Returns the numbers of a summary.
    #[must_use]
    pub fn new(summary: &Summary) -> Self {
        // Plain structs with string keys always serialize; `Null` would have no numbers.
        Self::from(serde_json::to_value(summary).unwrap_or(Value::Null))
    }
}

/// Counts that `summary.json` omits if they are 0.
const OMITTED_ZEROS: [(&str, &[&str], &str); 5] = [
    ("links", &[], "duplicated_packets"),
    ("links", &[], "reordered_packets"),
    ("flows", &[], "duplicate_packets"),
    ("flows", &["sessions"], "refused"),
    ("flows", &["pages"], "refused"),
];

/// Converts the JSON of a summary.
impl From<Value> for Numbers {
    fn from(mut summary: Value) -> Self {
        for (list, keys, count) in OMITTED_ZEROS {
            for element in summary.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
                let parent = keys.iter().try_fold(element, |parent, key| parent.get_mut(key));
                if let Some(Value::Object(parent)) = parent {
                    parent.entry(count).or_insert(0.into());
                }
            }
        }
        Self(summary)
    }
}

impl Expression {
    /// Returns the value of the expression for a record; `None` if the record has no value for a selected key, or the
    /// result is not finite.
    ///
    /// # Errors
    /// A path has an unknown name or key, or the expression has several values.
    pub fn evaluate(&self, numbers: &Numbers) -> Result<Option<f64>, ExpressionError> {
        let error = |fault| ExpressionError { expression: self.text.clone(), fault };
        match self.root.evaluate(&numbers.0).map_err(error)? {
            None => Ok(None),
            Some(values) => match values[..] {
                [value] => Ok(Some(value).filter(|value| value.is_finite())),
                _ => Err(error(ExpressionFault::Several { count: values.len() })),
            },
        }
    }
}

impl Expression {
    /// Returns whether the expression reads a percentile of a [histogram](crate::Histogram), whose relative error is at
    /// most [`PERCENTILE_ERROR`](crate::PERCENTILE_ERROR).
    #[must_use]
    pub fn uses_percentile(&self) -> bool {
        self.root.any(&mut |node| matches!(node, Node::Path(path) if path.is_percentile()))
    }
}

#[cfg(test)]
mod tests;
