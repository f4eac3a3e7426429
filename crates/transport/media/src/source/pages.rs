//! Web pages: a main object, and what it embeds, each of them a transfer for which the transport opens a connection of its own.
//!
//! This source hears when its writes are complete ([`Pages::ended`]): what is embedded is known when the main object has come, only so
//! many objects of a page are under way at once, and who reads a page has it first. All that is random of a page is drawn from streams
//! of its user, in the order of the user's pages: another transport or another path changes when pages come, and nothing in them.

use super::Context;
use super::draw::{Law, exponential};
use super::sessions::{Arrivals, Coming};
use super::sizes::{LognormalSizes, SessionSizes, Sizes};
#[cfg(feature = "schema")]
use crate::schema::{Deserialize, JsonSchema, Serialize};
use crate::write::{Write, WriteSize};
use headway_units::{Bytes, Dialect, Duration, Instant, MediaKind, OptionError, Options as _, Random};
use std::collections::BTreeMap;

/// Each has streams of its own, and may have [`PagesOptions::connections`] sessions open.
const MOST_USERS: u32 = 10_000;
const MOST_CONNECTIONS: u32 = 1_000;
const MOST_OBJECTS: u32 = 1_000;
/// A page that comes when so many are under way is refused, as a session is.
const MOST_PAGES: usize = 1 << 16;
/// Nobody turns pages faster than this.
const LEAST_READING: Duration = Duration::from_micros(1);

/// Options of `kind = "pages"`. Those of one user are those of IEEE 802.16m-08/004r5, section 10.1.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields))]
pub struct PagesOptions {
    /// How many users there are, each of whom reads page after page; absent with `arrivals`, else 1. At most 10000.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub users: Option<u32>,
    /// When pages come, whatever became of those before; absent where users read.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub arrivals: Option<Arrivals>,
    /// Mean of the exponential time from when a user has a page to when the next one is asked for. From 1 us.
    pub reading_time: Duration,
    /// Mean of the exponential time from when the main object has come to when what it embeds is asked for.
    pub parsing_time: Duration,
    /// How many bytes main objects have.
    pub main: SessionSizes,
    /// How many bytes embedded objects have.
    pub embedded: SessionSizes,
    /// How many objects a page embeds.
    pub objects: ObjectCounts,
    /// How many objects of a page are under way at once; 1 to 1000.
    pub connections: u32,
    /// How many pages there are at all; absent, no end.
    #[cfg_attr(feature = "schema", serde(default, skip_serializing_if = "Option::is_none"))]
    pub most: Option<u64>,
}

/// How many objects a page embeds.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(
    feature = "schema",
    derive(Serialize, Deserialize, JsonSchema),
    serde(rename_all = "lowercase"),
    schemars(transform = super::sizes::describe_keys)
)]
pub enum ObjectCounts {
    /// Few have most of them.
    Pareto(ParetoObjects),
    /// All alike; 0 to 1000.
    Constant(#[cfg_attr(feature = "schema", serde(deserialize_with = "deserialize_objects"))] u32),
}

/// Says the range of a page's objects, which is not that of the type.
#[cfg(feature = "schema")]
fn deserialize_objects<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    use serde::de::{Error, Unexpected, Visitor};

    struct Objects;
    impl Visitor<'_> for Objects {
        type Value = u32;
        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(f, "a whole number from 0 to {MOST_OBJECTS}, such as 5")
        }
        fn visit_u64<E: Error>(self, number: u64) -> Result<u32, E> {
            let objects = u32::try_from(number).ok().filter(|objects| *objects <= MOST_OBJECTS);
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

/// min(X, maximum) - minimum, to the nearest whole number, where P(X > x) = (minimum/x)^shape.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields))]
pub struct ParetoObjects {
    /// The least of X, which is no object yet; from 1.
    pub minimum: u32,
    /// The exponent: above 0 to 100.
    pub shape: f64,
    /// The most of X: above the minimum, by 1000 at most.
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
            Some(1..=MOST_OBJECTS) if minimum >= 1 => Ok(()),
            _ => fail(format!("minimum is at least 1, and maximum above it, by {MOST_OBJECTS} at most")),
        }
    }

    const fn law(&self) -> Law {
        Law::Pareto { least: self.minimum as f64, shape: self.shape }
    }
}

