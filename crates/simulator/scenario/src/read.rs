//! From the document to the tables: types, units, presets, ranges that hold for one table alone.

use crate::document::{Data, Value};
use crate::dscp::{DscpTable, KindsTable};
use crate::limits::{LONGEST_NAME, MOST_REPLICAS};
use crate::off::Off;
use crate::path::Path;
use crate::reader::{Open, Reader};
use crate::suggest::quoted;
use crate::tables::{
    AttackerTable, Chosen, DEFAULT_QUEUE, FlowTable, LinkTable, LinksTable, NodeTable, RecordTable, ScenarioTable,
    StartTable,
};
use crate::transport::Transport;
use crate::vocabulary::VOCABULARY;
use headway_attack::AttackOptions;
use headway_engine::Ties;
use headway_link::QueueOptions;
use headway_media::SendQueueOptions;
use headway_units::{Bytes, Dialect, Duration, MediaKind, Rate, Registry};

/// Eleven days: longer is a slip, and the sum of all times must fit an instant.
pub(crate) const LONGEST_RUN: Duration = Duration::from_secs(1_000_000);
/// At this rate a byte takes a nanosecond. Without propagation a faster link could deliver a packet at the instant at
/// which it was offered, and the order of what happens at one instant would not be defined.
pub(crate) const FASTEST_WITHOUT_DELAY: Rate = Rate::from_bits_per_second(8_000_000_000);
/// The rates that a link, a policer or a shaper can have: all above zero that a [`Rate`] holds.
pub(crate) const RATE_ALLOWED: &str = "write a rate above 0bps and at most 18446744Tbps, such as \"2Mbps\"";
/// More lower-layer bytes a packet than any link has.
const MOST_OVERHEAD: Bytes = Bytes::new(64 << 10);

/// Reads all tables; `None` if something was wrong. `default_name` is that of a scenario without.
pub(crate) fn scenario<'a>(reader: &mut Reader<'a>, default_name: &str) -> Option<ScenarioTable> {
    let root = reader.root;
    let mut open = reader.open(root, &Path::default(), &VOCABULARY.scenario)?;
    let name = open.optional("name").unwrap_or_else(|| default_name.to_owned());
    check_name(&mut open, &name, |c| c == ' ');
    if open.value("duration").is_none() {
        open.missing("duration", "\"50s\"");
    }
    let allowed = format!("a run lasts more than 0s and at most {LONGEST_RUN}");
    let duration = open.within("duration", Duration::from_nanos(1)..=LONGEST_RUN, &allowed).unwrap_or(LONGEST_RUN);
    let Rules { seed, dialect, ties } = rules(&mut open);
    let allowed = format!("from 0s to before the end of the run at {duration}");
    let measure_from: Duration = open.within("measure_from", .., &allowed).unwrap_or_default();
    if measure_from >= duration {
        open.wrong("measure_from", format!("{measure_from} is not before the end of the run at {duration}"));
    }
    let record = open.value("record");
    let (nodes, links, flows) = (open.tables("node"), open.tables("link"), open.tables("flow"));
    let attackers = open.tables("attacker");
    for (key, needs, tables) in
        [("link", "between, rate and delay", &links), ("flow", "name, from, to, transport and source", &flows)]
    {
        // What is no array was told already.
        if tables.is_empty() && open.value(key).is_none_or(|value| value.array().is_some()) {
            open.wrong(key, format!("there is no {key}: write one [[{key}]] at least, with {needs}"));
        }
    }
    crate::vary::check(&mut open);

    let record = record.and_then(|value| self::record(reader, value)).unwrap_or_default();
    let node = each(reader, nodes, node);
    let link = each(reader, links, |reader, value, path| link(reader, value, path, dialect));
    let flow = each(reader, flows, |reader, value, path| flow(reader, value, path, dialect));
    let attacker = each(reader, attackers, |reader, value, path| attacker(reader, value, path, dialect));
    let table = ScenarioTable {
        name,
        duration,
        seed,
        dialect,
        ties,
        measure_from,
        record,
        node,
        link,
        flow,
        attacker,
        vary: (),
    };
    reader.problems.is_empty().then_some(table)
}

/// What holds for links and flows alike.
struct Rules {
    seed: u64,
    dialect: Dialect,
    ties: Ties,
}

fn rules(open: &mut Open<'_, '_>) -> Rules {
    let seed = seed(open);
    let dialect = open.optional("dialect").unwrap_or_default();
    Rules { seed, dialect, ties: open.optional("ties").unwrap_or(Ties::preset(dialect)) }
}

