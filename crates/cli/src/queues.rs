//! `headway queues`: send queues beside one another on a scenario's flow.

use crate::arguments::QueuesOptions;
use crate::error::Failure;
use crate::interrupt;
use crate::output;
use crate::pool;
use crate::progress::Progress;
use crate::sweep::identical;
use crate::text::ScenarioText;
use headway_media::SendQueueOptions;
use headway_papers::{Estimate, Number};
use headway_record::number_table;
use headway_scenario::{Flow, Scenario, Transport, hint, load, plan, resend_misfit};
use headway_sim::{Compared, Comparison, Shares, Yardstick, YardstickError, compare};
use headway_units::{Dialect, MediaKind, QueueSize, Registry};
use serde::Serialize;
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};

/// Of many flows so many are named.
const NAMED: usize = 10;

/// A queue under the name that `--queue` takes.
struct Named {
    name: String,
    options: SendQueueOptions,
}

pub(crate) fn queues(asked: &QueuesOptions) -> Result<(), Failure> {
    interrupt::listen();
    let scenario = scenario(asked)?;
    let flow = flow(&scenario, asked.flow.as_deref())?;
    let own = &scenario.flows[flow].send_queue;
    let queues = if asked.queues.is_empty() { all(own)? } else { chosen(&asked.queues, own.rules.limit)? };
    for queue in &queues {
        let flow = Flow { send_queue: queue.options.clone(), ..scenario.flows[flow].clone() };
        if let Some(misfit) = resend_misfit(&flow) {
            return Err(Failure::Queues(format!("--queue {}: {misfit}", queue.name)));
        }
    }
    let options: Vec<SendQueueOptions> = queues.iter().map(|queue| queue.options.clone()).collect();
    let last_seed = asked.first_seed.saturating_add(u64::from(asked.seeds.get()) - 1);
    if last_seed > i64::MAX as u64 {
        return Err(Failure::Queues(format!("--first-seed {}: seeds are from 0 to {}", asked.first_seed, i64::MAX)));
    }
    let seeds: Vec<u64> = (asked.first_seed..=last_seed).collect();
    let progress = Progress::of_runs(seeds.len(), asked.quiet);
    let done = pool::each(seeds.len(), asked.jobs, &progress, |number| {
        let scenario = Scenario { seed: seeds[number], ..scenario.clone() };
        compare(&scenario, flow, &options, asked.knowing, || !interrupt::asked()).map_err(|error| match error {
            YardstickError::Stopped => Failure::Stopped,
            error @ (YardstickError::NoFlow
            | YardstickError::NoSendQueue(_)
            | YardstickError::NoLifetime(_)
            | YardstickError::TooManyPackets(_)) => Failure::Queues(error.to_string()),
            error => Failure::Queues(format!("seed {}: {error}", scenario.seed)),
        })
    });
    progress.finish();
    let done: Option<Vec<Comparison>> = done?.into_iter().collect();
    let mut done = done.ok_or(Failure::Stopped)?;
    // Where chance has no part the seeds are no sample: one run says all, and has no interval.
    let identical = done.len() > 1 && done.iter().all(|seed| *seed == done[0]);
    if identical {
        done.truncate(1);
    }
    let report = Report { identical, ..Report::new(&scenario, flow, seeds, &queues, &done) };
    if asked.json { output::json(&report) } else { output::text(&report.plain()) }
}

fn scenario(asked: &QueuesOptions) -> Result<Scenario, Failure> {
    let ScenarioText { file, text, overrides, files } = ScenarioText::read(&asked.scenario, &asked.overrides)?;
    let key = |set: &String| set.split('=').next().map(str::trim) == Some("seed");
    if asked.overrides.iter().any(key) {
        return Err(Failure::Queues(
            "--set seed: here --first-seed says which seeds are run, --seeds how many".to_owned(),
        ));
    }
    let wrong = |error: &dyn std::fmt::Display| Failure::Scenario(error.to_string());
    if plan(&file, &text, &overrides).map_err(|error| wrong(&error))?.runs.len() > 1 {
        output::note(&format!("warning: {file}: what [vary] says does not count here"));
    }
    let loaded = load(&file, &text, &overrides, &files).map_err(|error| wrong(&error))?;
    for warning in &loaded.warnings {
        output::note(&format!("warning: {warning}"));
    }
    Ok(loaded.scenario)
}

