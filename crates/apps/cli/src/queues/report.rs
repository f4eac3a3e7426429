//! Report of `headway queues`, as JSON or as tables.

use super::named::Named;
use headway_media::SendQueueOptions;
use headway_papers::Number;
use headway_record::{Estimate, number_table};
use headway_run::NO_RANDOMNESS;
use headway_scenario::Scenario;
use headway_sim::{Compared, Comparison, Shares};
use headway_units::MediaKind;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// JSON output. Shares are means over the seeds, from 0 to 1.
#[derive(Serialize)]
pub(super) struct Report<'a> {
    version: &'static str,
    scenario: &'a str,
    flow: &'a str,
    seeds: Vec<u64>,
    /// Whether the runs of all seeds are identical. The numbers are then those of one run.
    pub(super) identical: bool,
    /// Media kinds of the packets of each priority.
    kinds: BTreeMap<u8, BTreeSet<MediaKind>>,
    opportunities: Option<Number>,
    bound: Means,
    queues: Vec<Row<'a>>,
}

/// Results of one queue.
#[derive(Serialize)]
struct Row<'a> {
    queue: &'a str,
    options: &'a SendQueueOptions,
    simulated: SimulatedShares,
    replayed: Means,
    #[serde(skip_serializing_if = "Option::is_none")]
    oracle: Option<Means>,
}

#[derive(Serialize)]
struct SimulatedShares {
    on_time_ratio: BTreeMap<MediaKind, Number>,
    late_ratio: BTreeMap<MediaKind, Number>,
}

/// Means by priority of a replay over the same transmission opportunities.
#[derive(Serialize)]
struct Means {
    on_time_ratio: BTreeMap<u8, Number>,
    /// Share on time of this priority and all higher ones together, as in `part_of_bound`.
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
            let oracle: Option<Vec<&Shares>> = each().map(|compared: &Compared| compared.oracle.as_ref()).collect();
            Row {
                queue: &named.name,
                options: &named.options,
                simulated: SimulatedShares {
                    on_time_ratio: means(each().map(|compared| &compared.on_time)),
                    late_ratio: means(each().map(|compared| &compared.late)),
                },
                replayed: Means::of(each().map(|compared| &compared.replayed)),
                oracle: oracle.map(|oracle| Means::of(oracle.into_iter())),
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

    /// Returns the tables.
    pub(super) fn plain(&self) -> String {
        let seeds = match self.seeds[..] {
            [only] => format!("seed {only}"),
            [first, .., last] if self.identical => format!("seeds {first} to {last}, all runs identical"),
            [first, .., last] => format!("seeds {first} to {last}, means ± 95 % interval (Student)"),
            [] => String::new(),
        };
        let opportunities = self.opportunities.map_or(0.0, |number| number.mean);
        let warning = if self.identical {
            format!("\nThe runs of all {} seeds are identical: {NO_RANDOMNESS}\n", self.seeds.len())
        } else {
            String::new()
        };
        format!(
            "flow {} of {}, {seeds}; * marks the best of a column\n\nSimulated, one run per queue and seed\n\n{}\nReplayed over the same \
             transmission opportunities ({opportunities:.0} per run), without losses\n\n{}{warning}",
            self.flow,
            self.scenario,
            self.simulated_table(),
            self.replayed_table(),
        )
    }

    fn simulated_table(&self) -> String {
        let kinds: BTreeSet<MediaKind> =
            self.queues.iter().flat_map(|row| row.simulated.on_time_ratio.keys().copied()).collect();
        let mut columns = Vec::new();
        for kind in kinds {
            let cells = |of: fn(&SimulatedShares) -> &BTreeMap<MediaKind, Number>| {
                self.queues.iter().map(move |row| of(&row.simulated).get(&kind).copied()).collect::<Vec<_>>()
            };
            columns.push(Column::new(kind.name(), "on time\n%", &cells(|row| &row.on_time_ratio)).with_best());
            columns.push(Column::new(kind.name(), "late\n%", &cells(|row| &row.late_ratio)));
        }
        draw(self.queues.iter().map(|row| row.queue), columns)
    }

    fn replayed_table(&self) -> String {
        let mut columns = Vec::new();
        let cells = |of: &dyn Fn(&Row<'_>) -> Option<Number>| self.queues.iter().map(of).collect::<Vec<_>>();
        for (&priority, kinds) in &self.kinds {
            let shares = cells(&|row| row.replayed.on_time_ratio.get(&priority).copied());
            let bound = self.bound.on_time_ratio.get(&priority).copied();
            columns.push(Column::new(&kind_names(kinds), "on time\n%", &shares).with_bound(bound));
        }
        for is_oracle in [false, true] {
            for (number, (&priority, kinds)) in self.kinds.iter().enumerate() {
                let parts = cells(&|row| {
                    let means = if is_oracle { row.oracle.as_ref() } else { Some(&row.replayed) };
                    means?.part_of_bound.get(&priority).copied()
                });
                if parts.iter().all(Option::is_none) {
                    continue;
                }
                let head = if number == 0 { kind_names(kinds) } else { format!("up to {}", kind_names(kinds)) };
                let unit = if is_oracle { "oracle\n% of bound" } else { "of bound\n%" };
                let bound = self.bound.part_of_bound.get(&priority).copied();
                columns.push(Column::new(&head, unit, &parts).with_best().with_bound(bound));
            }
        }
        let names = std::iter::once("bound").chain(self.queues.iter().map(|row| row.queue));
        draw(names, columns)
    }
}

fn kind_names(kinds: &BTreeSet<MediaKind>) -> String {
    kinds.iter().map(|kind| kind.name()).collect::<Vec<_>>().join("+")
}

/// Column of percentages.
struct Column {
    head: String,
    cells: Vec<String>,
}

impl Column {
    fn new(head: &str, unit: &str, shares: &[Option<Number>]) -> Self {
        Self { head: format!("{head}\n{unit}"), cells: shares.iter().copied().map(percentage).collect() }
    }

    /// Marks the cells with the largest mean, as printed, with an asterisk.
    fn with_best(mut self) -> Self {
        let mean = |cell: &String| cell.split(' ').next().and_then(|mean| mean.parse::<f64>().ok());
        let best = self.cells.iter().filter_map(mean).fold(f64::NEG_INFINITY, f64::max);
        for cell in &mut self.cells {
            cell.push(if mean(cell) == Some(best) { '*' } else { ' ' });
        }
        self
    }

    /// Inserts the bound as the first row.
    fn with_bound(mut self, bound: Option<Number>) -> Self {
        self.cells.insert(0, percentage(bound));
        self
    }
}

fn percentage(share: Option<Number>) -> String {
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