/// Reads what links are made of; the rest of a scenario may be there, and is not looked at.
pub(crate) fn links(reader: &mut Reader<'_>) -> Option<LinksTable> {
    let root = reader.root;
    let mut open = reader.open(root, &Path::default(), &VOCABULARY.scenario)?;
    let Rules { seed, dialect, ties } = rules(&mut open);
    let (nodes, links) = (open.tables("node"), open.tables("link"));
    let node = each(reader, nodes, node);
    let link = each(reader, links, |reader, value, path| link(reader, value, path, dialect));
    reader.problems.is_empty().then_some(LinksTable { seed, ties, node, link })
}

/// Reads each table, until more problems were found than anybody reads.
fn each<'a, T>(
    reader: &mut Reader<'a>,
    tables: Vec<(&'a Value, Path)>,
    read: impl Fn(&mut Reader<'a>, &'a Value, &Path) -> Option<T>,
) -> Vec<T> {
    let mut all = Vec::with_capacity(tables.len());
    for (value, path) in tables {
        if reader.problems.is_full() {
            break;
        }
        all.extend(read(reader, value, &path));
    }
    all
}

fn seed(open: &mut Open<'_, '_>) -> u64 {
    const MOST: u64 = i64::MAX as u64;
    open.within("seed", 0..=MOST, &format!("write a whole number from 0 to {MOST}")).unwrap_or(1)
}

fn record<'a>(reader: &mut Reader<'a>, value: &'a Value) -> Option<RecordTable> {
    let mut open = reader.open(value, &Path::default().key("record"), &VOCABULARY.record)?;
    let series = match open.value("series").map(|value| &value.data) {
        None => RecordTable::default().series,
        Some(Data::Boolean(false)) => Duration::ZERO,
        Some(Data::Boolean(true)) => {
            open.wrong("series", "true does not say how often: write an interval such as \"100ms\", or false");
            Duration::ZERO
        }
        Some(_) => open.optional("series").unwrap_or_default(),
    };
    let distributions = open.optional("distributions").unwrap_or_default();
    Some(RecordTable { series, distributions })
}

fn node<'a>(reader: &mut Reader<'a>, value: &'a Value, path: &Path) -> Option<NodeTable> {
    let mut open = reader.open(value, path, &VOCABULARY.node)?;
    let name: String = open.required("name", "\"client\"").unwrap_or_default();
    check_name(&mut open, &name, |_| false);
    let count = count(&mut open);
    let host = crate::host::read(&mut open);
    let clock = crate::clock::read(&mut open);
    Some(NodeTable { name, count, host, clock })
}

fn link<'a>(reader: &mut Reader<'a>, value: &'a Value, path: &Path, dialect: Dialect) -> Option<LinkTable> {
    let mut open = reader.open(value, path, &VOCABULARY.link)?;
    let name: Option<String> = open.optional("name");
    if let Some(name) = &name {
        check_name(&mut open, name, |_| false);
    }
    let between: Option<[String; 2]> = ends(&mut open);
    for end in between.iter().flatten() {
        check_text(&mut open, "between", end, |_| false);
    }
    let capacity: Option<String> = open.optional("capacity");
    if capacity.is_none() && open.value("rate").is_none() {
        open.missing("rate", "\"2Mbps\"");
    }
    let rate: Option<Rate> = open.within("rate", .., RATE_ALLOWED);
    if capacity.is_some() && rate.is_some() {
        open.wrong("rate", "capacity tells how fast this link is: leave one of the two out");
    }
    if rate.is_some_and(Rate::is_zero) {
        open.wrong("rate", "a link of 0bps passes nothing: write a rate such as \"2Mbps\"");
    }
    if open.value("delay").is_none() {
        open.missing("delay", "\"10ms\"");
    }
    let delay = open.within("delay", Duration::ZERO..=LONGEST_RUN, &format!("from 0s to {LONGEST_RUN}"));
    if delay.is_some_and(Duration::is_zero)
        && let Some(rate) = rate
        && rate > FASTEST_WITHOUT_DELAY
    {
        open.wrong(
            "delay",
            format!(
                "a link of 0s transmits at {FASTEST_WITHOUT_DELAY} at most, where one byte takes 1ns, and not at {rate}: \
                 write a delay of at least \"1ns\", or a lower rate"
            ),
        );
    }
    let changes = crate::changes::read(&mut open, rate, delay, capacity.is_some()).unwrap_or_default();
    let one_way = open.optional("one_way").unwrap_or_default();
    let mtu: Option<Bytes> =
        open.within("mtu", .., "write at least \"1B\" and at most \"18446744073GB\", or leave mtu out");
    if mtu.is_some_and(|mtu| mtu.count() == 0) {
        open.wrong("mtu", "a link for packets of 0B passes nothing: write at least \"1B\", or leave mtu out");
    }
    let overhead = open.within("overhead", Bytes::new(0)..=MOST_OVERHEAD, &format!("from 0B to {MOST_OVERHEAD}"));
    let events = open.optional("events");
    let by_flow = open.optional("by_flow").unwrap_or_default();
    let own_dialect = open.optional("dialect");
    let dialect = own_dialect.unwrap_or(dialect);
    let queue = match open.value("queue") {
        Some(_) => open.options("queue", dialect, &VOCABULARY.queue),
        None => QueueOptions::preset(DEFAULT_QUEUE, dialect).map(chosen),
    };
    let loss = open.options("loss", dialect, &VOCABULARY.loss);
    let policer = crate::policer::read(&mut open, mtu);
    let shaper = crate::shaper::read(&mut open, mtu);
    let jitter = open.options("jitter", dialect, &VOCABULARY.jitter);
    let reorder = open.options("reorder", dialect, &VOCABULARY.reorder);
    let duplicate = crate::duplicate::read(&mut open);
    let reverse = crate::reverse::read(&mut open, dialect, mtu, (rate, delay));
    if capacity.is_none() {
        rate?;
    }
    Some(LinkTable {
        name,
        between: between?,
        rate,
        capacity,
        changes,
        delay: delay?,
        one_way,
        mtu,
        overhead,
        events,
        by_flow,
        dialect: own_dialect,
        queue: queue?,
        loss,
        policer,
        shaper,
        jitter,
        reorder,
        duplicate,
        reverse,
    })
}

