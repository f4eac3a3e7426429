//! Send queues under the names that `--queue` takes: `KIND[,KEY=VALUE...]`.

use crate::error::Failure;
use crate::keys::pairs;
use headway_media::SendQueueOptions;
use headway_scenario::choices;
use headway_units::{Dialect, QueueSize, Registry};
use serde_json::{Map, Value};

/// A queue under its name.
pub(super) struct Named {
    pub(super) name: String,
    pub(super) options: SendQueueOptions,
}

/// A kind with its own options, but room for as much as the scenario's queue has; a kind that brings its own room keeps it.
fn of_kind(kind: &str, limit: QueueSize) -> Option<SendQueueOptions> {
    let dialect = Dialect::default();
    let mut options = SendQueueOptions::preset(kind, dialect)?;
    if options.rules.limit == SendQueueOptions::fifo(dialect).rules.limit {
        options.rules.limit = limit;
    }
    Some(options)
}

/// Every kind, and the scenario's own queue if it is none of these.
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

/// What `--queue` takes for it.
fn name(own: &SendQueueOptions) -> Result<String, Failure> {
    let mut name = own.kind().to_owned();
    let usual = of_kind(own.kind(), own.rules.limit).map(|usual| keys(&usual)).transpose()?.unwrap_or_default();
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    for (key, value) in keys(own)?.iter().filter(|&(key, value)| usual.get(key) != Some(value)) {
        match value {
            Value::Object(table) => {
                name.extend(table.iter().map(|(inner, value)| format!(",{key}.{inner}={}", text(value))));
            }
            value => name.push_str(&format!(",{key}={}", text(value))),
        }
    }
    Ok(name)
}

/// The options as a scenario writes them, without the kind.
fn keys(options: &SendQueueOptions) -> Result<Map<String, Value>, Failure> {
    let failed = |error: serde_json::Error| Failure::Queues(error.to_string());
    match serde_json::to_value(&options.rules).map_err(failed)? {
        Value::Object(keys) => Ok(keys),
        _ => Ok(Map::new()),
    }
}

pub(super) fn chosen(asked: &[String], limit: QueueSize) -> Result<Vec<Named>, Failure> {
    asked.iter().map(|text| Ok(Named { name: text.clone(), options: parse(text, limit)? })).collect()
}

/// Reads `KIND[,KEY=VALUE...]`; without a limit of its own it has this one.
pub(crate) fn parse(text: &str, limit: QueueSize) -> Result<SendQueueOptions, Failure> {
    let wrong = |message: String| Failure::Queues(format!("--queue {text}: {message}"));
    let (kind, pairs) = pairs(text).map_err(|why| wrong(format!("{why}, or another --queue for another queue")))?;
    let usual = of_kind(kind, limit).ok_or_else(|| {
        wrong(format!(
            "there is no send queue of kind \"{kind}\"{}",
            choices(kind, SendQueueOptions::KINDS.iter().copied())
        ))
    })?;
    let mut options = keys(&usual)?;
    let written: Vec<&str> = pairs.iter().map(|(key, _)| *key).collect();
    for (key, value) in pairs {
        let Some((table, inner)) = key.split_once('.') else {
            options.insert(key.to_owned(), value);
            continue;
        };
        let table = options.entry(table).or_insert_with(|| Map::new().into());
        let table = table.as_object_mut().ok_or_else(|| wrong(format!("\"{key}\" has one name too many")))?;
        table.insert(inner.to_owned(), value);
    }
    let options = headway_scenario::options(kind, Value::Object(options));
    let options: SendQueueOptions = options.map_err(|error| wrong(error.to_string()))?;
    options.check().map_err(|error| wrong(error.to_string()))?;
    // A datagram may name the method "score", which reads the weights of the queue.
    let is_weight = |key| ["priority_weight", "size_weight"].contains(&key);
    match options.unused().iter().find(|error| written.contains(&error.key) && !is_weight(error.key)) {
        Some(error) => Err(wrong(format!("{}: {error}", error.key))),
        None => Ok(options),
    }
}
