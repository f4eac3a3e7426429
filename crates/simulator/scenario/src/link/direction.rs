//! Keys of one direction of a link, their checks and the resulting configuration.
//!
//! To add a key of a direction: add a field to [`Direction`], read it in [`read`], apply it in [`Direction::config`],
//! and regenerate `vocabulary.txt` (see `vocabulary.rs`).

use super::{changes, duplicate, policer, shaper};
use crate::document::Data;
use crate::files::Traces;
use crate::kind_options::KindOptions;
use crate::limits::{MAX_DURATION, MAX_RATE_WITHOUT_DELAY, RATE_ALLOWED};
use crate::path::Path;
use crate::reader::{Open, Reader};
use crate::vocabulary::VOCABULARY;
use headway_link::{
    CapacityTrace, Config, DuplicateOptions, EcnRewrite, JitterOptions, LinkChange, LinkChanges, LossOptions,
    PolicerOptions, QueueOptions, ReorderOptions, ShaperOptions,
};
use headway_units::{Bytes, Dialect, Duration, Rate, Registry};
use schemars::JsonSchema;
use serde::Serialize;
use std::sync::Arc;

/// Kind of the queue if the link has no `queue`.
pub(crate) const DEFAULT_QUEUE: &str = "droptail";
/// Maximum number of lower-layer bytes per packet.
const MAX_OVERHEAD: Bytes = Bytes::new(64 << 10);

/// One direction of a link. In `reverse`, absent keys have the values of the link; `changes` only if `reverse` sets
/// neither `rate`, `capacity` nor `delay`.
#[derive(Debug, Default, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub(crate) struct Direction {
    /// Transmission rate, above 0bps. Not allowed with `capacity`. Required without it, except in `reverse`, where that
    /// of the link is the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    rate: Option<Rate>,
    /// File of transmission opportunities in Mahimahi's format, instead of `rate`: each line is a time in ms at which
    /// 1504B can be sent. After the last line the file starts again.
    #[serde(skip_serializing_if = "Option::is_none")]
    capacity: Option<String>,
    /// Changes of rate and delay during the run, in order of time; `[]` for none. If absent: none; in `reverse`, those
    /// of the link unless `reverse` sets `rate`, `capacity` or `delay`.
    #[serde(skip_serializing_if = "Option::is_none")]
    changes: Option<Vec<LinkChange>>,
    /// Propagation delay; at least 1ns if the rate is above 8Gbps. In `reverse`, that of the link if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    delay: Option<Duration>,
    /// Maximum packet size including headers, at least 1B; larger packets are dropped. If absent: no limit; in
    /// `reverse`, that of the link.
    #[serde(skip_serializing_if = "Option::is_none")]
    mtu: Option<Bytes>,
    /// Lower-layer bytes that are transmitted with each packet, at most 64KiB. If absent: in `reverse`, those that the
    /// link sets; otherwise 4B with `capacity`, as in mm-link, or 0B.
    #[serde(skip_serializing_if = "Option::is_none")]
    overhead: Option<Bytes>,
    /// Queue in front of the transmitter. If absent: droptail; in `reverse`, that of the link.
    #[serde(skip_serializing_if = "Option::is_none")]
    queue: Option<KindOptions<QueueOptions>>,
    /// Packet loss of the channel, as opposed to drops by the queue. If absent: none; in `reverse`, that of the link.
    #[serde(skip_serializing_if = "Option::is_none")]
    loss: Option<Switchable<KindOptions<LossOptions>>>,
    /// Token bucket before the queue that drops packets above a rate. If absent: none; in `reverse`, that of the link.
    #[serde(skip_serializing_if = "Option::is_none")]
    policer: Option<Switchable<PolicerOptions>>,
    /// Token bucket after the queue that delays packets above a rate. If absent: none; in `reverse`, that of the link.
    #[serde(skip_serializing_if = "Option::is_none")]
    shaper: Option<Switchable<ShaperOptions>>,
    /// Random delay of each packet in addition to `delay`. If absent: none; in `reverse`, that of the link.
    #[serde(skip_serializing_if = "Option::is_none")]
    jitter: Option<Switchable<KindOptions<JitterOptions>>>,
    /// Reordering of packets by different delays. If absent: none; in `reverse`, that of the link.
    #[serde(skip_serializing_if = "Option::is_none")]
    reorder: Option<Switchable<KindOptions<ReorderOptions>>>,
    /// Random duplication of packets. If absent: none; in `reverse`, that of the link.
    #[serde(skip_serializing_if = "Option::is_none")]
    duplicate: Option<Switchable<DuplicateOptions>>,
    /// Change of the ECN field of each packet before the queue, as by a router that does not follow RFC 3168. If
    /// absent: none; in `reverse`, that of the link.
    #[serde(skip_serializing_if = "Option::is_none")]
    ecn: Option<Switchable<EcnRewrite>>,
}