impl ObjectCounts {
    fn check(&self) -> Result<(), OptionError> {
        match self {
            Self::Pareto(pareto) => pareto.check(),
            Self::Constant(count) if *count > MOST_OBJECTS => {
                Err(OptionError::new("objects", format!("{count} objects are no page: from 0 to {MOST_OBJECTS}")))
            }
            Self::Constant(_) => Ok(()),
        }
    }

    /// The mean: of whole numbers the sum over n of P(N > n).
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
                (pareto.law().draw(random).min(most) - f64::from(pareto.minimum)).round() as u32
            }
            Self::Constant(count) => *count,
        }
    }
}

impl PagesOptions {
    /// Twice as many pages as are expected, and ten more a user.
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
            (None, Some(users)) if !(1..=MOST_USERS).contains(&users) => {
                return fail("users", format!("{users} users are out of range: 1 to {MOST_USERS}"));
            }
            (None, _) => {}
        }
        if self.reading_time < LEAST_READING {
            let message = format!("{} is no reading: reading_time is at least {LEAST_READING}", self.reading_time);
            return fail("reading_time", message);
        }
        self.main.check("main")?;
        self.embedded.check("embedded")?;
        self.objects.check()?;
        if !(1..=MOST_CONNECTIONS).contains(&self.connections) {
            let message = format!("{} connections are out of range: 1 to {MOST_CONNECTIONS}", self.connections);
            return fail("connections", message);
        }
        if self.most == Some(0) {
            return fail("most", "0 pages are no source: most is at least 1".to_owned());
        }
        Ok(())
    }

    fn unused(&self) -> Vec<OptionError> {
        let message =
            "pages arrive by arrivals and no user reads, so that reading_time has no effect: leave one of the two out";
        self.arrivals.iter().map(|_| OptionError::new("reading_time", message)).collect()
    }
}

/// What has become of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageEvent {
    /// Its main object is asked for now.
    Began(Instant),
    /// All of a page that began then has come.
    Completed(Instant),
    /// The page that began then, or one of its objects, found no room. Nothing more of it is asked for.
    Refused(Instant),
}

/// Who reads pages, and draws what is in them.
#[derive(Debug)]
struct User {
    /// How many there have been.
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

/// A page that is under way.
#[derive(Debug)]
struct Page {
    user: usize,
    began: Instant,
    parsing: Duration,
    /// The sizes of what it embeds.
    sizes: Random,
    /// Embedded objects that were asked for, and those that were not yet.
    asked: u32,
    left: u32,
    /// Objects under way.
    open: u32,
    /// Whether it is noted when the next object is asked for.
    waits: bool,
    refused: bool,
}

/// What comes at its time.
#[derive(Clone, Copy, Debug)]
enum Due {
    /// This user asks for a page.
    Page(usize),
    /// Of this page an object is asked for.
    Object(u64),
}

/// Pages, running: a write for each object.
#[derive(Debug)]
pub struct Pages {
    options: PagesOptions,
    main: Sizes,
    embedded: Sizes,
    /// By arrivals there is one, who draws for all pages and waits for none.
    users: Vec<User>,
    coming: Option<Coming>,
    /// Of one instant what was noted first.
    due: BTreeMap<(Instant, u64), Due>,
    noted: u64,
    /// Pages under way by their numbers.
    pages: BTreeMap<u64, Page>,
    begun: u64,
    /// Which page each write is of that is not complete.
    objects: BTreeMap<u64, u64>,
    written: u64,
    events: Vec<PageEvent>,
    stop: Instant,
}

impl Pages {
    pub(super) fn new(options: &PagesOptions, context: Context) -> Result<Self, OptionError> {
        options.check()?;
        let Context { start, stop, mut random, .. } = context;
        let coming = Random::new(random.bits(), "arrivals");
        let coming = options.arrivals.as_ref().map(|arrivals| Coming::new(arrivals, start, coming));
        let users = (0..options.users.unwrap_or(1)).map(|_| User::new(Random::new(random.bits(), "user"))).collect();
        let mut pages = Self {
            options: options.clone(),
            main: Sizes::new(&options.main, "main")?,
            embedded: Sizes::new(&options.embedded, "embedded")?,
            users,
            coming,
            due: BTreeMap::new(),
            noted: 0,
            pages: BTreeMap::new(),
            begun: 0,
            objects: BTreeMap::new(),
            written: 0,
            events: Vec::new(),
            stop: stop.unwrap_or(Instant::FAR_FUTURE),
        };
        if pages.coming.is_none() {
            (0..pages.users.len()).for_each(|user| pages.reads(start, user));
        }
        Ok(pages)
    }

