//! Send queues with the names of `--queue`: `KIND[,KEY=VALUE...]`.

use crate::error::Failure;
use crate::keys::pairs;
use headway_media::SendQueueOptions;
use headway_scenario::choices;
use headway_units::{Dialect, QueueSize, Registry};
use serde_json::{Map, Value};

/// Send queue with its name.
pub(super) struct Named {
    pub(super) name: String,
    pub(super) options: SendQueueOptions,
}

/// Returns the default options of a kind, with the limit of the scenario's queue unless the kind has a specific limit.
fn of_kind(kind: &str, limit: QueueSize) -> Option<SendQueueOptions> {
    let dialect = Dialect::default();
    let mut options = SendQueueOptions::preset(kind, dialect)?;
    if options.rules.limit == SendQueueOptions::fifo(dialect).rules.limit {
        options.rules.limit = limit;
    }
    Some(options)
}

/// Returns every kind, and the scenario's queue if its options differ from those of its kind.
pub(super) fn all(own: &SendQueueOptions) -> Result<Vec<Named>, Failure> {
    let kinds = SendQueueOptions::KINDS.iter();
    let mut queues: Vec<Named> = kinds
        .filter_map(|&kind| Some(Named { name: kind.to_owned(), options: of_kind(kind, own.rules.limit)? }))
        .collect();
    if !queues.iter().any(|queue| queue.options == *own) {
        queues.push(Named { name: name(own)?, options: own.clone() });
    }
    Ok(queues)
}

/// Returns the name of these options in the syntax of `--queue`.
fn name(own: &SendQueueOptions) -> Result<String, Failure> {
    let mut name = own.kind().to_owned();
    let defaults = of_kind(own.kind(), own.rules.limit).map(|options| keys(&options)).transpose()?.unwrap_or_default();
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    for (key, value) in keys(own)?.iter().filter(|&(key, value)| defaults.get(key) != Some(value)) {
        match value {
            Value::Object(table) => {
                name.extend(table.iter().map(|(inner, value)| format!(",{key}.{inner}={}", text(value))));
            }
            value => name.push_str(&format!(",{key}={}", text(value))),
        }
    }
    Ok(name)
}

/// Returns the options as keys of a scenario, without the kind.
fn keys(options: &SendQueueOptions) -> Result<Map<String, Value>, Failure> {
    let failed = |error: serde_json::Error| Failure::Queues(error.to_string());
    match serde_json::to_value(&options.rules).map_err(failed)? {
        Value::Object(keys) => Ok(keys),
        _ => Ok(Map::new()),
    }
}

pub(super) fn selected(texts: &[String], limit: QueueSize) -> Result<Vec<Named>, Failure> {
    texts.iter().map(|text| Ok(Named { name: text.clone(), options: parse(text, limit, false)? })).collect()
}

/// Parses `KIND[,KEY=VALUE...]`. `limit` and `resend` are the defaults of these keys.
pub(crate) fn parse(text: &str, limit: QueueSize, resend: bool) -> Result<SendQueueOptions, Failure> {
    let wrong = |message: String| Failure::Queues(format!("--queue {text}: {message}"));
    let (kind, pairs) = pairs(text).map_err(|why| wrong(format!("{why}; set --queue again for another queue")))?;
    let mut defaults = of_kind(kind, limit).ok_or_else(|| {
        wrong(format!("there is no send queue \"{kind}\"{}", choices(kind, SendQueueOptions::KINDS.iter().copied())))
    })?;
    defaults.rules.resend = resend;
    let mut options = keys(&defaults)?;
    let set_keys: Vec<&str> = pairs.iter().map(|(key, _)| *key).collect();
    for (key, value) in pairs {
        let Some((table, inner)) = key.split_once('.') else {
            options.insert(key.to_owned(), value);
            continue;
        };
        let table = options.entry(table).or_insert_with(|| Map::new().into());
        let table = table.as_object_mut().ok_or_else(|| wrong(format!("unknown key \"{key}\"")))?;
        table.insert(inner.to_owned(), value);
    }
    let options = headway_scenario::options(kind, Value::Object(options));
    let options: SendQueueOptions = options.map_err(|error| wrong(error.to_string()))?;
    options.check().map_err(|error| wrong(error.to_string()))?;
    // Datagrams can select the method "score", which uses the weights of the queue.
    let is_weight = |key| ["priority_weight", "size_weight"].contains(&key);
    match options.unused().iter().find(|error| set_keys.contains(&error.key) && !is_weight(error.key)) {
        Some(error) => Err(wrong(format!("{}: {error}", error.key))),
        None => Ok(options),
    }
}