/// Optional value that `false` disables.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Switchable<T> {
    /// `false`.
    Off(bool),
    /// Value.
    Is(T),
}

impl<T> Switchable<T> {
    /// Returns the value converted by `of`: `inherited` if the key is absent, `None` if it is `false`.
    fn or<U>(written: Option<&Self>, inherited: Option<&U>, of: impl FnOnce(&T) -> U) -> Option<U>
    where
        U: Clone,
    {
        match written {
            None => inherited.cloned(),
            Some(Self::Off(_)) => None,
            Some(Self::Is(value)) => Some(of(value)),
        }
    }

    /// Reads `false`, or a value with `read`.
    fn read<'r, 'a>(
        table: &mut Open<'r, 'a>,
        key: &str,
        read: impl FnOnce(&mut Open<'r, 'a>) -> Option<T>,
    ) -> Option<Self> {
        match table.value(key)?.data {
            Data::Boolean(false) => Some(Self::Off(false)),
            _ => read(table).map(Self::Is),
        }
    }
}

/// Reads the keys of a direction. For `reverse`, `forward` is the other direction.
pub(super) fn read(open: &mut Open<'_, '_>, dialect: Dialect, forward: Option<&Direction>) -> Direction {
    let capacity: Option<String> = open.optional("capacity");
    let own_rate: Option<Rate> = open.within("rate", .., RATE_ALLOWED);
    if capacity.is_some() && own_rate.is_some() {
        open.wrong("rate", "capacity already determines the rate: leave one of the two out");
    }
    if own_rate.is_some_and(Rate::is_zero) {
        open.wrong("rate", "a link of 0bps transmits nothing: write a rate such as \"2Mbps\"");
    }
    let allowed = format!("from 0s to {MAX_DURATION}");
    let own_delay: Option<Duration> = open.within("delay", Duration::ZERO..=MAX_DURATION, &allowed);
    if forward.is_none() {
        if capacity.is_none() && open.value("rate").is_none() {
            open.missing("rate", "\"2Mbps\"");
        }
        if open.value("delay").is_none() {
            open.missing("delay", "\"10ms\"");
        }
    }
    let rate = own_rate.or_else(|| forward.filter(|_| capacity.is_none()).and_then(|forward| forward.rate));
    let delay = own_delay.or_else(|| forward.and_then(|forward| forward.delay));
    if (own_rate.is_some() || own_delay.is_some())
        && delay.is_some_and(Duration::is_zero)
        && let Some(rate) = rate
        && rate > MAX_RATE_WITHOUT_DELAY
    {
        let message = format!(
            "a link with a delay of 0s transmits at {MAX_RATE_WITHOUT_DELAY} at most, which is 1ns per byte, and not at {rate}: \
             write a delay of at least \"1ns\", or a lower rate"
        );
        open.wrong(if own_delay.is_some() { "delay" } else { "rate" }, message);
    }
    let changes = changes::read(open, rate, delay, capacity.is_some());
    let allowed = "write at least \"1B\" and at most \"18446744073GB\", or leave mtu out";
    let own_mtu: Option<Bytes> = open.within("mtu", .., allowed);
    if own_mtu.is_some_and(|mtu| mtu.count() == 0) {
        open.wrong("mtu", "a link with an mtu of 0B transmits nothing: write at least \"1B\", or leave mtu out");
    }
    let mtu = own_mtu.or_else(|| forward.and_then(|forward| forward.mtu));
    let queue = match (open.value("queue"), forward) {
        (None, None) => QueueOptions::preset(DEFAULT_QUEUE, dialect).map(KindOptions::preset),
        _ => open.options("queue", dialect, &VOCABULARY.queue),
    };
    let direction = Direction {
        rate: own_rate,
        capacity,
        changes,
        delay: own_delay,
        mtu: own_mtu,
        overhead: open.within("overhead", Bytes::new(0)..=MAX_OVERHEAD, &format!("from 0B to {MAX_OVERHEAD}")),
        queue,
        loss: Switchable::read(open, "loss", |open| open.options("loss", dialect, &VOCABULARY.loss)),
        policer: Switchable::read(open, "policer", |open| policer::read(open, mtu)),
        shaper: Switchable::read(open, "shaper", |open| shaper::read(open, mtu)),
        jitter: Switchable::read(open, "jitter", |open| open.options("jitter", dialect, &VOCABULARY.jitter)),
        reorder: Switchable::read(open, "reorder", |open| open.options("reorder", dialect, &VOCABULARY.reorder)),
        duplicate: Switchable::read(open, "duplicate", duplicate::read),
        ecn: Switchable::read(open, "ecn", |open| open.optional("ecn")),
    };
    if let (Some(forward), true) = (forward, own_mtu.is_some()) {
        forward.check_bursts(open, &direction, mtu);
    }
    direction
}

