//! Events of a connection.

use super::failure::reason;
use headway_net::{Closed, Event, Fate, SendDrop};

/// Fields of the package's `Event`: kind, number, fate, lateness in s, rate in bit/s, size of the largest datagram in
/// bytes, reason and message.
pub(super) type EventParts = (
    &'static str,
    Option<u64>,
    Option<&'static str>,
    Option<f64>,
    Option<u64>,
    Option<usize>,
    Option<&'static str>,
    Option<String>,
);

pub(super) fn parts(event: &Event) -> EventParts {
    match event {
        Event::Connected => of("connected"),
        Event::Media(number, fate) => {
            let lateness = match fate {
                Fate::Unsent { lateness, .. } => Some(lateness.as_secs_f64()),
                _ => None,
            };
            ("datagram", Some(*number), Some(fate_name(fate)), lateness, None, None, None, None)
        }
        Event::Rate(rate) => ("rate", None, None, None, Some(rate.bits_per_second()), None, None, None),
        Event::Scale(scale) => {
            ("scale", Some(scale.index.into()), None, None, Some(scale.rate.bits_per_second()), None, None, None)
        }
        Event::Largest(largest) => ("largest", None, None, None, None, Some(*largest), None, None),
        Event::Interrupted(why) => end("interrupted", why),
        Event::PeerNotListening => of("peer-not-listening"),
        Event::Closed(why) => end("closed", why),
        // An event of a newer version of the library.
        _ => of("other"),
    }
}

const fn of(kind: &'static str) -> EventParts {
    (kind, None, None, None, None, None, None, None)
}

fn end(kind: &'static str, why: &Closed) -> EventParts {
    (kind, None, None, None, None, None, Some(reason(why)), Some(why.to_string()))
}

const fn fate_name(fate: &Fate) -> &'static str {
    match fate {
        Fate::Sent(_) => "sent",
        Fate::Delivered => "delivered",
        Fate::Lost => "lost",
        Fate::Dropped(_) => "dropped",
        Fate::Unsent { cause: SendDrop::Expired, .. } => "expired",
        Fate::Unsent { cause: SendDrop::Refused, .. } => "refused",
        Fate::Unsent { cause: SendDrop::PushedOut, .. } => "pushed-out",
        Fate::Unknown => "unknown",
        Fate::Withdrawn => "withdrawn",
    }
}
