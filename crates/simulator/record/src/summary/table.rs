//! The summary as text tables, at most 100 columns wide for names of ordinary length.

use crate::{
    AttackerSummary, CompletionOfSize, DelaySummary, FlowSummary, HostSummary, LinkSummary, PagesSummary, Summary,
};
use comfy_table::{CellAlignment, Table, presets};
use headway_units::MediaKind;
use std::collections::BTreeSet;

/// Maximum number of rows of a table before the line `... N more`. A table of one more row is printed whole.
const MAX_ROWS: usize = 10;

/// Maximum width of a name, in characters; longer names are truncated.
const NAME_WIDTH: usize = 16;

/// Cell without a value.
const NONE: &str = "-";

type Aggregate<'a, T> = Box<dyn Fn(&[T]) -> String + 'a>;

/// A column: its header, its unit, and the cell of a row.
struct Column<'a, T> {
    head: &'a str,
    unit: &'a str,
    is_text: bool,
    cell: Box<dyn Fn(&T) -> String + 'a>,
    /// Cells of all rows together, in the lines below them.
    total: Aggregate<'a, T>,
    mean: Aggregate<'a, T>,
}

impl<'a, T> Column<'a, T> {
    fn text(head: &'a str, cell: impl Fn(&T) -> String + 'a) -> Self {
        let empty = || Box::new(|_: &[T]| String::new());
        Self { head, unit: "", is_text: true, cell: Box::new(cell), total: empty(), mean: empty() }
    }

    fn sum(head: &'a str, unit: &'a str, decimals: usize, value: impl Fn(&T) -> f64 + Copy + 'a) -> Self {
        let sum = move |rows: &[T]| rows.iter().map(value).sum::<f64>();
        Self {
            head,
            unit,
            is_text: false,
            cell: Box::new(move |row| format!("{:.decimals$}", value(row))),
            total: Box::new(move |rows| format!("{:.decimals$}", sum(rows))),
            mean: Box::new(move |rows| format!("{:.*}", decimals.max(1), sum(rows) / rows.len() as f64)),
        }
    }

    /// Returns a column without a total; its mean is over the rows that have a value.
    fn level(head: &'a str, unit: &'a str, decimals: usize, value: impl Fn(&T) -> Option<f64> + Copy + 'a) -> Self {
        let cell = move |value: Option<f64>| value.map_or(NONE.to_owned(), |value| format!("{value:.decimals$}"));
        Self {
            head,
            unit,
            is_text: false,
            cell: Box::new(move |row| cell(value(row))),
            total: Box::new(|_| String::new()),
            mean: Box::new(move |rows| {
                let known: Vec<f64> = rows.iter().filter_map(value).collect();
                cell((!known.is_empty()).then(|| known.iter().sum::<f64>() / known.len() as f64))
            }),
        }
    }
}

