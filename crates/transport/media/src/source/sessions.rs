//! Sessions: each write is a separate transfer, for which the transport opens a connection.
//!
//! Arrivals and sizes have separate random streams, seeded by the flow's: neither the transport nor the distribution of
//! one affects the other. Sizes are application data.

use super::Context;
use super::draw::Distribution;
use super::sizes::{SessionSizes, Sizes};
#[cfg(feature = "schema")]
use crate::schema::{Deserialize, JsonSchema, Serialize};
use crate::write::{Write, WriteSize};
use headway_units::{Dialect, Duration, Instant, MediaKind, OptionError, Random};

const MIN_GAP: Duration = Duration::from_micros(1);

/// Options of the source `sessions`, independent transfers: their `arrivals` and `sizes`.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields))]
pub struct SessionsOptions {
    /// Times at which sessions start. Required.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub arrivals: Option<Arrivals>,
    /// Sizes of sessions, each the data of one transfer. Required.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub sizes: Option<SessionSizes>,
    /// Maximum number of sessions, at least 1; absent: without limit.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub most: Option<u64>,
}

/// Arrivals of sessions or of pages.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(
    feature = "schema",
    derive(Serialize, Deserialize, JsonSchema),
    serde(rename_all = "lowercase"),
    schemars(transform = super::sizes::describe_keys)
)]
pub enum Arrivals {
    /// Poisson process with this mean time between arrivals, the first after the start of the flow; at least 1us.
    Poisson(Duration),
    /// Periodic arrivals with this interval, the first at the start of the flow; at least 1us.
    Every(Duration),
    /// Arrivals at these times after the start of the flow; no time is before the one listed before it.
    At(Vec<Duration>),
}

impl Arrivals {
    /// Returns an upper bound of the arrivals in `length`: for a Poisson process twice the mean plus 100, which is
    /// rarely exceeded.
    pub(super) fn within(&self, length: Duration) -> u64 {
        let gaps = |gap: Duration| length.as_nanos() / gap.as_nanos().max(1);
        match self {
            Self::Poisson(gap) => gaps(*gap).saturating_mul(2).saturating_add(100),
            Self::Every(gap) => gaps(*gap).saturating_add(1),
            Self::At(times) => times.len() as u64,
        }
    }

    pub(super) fn check(&self) -> Result<(), OptionError> {
        let fail = |message: String| Err(OptionError::new("arrivals", message));
        match self {
            Self::Poisson(gap) | Self::Every(gap) if *gap < MIN_GAP => {
                fail(format!("{gap} from one session to the next is too short: at least {MIN_GAP}"))
            }
            Self::At(times) if times.is_empty() => fail("the list is empty: write at least one time".to_owned()),
            Self::At(times) if !times.is_sorted() => fail("each time must not be before the one before it".to_owned()),
            _ => Ok(()),
        }
    }
}

impl SessionsOptions {
    /// Returns arrivals and sizes, or the first invalid option.
    fn distributions(&self) -> Result<(&Arrivals, &SessionSizes), OptionError> {
        let Some(arrivals) = &self.arrivals else {
            let message = "sessions need arrivals, by poisson, every or at: write them";
            return Err(OptionError::new("arrivals", message).with_example("{ poisson = \"45ms\" }"));
        };
        let Some(sizes) = &self.sizes else {
            let message = "sessions need sizes, by pareto, lognormal, exponential, constant or list: write them";
            return Err(
                OptionError::new("sizes", message).with_example("{ pareto = { mean = \"10kB\", shape = 1.5 } }")
            );
        };
        arrivals.check()?;
        sizes.check("sizes")?;
        if let (Arrivals::At(times), SessionSizes::List(list)) = (arrivals, sizes)
            && times.len() != list.len()
        {
            let counted = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
            let (sizes, arrivals) = (counted(list.len(), "size"), counted(times.len(), "arrival"));
            let message = format!("{sizes} for {arrivals}: write one for each");
            return Err(OptionError::new("sizes", message));
        }
        if self.most == Some(0) {
            return Err(OptionError::new("most", "0 is out of range: most is at least 1"));
        }
        Ok((arrivals, sizes))
    }