    fn note(&mut self, at: Instant, what: Due) {
        self.noted += 1;
        self.due.insert((at, self.noted), what);
    }

    /// A user has a page, or begins: the next one comes when it is read. There is no moment at which somebody is likelier to end, so
    /// the first reading is like all others.
    fn reads(&mut self, now: Instant, user: usize) {
        if let Some(reader) = self.users.get_mut(user) {
            let time = exponential(&mut reader.reading, self.options.reading_time);
            self.note(now + time.max(Duration::from_nanos(1)), Due::Page(user));
        }
    }

    pub(super) fn poll_timeout(&self) -> Option<Instant> {
        let coming = self.coming.as_ref().map(Coming::next);
        let due = self.due.first_key_value().map(|((at, _), _)| *at);
        coming.into_iter().chain(due).min().filter(|due| *due < self.stop)
    }

    pub(super) fn poll(&mut self, now: Instant) -> Option<Write> {
        loop {
            let due = self.poll_timeout().filter(|due| *due <= now)?;
            let size = match self.coming.as_mut().filter(|coming| coming.next() == due) {
                Some(coming) => {
                    coming.step();
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

    /// A page is asked for: the size of its main object.
    fn begin(&mut self, now: Instant, user: usize) -> Option<Bytes> {
        if self.begun >= self.options.most.unwrap_or(u64::MAX) {
            self.coming = None;
            return None;
        }
        let reader = self.users.get_mut(user)?;
        let size = self.main.size(reader.pages, &mut reader.main);
        reader.pages += 1;
        let page = Page {
            user,
            began: now,
            parsing: exponential(&mut reader.parsing, self.options.parsing_time),
            sizes: Random::new(reader.embedded.bits(), "page"),
            asked: 0,
            left: self.options.objects.draw(&mut reader.objects),
            open: 1,
            waits: false,
            refused: false,
        };
        self.begun += 1;
        self.events.push(PageEvent::Began(now));
        if self.pages.len() >= MOST_PAGES {
            self.events.push(PageEvent::Refused(now));
            return None;
        }
        self.pages.insert(self.begun, page);
        self.objects.insert(self.written, self.begun);
        Some(size)
    }

    /// One more object is asked for: its size.
    fn next_object(&mut self, now: Instant, number: u64) -> Option<Bytes> {
        let page = self.pages.get_mut(&number)?;
        page.left = page.left.checked_sub(1)?;
        let size = self.embedded.size(u64::from(page.asked), &mut page.sizes);
        page.asked += 1;
        page.open += 1;
        page.waits = page.left > 0 && page.open < self.options.connections;
        if page.waits {
            self.note(now, Due::Object(number));
        }
        self.objects.insert(self.written, number);
        Some(size)
    }

    /// The transfer of a write, counted from 0, is complete; or it was `refused`. At what time the source must be asked may be another then.
    pub fn ended(&mut self, now: Instant, write: u64, refused: bool) {
        let Some(number) = self.objects.remove(&write) else { return };
        let Some(page) = self.pages.get_mut(&number) else { return };
        page.open = page.open.saturating_sub(1);
        if refused {
            page.refused = true;
            page.left = 0;
        }
        if page.left > 0 {
            if !page.waits {
                page.waits = true;
                let wait = if page.asked == 0 { page.parsing } else { Duration::ZERO };
                self.note(now + wait, Due::Object(number));
            }
        } else if page.open == 0 {
            let Page { user, began, refused, .. } = *page;
            self.pages.remove(&number);
            self.events.push(if refused { PageEvent::Refused(began) } else { PageEvent::Completed(began) });
            if self.options.arrivals.is_none() {
                self.reads(now, user);
            }
        }
    }

    /// What has become of pages since this was asked last.
    pub fn events(&mut self) -> impl Iterator<Item = PageEvent> {
        self.events.drain(..)
    }
}
