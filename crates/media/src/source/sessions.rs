//! Sessions that come and go: each write is a transfer of its own, for which the transport opens a connection of its own.
//!
//! Arrivals and sizes have a random stream each, seeded by the flow's: a transport that sends otherwise, or another law of the one,
//! changes nothing of the other. Sizes are the application's bytes.

use super::Context;
use super::draw::Law;
use crate::write::{Write, WriteSize};
use headway_units::{Bytes, Dialect, Duration, Instant, MediaKind, OptionError, Options as _, Random};

/// Sessions closer together than this are no traffic that anybody simulates.
const LEAST_GAP: Duration = Duration::from_micros(1);

/// Options of `kind = "sessions"`: `arrivals` and `sizes`.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(deny_unknown_fields)
)]
pub struct SessionsOptions {
    /// When sessions come.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub arrivals: Option<Arrivals>,
    /// How many bytes each of them has to send.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub sizes: Option<SessionSizes>,
    /// How many sessions there are at all; absent, no end.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub most: Option<u64>,
}

/// When sessions come.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(rename_all = "lowercase"),
    schemars(transform = describe_keys)
)]
pub enum Arrivals {
    /// An exponential time of this mean after each other, the first after the flow's start: a Poisson process. From 1 us.
    Poisson(Duration),
    /// One at the flow's start, and one each time that this has passed. From 1 us.
    Every(Duration),
    /// At these times after the flow's start, in their order.
    At(Vec<Duration>),
}

/// How many bytes sessions have to send, each at least 1 B.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(rename_all = "lowercase"),
    schemars(transform = describe_keys)
)]
pub enum SessionSizes {
    /// Most are small, and a few have most of the bytes.
    Pareto(ParetoSizes),
    /// Exponential with this mean.
    Exponential(Bytes),
    /// All alike.
    Constant(Bytes),
    /// These, one after the other, and again from the first.
    List(Vec<Bytes>),
}

/// P(X > x) = (minimum/x)^shape: one of `mean` and `minimum`, where minimum = mean (shape - 1)/shape.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema),
    serde(deny_unknown_fields)
)]
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

/// What is said of a law is said of its key, which is what editors show.
#[cfg(feature = "schema")]
fn describe_keys(schema: &mut schemars::Schema) {
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
    fn law(&self) -> Result<Law, OptionError> {
        let shape = self.shape;
        let fail = |message: String| Err(OptionError::new("sizes", message));
        if !(shape > 0.0 && shape <= 100.0) {
            return fail(format!("a shape of {shape} is out of range: above 0, and at most 100"));
        }
        match (self.mean, self.minimum) {
            (Some(_), None) if shape <= 1.0 => {
                fail(format!("sizes of shape {shape} have no mean: write minimum instead of mean, or a shape above 1"))
            }
            (Some(mean), None) => at_least_a_byte(mean).map(|()| Law::pareto(mean.count() as f64, shape)),
            (None, Some(minimum)) => {
                at_least_a_byte(minimum).map(|()| Law::Pareto { least: minimum.count() as f64, shape })
            }
            _ => {
                fail("pareto needs mean or minimum, and not both, such as { mean = \"10kB\", shape = 1.5 }".to_owned())
            }
        }
    }
}

fn at_least_a_byte(size: Bytes) -> Result<(), OptionError> {
    if size.count() == 0 {
        return Err(OptionError::new("sizes", "a session of 0B sends nothing: sizes are at least 1B"));
    }
    Ok(())
}

impl Arrivals {
    fn check(&self) -> Result<(), OptionError> {
        let fail = |message: String| Err(OptionError::new("arrivals", message));
        match self {
            Self::Poisson(gap) | Self::Every(gap) if *gap < LEAST_GAP => {
                fail(format!("{gap} from one session to the next is too short: at least {LEAST_GAP}"))
            }
            Self::At(times) if times.is_empty() => fail("nothing ever comes: write one time at least".to_owned()),
            Self::At(times) if !times.is_sorted() => fail("each time must not be before the one before it".to_owned()),
            _ => Ok(()),
        }
    }
}

impl SessionSizes {
    fn check(&self) -> Result<(), OptionError> {
        match self {
            Self::Pareto(pareto) => pareto.law().map(drop),
            Self::Exponential(size) | Self::Constant(size) => at_least_a_byte(*size),
            Self::List(sizes) if sizes.is_empty() => {
                Err(OptionError::new("sizes", "a session without a size sends nothing: write one size at least"))
            }
            Self::List(sizes) => sizes.iter().try_for_each(|size| at_least_a_byte(*size)),
        }
    }
}

impl SessionsOptions {
    /// Of a Poisson process twice the mean and a hundred: hardly ever are there more.
    pub(super) fn writes_within(&self, length: Duration) -> u64 {
        let gaps = |gap: Duration| length.as_nanos() / gap.as_nanos().max(1);
        let writes = match &self.arrivals {
            None => 0,
            Some(Arrivals::Poisson(gap)) => gaps(*gap).saturating_mul(2).saturating_add(100),
            Some(Arrivals::Every(gap)) => gaps(*gap).saturating_add(1),
            Some(Arrivals::At(times)) => times.len() as u64,
        };
        writes.min(self.most.unwrap_or(u64::MAX))
    }
}

