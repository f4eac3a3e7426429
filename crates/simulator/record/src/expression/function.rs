//! What is made of several numbers.

use crate::jain_index;

/// A function of expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    /// The arithmetic mean.
    Mean,
    Sum,
    Min,
    Max,
    /// How many numbers there are.
    Count,
    /// Jain's index.
    Jain,
    /// The first argument, or the second where it has no number.
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

    /// How many arguments it takes: `or` two, the others any number.
    pub(super) const fn takes(self, arguments: usize) -> bool {
        match self {
            Self::Or => arguments == 2,
            _ => arguments > 0,
        }
    }

    /// Of all numbers of all arguments; none if one has none, or nothing can be said of so many.
    pub(super) fn of(self, arguments: &[Option<Vec<f64>>]) -> Option<Vec<f64>> {
        if self == Self::Or {
            return arguments.iter().flatten().next().cloned();
        }
        let values: Vec<f64> = arguments.iter().cloned().collect::<Option<Vec<_>>>()?.concat();
        let sum = || values.iter().sum::<f64>();
        let one = match self {
            Self::Mean => (!values.is_empty()).then(|| sum() / values.len() as f64),
            Self::Sum => Some(sum()),
            Self::Min => values.iter().copied().reduce(f64::min),
            Self::Max => values.iter().copied().reduce(f64::max),
            Self::Count => Some(values.len() as f64),
            Self::Jain => jain_index(&values),
            Self::Or => None,
        };
        one.map(|one| vec![one])
    }
}