/// The flow that was asked for, or the only one that fits.
fn flow(scenario: &Scenario, asked: Option<&str>) -> Result<usize, Failure> {
    if let Some(asked) = asked {
        let names = || scenario.flows.iter().map(|flow| flow.name.as_str());
        return names()
            .position(|name| name == asked)
            .ok_or_else(|| Failure::Queues(format!("there is no flow \"{asked}\"{}", hint(asked, names()))));
    }
    let fitting: Vec<usize> = (0..scenario.flows.len()).filter(|&flow| Yardstick::fits(scenario, flow)).collect();
    let controlled = |flow: &usize| {
        let transport = scenario.flows.get(*flow).map(|flow| &flow.transport);
        matches!(transport, Some(Transport::Agent(_) | Transport::Dccp(_)))
    };
    let has_queue: Vec<usize> = (0..scenario.flows.len()).filter(controlled).collect();
    match fitting[..] {
        [flow] => Ok(flow),
        // Where only one has a send queue, what it lacks is told of that one.
        [] if has_queue.len() == 1 => Ok(has_queue[0]),
        [] => Err(Failure::Queues(
            "no flow has a send queue that packets with a lifetime come to: one needs a transport with a rate controller \
             (dccp, tfrc, ...) and a source of media (conference, gop, ...)"
                .to_owned(),
        )),
        _ => {
            let names: Vec<&str> = fitting.iter().take(NAMED).map(|&flow| scenario.flows[flow].name.as_str()).collect();
            let more = if fitting.len() > NAMED { ", ..." } else { "" };
            let names = names.join(", ");
            Err(Failure::Queues(format!("{} flows could be compared: choose with --flow {names}{more}", fitting.len())))
        }
    }
}

/// A kind with its own options, but room for as much as the scenario's queue has; a kind that brings its own room keeps it.
fn of_kind(kind: &str, limit: QueueSize) -> Option<SendQueueOptions> {
    let dialect = Dialect::default();
    let mut options = SendQueueOptions::preset(kind, dialect)?;
    if options.rules.limit == SendQueueOptions::fifo(dialect).rules.limit {
        options.rules.limit = limit;
    }
    Some(options)
}

/// Every kind, and the scenario's own queue if it is none of these.
fn all(own: &SendQueueOptions) -> Result<Vec<Named>, Failure> {
    let kinds = SendQueueOptions::KINDS.iter();
    let mut queues: Vec<Named> = kinds
        .filter_map(|&kind| Some(Named { name: kind.to_owned(), options: of_kind(kind, own.rules.limit)? }))
        .collect();
    if !queues.iter().any(|queue| queue.options == *own) {
        queues.push(Named { name: name(own)?, options: own.clone() });
    }
    Ok(queues)
}

/// What `--queue` takes for it.
fn name(own: &SendQueueOptions) -> Result<String, Failure> {
    let mut name = own.kind().to_owned();
    let usual = of_kind(own.kind(), own.rules.limit).map(|usual| keys(&usual)).transpose()?.unwrap_or_default();
    for (key, value) in keys(own)?.iter().filter(|&(key, value)| usual.get(key) != Some(value)) {
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        name = format!("{name},{key}={value}");
    }
    Ok(name)
}

/// The options as a scenario writes them, without the kind.
fn keys(options: &SendQueueOptions) -> Result<Map<String, Value>, Failure> {
    let failed = |error: serde_json::Error| Failure::Queues(error.to_string());
    match serde_json::to_value(&options.rules).map_err(failed)? {
        Value::Object(keys) => Ok(keys),
        _ => Ok(Map::new()),
    }
}

fn chosen(asked: &[String], limit: QueueSize) -> Result<Vec<Named>, Failure> {
    asked.iter().map(|text| Ok(Named { name: text.clone(), options: parse(text, limit)? })).collect()
}

/// Reads `KIND[,KEY=VALUE...]`.
fn parse(text: &str, limit: QueueSize) -> Result<SendQueueOptions, Failure> {
    let wrong = |message: String| Failure::Queues(format!("--queue {text}: {message}"));
    let mut parts = text.split(',').map(str::trim);
    let kind = parts.next().unwrap_or_default();
    let usual = of_kind(kind, limit).ok_or_else(|| {
        wrong(format!(
            "there is no send queue of kind \"{kind}\"{}",
            hint(kind, SendQueueOptions::KINDS.iter().copied())
        ))
    })?;
    let mut options = keys(&usual)?;
    for part in parts {
        let (key, value) = part.split_once('=').ok_or_else(|| {
            wrong(format!("\"{part}\" has no value: write KEY=VALUE, or another --queue for another queue"))
        })?;
        let known = options.clone();
        let known = known.keys().map(String::as_str);
        let entry = options
            .get_mut(key.trim())
            .ok_or_else(|| wrong(format!("there is no key \"{key}\"{}", hint(key, known))))?;
        *entry = match serde_json::from_str(value.trim()) {
            Ok(value @ (Value::Number(_) | Value::Bool(_))) => value,
            _ => Value::String(value.trim().to_owned()),
        };
    }
    let options =
        SendQueueOptions::deserialize(kind, Value::Object(options)).map_err(|error| wrong(error.to_string()))?;
    options.check().map_err(|error| wrong(error.to_string()))?;
    Ok(options)
}

