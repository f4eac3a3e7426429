//! Tests of the reconnection after the loss of a server.

use super::*;
use crate::secure::SecureError;

/// Round trip of the path without delay, in ms: each direction is carried once a step.
const STEP_MS: u64 = 5;
/// Time between two datagrams, in ms.
const INTERVAL_MS: u64 = 20;

/// Options of the server and of the client, with DTLS or without.
fn both(dtls: bool) -> [Options; 2] {
    let client = if dtls { Options::client(Trust::AnyPeer).unwrap() } else { Options::insecure() };
    let server = if dtls { Options::server().unwrap() } else { Options::insecure() };
    [server, Options { reconnect: true, events: 100_000, ..client }]
}

fn server_of(options: &Options) -> End {
    if options.dtls.is_some() { End::secure(1, options) } else { End::server(options) }
}

/// Client that sends a numbered datagram each [`INTERVAL_MS`], and the server with which it exchanges datagrams.
struct Call {
    client: End,
    key: u64,
    mailbox: Arc<Mailbox>,
    now_ms: u64,
    sends: bool,
    /// Datagrams on their way to the server and to the client, with their time of arrival.
    paths: [VecDeque<(u64, Vec<u8>)>; 2],
    delay_ms: u64,
    accepted: Vec<(u64, Path, Arc<Mailbox>)>,
    /// Times and first bytes of the datagrams that arrived.
    arrived: Vec<(u64, u8)>,
}

impl Call {
    fn new(options: &Options, server: &End, delay_ms: u64) -> Self {
        let mut client = if options.dtls.is_some() { End::secure(2, options) } else { End::new(2, options) };
        let (key, mailbox) = client.connect(at(0), server);
        let (paths, accepted, arrived) = Default::default();
        Self { client, key, mailbox, now_ms: 0, sends: true, paths, delay_ms, accepted, arrived }
    }

    /// Runs both ends up to this time; `None`: the server is gone.
    fn run(&mut self, until_ms: u64, mut server: Option<&mut End>) {
        while self.now_ms < until_ms {
            let now = at(self.now_ms);
            if self.sends && self.now_ms.is_multiple_of(INTERVAL_MS) {
                let sent = [(self.now_ms / INTERVAL_MS) as u8; 100];
                self.client.driver.send_all(now, self.key, &[Media::new(&sent)]);
            }
            self.client.turn(now);
            self.carry(0, None);
            if let Some(server) = &mut server {
                self.carry(0, Some(server));
                server.turn(now);
                self.accepted.extend(server.driver.accepts.with(|accepts| accepts.waiting.pop_front()));
                let sent = std::mem::take(&mut *lock(&server.wire.sent));
                self.paths[1].extend(sent.into_iter().map(|datagram| (self.now_ms + self.delay_ms, datagram)));
                self.carry(1, Some(server));
            } else {
                self.paths.iter_mut().for_each(VecDeque::clear);
            }
            for (.., mailbox) in &self.accepted {
                let mut datagram = Vec::new();
                while let Some(Ok(())) = mailbox.incoming.with(|incoming| incoming.receive(&mut datagram)) {
                    self.arrived.push((self.now_ms, datagram[0]));
                }
            }
            self.now_ms += STEP_MS;
        }
    }

    /// Moves sent datagrams of the client to the path, or delivers those that have arrived at the peer.
    fn carry(&mut self, direction: usize, server: Option<&mut End>) {
        let Some(server) = server else {
            let sent = std::mem::take(&mut *lock(&self.client.wire.sent));
            return self.paths[0].extend(sent.into_iter().map(|datagram| (self.now_ms + self.delay_ms, datagram)));
        };
        let ends = [server.wire.address, self.client.wire.address];
        let path = Path::Udp { local: ends[direction], remote: ends[1 - direction] };
        let to = if direction == 0 { &mut server.driver } else { &mut self.client.driver };
        while let Some((_, mut datagram)) = self.paths[direction].pop_front_if(|(at, _)| *at <= self.now_ms) {
            to.handle_datagram(at(self.now_ms), Arrived { path, ecn: Ecn::NotEct }, &mut datagram);
        }
    }

    /// Returns the events about the connection itself.
    fn events(&self) -> Vec<Event> {
        let all = std::iter::from_fn(|| self.mailbox.events.with(Unread::next).flatten());
        all.filter(|event| matches!(event, Event::Connected | Event::Interrupted(_) | Event::Closed(_))).collect()
    }
}

/// A server that is killed and started again. Media arrive within about a second of its return: a loss is noticed after a
/// second or four round trips of silence, and a handshake has up to five round trips.
#[test]
fn media_arrive_within_a_second_of_the_return_of_the_server() {
    for dtls in [false, true] {
        for (delay_ms, bound_ms) in [(0, 1100), (20, 1200), (300, 1000 + 9 * 600)] {
            for outage_ms in [0, 300, 900, 1500, 2345, 20_000] {
                let [server_options, options] = both(dtls);
                let (mut first, mut second) = (server_of(&server_options), server_of(&server_options));
                let mut call = Call::new(&options, &first, delay_ms);
                call.run(8000, Some(&mut first));
                assert_eq!(call.events(), [Event::Connected]);
                call.run(8000 + outage_ms, None);
                let returned = call.now_ms;
                call.accepted.clear();
                call.run(returned + 12_000, Some(&mut second));
                let case = format!("DTLS {dtls}, delay {delay_ms} ms, outage {outage_ms} ms");
                let events = call.events();
                let [Event::Interrupted(why), Event::Connected] = &events[..] else { panic!("{case}: {events:?}") };
                // Without DTLS the new server answers old packets with a Reset.
                assert!(matches!(why, Closed::NoAnswer | Closed::Reset(_)), "{case}: {why:?}");
                let (arrived, _) = call.arrived.iter().find(|(at, _)| *at >= returned).unwrap();
                assert!(arrived - returned <= bound_ms, "{case}: after {} ms", arrived - returned);
            }
        }
    }
}

