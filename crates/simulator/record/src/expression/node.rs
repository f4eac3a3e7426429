//! The parts of an expression, and their values.

use super::fault::ExpressionFault;
use super::function::Function;
use super::path::Path;
use serde_json::Value;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    Number(f64),
    Path(Path),
    Negative(Box<Node>),
    Two(Operator, Box<[Node; 2]>),
    Call(Function, Vec<Node>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
}

impl Node {
    /// Whether something holds of it or of a part of it.
    pub(super) fn any(&self, holds: &mut impl FnMut(&Self) -> bool) -> bool {
        holds(self)
            || match self {
                Self::Number(_) | Self::Path(_) => false,
                Self::Negative(node) => node.any(holds),
                Self::Two(_, nodes) => nodes.iter().any(|node| node.any(holds)),
                Self::Call(_, nodes) => nodes.iter().any(|node| node.any(holds)),
            }
    }

    /// `Err` if a part that reads nothing of a record is no number, or divides by 0.
    pub(super) fn check_constants(&self) -> Result<(), ExpressionFault> {
        match self {
            Self::Number(_) | Self::Path(_) => {}
            Self::Negative(node) => node.check_constants()?,
            Self::Two(_, nodes) => nodes.iter().try_for_each(Self::check_constants)?,
            Self::Call(_, nodes) => nodes.iter().try_for_each(Self::check_constants)?,
        }
        if let Self::Two(Operator::Divide, nodes) = self
            && nodes[1].constant()?.is_some_and(|values| values.contains(&0.0))
        {
            return Err(ExpressionFault::DividesByZero);
        }
        match self.constant()? {
            Some(values) if values.iter().any(|value| !value.is_finite()) => Err(ExpressionFault::TooLarge),
            _ => Ok(()),
        }
    }

    /// Its numbers, if it reads nothing of a record.
    pub(super) fn constant(&self) -> Result<Option<Vec<f64>>, ExpressionFault> {
        if self.any(&mut |node| matches!(node, Self::Path(_))) { Ok(None) } else { self.of(&Value::Null) }
    }

    /// Its numbers; none if one of them is missing.
    pub(super) fn of(&self, record: &Value) -> Result<Option<Vec<f64>>, ExpressionFault> {
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
                let all: Result<Vec<_>, ExpressionFault> =
                    arguments.iter().map(|argument| argument.of(record)).collect();
                function.of(&all?)
            }
        })
    }
}

impl Operator {
    /// Number by number; one goes with each of several.
    pub(super) fn of(self, first: &[f64], second: &[f64]) -> Result<Vec<f64>, ExpressionFault> {
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
            _ => Err(ExpressionFault::Lengths(first.len(), second.len())),
        }
    }
}