/// What nobody wrote.
fn chosen<R>(options: R) -> Chosen<R> {
    Chosen { dialect: None, options, off: Off::default() }
}

fn ends(open: &mut Open<'_, '_>) -> Option<[String; 2]> {
    const EXAMPLE: &str = "[\"a\", \"b\"]";
    let Some(value) = open.value("between") else {
        open.missing("between", EXAMPLE);
        return None;
    };
    match value.array() {
        Some([_, _]) => open.optional("between"),
        _ => {
            open.wrong("between", format!("a link has two ends: write between = {EXAMPLE}"));
            None
        }
    }
}

fn flow<'a>(reader: &mut Reader<'a>, value: &'a Value, path: &Path, dialect: Dialect) -> Option<FlowTable> {
    let mut open = reader.open(value, path, &VOCABULARY.flow)?;
    let name: Option<String> = open.required("name", "\"ftp\"");
    if let Some(name) = &name {
        check_name(&mut open, name, |_| false);
    }
    let from: Option<String> = open.required("from", "\"client\"");
    let to: Option<String> = open.required("to", "\"server\"");
    let count = count(&mut open);
    let start = start(&mut open);
    let stop: Option<Duration> = open.optional("stop");
    let first = match &start {
        StartTable::At(start) => *start,
        StartTable::Each(starts) => starts.iter().copied().max().unwrap_or_default(),
        StartTable::Uniform(table) => table.uniform[1],
    };
    if let Some(stop) = stop
        && stop <= first
    {
        open.wrong("stop", format!("{stop} is not after the start at {first}"));
    }
    let fid: Option<u32> = open.optional("fid");
    let dscp = dscp(&mut open);
    let e_model = crate::e_model::read(&mut open);
    let own_dialect = open.optional("dialect");
    let dialect = own_dialect.unwrap_or(dialect);
    let transport = open.options::<Transport>("transport", dialect, &VOCABULARY.transport);
    if open.value("transport").is_none() {
        open.missing("transport", "{ kind = \"tcp-newreno\" } or { kind = \"udp\" }");
    }
    let send_queue = match (open.value("send_queue"), &transport) {
        (Some(_), Some(Chosen { options, .. })) if options.controller().is_none() => {
            // It is read for its mistakes, and not used: transports are changed from the command line.
            open.options::<SendQueueOptions>("send_queue", dialect, &VOCABULARY.send_queue);
            None
        }
        (Some(_), _) => open.options("send_queue", dialect, &VOCABULARY.send_queue),
        (None, Some(Chosen { options, .. })) => options.controller().map(|_| chosen(SendQueueOptions::fifo(dialect))),
        (None, None) => None,
    };
    let source = open.options("source", dialect, &VOCABULARY.source);
    if open.value("source").is_none() {
        open.missing("source", "{ kind = \"ftp\" } or { kind = \"cbr\", rate = \"1Mbps\", size = \"1000B\" }");
    }
    Some(FlowTable {
        name: name?,
        from: from?,
        to: to?,
        count,
        start,
        stop,
        fid,
        dscp,
        e_model,
        dialect: own_dialect,
        transport: transport?,
        send_queue,
        source: source?,
    })
}

