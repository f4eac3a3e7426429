//! A run between sockets: its threads, and the record that it leaves.

use crate::Options;
use crate::carrier::Carrier;
use crate::ends::Ends;
use crate::lines::{self, Line, LineError};
use crate::link::{self, Flows, Sample};
use crate::program::Program;
use crate::sender::Sent;
use crate::series;
use crate::time::Time;
use headway_emulator::{Proxy, ProxyOptions, Report, Way};
use headway_record::{DelaySummary, FlowLabel, Interval, LinkLabel, Measured, Summary};
use headway_run::{Checksums, Folder, FolderKind, ScenarioText};
use headway_scenario::{Link, Override, Scenario, load, plan};
use headway_units::{Duration, Instant, Registry as _};
use serde::Serialize;
use std::error::Error;
use std::net::SocketAddr;

/// Any error of a run.
type Failure = Box<dyn Error>;

/// Where everything happens.
const LOOPBACK: &str = "127.0.0.1:0";

/// How late a run was: what a simulated one never is.
#[derive(Serialize)]
struct Lateness {
    /// Whether that leaves it true.
    valid: bool,
    /// Why not.
    faults: Vec<String>,
    /// Of each flow: how long after its time the source was asked, in s.
    source_error_s: Vec<Option<DelaySummary>>,
    /// The link's.
    link: Report,
}

/// What a run leaves.
struct Run {
    summary: Summary,
    lateness: Lateness,
    series: Option<Vec<u8>>,
}

pub(crate) fn live(options: &Options) -> Result<(), Failure> {
    let seed = options.seed.map(|seed| Override::of_option("--seed", &format!("seed={seed}")));
    let overrides: Vec<Override> =
        seed.into_iter().chain(options.overrides.iter().map(|set| set.parse())).collect::<Result<_, _>>()?;
    let ScenarioText { file, text, files, .. } = ScenarioText::read(&options.scenario, [])?;
    let runs = plan(&file, &text, &overrides, &[])?.runs.len();
    if runs > 1 {
        return Err(format!("{file}: [vary] makes {runs} runs; expected one: choose it by --set KEY=VALUE").into());
    }
    let loaded = load(&file, &text, &overrides, &files)?;
    for warning in &loaded.warnings {
        eprintln!("warning: {warning}");
    }
    let scenario = &loaded.scenario;
    let (link, lines) = prepared(scenario, options.dtls).map_err(|error| format!("{file}: {error}"))?;
    let out = Folder::named(&options.out);
    let _lock = out.claim(FolderKind::Record)?;
    out.clear()?;
    let mut sums = Checksums::default();
    for (name, bytes) in &files.loaded() {
        if let Some(sum) = out.write_input(name, bytes)? {
            sums.add(name, sum);
        }
    }
    sums.add(Folder::SCENARIO, out.write(Folder::SCENARIO, loaded.resolved_toml.as_bytes())?);
    let run = run(scenario, &link, lines, options)?;
    if let Some(series) = &run.series {
        sums.add(Folder::SERIES, out.write(Folder::SERIES, series)?);
    }
    sums.add(Folder::LIVE, out.write(Folder::LIVE, &serde_json::to_vec_pretty(&run.lateness)?)?);
    sums.add(Folder::SUMMARY, out.write_summary(&run.summary)?);
    out.write_checksums(&sums)?;
    if run.lateness.valid {
        return Ok(());
    }
    let faults = run.lateness.faults.join("; ");
    Err(format!("this run is not valid: {faults}. Run it on an idle machine, or allow more with --bound").into())
}

/// The scenario's link, and its flows.
fn prepared(scenario: &Scenario, dtls: bool) -> Result<([Link; 2], Vec<Line>), LineError> {
    let link = lines::link(scenario)?;
    let lines = scenario.flows.iter().map(|flow| lines::line(scenario, flow, &link[0], dtls));
    let lines = lines.collect::<Result<_, _>>()?;
    Ok((link, lines))
}

/// The scenario's flows from its start to its end.
fn run(scenario: &Scenario, link: &[Link; 2], lines: Vec<Line>, options: &Options) -> Result<Run, Failure> {
    let loopback: SocketAddr = LOOPBACK.parse()?;
    let measured = Measured::between(Instant::ZERO + scenario.measure_from, Instant::ZERO + scenario.duration);
    let (mut programs, mut carriers, mut ends, mut doors) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for Line { program, clocks, endpoints, beside } in lines {
        let carrier = Carrier::open(loopback, endpoints.as_deref())?;
        doors.push((carrier.receiver()?, beside));
        ends.push(Ends::new(&measured, clocks, endpoints.is_some()));
        carriers.push(carrier);
        programs.push(program);
    }
    let [(to, beside), others @ ..] = &doors[..] else {
        return Err("there is no flow".into());
    };
    let named = link.each_ref().map(|link| (link.name.as_str(), &link.config));
    let (to, beside) = (*to, Some(*beside));
    let proxy_options = ProxyOptions { listen: loopback, to, beside, clients: 256, bound: options.bound };
    // The run begins here: its time is the link's.
    let mut proxy = Proxy::new(proxy_options, scenario.ties, named, scenario.seed)?;
    proxy.measure(&measured);
    let mut fronts = vec![proxy.address()?];
    for (to, beside) in others {
        fronts.push(proxy.open(loopback, *to, Some(*beside))?);
    }
    let time = Time::new(proxy.clock(), Instant::ZERO + scenario.duration);
    let mut flows = Flows::new(programs.len(), &measured);
    let flows_ends = FlowsEnds { programs, carriers: &carriers, ends: &ends, fronts: &fronts };
    let (samples, sent) = everybody(&mut proxy, &mut flows, flows_ends, &time, scenario.series)?;
    let (end, complete) = (time.now().min(time.end), time.now() >= time.end);
    let held: Vec<_> = sent.iter().map(|sent| sent.held.clone()).collect();
    let series = scenario.series.map(|_| series::series(scenario, link, &samples, &held));
    Ok(Run {
        summary: summary(scenario, link, &proxy, (&flows, &ends, &sent), end, complete),
        lateness: lateness(scenario, proxy.report(), &ends, options.bound),
        series: series.transpose()?,
    })
}

