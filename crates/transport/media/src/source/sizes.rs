//! Laws of how many bytes a transfer has: what sessions send, and the objects of pages. Sizes are the application's bytes.

use super::draw::{Law, LognormalWithin};
#[cfg(feature = "schema")]
use crate::schema::{Deserialize, JsonSchema, Serialize};
use headway_units::{Bytes, OptionError, Random};

/// Of a law within limits at least this share is within them: a draw that is not is drawn again.
const LEAST_SHARE: f64 = 0.01;

/// How many bytes sessions have to send, each at least 1 B.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(Serialize, Deserialize, JsonSchema),
    serde(rename_all = "lowercase"),
    schemars(transform = describe_keys)
)]
pub enum SessionSizes {
    /// Most are small, and a few have most of the bytes.
    Pareto(ParetoSizes),
    /// The logarithm is normal, and the size within limits.
    Lognormal(LognormalSizes),
    /// Exponential with this mean.
    Exponential(Bytes),
    /// All alike.
    Constant(Bytes),
    /// These, one after the other, and again from the first.
    List(Vec<Bytes>),
}

/// P(X > x) = (minimum/x)^shape: one of `mean` and `minimum`, where minimum = mean (shape - 1)/shape.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields))]
pub struct ParetoSizes {
    /// The mean.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub mean: Option<Bytes>,
    /// The least.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub minimum: Option<Bytes>,
    /// The exponent: above 0 to 100, above 1 with `mean`. Up to 2 the variance is infinite, up to 1 the mean.
    pub shape: f64,
}

/// ln X is normal. A draw outside the limits is drawn again, so that the mean and the deviation of what is left are others.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields))]
pub struct LognormalSizes {
    /// The mean without limits.
    pub mean: Bytes,
    /// The standard deviation without limits.
    pub deviation: Bytes,
    /// The least; absent, 1 B.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub minimum: Option<Bytes>,
    /// The most; absent, no limit.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub maximum: Option<Bytes>,
}

/// What is said of a law is said of its key, which is what editors show.
#[cfg(feature = "schema")]
pub(super) fn describe_keys(schema: &mut schemars::Schema) {
    for law in schema.get_mut("oneOf").and_then(|laws| laws.as_array_mut()).into_iter().flatten() {
        let description = law.get("description").cloned();
        let keys = law.get_mut("properties").and_then(|keys| keys.as_object_mut());
        for (key, description) in keys.into_iter().flatten().filter_map(|(_, key)| key.as_object_mut()).zip(description)
        {
            key.insert("description".to_owned(), description);
        }
    }
}

impl ParetoSizes {
    fn law(&self, key: &'static str) -> Result<Law, OptionError> {
        let shape = self.shape;
        let fail = |message: String| Err(OptionError::new(key, message));
        if !(shape > 0.0 && shape <= 100.0) {
            return fail(format!("a shape of {shape} is out of range: above 0, and at most 100"));
        }
        match (self.mean, self.minimum) {
            (Some(_), None) if shape <= 1.0 => {
                fail(format!("sizes of shape {shape} have no mean: write minimum instead of mean, or a shape above 1"))
            }
            (Some(mean), None) => at_least_a_byte(key, mean).map(|()| Law::pareto(mean.count() as f64, shape)),
            (None, Some(minimum)) => {
                at_least_a_byte(key, minimum).map(|()| Law::Pareto { least: minimum.count() as f64, shape })
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
    fn law(&self, key: &'static str) -> Result<Law, OptionError> {
        let Self { mean, deviation, minimum, maximum } = self;
        [Some(*mean), Some(*deviation), *minimum]
            .into_iter()
            .flatten()
            .try_for_each(|size| at_least_a_byte(key, size))?;
        let law = LognormalWithin::new(
            mean.count() as f64,
            deviation.count() as f64,
            minimum.map_or(1.0, |size| size.count() as f64),
            maximum.map_or(f64::INFINITY, |size| size.count() as f64),
        );
        if law.share_within() < LEAST_SHARE {
            let message =
                "hardly any size of this mean and deviation is between minimum and maximum: at least 1 % have to be";
            return Err(OptionError::new(key, message));
        }
        Ok(Law::Lognormal(law))
    }
}

impl SessionSizes {
    /// Errors name `key`, at which these stand.
    pub(super) fn check(&self, key: &'static str) -> Result<(), OptionError> {
        match self {
            Self::Pareto(pareto) => pareto.law(key).map(drop),
            Self::Lognormal(lognormal) => lognormal.law(key).map(drop),
            Self::Exponential(size) | Self::Constant(size) => at_least_a_byte(key, *size),
            Self::List(sizes) if sizes.is_empty() => {
                Err(OptionError::new(key, "a transfer without a size sends nothing: write one size at least"))
            }
            Self::List(sizes) => sizes.iter().try_for_each(|size| at_least_a_byte(key, *size)),
        }
    }
}

/// A law, ready to be drawn from.
#[derive(Debug)]
pub(super) enum Sizes {
    Drawn(Law),
    Constant(Bytes),
    List(Box<[Bytes]>),
}

impl Sizes {
    pub(super) fn new(told: &SessionSizes, key: &'static str) -> Result<Self, OptionError> {
        Ok(match told {
            SessionSizes::Pareto(pareto) => Self::Drawn(pareto.law(key)?),
            SessionSizes::Lognormal(lognormal) => Self::Drawn(lognormal.law(key)?),
            SessionSizes::Exponential(mean) => Self::Drawn(Law::Exponential { mean: mean.count() as f64 }),
            SessionSizes::Constant(size) => Self::Constant(*size),
            SessionSizes::List(list) => Self::List(list.as_slice().into()),
        })
    }

    /// The size of what comes after `index` others, to the nearest byte and at least one.
    pub(super) fn size(&self, index: u64, random: &mut Random) -> Bytes {
        match self {
            // `as` saturates.
            Self::Drawn(law) => Bytes::new((law.draw(random).round() as u64).max(1)),
            Self::Constant(size) => *size,
            Self::List(list) => {
                let index = index.checked_rem(list.len() as u64).unwrap_or_default();
                list.get(index as usize).copied().unwrap_or(Bytes::new(1))
            }
        }
    }
}