/// What `--json` prints: shares are 0 to 1, means over the seeds.
#[derive(Serialize)]
struct Report<'a> {
    version: &'static str,
    scenario: &'a str,
    flow: &'a str,
    seeds: Vec<u64>,
    /// Whether all seeds gave the very same runs; the numbers are then those of one.
    identical: bool,
    /// What the packets of each priority are.
    kinds: BTreeMap<u8, BTreeSet<MediaKind>>,
    opportunities: Option<Number>,
    bound: Means,
    queues: Vec<Row<'a>>,
}

/// One queue.
#[derive(Serialize)]
struct Row<'a> {
    queue: &'a str,
    options: &'a SendQueueOptions,
    as_it_runs: AsItRuns,
    replayed: Means,
    #[serde(skip_serializing_if = "Option::is_none")]
    knowing: Option<Means>,
}

#[derive(Serialize)]
struct AsItRuns {
    on_time_ratio: BTreeMap<MediaKind, Number>,
    late_ratio: BTreeMap<MediaKind, Number>,
}

/// Over the same opportunities, by priority.
#[derive(Serialize)]
struct Means {
    on_time_ratio: BTreeMap<u8, Number>,
    /// These two of this and all more urgent priorities together.
    up_to_ratio: BTreeMap<u8, Number>,
    part_of_bound: BTreeMap<u8, Number>,
}

impl Means {
    fn of<'a>(shares: impl Iterator<Item = &'a Shares> + Clone) -> Self {
        Self {
            on_time_ratio: means(shares.clone().map(|shares| &shares.on_time)),
            up_to_ratio: means(shares.clone().map(|shares| &shares.up_to)),
            part_of_bound: means(shares.map(|shares| &shares.part_of_bound)),
        }
    }
}

fn means<'a, K: Ord + Copy + 'a>(seeds: impl Iterator<Item = &'a BTreeMap<K, f64>>) -> BTreeMap<K, Number> {
    let mut samples = BTreeMap::<K, Vec<f64>>::new();
    for (&key, &share) in seeds.flatten() {
        samples.entry(key).or_default().push(share);
    }
    samples.into_iter().filter_map(|(key, samples)| Some((key, Estimate::of(&samples)?.into()))).collect()
}

impl<'a> Report<'a> {
    fn new(scenario: &'a Scenario, flow: usize, seeds: Vec<u64>, queues: &'a [Named], done: &[Comparison]) -> Self {
        let row = |(number, named): (usize, &'a Named)| {
            let each = || done.iter().filter_map(move |seed| seed.queues.get(number));
            let knowing: Option<Vec<&Shares>> = each().map(|compared: &Compared| compared.knowing.as_ref()).collect();
            Row {
                queue: &named.name,
                options: &named.options,
                as_it_runs: AsItRuns {
                    on_time_ratio: means(each().map(|compared| &compared.on_time)),
                    late_ratio: means(each().map(|compared| &compared.late)),
                },
                replayed: Means::of(each().map(|compared| &compared.replayed)),
                knowing: knowing.map(|knowing| Means::of(knowing.into_iter())),
            }
        };
        let mut kinds = BTreeMap::<u8, BTreeSet<MediaKind>>::new();
        for (&priority, of) in done.iter().flat_map(|seed| &seed.kinds) {
            kinds.entry(priority).or_default().extend(of);
        }
        let opportunities: Vec<f64> = done.iter().map(|seed| seed.opportunities as f64).collect();
        Self {
            version: env!("CARGO_PKG_VERSION"),
            scenario: &scenario.name,
            flow: &scenario.flows[flow].name,
            seeds,
            identical: false,
            kinds,
            opportunities: Estimate::of(&opportunities).map(Number::from),
            bound: Means::of(done.iter().map(|seed| &seed.bound)),
            queues: queues.iter().enumerate().map(row).collect(),
        }
    }

