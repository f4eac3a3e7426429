//! `headway queues`: send queues beside one another on a scenario's flow.

mod named;
mod report;

use crate::arguments::QueuesOptions;
use crate::error::Failure;
use crate::interrupt;
use crate::output;
use crate::progress::Progress;
use headway_media::SendQueueOptions;
use headway_run::{ScenarioText, Watch as _, each};
use headway_scenario::{Flow, Scenario, hint, load, plan, resend_misfit};
use headway_sim::{Comparison, Yardstick, YardstickError, compare};
pub(crate) use named::parse;
use report::Report;
use std::sync::Arc;

/// Of many flows so many are named.
const NAMED: usize = 10;

pub(crate) fn queues(asked: &QueuesOptions) -> Result<(), Failure> {
    let scenario = scenario(asked)?;
    // It has been read, from a pipe perhaps: until here a signal ends the program.
    interrupt::listen();
    let flow = flow(&scenario, asked.flow.as_deref())?;
    let own = &scenario.flows[flow].send_queue;
    let queues =
        if asked.queues.is_empty() { named::all(own)? } else { named::chosen(&asked.queues, own.rules.limit)? };
    for queue in &queues {
        let flow = Flow { send_queue: Arc::new(queue.options.clone()), ..scenario.flows[flow].clone() };
        if let Some(misfit) = resend_misfit(&flow) {
            return Err(Failure::Queues(format!("--queue {}: {misfit}", queue.name)));
        }
    }
    let options: Vec<SendQueueOptions> = queues.iter().map(|queue| queue.options.clone()).collect();
    let seeds = seeds(asked)?;
    let progress = Progress::of_runs(asked.quiet);
    progress.runs(seeds.len());
    let done = each(seeds.len(), asked.jobs, &progress, |number| {
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
    let mut report = Report::new(&scenario, flow, seeds, &queues, &done);
    report.identical = identical;
    if asked.json { output::json(&report) } else { output::text(&report.plain()) }
}

fn seeds(asked: &QueuesOptions) -> Result<Vec<u64>, Failure> {
    /// A scenario can name no larger one.
    const LAST: u64 = i64::MAX as u64;
    let (first, count) = (asked.first_seed, asked.seeds);
    if count - 1 > LAST - first {
        return Err(Failure::Queues(format!(
            "--seeds {count}: from --first-seed {first} on there are only {}, since seeds end at {LAST}",
            LAST - first + 1
        )));
    }
    Ok((first..first + count).collect())
}

fn scenario(asked: &QueuesOptions) -> Result<Scenario, Failure> {
    crate::sets::check_once(&asked.overrides)?;
    let ScenarioText { file, text, overrides, files } = ScenarioText::read(&asked.scenario, &asked.overrides)?;
    let key = |set: &String| set.split('=').next().map(str::trim) == Some("seed");
    if asked.overrides.iter().any(key) {
        return Err(Failure::Queues(
            "--set seed: here --first-seed says which seeds are run, --seeds how many".to_owned(),
        ));
    }
    if plan(&file, &text, &overrides, &[])?.runs.len() > 1 {
        output::note(&format!("warning: {file}: what [vary] says does not count here"));
    }
    let loaded = load(&file, &text, &overrides, &files)?;
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
    let controlled = |flow: &usize| scenario.flows.get(*flow).is_some_and(|flow| flow.transport.controller().is_some());
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
