//! Web pages: a main object and embedded objects, each of which is a transfer over a separate connection.
//!
//! The source is notified when its writes are complete ([`Pages::ended`]). Embedded objects are requested after the
//! main object has arrived, the number of parallel transfers of a page is limited, and a user reads a page only when it
//! is complete. All random values of a page are drawn from streams of its user, in the order of the user's pages. The
//! transport and the path therefore affect the times of pages, but not their contents.

use super::Context;
use super::draw::{Distribution, exponential};
use super::sessions::{ArrivalTimes, Arrivals};
use super::sizes::{LognormalSizes, SessionSizes, Sizes};
#[cfg(feature = "schema")]
use crate::schema::{Deserialize, JsonSchema, Serialize};
use crate::write::{Write, WriteSize};
use headway_units::{Bytes, Dialect, Duration, Instant, MediaKind, OptionError, Options as _, Random};
use std::collections::BTreeMap;

/// Maximum number of users; each has separate random streams and up to [`PagesOptions::connections`] open sessions.
const MAX_USERS: u32 = 10_000;
const MAX_CONNECTIONS: u32 = 1_000;
const MAX_OBJECTS: u32 = 1_000;
/// Maximum number of pages in progress; further pages are refused, as sessions are.
const MAX_PAGES: usize = 1 << 16;
const MIN_READING: Duration = Duration::from_micros(1);

/// Options of the source `pages`, users who read web pages. The preset for one user is that of IEEE 802.16m-08/004r5,
/// section 10.1.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields))]
pub struct PagesOptions {
    /// Number of users who read page after page, 1 to 10000; absent: 1. Cannot be combined with `arrivals`.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub users: Option<u32>,
    /// Times at which pages are requested, independent of earlier pages; absent: each of `users` reads one page after
    /// another.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub arrivals: Option<Arrivals>,
    /// Mean of the exponentially distributed time from the completion of a page to the user's request of the next page,
    /// at least 1us. Unused with `arrivals`.
    pub reading_time: Duration,
    /// Mean of the exponentially distributed time from the arrival of a page's main object to the requests of its
    /// embedded objects.
    pub parsing_time: Duration,
    /// Sizes of the main objects of pages.
    pub main: SessionSizes,
    /// Sizes of embedded objects.
    pub embedded: SessionSizes,
    /// Number of embedded objects of a page.
    pub objects: ObjectCounts,
    /// Maximum number of parallel transfers of a page, 1 to 1000.
    pub connections: u32,
    /// Maximum number of pages of the flow, at least 1; absent: without limit.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub most: Option<u64>,
}

/// Number of embedded objects of a page.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(Serialize, Deserialize, JsonSchema),
    serde(rename_all = "lowercase"),
    schemars(transform = super::sizes::describe_keys)
)]
pub enum ObjectCounts {
    /// The number of objects has a truncated Pareto distribution.
    Pareto(ParetoObjects),
    /// Constant number of objects, 0 to 1000.
    Constant(#[cfg_attr(feature = "schema", serde(deserialize_with = "deserialize_objects"))] u32),
}

/// Deserializes a number of objects with its range in errors.
#[cfg(feature = "schema")]
fn deserialize_objects<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    use serde::de::{Error, Unexpected, Visitor};

    struct Objects;
    impl Visitor<'_> for Objects {
        type Value = u32;
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(f, "a whole number from 0 to {MAX_OBJECTS}, such as 5")
        }
        fn visit_u64<E: Error>(self, number: u64) -> Result<u32, E> {
            let objects = u32::try_from(number).ok().filter(|objects| *objects <= MAX_OBJECTS);
            objects.ok_or_else(|| E::invalid_value(Unexpected::Unsigned(number), &self))
        }
        fn visit_i64<E: Error>(self, number: i64) -> Result<u32, E> {
            match u64::try_from(number) {
                Ok(number) => self.visit_u64(number),
                Err(_) => Err(E::invalid_value(Unexpected::Signed(number), &self)),
            }
        }
    }
    deserializer.deserialize_u32(Objects)
}

/// Truncated Pareto distribution of the number of embedded objects: min(X, maximum) - minimum, rounded to a whole
/// number, where P(X > x) = (minimum/x)^shape.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields))]
pub struct ParetoObjects {
    /// Minimum of the Pareto variable, at least 1. It is subtracted from each draw, so that a draw of the minimum means
    /// no embedded object.
    pub minimum: u32,
    /// Shape parameter, above 0 and at most 100.
    pub shape: f64,
    /// Maximum of the Pareto variable, above `minimum` by 1 to 1000. Larger draws count as the maximum.
    pub maximum: u32,
}

