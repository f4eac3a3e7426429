//! A run between sockets: its threads and its record.

use crate::Options;
use crate::application::Application;
use crate::carrier::Carrier;
use crate::flow_setup::{self, FlowSetup, SetupFailure};
use crate::link::{self, Flows, Sample};
use crate::meters::Meters;
use crate::sender::Sent;
use crate::series;
use crate::time::Time;
use headway_emulator::{Direction, Proxy, ProxyOptions, Report};
use headway_record::{DelaySummary, FlowLabel, Interval, LinkLabel, Measured, Summary};
use headway_run::{Checksums, Folder, FolderKind, ScenarioText};
use headway_scenario::{Link, Override, Scenario, load, plan};
use headway_units::{Duration, Instant, Registry as _};
use serde::Serialize;
use std::error::Error;
use std::net::SocketAddr;

type Failure = Box<dyn Error>;

/// Address of all sockets.
const LOOPBACK: &str = "127.0.0.1:0";

/// Timing errors of a run; a simulation has none.
#[derive(Serialize)]
struct Lateness {
    /// Whether the run is valid.
    valid: bool,
    /// Reasons why it is not valid.
    faults: Vec<String>,
    /// Delay between the times at which a source was due and was polled, by flow, in s.
    source_error_s: Vec<Option<DelaySummary>>,
    /// Report of the link.
    link: Report,
}

/// Result of a run.
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
        return Err(format!("{file}: [vary] makes {runs} runs; expected one: select it with --set KEY=VALUE").into());
    }
    let loaded = load(&file, &text, &overrides, &files)?;
    for warning in &loaded.warnings {
        eprintln!("warning: {warning}");
    }
    let scenario = &loaded.scenario;
    let (link, flows) = prepared(scenario, options.dtls).map_err(|error| format!("{file}: {error}"))?;
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
    let run = run(scenario, &link, flows, options)?;
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

/// Returns the scenario's link and the setup of its flows.
fn prepared(scenario: &Scenario, dtls: bool) -> Result<([Link; 2], Vec<FlowSetup>), SetupFailure> {
    let link = flow_setup::link(scenario)?;
    let flows = scenario.flows.iter().map(|flow| flow_setup::flow_setup(scenario, flow, &link[0], dtls));
    let flows = flows.collect::<Result<_, _>>()?;
    Ok((link, flows))
}

/// Runs the scenario from its start to its end.
fn run(scenario: &Scenario, link: &[Link; 2], flows: Vec<FlowSetup>, options: &Options) -> Result<Run, Failure> {
    let loopback: SocketAddr = LOOPBACK.parse()?;
    let measured = Measured::between(Instant::ZERO + scenario.measure_from, Instant::ZERO + scenario.duration);
    let (mut applications, mut carriers, mut meters, mut receivers) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for FlowSetup { application, clocks, endpoints, overhead } in flows {
        let carrier = Carrier::open(loopback, endpoints.as_deref())?;
        receivers.push((carrier.receiver()?, overhead));
        meters.push(Meters::new(&measured, clocks, endpoints.is_some()));
        carriers.push(carrier);
        applications.push(application);
    }
    let [(to, overhead), others @ ..] = &receivers[..] else {
        return Err("there is no flow".into());
    };
    let named = link.each_ref().map(|link| (link.name.as_str(), &link.config));
    let (to, overhead) = (*to, Some(*overhead));
    let proxy_options = ProxyOptions { listen: loopback, to, overhead, clients: 256, bound: options.bound };
    // The run starts here: its time is that of the link.
    let mut proxy = Proxy::new(proxy_options, scenario.ties, named, scenario.seed)?;
    proxy.measure(&measured);
    let mut fronts = vec![proxy.address()?];
    for (to, overhead) in others {
        fronts.push(proxy.listen(loopback, *to, Some(*overhead))?);
    }
    let time = Time::new(proxy.clock(), Instant::ZERO + scenario.duration);
    let mut flows = Flows::new(applications.len(), &measured);
    let parties = Parties { applications, carriers: &carriers, meters: &meters, fronts: &fronts };
    let (samples, sent) = run_threads(&mut proxy, &mut flows, parties, &time, scenario.series)?;
    let (end, complete) = (time.now().min(time.end), time.now() >= time.end);
    let states: Vec<_> = sent.iter().map(|sent| sent.states.clone()).collect();
    let series = scenario.series.map(|_| series::series(scenario, link, &samples, &states));
    Ok(Run {
        summary: summary(scenario, link, &proxy, (&flows, &meters, &sent), end, complete),
        lateness: lateness(scenario, proxy.report(), &meters, options.bound),
        series: series.transpose()?,
    })
}

