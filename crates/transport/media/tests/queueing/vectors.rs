//! Replays sfdps.json, whose `source` gives its origin.

use super::named;
use headway_media::{Media, QueueMethod, SendQueue, SendQueueOptions, Unsent};
use headway_units::{Duration, Instant, SendDrop};
use serde_json::Value;

/// Returns the decisions of a queue with these options for a case of sfdps.json, where every message has `method`.
pub fn play(case: &Value, options: &SendQueueOptions, method: Option<QueueMethod>) -> Vec<Value> {
    let mut queue = SendQueue::new(options);
    queue.set_round_trip(Duration::from_micros(case["rtt_us"].as_u64().unwrap()));
    let mut names: Vec<&str> = Vec::new();
    let mut decisions = Vec::new();
    let time = |value: &Value| Instant::from_micros(value.as_u64().unwrap());
    for op in case["ops"].as_array().unwrap() {
        let mut dropped = Vec::new();
        if op[0] == "put" {
            let [name, priority, created, expires] = op[1].as_array().unwrap().as_slice() else { panic!("{op}") };
            names.push(name.as_str().unwrap());
            let media = Media {
                expires: Some(time(expires)),
                created: time(created),
                method,
                ..named(names.len() as u64 - 1, priority.as_u64().unwrap() as u8, 0, 0)
            };
            queue.enqueue(time(created), media, &mut |unsent| dropped.push(unsent));
            decisions.extend(dropped.iter().map(|unsent| decision(unsent, &names)));
            if !dropped.iter().any(|unsent| unsent.cause == SendDrop::Refused) {
                decisions.push(Value::from(vec!["queue", name.as_str().unwrap()]));
            }
        } else {
            let media = queue.dequeue(time(&op[1]), &mut |unsent| dropped.push(unsent));
            decisions.extend(dropped.iter().map(|unsent| decision(unsent, &names)));
            decisions.push(match media {
                Some(media) => Value::from(vec!["send", names[media.size.count() as usize]]),
                None => Value::from(vec![Value::from("idle"), Value::Null]),
            });
        }
    }
    decisions
}

fn decision(unsent: &Unsent, names: &[&str]) -> Value {
    let word = match unsent.cause {
        SendDrop::Refused => "reject",
        SendDrop::PushedOut => "evict",
        SendDrop::Expired => "discard",
    };
    Value::from(vec![word, names[unsent.media.size.count() as usize]])
}