fn attacker<'a>(reader: &mut Reader<'a>, value: &'a Value, path: &Path, dialect: Dialect) -> Option<AttackerTable> {
    let mut open = reader.open(value, path, &VOCABULARY.attacker)?;
    let name: Option<String> = open.required("name", "\"mallory\"");
    if let Some(name) = &name {
        check_name(&mut open, name, |_| false);
    }
    let at: Option<String> = open.required("at", "\"elsewhere\"");
    let target: Option<String> = open.required("target", "\"video\"");
    let on_path: bool = open.optional("on_path").unwrap_or_default();
    let start: Duration = open.optional("start").unwrap_or_default();
    let stop: Option<Duration> = open.optional("stop");
    if let Some(stop) = stop
        && stop <= start
    {
        open.wrong("stop", format!("{stop} is not after the start at {start}"));
    }
    let attack = open.options::<AttackOptions>("attack", dialect, &VOCABULARY.attack);
    if open.value("attack").is_none() {
        open.missing("attack", "{ kind = \"forge\", packet = \"reset\" } or { kind = \"flood\" }");
    }
    if let Some(chosen) = &attack
        && chosen.options.needs_path()
        && !on_path
    {
        let message = "this attacker needs to see the packets: write on_path = true, or an attack that needs nothing, \
                       such as { kind = \"forge\", unknown_bits = 48 }";
        open.wrong("attack", message);
        return None;
    }
    Some(AttackerTable { name: name?, at: at?, target: target?, on_path, start, stop, attack: attack? })
}

fn dscp(open: &mut Open<'_, '_>) -> Option<DscpTable> {
    let value = open.value("dscp")?;
    let Data::Table(_) = &value.data else { return open.optional("dscp").map(DscpTable::All) };
    let path = open.path.key("dscp");
    let mut table = open.reader.open(value, &path, &VOCABULARY.dscp)?;
    let mut kinds = KindsTable { other: table.optional("other"), ..KindsTable::default() };
    for kind in MediaKind::ALL {
        *kinds.of_mut(kind) = table.optional(kind.name());
    }
    Some(DscpTable::ByKind(kinds))
}

fn start(open: &mut Open<'_, '_>) -> StartTable {
    let Some(value) = open.value("start") else { return StartTable::default() };
    match &value.data {
        Data::Array(_) => open.optional("start").map(StartTable::Each),
        Data::Table(_) => {
            let path = open.path.key("start");
            open.reader.open(value, &path, &VOCABULARY.uniform).and_then(|mut table| uniform(&mut table))
        }
        _ => open.optional("start").map(StartTable::At),
    }
    .unwrap_or_default()
}

fn uniform(open: &mut Open<'_, '_>) -> Option<StartTable> {
    let bounds: [Duration; 2] = open.required("uniform", "[\"0s\", \"0.1s\"]")?;
    if bounds[0] >= bounds[1] {
        open.wrong("uniform", format!("{} is not before {}", bounds[0], bounds[1]));
        return None;
    }
    Some(StartTable::Uniform(crate::tables::UniformTable { uniform: bounds }))
}

fn count(open: &mut Open<'_, '_>) -> Option<u64> {
    open.within("count", 1..=MOST_REPLICAS, &format!("from 1 to {MOST_REPLICAS}"))
}

/// Names stand in paths, tables and file names.
fn check_name(open: &mut Open<'_, '_>, name: &str, also: fn(char) -> bool) {
    // An absent one was told already.
    if open.value("name").is_some() {
        check_text(open, "name", name, also);
    }
}

fn check_text(open: &mut Open<'_, '_>, key: &str, name: &str, also: fn(char) -> bool) {
    let right = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':') || also(c);
    if name.is_empty() || name.chars().count() > LONGEST_NAME || !name.chars().all(right) {
        let blanks = if also(' ') { ", blanks" } else { "" };
        let message = format!(
            "\"{}\" is not a name: write 1 to {LONGEST_NAME} letters, digits{blanks} and _ - . :",
            quoted(name)
        );
        open.wrong(key, message);
    }
}