/// Queued datagrams wait for the next connection within the limit of the send queue, and each datagram has one outcome.
#[test]
fn datagrams_are_queued_while_the_server_is_gone() {
    for dtls in [false, true] {
        let [server_options, mut options] = both(dtls);
        options.queue = SendQueueOptions::fifo(Dialect::Rfc);
        options.queue.rules.limit = headway_units::QueueSize::Packets(10);
        let (mut first, mut second) = (server_of(&server_options), server_of(&server_options));
        let mut call = Call::new(&options, &first, 0);
        call.run(2000, Some(&mut first));
        call.run(6000, None);
        assert!(call.mailbox.backlog.with(|backlog| backlog.size()) <= Bytes::new(10 * 100));
        call.accepted.clear();
        call.run(8000, Some(&mut second));
        call.sends = false;
        call.run(10_000, Some(&mut second));
        let mut outcomes = [0; 400];
        let mut refused = 0;
        while let Some(event) = call.mailbox.events.with(Unread::next).flatten() {
            if let Event::Media(number, fate) = event {
                outcomes[number as usize] += u32::from(fate.is_final());
                refused += u32::from(matches!(fate, Fate::Unsent { cause: SendDrop::Refused, .. }));
            }
        }
        assert_eq!(outcomes, [1; 400], "DTLS {dtls}");
        // Three seconds of datagrams, of which ten waited.
        assert!((100..=200).contains(&refused), "{refused}");
    }
}

/// A server that closes the connection in order may return; one that serves another client ends it, and so does one that
/// is not trusted.
#[test]
fn the_reason_of_the_loss_decides_whether_to_reconnect() {
    let [server_options, options] = both(true);
    let mut server = server_of(&server_options);
    let mut call = Call::new(&options, &server, 0);
    call.run(1000, Some(&mut server));
    let (key, ..) = call.accepted[0];
    server.driver.close(key, at(1000));
    call.run(3000, Some(&mut server));
    assert_eq!(call.events(), [Event::Connected, Event::Interrupted(Closed::ByPeer), Event::Connected]);
    let (key, ..) = call.accepted[1];
    server.driver.refuse(at(3000), key);
    call.run(6000, Some(&mut server));
    let busy = Reset { code: ResetCode::TOO_BUSY, data: [0; 3] };
    assert_eq!(call.events(), [Event::Closed(Closed::Reset(busy))]);

    let trust = Trust::Fingerprints(server_options.fingerprint().into_iter().collect());
    let options = Options { reconnect: true, ..Options::client(trust).unwrap() };
    let (mut first, mut other) = (server_of(&server_options), server_of(&Options::server().unwrap()));
    let mut call = Call::new(&options, &first, 0);
    call.run(1000, Some(&mut first));
    call.run(6000, Some(&mut other));
    let events = call.events();
    assert_eq!(events[..2], [Event::Connected, Event::Interrupted(Closed::NoAnswer)]);
    assert!(matches!(&events[2..], [Event::Closed(Closed::Security(SecureError::Fingerprint { .. }))]), "{events:?}");
}

/// The program closes a connection that is lost. Without the option, and before the connection was established, a loss
/// is the end.
#[test]
fn a_lost_connection_can_be_closed() {
    for dtls in [false, true] {
        let [server_options, options] = both(dtls);
        let mut server = server_of(&server_options);
        let mut call = Call::new(&options, &server, 0);
        call.run(1000, Some(&mut server));
        call.run(5000, None);
        call.client.driver.close(call.key, at(6000));
        call.run(7000, None);
        let closed = Event::Closed(Closed::Here);
        assert_eq!(call.events(), [Event::Connected, Event::Interrupted(Closed::NoAnswer), closed], "DTLS {dtls}");
        assert_eq!(call.client.driver.recovery_due(), None);

        let options = Options { reconnect: false, ..options };
        let mut call = Call::new(&options, &server_of(&server_options), 0);
        let mut server = server_of(&server_options);
        call.run(1000, Some(&mut server));
        let (key, ..) = call.accepted[0];
        server.driver.close(key, at(1000));
        call.run(2000, Some(&mut server));
        assert_eq!(call.events(), [Event::Connected, Event::Closed(Closed::ByPeer)]);

        let options = Options { reconnect: true, ..options };
        let mut call = Call::new(&options, &server, 0);
        call.run(60_000, None);
        let events = call.events();
        assert!(matches!(events[..], [Event::Closed(_)]), "{events:?}");
    }
}