    /// For a terminal.
    fn plain(&self) -> String {
        let seeds = match self.seeds[..] {
            [only] => format!("seed {only}"),
            [first, .., last] if self.identical => format!("seeds {first} to {last}, all the same run"),
            [first, .., last] => format!("seeds {first} to {last}, means ± 95 % (Student)"),
            [] => String::new(),
        };
        let opportunities = self.opportunities.map_or(0.0, |number| number.mean);
        let warning = if self.identical { format!("\n{}", identical(self.seeds.len())) } else { String::new() };
        format!(
            "{} of {}, {seeds}; * is the best of a column\n\nAs they run\n\n{}\nOver the same opportunities ({opportunities:.0} a run), \
             losses left out\n\n{}{warning}",
            self.flow,
            self.scenario,
            self.table_as_they_run(),
            self.table_over_the_same(),
        )
    }

    fn table_as_they_run(&self) -> String {
        let kinds: BTreeSet<MediaKind> =
            self.queues.iter().flat_map(|row| row.as_it_runs.on_time_ratio.keys().copied()).collect();
        let mut columns = Vec::new();
        for kind in kinds {
            let cells = |of: fn(&AsItRuns) -> &BTreeMap<MediaKind, Number>| {
                self.queues.iter().map(move |row| of(&row.as_it_runs).get(&kind).copied()).collect::<Vec<_>>()
            };
            columns.push(Column::new(kind.name(), "in time %", &cells(|row| &row.on_time_ratio)).with_best());
            columns.push(Column::new(kind.name(), "late %", &cells(|row| &row.late_ratio)));
        }
        draw(self.queues.iter().map(|row| row.queue), columns)
    }

    fn table_over_the_same(&self) -> String {
        let mut columns = Vec::new();
        let cells = |of: &dyn Fn(&Row<'_>) -> Option<Number>| self.queues.iter().map(of).collect::<Vec<_>>();
        for (&priority, kinds) in &self.kinds {
            let shares = cells(&|row| row.replayed.on_time_ratio.get(&priority).copied());
            let bound = self.bound.on_time_ratio.get(&priority).copied();
            columns.push(Column::new(&words(kinds), "in time %", &shares).under(bound));
        }
        for knows in [false, true] {
            for (number, (&priority, kinds)) in self.kinds.iter().enumerate() {
                let parts = cells(&|row| {
                    let means = if knows { row.knowing.as_ref() } else { Some(&row.replayed) };
                    means?.part_of_bound.get(&priority).copied()
                });
                if parts.iter().all(Option::is_none) {
                    continue;
                }
                let head = if number == 0 { words(kinds) } else { format!("up to {}", words(kinds)) };
                let unit = if knows { "of bound %\nif it knew" } else { "of bound %" };
                let bound = self.bound.part_of_bound.get(&priority).copied();
                columns.push(Column::new(&head, unit, &parts).with_best().under(bound));
            }
        }
        let names = std::iter::once("bound").chain(self.queues.iter().map(|row| row.queue));
        draw(names, columns)
    }
}

fn words(kinds: &BTreeSet<MediaKind>) -> String {
    kinds.iter().map(|kind| kind.name()).collect::<Vec<_>>().join("+")
}

/// Per cents.
struct Column {
    head: String,
    cells: Vec<String>,
}

impl Column {
    fn new(head: &str, unit: &str, shares: &[Option<Number>]) -> Self {
        Self { head: format!("{head}\n{unit}"), cells: shares.iter().copied().map(shown).collect() }
    }

    /// With a sign behind those that have the largest mean, as it is shown.
    fn with_best(mut self) -> Self {
        let mean = |cell: &String| cell.split(' ').next().and_then(|mean| mean.parse::<f64>().ok());
        let best = self.cells.iter().filter_map(mean).fold(f64::NEG_INFINITY, f64::max);
        for cell in &mut self.cells {
            cell.push(if mean(cell) == Some(best) { '*' } else { ' ' });
        }
        self
    }

    /// With the bound above.
    fn under(mut self, bound: Option<Number>) -> Self {
        self.cells.insert(0, shown(bound));
        self
    }
}

fn shown(share: Option<Number>) -> String {
    match share {
        None => "-".to_owned(),
        Some(Number { mean, ci95: Some(ci95), .. }) => format!("{:.2} ± {:.2}", mean * 100.0, ci95 * 100.0),
        Some(Number { mean, .. }) => format!("{:.2}", mean * 100.0),
    }
}

fn draw<'a>(names: impl Iterator<Item = &'a str>, columns: Vec<Column>) -> String {
    let mut head = vec!["queue\n".to_owned()];
    let mut rows: Vec<Vec<String>> = names.map(|name| vec![name.to_owned()]).collect();
    for column in columns {
        head.push(column.head);
        for (row, cell) in rows.iter_mut().zip(column.cells) {
            row.push(cell);
        }
    }
    number_table(head, rows)
}