impl ParetoObjects {
    fn check(&self) -> Result<(), OptionError> {
        let Self { minimum, shape, maximum } = *self;
        let fail = |message: String| Err(OptionError::new("objects", message));
        if !(shape > 0.0 && shape <= 100.0) {
            return fail(format!("a shape of {shape} is out of range: above 0, and at most 100"));
        }
        match maximum.checked_sub(minimum) {
            Some(1..=MAX_OBJECTS) if minimum >= 1 => Ok(()),
            _ => fail(format!(
                "minimum = {minimum} and maximum = {maximum} are out of range: minimum is at least 1, and maximum above \
                 it, by {MAX_OBJECTS} at most"
            )),
        }
    }

    const fn distribution(&self) -> Distribution {
        Distribution::Pareto { least: self.minimum as f64, shape: self.shape }
    }
}

impl ObjectCounts {
    fn check(&self) -> Result<(), OptionError> {
        match self {
            Self::Pareto(pareto) => pareto.check(),
            Self::Constant(count) if *count > MAX_OBJECTS => {
                Err(OptionError::new("objects", format!("{count} is out of range: from 0 to {MAX_OBJECTS}")))
            }
            Self::Constant(_) => Ok(()),
        }
    }

    /// Returns the mean: for whole numbers, the sum over n of P(N > n).
    fn mean(&self) -> f64 {
        match self {
            Self::Pareto(ParetoObjects { minimum, shape, maximum }) => (0..maximum.saturating_sub(*minimum))
                .map(|n| libm::pow(f64::from(*minimum) / (f64::from(*minimum) + f64::from(n) + 0.5), *shape))
                .sum(),
            Self::Constant(count) => f64::from(*count),
        }
    }

    fn draw(&self, random: &mut Random) -> u32 {
        match self {
            Self::Pareto(pareto) => {
                let most = f64::from(pareto.maximum);
                (pareto.distribution().draw(random).min(most) - f64::from(pareto.minimum)).round() as u32
            }
            Self::Constant(count) => *count,
        }
    }
}

impl PagesOptions {
    /// Returns a bound: twice the expected number of pages, and ten more per user.
    pub(super) fn writes_within(&self, length: Duration) -> u64 {
        let pages = match &self.arrivals {
            Some(arrivals) => arrivals.within(length),
            None => {
                let each = length.as_nanos() / self.reading_time.as_nanos().max(1);
                u64::from(self.users.unwrap_or(1)).saturating_mul(each.saturating_mul(2).saturating_add(10))
            }
        };
        let objects = 1 + self.objects.mean().ceil() as u64;
        pages.min(self.most.unwrap_or(u64::MAX)).saturating_mul(objects)
    }
}

impl headway_units::Options for PagesOptions {
    fn preset(_: Dialect) -> Self {
        let lognormal = |mean, deviation, minimum| {
            let [mean, deviation] = [mean, deviation].map(Bytes::new);
            let [minimum, maximum] = [minimum, 2_000_000].map(|limit| Some(Bytes::new(limit)));
            SessionSizes::Lognormal(LognormalSizes { mean, deviation, minimum, maximum })
        };
        Self {
            users: None,
            arrivals: None,
            reading_time: Duration::from_secs(30),
            parsing_time: Duration::from_millis(130),
            main: lognormal(10_710, 25_032, 100),
            embedded: lognormal(7_758, 126_168, 50),
            objects: ObjectCounts::Pareto(ParetoObjects { minimum: 2, shape: 1.1, maximum: 55 }),
            connections: 6,
            most: None,
        }
    }