impl Direction {
    /// Reports inherited policers and shapers whose burst is too small for the MTU of `reverse`.
    fn check_bursts(&self, open: &mut Open<'_, '_>, reverse: &Self, mtu: Option<Bytes>) {
        let policer = match (&self.policer, &reverse.policer) {
            (Some(Switchable::Is(policer)), None) => policer.check(mtu).err(),
            _ => None,
        };
        let shaper = match (&self.shaper, &reverse.shaper) {
            (Some(Switchable::Is(shaper)), None) => shaper.check(mtu).err(),
            _ => None,
        };
        for (kind, error) in [("policer", policer), ("shaper", shaper)] {
            if let Some(error) = error {
                open.wrong(
                    "mtu",
                    format!("the {kind} of the link does not allow this mtu: {}: {}", error.key, error.message),
                );
            }
        }
    }

    /// Returns the configuration of this direction; `None` if a file cannot be read, which is reported. In `reverse`,
    /// `forward` is the other direction.
    pub(super) fn config(
        &self,
        reader: &mut Reader<'_>,
        path: &Path,
        forward: Option<(&Self, &Config)>,
        traces: &mut Traces<'_>,
    ) -> Option<Config> {
        let inherited = forward.map(|(_, config)| config);
        let (rate, capacity) = match (&self.capacity, self.rate, inherited) {
            (Some(file), ..) => {
                let trace = traces.capacity(reader, &path.key("capacity"), file)?;
                (trace.rate(), Some(trace))
            }
            (None, Some(rate), _) => (rate, None),
            (None, None, inherited) => (inherited?.rate, inherited?.capacity.clone()),
        };
        // Changes are inherited only together with the rate and the delay.
        let is_own = self.rate.is_some() || self.capacity.is_some() || self.delay.is_some();
        let changes = match &self.changes {
            Some(changes) => changes_of(changes),
            None => inherited.filter(|_| !is_own).and_then(|config| config.changes.clone()),
        };
        let default_overhead = if capacity.is_some() { CapacityTrace::HEADER } else { Bytes::new(0) };
        let overhead = self.overhead.or_else(|| forward.and_then(|(forward, _)| forward.overhead));
        let queue = self.queue.as_ref().map(|queue| &queue.options).or_else(|| inherited.map(|config| &config.queue));
        let inherited = inherited.as_ref();
        Some(Config {
            rate,
            capacity,
            changes,
            delay: self.delay.or_else(|| inherited.map(|config| config.delay))?,
            mtu: self.mtu.or_else(|| inherited.and_then(|config| config.mtu)),
            overhead: overhead.unwrap_or(default_overhead),
            queue: queue?.clone(),
            loss: Switchable::or(self.loss.as_ref(), inherited.and_then(|config| config.loss.as_ref()), |loss| {
                loss_of(reader, &path.key("loss"), &loss.options, traces)
            }),
            policer: Switchable::or(
                self.policer.as_ref(),
                inherited.and_then(|config| config.policer.as_ref()),
                PolicerOptions::clone,
            ),
            shaper: Switchable::or(
                self.shaper.as_ref(),
                inherited.and_then(|config| config.shaper.as_ref()),
                ShaperOptions::clone,
            ),
            jitter: Switchable::or(
                self.jitter.as_ref(),
                inherited.and_then(|config| config.jitter.as_ref()),
                |jitter| jitter.options.clone(),
            ),
            reorder: Switchable::or(
                self.reorder.as_ref(),
                inherited.and_then(|config| config.reorder.as_ref()),
                |reorder| reorder.options.clone(),
            ),
            duplicate: Switchable::or(
                self.duplicate.as_ref(),
                inherited.and_then(|config| config.duplicate.as_ref()),
                DuplicateOptions::clone,
            ),
            ecn: Switchable::or(self.ecn.as_ref(), inherited.and_then(|config| config.ecn.as_ref()), EcnRewrite::clone),
            two_events: false,
        })
    }
}

/// Returns the loss options with the contents of their trace; an unreadable trace is reported.
fn loss_of(reader: &mut Reader<'_>, path: &Path, written: &LossOptions, traces: &mut Traces<'_>) -> LossOptions {
    let mut loss = written.clone();
    if let LossOptions::Trace(options) = &mut loss {
        options.trace = traces.loss(reader, &path.key("file"), &options.file);
    }
    loss
}

/// Returns the changes; `None` if the list is empty. Invalid changes have been reported.
fn changes_of(changes: &[LinkChange]) -> Option<Arc<LinkChanges>> {
    let changes = LinkChanges::new(changes.to_vec()).ok()?;
    (!changes.as_slice().is_empty()).then(|| Arc::new(changes))
}
