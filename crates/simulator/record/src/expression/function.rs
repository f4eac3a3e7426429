//! Functions of several numbers.

use crate::jain_index;

/// A function of expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    /// Arithmetic mean.
    Mean,
    Sum,
    Min,
    Max,
    /// Number of values.
    Count,
    /// Jain's fairness index.
    Jain,
    /// First argument, or the second if the first has no value.
    Or,
}

const ALL: [(&str, Function); 7] = [
    ("mean", Function::Mean),
    ("sum", Function::Sum),
    ("min", Function::Min),
    ("max", Function::Max),
    ("count", Function::Count),
    ("jain", Function::Jain),
    ("or", Function::Or),
];

impl Function {
    pub(super) fn named(name: &str) -> Option<Self> {
        ALL.iter().find(|(known, _)| *known == name).map(|(_, function)| *function)
    }

    pub(super) fn names() -> String {
        ALL.map(|(name, _)| name).join(", ")
    }

    /// Returns whether the function accepts this number of arguments: two for `or`, at least one for all others.
    pub(super) const fn accepts(self, arguments: usize) -> bool {
        match self {
            Self::Or => arguments == 2,
            _ => arguments > 0,
        }
    }

    /// Returns the result over all values of all arguments. `None` if an argument has no value or the result is
    /// undefined.
    pub(super) fn apply(self, arguments: &[Option<Vec<f64>>]) -> Option<Vec<f64>> {
        if self == Self::Or {
            return arguments.iter().flatten().next().cloned();
        }
        let values: Vec<f64> = arguments.iter().cloned().collect::<Option<Vec<_>>>()?.concat();
        let sum = || values.iter().sum::<f64>();
        let result = match self {
            Self::Mean => (!values.is_empty()).then(|| sum() / values.len() as f64),
            Self::Sum => Some(sum()),
            Self::Min => values.iter().copied().reduce(f64::min),
            Self::Max => values.iter().copied().reduce(f64::max),
            Self::Count => Some(values.len() as f64),
            Self::Jain => jain_index(&values),
            Self::Or => None,
        };
        result.map(|value| vec![value])
    }
}
