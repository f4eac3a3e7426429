//! The sending end of a connection: it hands over what the program has, and hears what became of it.

use crate::ends::Ends;
use crate::program::Program;
use crate::time::Time;
use headway_net::{Connection, Endpoint, Event, Media};
use headway_units::{Duration, Instant};
use std::net::SocketAddr;

/// What a controller held at an instant.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Held {
    pub(crate) at: Instant,
    pub(crate) status: headway_dccp::Status,
}

/// What a sender leaves.
#[derive(Debug, Default)]
pub(crate) struct Sent {
    pub(crate) held: Vec<Held>,
    /// Why nothing went, or nothing more.
    pub(crate) failure: Option<String>,
}

impl Sent {
    pub(crate) fn failed(why: &dyn std::fmt::Display) -> Self {
        Self { failure: Some(why.to_string()), ..Self::default() }
    }
}

/// Sends until the program stops or the run is over. The controller is looked at each `interval`.
pub(crate) fn send(
    endpoint: &Endpoint,
    mut program: Program,
    to: SocketAddr,
    ends: &Ends,
    time: &Time,
    interval: Option<Duration>,
) -> Sent {
    let mut sent = Sent::default();
    if !time.sleep(program.start) {
        return sent;
    }
    let connection = match endpoint.connect(to) {
        Ok(connection) => connection,
        Err(error) => return Sent::failed(&error),
    };
    let mut connected = false;
    let mut look = interval.map(|interval| first_after(program.start, interval));
    loop {
        let now = time.now();
        if time.is_over(now) || program.has_stopped(now) {
            break;
        }
        program.source.follow(|| connection.encoding_rate());
        if let Err(why) = hand_over(now, &mut program, &connection, ends) {
            sent.failure = Some(why);
            return sent;
        }
        if let (Some(at), Some(interval)) = (look, interval)
            && now >= at
        {
            sent.held.extend(connection.status().map(|status| Held { at: now, status }));
            look = Some(at + interval);
        }
        let next = program.next(ends).into_iter().chain(look).min();
        match connection.event_timeout(time.wait(time.now(), next)) {
            Some(Event::Media(number, fate)) => ends.hear(time.now(), number, fate),
            Some(Event::Connected) => connected = true,
            Some(Event::Closed(why)) => {
                sent.failure = Some(why.to_string());
                return sent;
            }
            Some(_) | None => {}
        }
    }
    if !connected {
        sent.failure = Some("not connected at the end of the run".to_owned());
    }
    sent
}

/// Hands over what the program has, all at once: the send queue chooses among it.
fn hand_over(now: Instant, program: &mut Program, to: &Connection, ends: &Ends) -> Result<(), String> {
    let (local, all) = (ends.to_sender(now), program.write(now, ends));
    if all.is_empty() {
        return Ok(());
    }
    let media = all.iter().map(|(payload, media)| Media {
        kind: media.kind,
        priority: media.priority,
        expires: media.expires.map(|expires| expires.since(local)),
        ..Media::new(payload)
    });
    let all: Vec<Media<'_>> = media.collect();
    to.send_all(&all).map(|_| ()).map_err(|why| why.to_string())
}

/// The first multiple of an interval behind that instant.
fn first_after(at: Instant, interval: Duration) -> Instant {
    Instant::ZERO + interval * (at.as_nanos() / interval.as_nanos().max(1) + 1)
}