/// Returns the table of flows in the order of the scenario, with the total if there are several. Of more than eleven
/// flows, it has the first ten, the number of the others, and the mean over all flows. The totals of loss and mean
/// delay are over all packets; these two columns have no mean over flows.
#[must_use]
pub fn flow_table(summary: &Summary) -> String {
    let flows = summary.flows.as_slice();
    let fastest = flows.iter().map(|flow| flow.throughput_bps).fold(0.0, f64::max);
    let (rate_unit, rate_scale) = rate_unit(fastest);
    let slowest = flows.iter().filter_map(|flow| flow.one_way_delay_s).map(|delay| delay.p95).fold(0.0, f64::max);
    let (time_unit, time_scale) = if slowest > 0.0 && slowest < 1e-3 { ("us", 1e6) } else { ("ms", 1e3) };
    let loss_of_all_packets = |flows: &[FlowSummary]| {
        let sent: u64 = flows.iter().map(|flow| flow.sent_packets).sum();
        let lost: u64 = flows.iter().map(|flow| flow.lost_packets.total()).sum();
        if sent == 0 { NONE.to_owned() } else { format!("{:.2}", lost as f64 / sent as f64 * 100.0) }
    };
    let delay_of_all_packets = move |flows: &[FlowSummary]| {
        let known = || flows.iter().filter_map(|flow| Some((flow.received_packets as f64, flow.one_way_delay_s?.mean)));
        let packets: f64 = known().map(|(packets, _)| packets).sum();
        let delays: f64 = known().map(|(packets, delay)| packets * delay).sum();
        if packets == 0.0 { NONE.to_owned() } else { format!("{:.2}", delays / packets * time_scale) }
    };
    let no_mean = || Box::new(|_: &[FlowSummary]| String::new());
    let mut columns = vec![
        Column::text("flow", |flow: &FlowSummary| shortened(&flow.name)),
        Column::text("from > to", |flow: &FlowSummary| shortened(&format!("{} > {}", flow.from, flow.to))),
        Column::text("kind", |flow: &FlowSummary| shortened(&flow.kind)),
        Column::sum("sent", "packets", 0, |flow: &FlowSummary| flow.sent_packets as f64),
        Column::sum("lost", "packets", 0, |flow: &FlowSummary| flow.lost_packets.total() as f64),
        Column {
            total: Box::new(loss_of_all_packets),
            mean: no_mean(),
            ..Column::level("loss", "%", 2, |flow: &FlowSummary| {
                (flow.sent_packets > 0).then_some(flow.loss_ratio * 100.0)
            })
        },
        Column::sum("rate", rate_unit, 3, move |flow: &FlowSummary| flow.throughput_bps / rate_scale),
        Column {
            total: Box::new(delay_of_all_packets),
            mean: no_mean(),
            ..Column::level("delay", time_unit, 2, move |flow: &FlowSummary| {
                Some(flow.one_way_delay_s?.mean * time_scale)
            })
        },
        Column::level("95 %", time_unit, 2, move |flow: &FlowSummary| Some(flow.one_way_delay_s?.p95 * time_scale)),
        Column::level("jitter", time_unit, 2, move |flow: &FlowSummary| Some(flow.jitter_s? * time_scale)),
        Column::level("CoV", "", 3, |flow: &FlowSummary| flow.rate_cov),
    ];
    if flows.iter().any(|flow| flow.unsent_packets() > 0) {
        let unsent = |flow: &FlowSummary| flow.unsent_packets() as f64;
        columns.insert(3, Column::sum("unsent", "packets", 0, unsent));
    }
    if flows.iter().any(|flow| flow.duplicate_packets > 0) {
        columns.push(Column::sum("copies", "packets", 0, |flow: &FlowSummary| flow.duplicate_packets as f64));
    }
    if flows.iter().any(|flow| !flow.on_time_ratio.is_empty()) {
        columns.push(on_time(flows));
    }
    let shown = shown_rows(flows.len());
    let mut lines = Vec::new();
    if shown < flows.len() {
        lines = vec![Line::Text(format!("... {} more", flows.len() - shown)), Line::Total, Line::Mean];
    } else if flows.len() > 1 {
        lines.push(Line::Total);
    }
    render(&columns, &flows[..shown], &lines, flows)
}

fn shown_rows(rows: usize) -> usize {
    if rows == MAX_ROWS + 1 { rows } else { rows.min(MAX_ROWS) }
}

/// Returns the column of the smallest on-time ratio over a flow's media kinds. The kind is in the header if all flows
/// have the same one, otherwise in each cell.
fn on_time(flows: &[FlowSummary]) -> Column<'_, FlowSummary> {
    let least = |flow: &FlowSummary| {
        flow.on_time_ratio.iter().min_by(|a, b| a.1.total_cmp(b.1)).map(|(kind, share)| (*kind, share * 100.0))
    };
    let kinds: BTreeSet<MediaKind> = flows.iter().filter_map(|flow| Some(least(flow)?.0)).collect();
    match kinds.first() {
        Some(only) if kinds.len() == 1 => {
            Column::level(only.name(), "on time %", 2, move |flow: &FlowSummary| Some(least(flow)?.1))
        }
        _ => {
            let cell = move |flow: &FlowSummary| {
                least(flow).map_or(NONE.to_owned(), |(kind, share)| format!("{} {share:.2}", kind.name()))
            };
            Column { is_text: false, unit: "%", ..Column::text("on time", cell) }
        }
    }
}

