//! What `headway queues` says: as JSON, or as tables for a terminal.

use super::named::Named;
use headway_media::SendQueueOptions;
use headway_papers::Number;
use headway_record::{Estimate, number_table};
use headway_run::NO_CHANCE;
use headway_scenario::Scenario;
use headway_sim::{Compared, Comparison, Shares};
use headway_units::MediaKind;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// What `--json` prints: shares are 0 to 1, means over the seeds.
#[derive(Serialize)]
pub(super) struct Report<'a> {
    version: &'static str,
    scenario: &'a str,
    flow: &'a str,
    seeds: Vec<u64>,
    /// Whether all seeds gave the very same runs; the numbers are then those of one.
    pub(super) identical: bool,
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
    pub(super) fn new(
        scenario: &'a Scenario,
        flow: usize,
        seeds: Vec<u64>,
        queues: &'a [Named],
        done: &[Comparison],
    ) -> Self {
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
    pub(super) fn plain(&self) -> String {
        let seeds = match self.seeds[..] {
            [only] => format!("seed {only}"),
            [first, .., last] if self.identical => format!("seeds {first} to {last}, all the same run"),
            [first, .., last] => format!("seeds {first} to {last}, means ± 95 % (Student)"),
            [] => String::new(),
        };
        let opportunities = self.opportunities.map_or(0.0, |number| number.mean);
        let warning = if self.identical {
            format!("\nThese {} seeds gave one and the same run: {NO_CHANCE}\n", self.seeds.len())
        } else {
            String::new()
        };
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
    number_table(1, head, rows)
}