    fn check(&self) -> Result<(), OptionError> {
        let fail = |key, message: String| Err(OptionError::new(key, message));
        match (&self.arrivals, self.users) {
            (Some(_), Some(_)) => {
                return fail("users", "pages come by arrivals or when users have read: write one of both".to_owned());
            }
            (Some(arrivals), None) => arrivals.check()?,
            (None, Some(users)) if !(1..=MAX_USERS).contains(&users) => {
                return fail("users", format!("{users} users are out of range: 1 to {MAX_USERS}"));
            }
            (None, _) => {}
        }
        if self.reading_time < MIN_READING {
            let message = format!("{} is out of range: reading_time is at least {MIN_READING}", self.reading_time);
            return fail("reading_time", message);
        }
        self.main.check("main")?;
        self.embedded.check("embedded")?;
        self.objects.check()?;
        if !(1..=MAX_CONNECTIONS).contains(&self.connections) {
            let message = format!("{} connections are out of range: 1 to {MAX_CONNECTIONS}", self.connections);
            return fail("connections", message);
        }
        if self.most == Some(0) {
            return fail("most", "0 is out of range: most is at least 1".to_owned());
        }
        Ok(())
    }

    fn unused(&self) -> Vec<OptionError> {
        let message =
            "pages arrive by arrivals and no user reads, so that reading_time has no effect: leave one of the two out";
        self.arrivals.iter().map(|_| OptionError::new("reading_time", message)).collect()
    }
}

/// Event of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageEvent {
    /// A page began: its main object is requested at this time.
    Began(Instant),
    /// The page requested at this time has arrived completely.
    Completed(Instant),
    /// The page requested at this time, or one of its objects, was refused. No more of its objects are requested.
    Refused(Instant),
}

/// Reader of pages, with the random streams of their contents.
#[derive(Debug)]
struct User {
    pages: u64,
    main: Random,
    objects: Random,
    embedded: Random,
    parsing: Random,
    reading: Random,
}

impl User {
    fn new(mut random: Random) -> Self {
        let [main, objects, embedded, parsing, reading] =
            ["main", "objects", "embedded", "parsing", "reading"].map(|name| Random::new(random.bits(), name));
        Self { pages: 0, main, objects, embedded, parsing, reading }
    }
}

/// Page in progress.
#[derive(Debug)]
struct Page {
    user: usize,
    started: Instant,
    parsing: Duration,
    /// Random stream of the sizes of embedded objects.
    sizes: Random,
    /// Embedded objects requested, and those not yet requested.
    requested: u32,
    left: u32,
    open: u32,
    /// Whether the request of the next object is scheduled.
    is_scheduled: bool,
    refused: bool,
}

#[derive(Clone, Copy, Debug)]
enum Due {
    /// This user requests a page.
    Page(usize),
    /// An object of this page is requested.
    Object(u64),
}

/// State of the source `pages`, with one write per object of a page.
#[derive(Debug)]
pub struct Pages {
    options: PagesOptions,
    main: Sizes,
    embedded: Sizes,
    /// Users. With `arrivals` there is one, for all pages, without waiting.
    users: Vec<User>,
    arrival_times: Option<ArrivalTimes>,
    /// Scheduled events by time, simultaneous ones in the order of scheduling.
    due: BTreeMap<(Instant, u64), Due>,
    scheduled: u64,
    /// Pages in progress by number.
    pages: BTreeMap<u64, Page>,
    started_pages: u64,
    /// Page of each incomplete write.
    objects: BTreeMap<u64, u64>,
    written: u64,
    events: Vec<PageEvent>,
    stop: Instant,
}

impl Pages {
    pub(super) fn new(options: &PagesOptions, context: Context) -> Result<Self, OptionError> {
        options.check()?;
        let Context { start, stop, mut random, .. } = context;
        let arrival_times = Random::new(random.bits(), "arrivals");
        let arrival_times = options.arrivals.as_ref().map(|arrivals| ArrivalTimes::new(arrivals, start, arrival_times));
        let users = (0..options.users.unwrap_or(1)).map(|_| User::new(Random::new(random.bits(), "user"))).collect();
        let mut pages = Self {
            options: options.clone(),
            main: Sizes::new(&options.main, "main")?,
            embedded: Sizes::new(&options.embedded, "embedded")?,
            users,
            arrival_times,
            due: BTreeMap::new(),
            scheduled: 0,
            pages: BTreeMap::new(),
            started_pages: 0,
            objects: BTreeMap::new(),
            written: 0,
            events: Vec::new(),
            stop: stop.unwrap_or(Instant::FAR_FUTURE),
        };
        if pages.arrival_times.is_none() {
            (0..pages.users.len()).for_each(|user| pages.schedule_page(start, user));
        }
        Ok(pages)
    }

    fn schedule(&mut self, at: Instant, what: Due) {
        self.scheduled += 1;
        self.due.insert((at, self.scheduled), what);
    }