/// Who talks over the link.
struct FlowsEnds<'a> {
    programs: Vec<Program>,
    carriers: &'a [Carrier],
    ends: &'a [Ends],
    /// Where senders send to.
    fronts: &'a [SocketAddr],
}

/// Runs all programs and the link, each in a thread of its own, until the run is over.
#[expect(clippy::disallowed_methods, reason = "programs on both sides of a link run at once")]
fn everybody(
    proxy: &mut Proxy,
    flows: &mut Flows,
    ends: FlowsEnds<'_>,
    time: &Time,
    interval: Option<Duration>,
) -> Result<(Vec<Sample>, Vec<Sent>), Failure> {
    let FlowsEnds { programs, carriers, ends, fronts } = ends;
    let panicked = |_| "a thread panicked";
    std::thread::scope(|scope| {
        let link = scope.spawn(|| {
            let served = link::serve(proxy, flows, time, interval);
            if served.is_err() {
                time.fail();
            }
            served
        });
        for (carrier, ends) in carriers.iter().zip(ends) {
            scope.spawn(|| carrier.receive(ends, time));
        }
        let senders = programs.into_iter().zip(carriers).zip(ends.iter().zip(fronts));
        let senders: Vec<_> = senders
            .map(|((program, carrier), (ends, to))| scope.spawn(|| carrier.send(program, *to, ends, time, interval)))
            .collect();
        let samples = link.join().map_err(panicked)??;
        let sent = senders.into_iter().map(|sender| sender.join().map_err(panicked)).collect::<Result<_, _>>()?;
        Ok((samples, sent))
    })
}

fn summary(
    scenario: &Scenario,
    link: &[Link; 2],
    proxy: &Proxy,
    (flows, ends, sent): (&Flows, &[Ends], &[Sent]),
    end: Instant,
    complete: bool,
) -> Summary {
    let node = |node: usize| scenario.nodes[node].clone();
    let of_flow = |(number, flow): (usize, &headway_scenario::Flow)| {
        let (name, kind) = (flow.name.clone(), flow.transport.kind().to_owned());
        let label = FlowLabel { name, from: node(flow.from), to: node(flow.to), kind };
        let mut summary = ends[number].complete(flows.0[number].summary(label, end), end);
        headway_sim::rate_speech(&mut summary, flow);
        summary.connection_failure = sent[number].failure.clone();
        summary
    };
    let flows: Vec<_> = scenario.flows.iter().enumerate().map(of_flow).collect();
    let of_way = |(link, way): (&Link, Way)| {
        let label = LinkLabel { name: link.name.clone(), from: node(link.from), to: node(link.to) };
        proxy.link_summary(way, label, end)
    };
    Summary {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        name: scenario.name.clone(),
        seed: scenario.seed,
        complete,
        interval: Interval {
            from: scenario.measure_from.min(end.since(Instant::ZERO)).as_secs_f64(),
            to: end.as_secs_f64(),
        },
        jain_index: Summary::fairness(&flows),
        flows,
        links: link.iter().zip(Way::BOTH).map(of_way).collect(),
        hosts: Vec::new(),
        attackers: Vec::new(),
        packet_hops: Way::BOTH.map(|way| proxy.counts(way).delivered_packets).iter().sum(),
        // No two runs have the same order of events.
        fingerprint: String::new(),
    }
}

fn lateness(scenario: &Scenario, link: Report, ends: &[Ends], bound: Duration) -> Lateness {
    let source_error_s: Vec<_> = ends.iter().map(Ends::lateness).collect();
    let late = scenario.flows.iter().zip(&source_error_s).filter_map(|(flow, error)| {
        let p99 = error.as_ref()?.p99;
        (p99 > bound.as_secs_f64()).then(|| {
            let p99 = Duration::from_secs_f64(p99);
            format!(
                "the source of \"{}\" has a 99th percentile of {p99} of delay, above the bound of {bound}",
                flow.name
            )
        })
    });
    let faults: Vec<String> = link.faults.iter().cloned().chain(late).collect();
    Lateness { valid: faults.is_empty(), faults, source_error_s, link }
}
