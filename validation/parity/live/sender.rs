//! The sender of a DCCP flow, which passes datagrams to the connection and records their fates.

use crate::application::Application;
use crate::meters::Meters;
use crate::time::Time;
use headway_media::TransportState;
use headway_net::{Connection, Endpoint, Event, Media};
use headway_units::{Duration, Instant};
use std::net::SocketAddr;

/// State of a controller at one time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ControllerState {
    pub(crate) at: Instant,
    pub(crate) status: headway_dccp::Status,
}

/// Result of a sender.
#[derive(Debug, Default)]
pub(crate) struct Sent {
    pub(crate) states: Vec<ControllerState>,
    /// Reason why sending failed.
    pub(crate) failure: Option<String>,
}

impl Sent {
    pub(crate) fn failed(why: &dyn std::fmt::Display) -> Self {
        Self { failure: Some(why.to_string()), ..Self::default() }
    }
}

/// Sends until the application stops or the run meters. Samples the controller once per `interval`.
pub(crate) fn send(
    endpoint: &Endpoint,
    mut application: Application,
    to: SocketAddr,
    meters: &Meters,
    time: &Time,
    interval: Option<Duration>,
) -> Sent {
    let mut sent = Sent::default();
    if !time.sleep(application.start) {
        return sent;
    }
    let connection = match endpoint.connect(to) {
        Ok(connection) => connection,
        Err(error) => return Sent::failed(&error),
    };
    let mut connected = false;
    let mut next_sample = interval.map(|interval| first_after(application.start, interval));
    loop {
        let now = time.now();
        if time.is_over(now) || application.has_stopped(now) {
            break;
        }
        application
            .source
            .follow(|| TransportState { target_rate: connection.encoding_rate(), waiting: connection.queued_bytes() });
        if let Err(why) = send_due(now, &mut application, &connection, meters) {
            sent.failure = Some(why);
            return sent;
        }
        if let (Some(at), Some(interval)) = (next_sample, interval)
            && now >= at
        {
            sent.states.extend(connection.status().map(|status| ControllerState { at: now, status }));
            next_sample = Some(at + interval);
        }
        let next = application.next(meters).into_iter().chain(next_sample).min();
        match connection.event_timeout(time.wait(time.now(), next)) {
            Some(Event::Media(number, fate)) => meters.on_fate(time.now(), number, fate),
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

/// Passes all datagrams that are due to the connection at once, so that the send queue can choose among them.
fn send_due(now: Instant, application: &mut Application, to: &Connection, meters: &Meters) -> Result<(), String> {
    let (local, all) = (meters.to_sender(now), application.write(now, meters));
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

/// Returns the first multiple of `interval` after `at`.
fn first_after(at: Instant, interval: Duration) -> Instant {
    Instant::ZERO + interval * (at.as_nanos() / interval.as_nanos().max(1) + 1)
}
