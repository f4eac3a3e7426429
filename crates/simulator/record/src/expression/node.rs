//! The syntax tree of an expression and its evaluation.

use super::fault::ExpressionFault;
use super::function::Function;
use super::path::Path;
use serde_json::Value;

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Node {
    Number(f64),
    Path(Path),
    Negative(Box<Node>),
    Binary(Operator, Box<[Node; 2]>),
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
    /// Returns whether `predicate` is true for this node or a descendant.
    pub(super) fn any(&self, predicate: &mut impl FnMut(&Self) -> bool) -> bool {
        predicate(self)
            || match self {
                Self::Number(_) | Self::Path(_) => false,
                Self::Negative(node) => node.any(predicate),
                Self::Binary(_, nodes) => nodes.iter().any(|node| node.any(predicate)),
                Self::Call(_, nodes) => nodes.iter().any(|node| node.any(predicate)),
            }
    }

    /// Returns an error if a constant subexpression is not finite or divides by 0.
    pub(super) fn check_constants(&self) -> Result<(), ExpressionFault> {
        match self {
            Self::Number(_) | Self::Path(_) => {}
            Self::Negative(node) => node.check_constants()?,
            Self::Binary(_, nodes) => nodes.iter().try_for_each(Self::check_constants)?,
            Self::Call(_, nodes) => nodes.iter().try_for_each(Self::check_constants)?,
        }
        if let Self::Binary(Operator::Divide, nodes) = self
            && nodes[1].constant()?.is_some_and(|values| values.contains(&0.0))
        {
            return Err(ExpressionFault::DividesByZero);
        }
        match self.constant()? {
            Some(values) if values.iter().any(|value| !value.is_finite()) => Err(ExpressionFault::TooLarge),
            _ => Ok(()),
        }
    }

    /// Returns the values if the node does not depend on a record.
    pub(super) fn constant(&self) -> Result<Option<Vec<f64>>, ExpressionFault> {
        if self.any(&mut |node| matches!(node, Self::Path(_))) { Ok(None) } else { self.evaluate(&Value::Null) }
    }

    /// Returns the values; `None` if one of them is missing.
    pub(super) fn evaluate(&self, record: &Value) -> Result<Option<Vec<f64>>, ExpressionFault> {
        Ok(match self {
            Self::Number(number) => Some(vec![*number]),
            Self::Path(path) => path.evaluate(record)?,
            Self::Negative(node) => {
                node.evaluate(record)?.map(|values| values.into_iter().map(|value| -value).collect())
            }
            Self::Binary(operator, nodes) => {
                let [first, second] = nodes.each_ref().map(|node| node.evaluate(record));
                match (first?, second?) {
                    (Some(first), Some(second)) => Some(operator.apply(&first, &second)?),
                    _ => None,
                }
            }
            Self::Call(function, arguments) => {
                let all: Result<Vec<_>, ExpressionFault> =
                    arguments.iter().map(|argument| argument.evaluate(record)).collect();
                function.apply(&all?)
            }
        })
    }
}

impl Operator {
    /// Applies the operator elementwise; a single value is combined with each of several.
    pub(super) fn apply(self, first: &[f64], second: &[f64]) -> Result<Vec<f64>, ExpressionFault> {
        let result = |first: f64, second: f64| match self {
            Self::Add => first + second,
            Self::Subtract => first - second,
            Self::Multiply => first * second,
            Self::Divide => first / second,
        };
        match (first, second) {
            ([one], several) => Ok(several.iter().map(|other| result(*one, *other)).collect()),
            (several, [one]) => Ok(several.iter().map(|other| result(*other, *one)).collect()),
            _ if first.len() == second.len() => {
                Ok(first.iter().zip(second).map(|(first, second)| result(*first, *second)).collect())
            }
            _ => Err(ExpressionFault::Lengths(first.len(), second.len())),
        }
    }
}