/// Returns the table of the link directions at which packets arrived, in the order of the scenario; of more than
/// eleven, the ten with the highest utilization.
#[must_use]
pub fn link_table(summary: &Summary) -> String {
    let mut used: Vec<(usize, &LinkSummary)> =
        summary.links.iter().enumerate().filter(|(_, link)| link.arrived_packets > 0).collect();
    let omitted = used.len() - shown_rows(used.len());
    used.sort_by(|(_, a), (_, b)| b.utilisation.total_cmp(&a.utilisation));
    used.truncate(shown_rows(used.len()));
    used.sort_by_key(|(index, _)| *index);
    let links: Vec<LinkSummary> = used.into_iter().map(|(_, link)| link.clone()).collect();
    let mut columns = vec![
        Column::text("link", |link: &LinkSummary| shortened(&link.name)),
        Column::text("from > to", |link: &LinkSummary| shortened(&format!("{} > {}", link.from, link.to))),
        Column::sum("arrived", "packets", 0, |link: &LinkSummary| link.arrived_packets as f64),
        Column::sum("dropped", "packets", 0, |link: &LinkSummary| link.dropped_packets.total() as f64),
        Column::level("dropped", "%", 2, |link: &LinkSummary| {
            Some(link.dropped_packets.total() as f64 / link.arrived_packets as f64 * 100.0)
        }),
        Column::level("queue", "packets", 2, |link: &LinkSummary| Some(link.mean_queue_packets)),
        Column::level("queue", "kB", 2, |link: &LinkSummary| Some(link.mean_queue_bytes / 1e3)),
        Column::level("peak", "packets", 0, |link: &LinkSummary| Some(link.peak_queue_packets as f64)),
        Column::level("used", "%", 2, |link: &LinkSummary| Some(link.utilisation * 100.0)),
    ];
    if links.iter().any(|link| link.marked_packets > 0) {
        columns.push(Column::sum("marked", "packets", 0, |link: &LinkSummary| link.marked_packets as f64));
    }
    if links.iter().any(|link| link.duplicated_packets > 0) {
        columns.push(Column::sum("copied", "packets", 0, |link: &LinkSummary| link.duplicated_packets as f64));
    }
    if links.iter().any(|link| link.reordered_packets > 0) {
        columns.push(Column::sum("reordered", "packets", 0, |link: &LinkSummary| link.reordered_packets as f64));
    }
    if links.iter().any(|link| link.mean_red_average.is_some()) {
        columns.push(Column::level("RED avg", "packets", 2, |link: &LinkSummary| link.mean_red_average));
    }
    let more = Line::Text(format!("... {omitted} more"));
    render(&columns, &links, if omitted > 0 { std::slice::from_ref(&more) } else { &[] }, &links)
}

/// Returns the table of hosts with a modeled receive CPU that packets reached, in the order of the scenario; of more
/// than eleven, the first ten. Empty without such hosts.
#[must_use]
pub fn host_table(summary: &Summary) -> String {
    let used: Vec<_> = summary.hosts.iter().filter(|host| host.arrived_packets > 0).cloned().collect();
    if used.is_empty() {
        return String::new();
    }
    let number = |head, value: fn(&HostSummary) -> u64| {
        Column::sum(head, "packets", 0, move |host: &HostSummary| value(host) as f64)
    };
    let columns = [
        Column::text("host", |host: &HostSummary| shortened(&host.name)),
        number("arrived", |host| host.arrived_packets),
        number("delivered", |host| host.delivered_packets),
        number("ring drops", |host| host.dropped_packets.ring),
        number("queue drops", |host| host.dropped_packets.queue),
        Column::level("wait", "ms", 2, |host: &HostSummary| Some(host.mean_wait_s? * 1e3)),
        Column::level("busy", "%", 2, |host: &HostSummary| Some(host.utilisation * 100.0)),
    ];
    let shown = shown_rows(used.len());
    let more = (shown < used.len()).then(|| Line::Text(format!("... {} more", used.len() - shown)));
    render(&columns, &used[..shown], more.as_slice(), &used)
}

