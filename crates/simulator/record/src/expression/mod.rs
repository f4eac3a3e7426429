//! Numbers of a record, by name: `mean(flow[media*].throughput_bps) / 1e3`.
//!
//! A path names numbers of a [`Summary`] as `summary.json` has them: `flow[NAME].throughput_bps`, `link[west->east].dropped_packets.early`,
//! `host[NAME]..`, `attacker[NAME]..`, and what belongs to no one: `jain_index`, `interval.to`. In a name `*` stands for any characters, so
//! that a path may name several numbers; functions make one of them. Names stand in the record, and paths are checked against it: a
//! name that there is not, or a key that none of the named has, is an error; a key that only others have (`timeouts` of a flow that is no
//! TCP), or that holds nothing (the delay of a flow of which nothing came), has no number.

mod function;
mod names;
mod parse;
mod path;
mod unit;

use crate::Summary;
use function::Function;
pub use names::Names;
use path::Path;
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

#[derive(Clone, Debug, PartialEq)]
enum Node {
    Number(f64),
    Path(Path),
    Negative(Box<Node>),
    Two(Operator, Box<[Node; 2]>),
    Call(Function, Vec<Node>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
}

/// An expression that is none, or that does not fit a record.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{expression}: {why}")]
pub struct ExpressionError {
    /// As it is written.
    pub expression: String,
    /// What is wrong, and what would be right.
    pub why: String,
}

impl FromStr for Expression {
    type Err = ExpressionError;

    fn from_str(text: &str) -> Result<Self, ExpressionError> {
        let wrong = |why| ExpressionError { expression: parse::shown(text), why };
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
                _ => Err(wrong(several(values.len()))),
            },
        }
    }
}

/// The error of several numbers where one is wanted.
fn several(many: usize) -> String {
    let functions = Function::names();
    format!(
        "these are {many} numbers where one is wanted: write a function around them ({functions}), or a name without *"
    )
}

impl Expression {
    /// Whether it reads a percentile of a [histogram](crate::Histogram), whose exactness is that of a bucket.
    #[must_use]
    pub fn reads_percentile(&self) -> bool {
        self.root.any(&mut |node| matches!(node, Node::Path(path) if path.is_percentile()))
    }
}

impl Node {
    /// Whether something holds of it or of a part of it.
    fn any(&self, holds: &mut impl FnMut(&Self) -> bool) -> bool {
        holds(self)
            || match self {
                Self::Number(_) | Self::Path(_) => false,
                Self::Negative(node) => node.any(holds),
                Self::Two(_, nodes) => nodes.iter().any(|node| node.any(holds)),
                Self::Call(_, nodes) => nodes.iter().any(|node| node.any(holds)),
            }
    }

    /// `Err` if a part that reads nothing of a record is no number, or divides by 0.
    fn check_constants(&self) -> Result<(), String> {
        match self {
            Self::Number(_) | Self::Path(_) => {}
            Self::Negative(node) => node.check_constants()?,
            Self::Two(_, nodes) => nodes.iter().try_for_each(Self::check_constants)?,
            Self::Call(_, nodes) => nodes.iter().try_for_each(Self::check_constants)?,
        }
        if let Self::Two(Operator::Divide, nodes) = self
            && nodes[1].constant()?.is_some_and(|values| values.contains(&0.0))
        {
            return Err("it divides by 0".to_owned());
        }
        match self.constant()? {
            Some(values) if values.iter().any(|value| !value.is_finite()) => {
                Err("a part of it is larger than any number".to_owned())
            }
            _ => Ok(()),
        }
    }

    /// Its numbers, if it reads nothing of a record.
    fn constant(&self) -> Result<Option<Vec<f64>>, String> {
        if self.any(&mut |node| matches!(node, Self::Path(_))) { Ok(None) } else { self.of(&Value::Null) }
    }

    /// Its numbers; none if one of them is missing.
    fn of(&self, record: &Value) -> Result<Option<Vec<f64>>, String> {
        Ok(match self {
            Self::Number(number) => Some(vec![*number]),
            Self::Path(path) => path.of(record)?,
            Self::Negative(node) => node.of(record)?.map(|values| values.into_iter().map(|value| -value).collect()),
            Self::Two(operator, nodes) => {
                let [first, second] = nodes.each_ref().map(|node| node.of(record));
                match (first?, second?) {
                    (Some(first), Some(second)) => Some(operator.of(&first, &second)?),
                    _ => None,
                }
            }
            Self::Call(function, arguments) => {
                let all: Result<Vec<_>, String> = arguments.iter().map(|argument| argument.of(record)).collect();
                function.of(&all?)
            }
        })
    }
}

impl Operator {
    /// Number by number; one goes with each of several.
    fn of(self, first: &[f64], second: &[f64]) -> Result<Vec<f64>, String> {
        let of = |first: f64, second: f64| match self {
            Self::Add => first + second,
            Self::Subtract => first - second,
            Self::Multiply => first * second,
            Self::Divide => first / second,
        };
        match (first, second) {
            ([one], several) => Ok(several.iter().map(|other| of(*one, *other)).collect()),
            (several, [one]) => Ok(several.iter().map(|other| of(*other, *one)).collect()),
            _ if first.len() == second.len() => {
                Ok(first.iter().zip(second).map(|(first, second)| of(*first, *second)).collect())
            }
            _ => Err(format!("{} numbers do not go with {}", first.len(), second.len())),
        }
    }
}

#[cfg(test)]
mod tests;