impl headway_units::Options for SessionsOptions {
    fn preset(_: Dialect) -> Self {
        Self { arrivals: None, sizes: None, most: None }
    }

    fn check(&self) -> Result<(), OptionError> {
        let Some(arrivals) = &self.arrivals else {
            let message =
                "sessions need arrivals: { poisson = \"45ms\" }, { every = \"1s\" } or { at = [\"0s\", \"1.5s\"] }";
            return Err(OptionError::new("arrivals", message));
        };
        let Some(sizes) = &self.sizes else {
            let message = "sessions need sizes: { pareto = { mean = \"10kB\", shape = 1.5 } }, { exponential = \"10kB\" }, \
                           { constant = \"10kB\" } or { list = [\"10kB\", \"500B\"] }";
            return Err(OptionError::new("sizes", message));
        };
        arrivals.check()?;
        sizes.check()?;
        if let (Arrivals::At(times), SessionSizes::List(list)) = (arrivals, sizes)
            && times.len() != list.len()
        {
            let message = format!("there are {} sizes for {} arrivals: write one for each", list.len(), times.len());
            return Err(OptionError::new("sizes", message));
        }
        if self.most == Some(0) {
            return Err(OptionError::new("most", "0 sessions are no source: most is at least 1"));
        }
        Ok(())
    }
}

/// How the next time is found.
#[derive(Debug)]
enum NextTime {
    Poisson(Law, Random),
    Every(Duration),
    At(Box<[Duration]>),
}

/// How the next size is found.
#[derive(Debug)]
enum NextSize {
    Drawn(Law, Random),
    Constant(Bytes),
    List(Box<[Bytes]>),
}

/// Sessions, running: a write each.
#[derive(Debug)]
pub struct Sessions {
    next_time: NextTime,
    next_size: NextSize,
    start: Instant,
    /// How many have come.
    arrived: u64,
    most: u64,
    /// When the next comes.
    next: Instant,
    stop: Instant,
}

impl Sessions {
    pub(super) fn new(options: &SessionsOptions, context: Context) -> Result<Self, OptionError> {
        options.check()?;
        let Context { start, stop, mut random, .. } = context;
        let [arrivals, sizes] = ["arrivals", "sizes"].map(|name| Random::new(random.bits(), name));
        let next_time = match &options.arrivals {
            Some(Arrivals::Poisson(gap)) => {
                NextTime::Poisson(Law::Exponential { mean: gap.as_nanos() as f64 }, arrivals)
            }
            Some(Arrivals::Every(gap)) => NextTime::Every(*gap),
            Some(Arrivals::At(times)) => NextTime::At(times.as_slice().into()),
            None => NextTime::At(Box::default()),
        };
        let next_size = match &options.sizes {
            Some(SessionSizes::Pareto(pareto)) => NextSize::Drawn(pareto.law()?, sizes),
            Some(SessionSizes::Exponential(mean)) => {
                NextSize::Drawn(Law::Exponential { mean: mean.count() as f64 }, sizes)
            }
            Some(SessionSizes::Constant(size)) => NextSize::Constant(*size),
            Some(SessionSizes::List(list)) => NextSize::List(list.as_slice().into()),
            None => NextSize::List(Box::default()),
        };
        let most = options.most.unwrap_or(u64::MAX);
        let stop = stop.unwrap_or(Instant::FAR_FUTURE);
        let mut sessions = Self { next_time, next_size, start, arrived: 0, most, next: start, stop };
        sessions.step();
        Ok(sessions)
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        (self.next < self.stop && self.arrived < self.most).then_some(self.next)
    }

    pub(super) fn interval_s(&self) -> Option<f64> {
        match &self.next_time {
            NextTime::Every(gap) => Some(gap.as_secs_f64()),
            NextTime::Poisson(..) | NextTime::At(_) => None,
        }
    }

    pub(super) const fn is_told(&self) -> bool {
        matches!(self.next_time, NextTime::At(_))
    }

    pub(super) fn poll(&mut self, now: Instant) -> Option<Write> {
        let created = self.poll_timeout().filter(|due| *due <= now)?;
        let size = WriteSize::Payload(self.size());
        self.arrived += 1;
        self.step();
        Some(Write { size, kind: MediaKind::Data, priority: 0, created, expires: None, rest: WriteSize::NOTHING })
    }

    /// Finds when the next comes.
    fn step(&mut self) {
        self.next = match &mut self.next_time {
            // Not two at one nanosecond: a source does not stand still.
            NextTime::Poisson(law, random) => self.next + Duration::from_nanos((law.draw(random) as u64).max(1)),
            NextTime::Every(gap) => self.start + *gap * self.arrived,
            NextTime::At(times) => {
                let time = usize::try_from(self.arrived).ok().and_then(|index| times.get(index));
                time.map_or(Instant::FAR_FUTURE, |time| self.start + *time)
            }
        };
    }

    /// The size of the session that comes now, to the nearest byte.
    fn size(&mut self) -> Bytes {
        match &mut self.next_size {
            // `as` saturates.
            NextSize::Drawn(law, random) => Bytes::new((law.draw(random).round() as u64).max(1)),
            NextSize::Constant(size) => *size,
            NextSize::List(list) => {
                let index = self.arrived.checked_rem(list.len() as u64).unwrap_or_default();
                list.get(index as usize).copied().unwrap_or(Bytes::new(1))
            }
        }
    }
}