/// Returns the table of completion times of each flow with sessions: all sessions, each size class, and pages; of more
/// than eleven rows, the first ten. Empty without completed sessions.
#[must_use]
pub fn session_table(summary: &Summary) -> String {
    let of_flow = |flow: &FlowSummary| {
        let sessions = flow.sessions.as_ref()?;
        let all = ("all", sessions.completion_s.map(|times| CompletionOfSize { completed: sessions.completed, times }));
        let of_pages =
            |pages: &PagesSummary| Some(CompletionOfSize { completed: pages.completed, times: pages.completion_s? });
        let pages = flow.pages.as_ref().map(|pages| ("pages", of_pages(pages)));
        let rows = std::iter::once(all).chain(sessions.completion_s_by_size.classes()).chain(pages);
        let name = shortened(&flow.name);
        Some(rows.filter_map(move |(size, completion)| Some((name.clone(), size, completion?))).collect::<Vec<_>>())
    };
    let rows: Vec<(String, &str, CompletionOfSize)> = summary.flows.iter().filter_map(of_flow).flatten().collect();
    if rows.is_empty() {
        return String::new();
    }
    type Row<'a> = (String, &'a str, CompletionOfSize);
    let time = |head, value: fn(&DelaySummary) -> f64| {
        Column::level(head, "s", 3, move |(_, _, completion): &Row<'_>| Some(value(&completion.times)))
    };
    let columns = [
        Column::text("sessions", |(flow, ..): &Row<'_>| flow.clone()),
        Column::text("size", |(_, size, _): &Row<'_>| (*size).to_owned()),
        Column::sum("completed", "", 0, |(_, _, completion): &Row<'_>| completion.completed as f64),
        time("mean", |times| times.mean),
        time("50 %", |times| times.p50),
        time("95 %", |times| times.p95),
        time("99 %", |times| times.p99),
        time("longest", |times| times.max),
    ];
    let shown = shown_rows(rows.len());
    let more = (shown < rows.len()).then(|| Line::Text(format!("... {} more", rows.len() - shown)));
    render(&columns, &rows[..shown], more.as_slice(), &rows)
}

/// Returns the table of attackers in the order of the scenario. Empty without attackers.
#[must_use]
pub fn attacker_table(summary: &Summary) -> String {
    if summary.attackers.is_empty() {
        return String::new();
    }
    let number = |head, value: fn(&AttackerSummary) -> u64| {
        Column::sum(head, "packets", 0, move |attacker: &AttackerSummary| value(attacker) as f64)
    };
    let columns = [
        Column::text("attacker", |attacker: &AttackerSummary| shortened(&attacker.name)),
        Column::text("target", |attacker: &AttackerSummary| shortened(&attacker.target)),
        Column::text("attack", |attacker: &AttackerSummary| shortened(&attacker.kind)),
        number("sent", |attacker| attacker.sent_packets),
        number("changed", |attacker| attacker.changed_packets),
        number("delayed", |attacker| attacker.delayed_packets),
        number("dropped", |attacker| attacker.dropped_packets),
        number("accepted", |attacker| attacker.accepted_packets),
        number("delivered", |attacker| attacker.delivered_packets),
        number("answers", |attacker| attacker.answer_packets),
        Column::level("answers", "B/B", 2, |attacker: &AttackerSummary| {
            (attacker.sent_bytes > 0).then(|| attacker.answer_bytes as f64 / attacker.sent_bytes as f64)
        }),
        Column::level("peak", "connections", 0, |attacker: &AttackerSummary| Some(attacker.peak_connections as f64)),
    ];
    render(&columns, &summary.attackers, &[], &summary.attackers)
}

enum Line {
    Text(String),
    Total,
    Mean,
}

fn render<T>(columns: &[Column<'_, T>], rows: &[T], lines: &[Line], all: &[T]) -> String {
    let head = columns.iter().map(|column| format!("{}\n{}", column.head, column.unit)).collect();
    let mut cells: Vec<Vec<String>> =
        rows.iter().map(|row| columns.iter().map(|column| (column.cell)(row)).collect()).collect();
    for line in lines {
        let (first, mut last): (&str, Vec<String>) = match line {
            Line::Text(text) => (text, vec![String::new(); columns.len()]),
            Line::Total => ("total", columns.iter().map(|column| (column.total)(all)).collect()),
            Line::Mean => ("mean of flows", columns.iter().map(|column| (column.mean)(all)).collect()),
        };
        if let Some(cell) = last.first_mut() {
            first.clone_into(cell);
        }
        cells.push(last);
    }
    draw(head, cells, |column| columns[column].is_text)
}

/// Returns a table whose first `texts` columns are text, left-aligned, and whose others are numbers. A line break in a
/// header separates it from its unit.
#[must_use]
pub fn number_table(texts: usize, head: Vec<String>, rows: Vec<Vec<String>>) -> String {
    draw(head, rows, |column| column < texts)
}

fn draw(head: Vec<String>, rows: Vec<Vec<String>>, is_text: impl Fn(usize) -> bool) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(head);
    table.add_rows(rows);
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        column.set_cell_alignment(if is_text(index) { CellAlignment::Left } else { CellAlignment::Right });
    }
    let mut text = table.trim_fmt();
    text.push('\n');
    text
}

fn rate_unit(bits_per_second: f64) -> (&'static str, f64) {
    match bits_per_second {
        rate if rate >= 1e9 => ("Gb/s", 1e9),
        rate if rate >= 1e6 => ("Mb/s", 1e6),
        _ => ("kb/s", 1e3),
    }
}

fn shortened(name: &str) -> String {
    if name.chars().count() <= NAME_WIDTH {
        return name.to_owned();
    }
    name.chars().take(NAME_WIDTH - 3).chain("...".chars()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CompletionBySize, DropCounts, HostDrops, Interval, SessionsSummary};
    use headway_units::DropCause;
    use std::collections::BTreeMap;

    fn flow(index: usize) -> FlowSummary {
        let mut lost = DropCounts::default();
        for _ in 0..index {
            lost.add(DropCause::QueueFull);
        }
        FlowSummary {
            name: format!("ftp-{index}"),
            from: format!("s{index}"),
            to: "r2".into(),
            kind: "tcp-newreno".into(),
            sent_packets: 1000,
            received_packets: 1000 - index as u64,
            lost_packets: lost,
            duplicate_packets: 0,
            in_flight_packets: 0,
            throughput_bps: 1e6 * (index as f64 + 0.25),
            goodput_bps: 1e6 * index as f64,
            loss_ratio: index as f64 / 1000.0,
            one_way_delay_error_s: None,
            one_way_delay_s: (index > 0).then_some(DelaySummary {
                mean: 0.0125,
                p50: 0.012,
                p95: 0.0305,
                p99: 0.035,
                max: 0.04,
            }),
            jitter_s: Some(0.00125),
            rtt_s: None,
            on_time_ratio: BTreeMap::new(),
            r_factor: None,
            mos: None,
            frames: BTreeMap::new(),
            display: None,
            encoder: None,
            rate_cov: Some(0.125),
            retransmitted_packets: None,
            timeouts: None,
            stuck: false,
            late_ratio: BTreeMap::new(),
            send_queue: BTreeMap::new(),
            connection_failure: None,
            losses_judged: None,
            sessions: None,
            pages: None,
            phases: BTreeMap::new(),
        }
    }

    fn link(index: usize) -> LinkSummary {
        LinkSummary {
            name: format!("r1-r{index}"),
            from: "r1".into(),
            to: format!("r{index}"),
            arrived_packets: 2000,
            dropped_packets: DropCounts::default(),
            marked_packets: 0,
            duplicated_packets: 0,
            reordered_packets: 0,
            mean_queue_packets: 4.5,
            mean_queue_bytes: 4500.0,
            peak_queue_packets: 20,
            mean_red_average: None,
            utilisation: 1.0 - index as f64 / 100.0,
            flows: Vec::new(),
        }
    }

    fn summary(flows: usize, links: usize) -> Summary {
        Summary {
            version: "0.1.0".into(),
            name: "test".into(),
            seed: 1,
            complete: true,
            interval: Interval { from: 0.0, to: 10.0 },
            flows: (0..flows).map(flow).collect(),
            links: (0..links).map(link).collect(),
            hosts: Vec::new(),
            attackers: Vec::new(),
            jain_index: None,
            packet_hops: 0,
            fingerprint: String::new(),
        }
    }

    #[test]
    fn hosts_without_packets_are_omitted() {
        let mut summary = summary(1, 0);
        assert_eq!(host_table(&summary), "");
        let host = |name: &str, arrived_packets| HostSummary {
            name: name.into(),
            arrived_packets,
            delivered_packets: arrived_packets / 2,
            dropped_packets: HostDrops { ring: 7, queue: 300 },
            mean_wait_s: (arrived_packets > 1).then_some(0.01025),
            utilisation: 0.9,
        };
        summary.hosts = vec![host("idle", 0), host("sink", 1000), host("livelocked", 1)];
        let expected = "\
host        arrived  delivered  ring drops  queue drops   wait   busy
            packets    packets     packets      packets     ms      %
sink           1000        500           7          300  10.25  90.00
livelocked        1          0           7          300      -  90.00
";
        assert_eq!(host_table(&summary), expected);
    }

    /// The response of 3000 bytes to 2000 bytes is 1.50 B/B.
    #[test]
    fn the_attacker_table_lists_packets_and_amplification() {
        let mut summary = summary(1, 0);
        assert_eq!(attacker_table(&summary), "");
        summary.attackers.push(AttackerSummary {
            name: "mallory".into(),
            target: "flow1".into(),
            kind: "flood".into(),
            sent_packets: 50,
            sent_bytes: 2000,
            accepted_packets: 1,
            answer_packets: 40,
            answer_bytes: 3000,
            peak_connections: 7,
            ..AttackerSummary::default()
        });
        let expected = "\
attacker  target  attack     sent  changed  delayed  dropped  accepted  delivered  answers  answers         peak
                          packets  packets  packets  packets   packets    packets  packets      B/B  connections
mallory   flow1   flood        50        0        0        0         1          0       40     1.50            7
";
        assert_eq!(attacker_table(&summary), expected);
    }

    #[test]
    fn the_flow_table_has_units_and_a_total() {
        let text = flow_table(&summary(2, 0));
        let expected = "\
flow   from > to  kind            sent     lost  loss   rate  delay   95 %  jitter    CoV
                               packets  packets     %   Mb/s     ms     ms      ms
ftp-0  s0 > r2    tcp-newreno     1000        0  0.00  0.250      -      -    1.25  0.125
ftp-1  s1 > r2    tcp-newreno     1000        1  0.10  1.250  12.50  30.50    1.25  0.125
total                             2000        1  0.05  1.500  12.50
";
        assert_eq!(text, expected, "\n{text}");
    }

    /// Of two columns called `rate`, one was a coefficient of variation. Columns of one name differ in their unit only.
    #[test]
    fn columns_of_different_quantities_have_different_names() {
        let flows = flow_table(&summary(2, 0));
        let heads: Vec<&str> = flows.lines().next().unwrap().split("  ").map(str::trim).collect();
        let heads: Vec<&&str> = heads.iter().filter(|head| !head.is_empty()).collect();
        let distinct: BTreeSet<&&str> = heads.iter().copied().collect();
        assert_eq!(distinct.len(), heads.len(), "{heads:?}");
    }

    #[test]
    fn fifty_flows_are_ten_rows_a_total_and_a_mean() {
        let text = flow_table(&summary(50, 0));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 2 + 10 + 3, "\n{text}");
        assert!(lines[12].starts_with("... 40 more"), "\n{text}");
        // 0 + 1 + .. + 49 lost, of 50 x 1000; rates 0.25 .. 49.25 Mb/s.
        let words: Vec<&str> = lines[13].split_whitespace().collect();
        assert_eq!(words, ["total", "50000", "1225", "2.45", "1237.500", "12.50"], "\n{text}");
        let words: Vec<&str> = lines[14].split_whitespace().collect();
        assert_eq!(words, ["mean", "of", "flows", "1000.0", "24.5", "24.750", "30.50", "1.25", "0.125"], "\n{text}");
        assert!(lines.iter().all(|line| line.chars().count() <= 100), "\n{text}");
    }

    /// 900 packets of 10 ms and 100 of 110 ms have a mean of 20 ms.
    #[test]
    fn the_total_delay_is_the_mean_over_packets() {
        let mut summary = summary(2, 0);
        for (flow, packets, mean) in [(0, 900, 0.01), (1, 100, 0.11)] {
            let delay = DelaySummary { mean, p50: mean, p95: mean, p99: mean, max: mean };
            summary.flows[flow].received_packets = packets;
            summary.flows[flow].one_way_delay_s = Some(delay);
        }
        let text = flow_table(&summary);
        let words: Vec<&str> = text.lines().last().unwrap().split_whitespace().collect();
        assert_eq!(words, ["total", "2000", "1", "0.05", "1.500", "20.00"], "\n{text}");
    }

    #[test]
    fn eleven_rows_are_printed_whole() {
        for (text, name) in [(flow_table(&summary(11, 0)), "ftp-10 "), (link_table(&summary(0, 11)), "r1-r10 ")] {
            assert!(text.contains(name) && !text.contains("more"), "\n{text}");
        }
        assert!(flow_table(&summary(12, 0)).contains("... 2 more"));
    }

    #[test]
    fn the_on_time_column_names_the_media_kind() {
        let mut summary = summary(2, 0);
        let shares = |all: &[(MediaKind, f64)]| all.iter().copied().collect::<BTreeMap<_, _>>();
        summary.flows[0].on_time_ratio = shares(&[(MediaKind::Audio, 0.9), (MediaKind::Video, 0.2148)]);
        let lines = |summary: &Summary| flow_table(summary).lines().map(str::to_owned).collect::<Vec<_>>();
        let text = lines(&summary);
        assert!(
            text[0].ends_with("video") && text[1].ends_with("on time %") && text[2].ends_with("21.48"),
            "{text:#?}"
        );
        summary.flows[1].on_time_ratio = shares(&[(MediaKind::Audio, 0.5)]);
        let text = lines(&summary);
        assert!(text[0].ends_with("on time") && text[1].ends_with('%'), "{text:#?}");
        assert!(text[2].ends_with("video 21.48") && text[3].ends_with("audio 50.00"), "{text:#?}");
    }

    #[test]
    fn the_busiest_links_are_shown() {
        let text = link_table(&summary(0, 30));
        assert!(text.contains("r1-r9 ") && !text.contains("r1-r10 ") && text.contains("... 20 more"), "\n{text}");
        assert!(text.lines().all(|line| line.chars().count() <= 100), "\n{text}");
    }

    #[test]
    fn sessions_are_listed_by_size_class() {
        let mut summary = summary(2, 0);
        assert_eq!(session_table(&summary), "");
        let times = DelaySummary { mean: 0.25, p50: 0.125, p95: 0.5, p99: 1.0, max: 2.0 };
        let of = |completed| Some(CompletionOfSize { completed, times });
        let by_size = CompletionBySize { up_to_10_kb: of(4), above_10_mb: of(1), ..CompletionBySize::default() };
        let completion_s_by_size = by_size.into();
        let sessions =
            SessionsSummary { completed: 5, completion_s: Some(times), completion_s_by_size, ..Default::default() };
        summary.flows[1].sessions = Some(sessions);
        summary.flows[1].pages = Some(PagesSummary { completed: 2, completion_s: Some(times), ..Default::default() });
        let text = session_table(&summary);
        let lines: Vec<String> =
            text.lines().skip(2).map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        let columns = "0.250 0.125 0.500 1.000 2.000";
        let expected = [
            format!("ftp-1 all 5 {columns}"),
            format!("ftp-1 up to 10 kB 4 {columns}"),
            format!("ftp-1 above 10 MB 1 {columns}"),
            format!("ftp-1 pages 2 {columns}"),
        ];
        assert_eq!(lines, expected, "\n{text}");
    }

    #[test]
    fn the_marked_column_is_present_only_with_marks() {
        let mut summary = summary(0, 2);
        assert!(!link_table(&summary).contains("marked"));
        summary.links[1].marked_packets = 7;
        let text = link_table(&summary);
        let ends: Vec<_> = text.lines().map(|line| line.split_whitespace().last().unwrap_or_default()).collect();
        assert_eq!(ends, ["marked", "packets", "0", "7"], "\n{text}");
    }

    #[test]
    fn a_table_without_rows_is_a_header() {
        assert_eq!(flow_table(&summary(0, 0)).lines().count(), 2);
        assert_eq!(link_table(&summary(0, 0)).lines().count(), 2);
    }
}
