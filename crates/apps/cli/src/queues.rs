//! `headway queues`: compares send queues on a flow of a scenario.

mod named;
mod report;

use crate::arguments::QueuesOptions;
use crate::error::Failure;
use crate::interrupt;
use crate::output;
use crate::progress::Progress;
use headway_media::SendQueueOptions;
use headway_run::{ScenarioText, Watch as _, each};
use headway_scenario::{Flow, Scenario, hint, load, plan, resend_error};
use headway_sim::{Comparison, SendQueueEvaluation, YardstickError, compare};
pub(crate) use named::parse;
use report::Report;
use std::sync::Arc;

/// Maximum number of flows that an error lists.
const MAX_NAMED: usize = 10;

pub(crate) fn queues(args: &QueuesOptions) -> Result<(), Failure> {
    let scenario = scenario(args)?;
    // The scenario may be a pipe: until it is read, a signal ends the program.
    interrupt::listen();
    let flow = flow(&scenario, args.flow.as_deref())?;
    let own = &scenario.flows[flow].send_queue;
    let queues =
        if args.queues.is_empty() { named::all(own)? } else { named::selected(&args.queues, own.rules.limit)? };
    for queue in &queues {
        let flow = Flow { send_queue: Arc::new(queue.options.clone()), ..scenario.flows[flow].clone() };
        if let Some(error) = resend_error(&flow) {
            return Err(Failure::Queues(format!("--queue {}: {error}", queue.name)));
        }
    }
    let options: Vec<SendQueueOptions> = queues.iter().map(|queue| queue.options.clone()).collect();
    let seeds = seeds(args)?;
    let progress = Progress::of_runs(args.quiet);
    progress.runs(seeds.len());
    let done = each(seeds.len(), args.jobs, &progress, |number| {
        let scenario = Scenario { seed: seeds[number], ..scenario.clone() };
        compare(&scenario, flow, &options, args.oracle, || !interrupt::stop_requested()).map_err(|error| match error {
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
    // Identical results mean that the scenario is deterministic: one run is reported, without intervals.
    let identical = done.len() > 1 && done.iter().all(|seed| *seed == done[0]);
    if identical {
        done.truncate(1);
    }
    let mut report = Report::new(&scenario, flow, seeds, &queues, &done);
    report.identical = identical;
    if args.json { output::json(&report) } else { output::text(&report.plain()) }
}

fn seeds(args: &QueuesOptions) -> Result<Vec<u64>, Failure> {
    /// Largest seed of a scenario.
    const LAST: u64 = i64::MAX as u64;
    let (first, count) = (args.first_seed, args.seeds);
    if count - 1 > LAST - first {
        return Err(Failure::Queues(format!(
            "--seeds {count}: out of range with --first-seed {first}; expected at most {}, since the largest seed is {LAST}",
            LAST - first + 1
        )));
    }
    Ok((first..first + count).collect())
}

fn scenario(args: &QueuesOptions) -> Result<Scenario, Failure> {
    crate::sets::check_once(&args.overrides)?;
    let ScenarioText { file, text, overrides, files } = ScenarioText::read(&args.scenario, &args.overrides)?;
    let key = |set: &String| set.split('=').next().map(str::trim) == Some("seed");
    if args.overrides.iter().any(key) {
        return Err(Failure::Queues(
            "--set seed: not allowed for this command; use --first-seed and --seeds".to_owned(),
        ));
    }
    if plan(&file, &text, &overrides, &[])?.runs.len() > 1 {
        output::note(&format!("warning: {file}: [vary] is ignored"));
    }
    let loaded = load(&file, &text, &overrides, &files)?;
    for warning in &loaded.warnings {
        output::note(&format!("warning: {warning}"));
    }
    Ok(loaded.scenario)
}

/// Returns the index of the flow of `--flow`, or of the only flow that can be compared.
fn flow(scenario: &Scenario, name: Option<&str>) -> Result<usize, Failure> {
    if let Some(name) = name {
        let names = || scenario.flows.iter().map(|flow| flow.name.as_str());
        return names()
            .position(|known| known == name)
            .ok_or_else(|| Failure::Queues(format!("there is no flow \"{name}\"{}", hint(name, names()))));
    }
    let fitting: Vec<usize> =
        (0..scenario.flows.len()).filter(|&flow| SendQueueEvaluation::fits(scenario, flow)).collect();
    let controlled = |flow: &usize| scenario.flows.get(*flow).is_some_and(|flow| flow.transport.controller().is_some());
    let has_queue: Vec<usize> = (0..scenario.flows.len()).filter(controlled).collect();
    match fitting[..] {
        [flow] => Ok(flow),
        // The comparison reports what the only flow with a send queue lacks.
        [] if has_queue.len() == 1 => Ok(has_queue[0]),
        [] => Err(Failure::Queues(
            "no flow has a send queue and packets with a lifetime: this needs a transport with a rate controller \
             (dccp, tfrc, ...) and a media source (conference, gop, ...)"
                .to_owned(),
        )),
        _ => {
            let names: Vec<&str> =
                fitting.iter().take(MAX_NAMED).map(|&flow| scenario.flows[flow].name.as_str()).collect();
            let more = if fitting.len() > MAX_NAMED { ", ..." } else { "" };
            let names = names.join(", ");
            Err(Failure::Queues(format!(
                "{} flows have a send queue; select one with --flow: {names}{more}",
                fitting.len()
            )))
        }
    }
}
