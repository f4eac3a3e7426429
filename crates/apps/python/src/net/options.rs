//! Options of endpoints.

use super::failure::argument;
use super::identity::Identity;
use headway_media::SendQueueOptions;
use headway_net::{ControllerOptions, Fingerprint, Trust};
use headway_units::{OptionError, SchemaRegistry};
use pyo3::prelude::*;
use serde_json::{Map, Value};

/// Options of an endpoint and its connections.
#[pyclass(frozen, module = "headway._native", name = "Options")]
pub(crate) struct Options(pub(super) headway_net::Options);

/// Name of an algorithm and its keys as a JSON object.
type Keyed = (String, String);

#[pymethods]
impl Options {
    /// Without `trust` any peer is trusted. An identity is created unless there is one.
    #[new]
    fn new(
        trust: Option<Vec<String>>,
        identity: Option<PyRef<'_, Identity>>,
        insecure: bool,
        controller: Option<Keyed>,
        queue: Option<Keyed>,
        reconnect: bool,
    ) -> PyResult<Self> {
        let mut options = if insecure {
            headway_net::Options::insecure()
        } else {
            let identity = identity.map(|identity| Ok(identity.0.clone()));
            let identity = identity.unwrap_or_else(headway_net::Identity::generate);
            headway_net::Options::new(identity.map_err(|error| argument("identity", error))?, trusted(trust)?)
        };
        if let Some((kind, keys)) = controller {
            options = with_controller(options, &kind, &keys).map_err(|message| argument("controller", message))?;
        }
        if let Some((kind, keys)) = queue {
            options = with_queue(options, &kind, &keys).map_err(|message| argument("queue", message))?;
        }
        options.reconnect = reconnect;
        Ok(Self(options))
    }
}

fn trusted(fingerprints: Option<Vec<String>>) -> PyResult<Trust> {
    let Some(fingerprints) = fingerprints else { return Ok(Trust::AnyPeer) };
    let all: Result<Vec<Fingerprint>, _> = fingerprints.iter().map(|text| text.parse()).collect();
    all.map(Trust::Fingerprints).map_err(|error| argument("trust", error))
}

fn with_controller(options: headway_net::Options, kind: &str, keys: &str) -> Result<headway_net::Options, String> {
    let mut controller = options.controller_options(kind).map_err(|error| message(&error))?;
    let all = serde_json::to_value(&controller).map_err(|error| error.to_string())?;
    if let Some(keyed) = with_keys::<ControllerOptions>(kind, all, keys)? {
        controller = keyed;
    }
    options.with_controller_options(controller).map_err(|error| message(&error))
}

fn with_queue(options: headway_net::Options, kind: &str, keys: &str) -> Result<headway_net::Options, String> {
    let mut options = options.with_queue(kind).map_err(|error| message(&error))?;
    let all = serde_json::to_value(&options.queue.rules).map_err(|error| error.to_string())?;
    if let Some(queue) = with_keys::<SendQueueOptions>(kind, all, keys)? {
        options.queue = queue;
    }
    Ok(options)
}

/// Returns the options of an algorithm with these keys changed; `None` if there are none.
fn with_keys<R: SchemaRegistry>(kind: &str, mut all: Value, keys: &str) -> Result<Option<R>, String> {
    let keys: Map<String, Value> = serde_json::from_str(keys).map_err(|error| error.to_string())?;
    if keys.is_empty() {
        return Ok(None);
    }
    let mut paths = Vec::new();
    if let Value::Object(all) = &mut all {
        all.remove("kind");
        merge(all, keys, "", &mut paths);
    }
    let options: R = headway_scenario::options(kind, all).map_err(|error| error.to_string())?;
    options.check().map_err(|error| message(&error))?;
    match options.unused().iter().find(|error| paths.contains(&path(error))) {
        Some(error) => Err(message(error)),
        None => Ok(Some(options)),
    }
}

/// Sets keys in a table, and adds their paths.
fn merge(all: &mut Map<String, Value>, keys: Map<String, Value>, table: &str, paths: &mut Vec<String>) {
    for (key, value) in keys {
        let path = format!("{table}{key}");
        match (all.get_mut(&key), value) {
            (Some(Value::Object(inner)), Value::Object(keys)) => merge(inner, keys, &format!("{path}."), paths),
            (_, value) => {
                all.insert(key, value);
                paths.push(path);
            }
        }
    }
}

/// Returns the path of a key with its tables.
fn path(error: &OptionError) -> String {
    error.tables.iter().chain([&error.key]).copied().collect::<Vec<_>>().join(".")
}

fn message(error: &OptionError) -> String {
    match error.key {
        "controller" | "queue" => error.message.clone(),
        _ => format!("{}: {}", path(error), error.message),
    }
}
