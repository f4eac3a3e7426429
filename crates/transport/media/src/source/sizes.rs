//! Distributions of transfer sizes, for sessions and the objects of pages. Sizes are application data.

use super::draw::{Distribution, LognormalWithin};
#[cfg(feature = "schema")]
use crate::schema::{Deserialize, JsonSchema, Serialize};
use headway_units::{Bytes, OptionError, Random};

/// Minimum probability of a draw within the limits; other draws are repeated.
const MIN_SHARE: f64 = 0.01;

/// Distribution of the sizes of sessions, each at least 1B.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(Serialize, Deserialize, JsonSchema),
    serde(rename_all = "lowercase"),
    schemars(transform = describe_keys)
)]
pub enum SessionSizes {
    /// Pareto distribution: most sizes are small, and a few contain most of the bytes.
    Pareto(ParetoSizes),
    /// Lognormal distribution within limits.
    Lognormal(LognormalSizes),
    /// Exponential distribution with this mean.
    Exponential(Bytes),
    /// Constant size.
    Constant(Bytes),
    /// These sizes in order, repeated without end.
    List(Vec<Bytes>),
}

/// Pareto distribution of a size X: P(X > x) = (minimum/x)^shape. Exactly one of `mean` and `minimum` is given; minimum
/// = mean (shape - 1)/shape.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields))]
pub struct ParetoSizes {
    /// Mean size, at least 1B; cannot be combined with `minimum`.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub mean: Option<Bytes>,
    /// Minimum size, at least 1B; cannot be combined with `mean`.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub minimum: Option<Bytes>,
    /// Shape parameter, above 0 and at most 100; above 1 with `mean`. Up to 2 the variance is infinite, up to 1 also
    /// the mean.
    pub shape: f64,
}

/// Lognormal distribution of a size. A random value outside of `minimum` and `maximum` is drawn again, which changes
/// the mean and the deviation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields))]
pub struct LognormalSizes {
    /// Mean of the distribution without limits, at least 1B.
    pub mean: Bytes,
    /// Standard deviation of the distribution without limits, at least 1B.
    pub deviation: Bytes,
    /// Minimum size; absent: 1B.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub minimum: Option<Bytes>,
    /// Maximum size; absent: without limit.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub maximum: Option<Bytes>,
}

/// Copies the description of each variant to its key, where editors show it.
#[cfg(feature = "schema")]
pub(super) fn describe_keys(schema: &mut schemars::Schema) {
    for variant in schema.get_mut("oneOf").and_then(|variants| variants.as_array_mut()).into_iter().flatten() {
        let description = variant.get("description").cloned();
        let keys = variant.get_mut("properties").and_then(|keys| keys.as_object_mut());
        for (key, description) in keys.into_iter().flatten().filter_map(|(_, key)| key.as_object_mut()).zip(description)
        {
            key.insert("description".to_owned(), description);
        }
    }
}

impl ParetoSizes {
    fn distribution(&self, key: &'static str) -> Result<Distribution, OptionError> {
        let shape = self.shape;
        let fail = |message: String| Err(OptionError::new(key, message));
        if !(shape > 0.0 && shape <= 100.0) {
            return fail(format!("a shape of {shape} is out of range: above 0, and at most 100"));
        }
        match (self.mean, self.minimum) {
            (Some(_), None) if shape <= 1.0 => {
                fail(format!("sizes of shape {shape} have no mean: write minimum instead of mean, or a shape above 1"))
            }
            (Some(mean), None) => at_least_a_byte(key, mean).map(|()| Distribution::pareto(mean.count() as f64, shape)),
            (None, Some(minimum)) => {
                at_least_a_byte(key, minimum).map(|()| Distribution::Pareto { least: minimum.count() as f64, shape })
            }
            _ => {
                fail("pareto needs mean or minimum, and not both, such as { mean = \"10kB\", shape = 1.5 }".to_owned())
            }
        }
    }
}

fn at_least_a_byte(key: &'static str, size: Bytes) -> Result<(), OptionError> {
    if size.count() == 0 {
        return Err(OptionError::new(key, "a transfer of 0B sends nothing: sizes are at least 1B"));
    }
    Ok(())
}

impl LognormalSizes {
    fn distribution(&self, key: &'static str) -> Result<Distribution, OptionError> {
        let Self { mean, deviation, minimum, maximum } = self;
        [Some(*mean), Some(*deviation), *minimum]
            .into_iter()
            .flatten()
            .try_for_each(|size| at_least_a_byte(key, size))?;
        if let Some((least, most)) = minimum.zip(*maximum)
            && least > most
        {
            let message = format!("minimum = {least} is above maximum = {most}; expected a minimum of at most {most}");
            return Err(OptionError::new(key, message));
        }
        let distribution = LognormalWithin::new(
            mean.count() as f64,
            deviation.count() as f64,
            minimum.map_or(1.0, |size| size.count() as f64),
            maximum.map_or(f64::INFINITY, |size| size.count() as f64),
        );
        if distribution.share_within() < MIN_SHARE {
            let message =
                "hardly any size of this mean and deviation is between minimum and maximum: expected at least 1 %";
            return Err(OptionError::new(key, message));
        }
        Ok(Distribution::Lognormal(distribution))
    }
}

impl SessionSizes {
    /// Checks the distribution. Errors name `key`.
    pub(super) fn check(&self, key: &'static str) -> Result<(), OptionError> {
        match self {
            Self::Pareto(pareto) => pareto.distribution(key).map(drop),
            Self::Lognormal(lognormal) => lognormal.distribution(key).map(drop),
            Self::Exponential(size) | Self::Constant(size) => at_least_a_byte(key, *size),
            Self::List(sizes) if sizes.is_empty() => {
                Err(OptionError::new(key, "the list is empty: write at least one size"))
            }
            Self::List(sizes) => sizes.iter().try_for_each(|size| at_least_a_byte(key, *size)),
        }
    }
}

#[derive(Debug)]
pub(super) enum Sizes {
    Drawn(Distribution),
    Constant(Bytes),
    List(Box<[Bytes]>),
}

impl Sizes {
    pub(super) fn new(sizes: &SessionSizes, key: &'static str) -> Result<Self, OptionError> {
        Ok(match sizes {
            SessionSizes::Pareto(pareto) => Self::Drawn(pareto.distribution(key)?),
            SessionSizes::Lognormal(lognormal) => Self::Drawn(lognormal.distribution(key)?),
            SessionSizes::Exponential(mean) => Self::Drawn(Distribution::Exponential { mean: mean.count() as f64 }),
            SessionSizes::Constant(size) => Self::Constant(*size),
            SessionSizes::List(list) => Self::List(list.as_slice().into()),
        })
    }

    /// Returns the size of transfer `index`, rounded to bytes, at least 1.
    pub(super) fn size(&self, index: u64, random: &mut Random) -> Bytes {
        match self {
            // `as` saturates.
            Self::Drawn(distribution) => Bytes::new((distribution.draw(random).round() as u64).max(1)),
            Self::Constant(size) => *size,
            Self::List(list) => {
                let index = index.checked_rem(list.len() as u64).unwrap_or_default();
                list.get(index as usize).copied().unwrap_or(Bytes::new(1))
            }
        }
    }
}
