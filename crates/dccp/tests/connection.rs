//! Two ends of a connection over a pipe: they connect, deliver and close (RFC 4340 section 8).
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

mod pipe;

use headway_dccp::{Closed, Event, Reset, ResetCode, State};
use headway_units::Duration;
use pipe::{Pipe, options, perfect};

#[test]
fn connect_talk_close() {
    let mut pipe = Pipe::new(&options(), &options(), perfect);
    pipe.run(Duration::from_millis(100));
    assert_eq!(pipe.client.state(), State::Open, "{:#?}", pipe.log);
    assert_eq!(pipe.server.state(), State::Open);
    for n in 0..10u8 {
        pipe.client.outbox.push(&[n; 100]);
        pipe.server.outbox.push(&[n + 100; 200]);
        pipe.run(Duration::from_millis(20));
    }
    pipe.run(Duration::from_millis(100));
    assert_eq!(pipe.server.delivered.len(), 10, "{:#?}", pipe.log);
    assert_eq!(pipe.client.delivered.len(), 10);
    let now = pipe.now;
    pipe.client.connection.as_mut().unwrap().close(now);
    pipe.run(Duration::from_secs(1));
    assert_eq!((pipe.client.state(), pipe.server.state()), (State::TimeWait, State::Closed), "{:#?}", pipe.log);
    let closed = Reset { code: ResetCode::CLOSED, data: [0; 3] };
    assert_eq!(pipe.client.events, [Event::Connected, Event::Closed(Closed::ByPeer(closed))]);
    assert_eq!(pipe.server.events, [Event::Connected, Event::Closed(Closed::ByUs(closed))]);
}