    /// Schedules the next page of a user who has completed a page or starts. The exponential distribution is
    /// memoryless, so the first reading time has the same distribution.
    fn schedule_page(&mut self, now: Instant, user: usize) {
        if let Some(reader) = self.users.get_mut(user) {
            let time = exponential(&mut reader.reading, self.options.reading_time);
            self.schedule(now + time.max(Duration::from_nanos(1)), Due::Page(user));
        }
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        let arrival_times = self.arrival_times.as_ref().map(ArrivalTimes::next);
        let due = self.due.first_key_value().map(|((at, _), _)| *at);
        arrival_times.into_iter().chain(due).min().filter(|due| *due < self.stop)
    }

    pub(super) fn poll(&mut self, now: Instant) -> Option<Write> {
        loop {
            let due = self.poll_timeout().filter(|due| *due <= now)?;
            let size = match self.arrival_times.as_mut().filter(|arrival_times| arrival_times.next() == due) {
                Some(arrival_times) => {
                    arrival_times.step();
                    self.begin(due, 0)
                }
                None => match self.due.pop_first()?.1 {
                    Due::Page(user) => self.begin(due, user),
                    Due::Object(page) => self.next_object(due, page),
                },
            };
            if let Some(size) = size {
                self.written += 1;
                let size = WriteSize::Payload(size);
                let (kind, rest) = (MediaKind::Data, WriteSize::NOTHING);
                return Some(Write { size, kind, priority: 0, created: due, expires: None, rest });
            }
        }
    }

    /// Requests a page and returns the size of its main object.
    fn begin(&mut self, now: Instant, user: usize) -> Option<Bytes> {
        if self.started_pages >= self.options.most.unwrap_or(u64::MAX) {
            self.arrival_times = None;
            return None;
        }
        let reader = self.users.get_mut(user)?;
        let size = self.main.size(reader.pages, &mut reader.main);
        reader.pages += 1;
        let page = Page {
            user,
            started: now,
            parsing: exponential(&mut reader.parsing, self.options.parsing_time),
            sizes: Random::new(reader.embedded.bits(), "page"),
            requested: 0,
            left: self.options.objects.draw(&mut reader.objects),
            open: 1,
            is_scheduled: false,
            refused: false,
        };
        self.started_pages += 1;
        self.events.push(PageEvent::Began(now));
        if self.pages.len() >= MAX_PAGES {
            self.events.push(PageEvent::Refused(now));
            return None;
        }
        self.pages.insert(self.started_pages, page);
        self.objects.insert(self.written, self.started_pages);
        Some(size)
    }

    /// Requests an embedded object and returns its size.
    fn next_object(&mut self, now: Instant, number: u64) -> Option<Bytes> {
        let page = self.pages.get_mut(&number)?;
        page.left = page.left.checked_sub(1)?;
        let size = self.embedded.size(u64::from(page.requested), &mut page.sizes);
        page.requested += 1;
        page.open += 1;
        page.is_scheduled = page.left > 0 && page.open < self.options.connections;
        if page.is_scheduled {
            self.schedule(now, Due::Object(number));
        }
        self.objects.insert(self.written, number);
        Some(size)
    }

    /// Handles the end of the transfer of the write with number `write`, counted from 0. `refused`: true if the
    /// transport refused the transfer, false if it is complete. May change the result of `poll_timeout`.
    pub fn ended(&mut self, now: Instant, write: u64, refused: bool) {
        let Some(number) = self.objects.remove(&write) else { return };
        let Some(page) = self.pages.get_mut(&number) else { return };
        page.open = page.open.saturating_sub(1);
        if refused {
            page.refused = true;
            page.left = 0;
        }
        if page.left > 0 {
            if !page.is_scheduled {
                page.is_scheduled = true;
                let wait = if page.requested == 0 { page.parsing } else { Duration::ZERO };
                self.schedule(now + wait, Due::Object(number));
            }
        } else if page.open == 0 {
            let Page { user, started, refused, .. } = *page;
            self.pages.remove(&number);
            self.events.push(if refused { PageEvent::Refused(started) } else { PageEvent::Completed(started) });
            if self.options.arrivals.is_none() {
                self.schedule_page(now, user);
            }
        }
    }

    /// Returns the events of pages since the last call.
    pub fn events(&mut self) -> impl Iterator<Item = PageEvent> {
        self.events.drain(..)
    }
}
