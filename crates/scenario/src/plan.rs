//! One scenario, many runs.

use crate::document::Value;
use crate::overrides::{Override, resolve};
use crate::path::Path;
use crate::problem::{Problems, ScenarioError};
use crate::vary::axes;
use std::sync::Arc;

/// The runs that a scenario asks for, in the order of its `[vary]`: the last key changes fastest.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// One at least.
    pub runs: Vec<Run>,
}

/// One run of a [`Plan`].
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// What sets it apart, such as `link[0].rate=2Mbps seed=3`; empty if nothing varies.
    pub label: String,
    /// The same, key by key.
    pub varied: Vec<(String, String)>,
    /// With which it is [loaded](crate::load): the plan's own, then what varies.
    pub overrides: Vec<Override>,
}

/// Lists the runs of a scenario whose text was read from `file`. A key that an override sets does not vary.
///
/// # Errors
/// If the text cannot be read, an override cannot be applied, or `[vary]` is wrong; whether the runs themselves are
/// right is found out by [loading](crate::load) them.
pub fn plan(file: &str, text: &str, overrides: &[Override]) -> Result<Plan, ScenarioError> {
    let mut problems = Problems::default();
    let Some(root) = crate::load::document(text, overrides, &mut problems) else {
        return Err(problems.into_error(file, text));
    };
    let mut axes = axes(&root, &mut problems);
    problems.finish(file, text)?;
    let set: Vec<Path> = overrides.iter().filter_map(|set| set.resolved_path(&root).ok()).collect();
    axes.retain(|axis| resolve(&root, &axis.path).is_ok_and(|path| !set.contains(&path)));

    let mut runs = vec![Run { label: String::new(), varied: Vec::new(), overrides: overrides.to_vec() }];
    for axis in &axes {
        let with = |run: &Run, (value, label): &(Arc<Value>, String)| {
            let mut run = run.clone();
            let space = if run.label.is_empty() { "" } else { " " };
            run.label = format!("{}{space}{}={label}", run.label, axis.path);
            run.varied.push((axis.path.to_string(), label.clone()));
            run.overrides.push(Override { path: axis.path.clone(), value: Arc::clone(value) });
            run
        };
        runs = runs.iter().flat_map(|run| axis.values.iter().map(move |value| with(run, value))).collect();
    }
    Ok(Plan { runs })
}