/// Applications and transports of all flows.
struct Parties<'a> {
    applications: Vec<Application>,
    carriers: &'a [Carrier],
    meters: &'a [Meters],
    /// Addresses of the proxy to which senders send.
    fronts: &'a [SocketAddr],
}

/// Runs all applications and the link, each in a separate thread, until the end of the run.
#[expect(clippy::disallowed_methods, reason = "applications on both sides of a link run at the same time")]
fn run_threads(
    proxy: &mut Proxy,
    flows: &mut Flows,
    parties: Parties<'_>,
    time: &Time,
    interval: Option<Duration>,
) -> Result<(Vec<Sample>, Vec<Sent>), Failure> {
    let Parties { applications, carriers, meters, fronts } = parties;
    let panicked = |_| "a thread panicked";
    std::thread::scope(|scope| {
        let link = scope.spawn(|| {
            let served = link::serve(proxy, flows, time, interval);
            if served.is_err() {
                time.fail();
            }
            served
        });
        for (carrier, meters) in carriers.iter().zip(meters) {
            scope.spawn(|| carrier.receive(meters, time));
        }
        let senders = applications.into_iter().zip(carriers).zip(meters.iter().zip(fronts));
        let senders: Vec<_> = senders
            .map(|((application, carrier), (meters, to))| {
                scope.spawn(|| carrier.send(application, *to, meters, time, interval))
            })
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
    (flows, meters, sent): (&Flows, &[Meters], &[Sent]),
    end: Instant,
    complete: bool,
) -> Summary {
    let node = |node: usize| scenario.nodes[node].clone();
    let of_flow = |(number, flow): (usize, &headway_scenario::Flow)| {
        let (name, kind) = (flow.name.clone(), flow.transport.kind().to_owned());
        let label = FlowLabel { name, from: node(flow.from), to: node(flow.to), kind };
        let mut summary = meters[number].complete(flows.0[number].summary(label, end), end);
        headway_sim::rate_speech(&mut summary, flow);
        summary.connection_failure = sent[number].failure.clone();
        summary
    };
    let flows: Vec<_> = scenario.flows.iter().enumerate().map(of_flow).collect();
    let of_direction = |(link, direction): (&Link, Direction)| {
        let label = LinkLabel { name: link.name.clone(), from: node(link.from), to: node(link.to) };
        proxy.link_summary(direction, label, end)
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
        links: link.iter().zip(Direction::BOTH).map(of_direction).collect(),
        hosts: Vec::new(),
        attackers: Vec::new(),
        packet_hops: Direction::BOTH.map(|direction| proxy.counts(direction).delivered_packets).iter().sum(),
        // The order of events differs between runs.
        fingerprint: String::new(),
    }
}

fn lateness(scenario: &Scenario, link: Report, meters: &[Meters], bound: Duration) -> Lateness {
    let source_error_s: Vec<_> = meters.iter().map(Meters::source_error).collect();
    let source_faults = scenario.flows.iter().zip(&source_error_s).filter_map(|(flow, error)| {
        let p99 = error.as_ref()?.p99;
        (p99 > bound.as_secs_f64()).then(|| {
            let p99 = Duration::from_secs_f64(p99);
            format!(
                "the 99th percentile of the delay of the source of \"{}\" is {p99}, above the bound of {bound}",
                flow.name
            )
        })
    });
    let faults: Vec<String> = link.faults.iter().cloned().chain(source_faults).collect();
    Lateness { valid: faults.is_empty(), faults, source_error_s, link }
}