    pub(super) fn writes_within(&self, length: Duration) -> u64 {
        let writes = self.arrivals.as_ref().map_or(0, |arrivals| arrivals.within(length));
        writes.min(self.most.unwrap_or(u64::MAX))
    }
}

impl headway_units::Options for SessionsOptions {
    fn preset(_: Dialect) -> Self {
        Self { arrivals: None, sizes: None, most: None }
    }

    fn check(&self) -> Result<(), OptionError> {
        self.distributions().map(drop)
    }
}

#[derive(Debug)]
enum NextTime {
    Poisson(Distribution, Random),
    Every(Duration),
    At(Box<[Duration]>),
}

#[derive(Debug)]
pub(super) struct ArrivalTimes {
    next_time: NextTime,
    start: Instant,
    arrived: u64,
    next: Instant,
}

impl ArrivalTimes {
    pub(super) fn new(arrivals: &Arrivals, start: Instant, random: Random) -> Self {
        let next_time = match arrivals {
            Arrivals::Poisson(gap) => {
                NextTime::Poisson(Distribution::Exponential { mean: gap.as_nanos() as f64 }, random)
            }
            Arrivals::Every(gap) => NextTime::Every(*gap),
            Arrivals::At(times) => NextTime::At(times.as_slice().into()),
        };
        let mut arrival_times = Self { next_time, start, arrived: 0, next: start };
        arrival_times.find();
        arrival_times
    }

    /// Returns the time of the next arrival; `FAR_FUTURE` if none.
    pub(super) const fn next(&self) -> Instant {
        self.next
    }

    pub(super) fn step(&mut self) {
        self.arrived += 1;
        self.find();
    }

    fn find(&mut self) {
        self.next = match &mut self.next_time {
            // At least 1 ns apart, so that a source always advances.
            NextTime::Poisson(distribution, random) => {
                self.next + Duration::from_nanos((distribution.draw(random) as u64).max(1))
            }
            NextTime::Every(gap) => self.start + *gap * self.arrived,
            NextTime::At(times) => {
                let time = usize::try_from(self.arrived).ok().and_then(|index| times.get(index));
                time.map_or(Instant::FAR_FUTURE, |time| self.start + *time)
            }
        };
    }
}

/// State of the source `sessions`, with one write per session.
#[derive(Debug)]
pub struct Sessions {
    arrival_times: ArrivalTimes,
    sizes: Sizes,
    random: Random,
    most: u64,
    stop: Instant,
}

impl Sessions {
    pub(super) fn new(options: &SessionsOptions, context: Context) -> Result<Self, OptionError> {
        let (arrivals, sizes) = options.distributions()?;
        let Context { start, stop, mut random, .. } = context;
        let [of_arrivals, of_sizes] = ["arrivals", "sizes"].map(|name| Random::new(random.bits(), name));
        Ok(Self {
            arrival_times: ArrivalTimes::new(arrivals, start, of_arrivals),
            sizes: Sizes::new(sizes, "sizes")?,
            random: of_sizes,
            most: options.most.unwrap_or(u64::MAX),
            stop: stop.unwrap_or(Instant::FAR_FUTURE),
        })
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        Some(self.arrival_times.next).filter(|next| *next < self.stop && self.arrival_times.arrived < self.most)
    }

    pub(super) fn interval_s(&self) -> Option<f64> {
        match &self.arrival_times.next_time {
            NextTime::Every(gap) => Some(gap.as_secs_f64()),
            NextTime::Poisson(..) | NextTime::At(_) => None,
        }
    }

    pub(super) const fn has_listed_times(&self) -> bool {
        matches!(self.arrival_times.next_time, NextTime::At(_))
    }

    pub(super) fn poll(&mut self, now: Instant) -> Option<Write> {
        let created = self.poll_timeout().filter(|due| *due <= now)?;
        let size = WriteSize::Payload(self.sizes.size(self.arrival_times.arrived, &mut self.random));
        self.arrival_times.step();
        Some(Write { size, kind: MediaKind::Data, priority: 0, created, expires: None, rest: WriteSize::NOTHING })
    }
}
