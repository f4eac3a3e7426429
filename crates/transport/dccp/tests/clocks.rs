//! A driver's clock may stop, jump by hours, or go back: `poll_timeout` does not return the same
//! time repeatedly, and no packets are sent endlessly.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::anything;
use crate::pipe;

use anything::{Parts, connection_in, last_numbers, packets, wire};
use headway_dccp::{Connection, ConnectionOptions, Decoded, DropCode, Network, Packet, State};
use headway_units::{Dialect, Duration, Ecn, Instant, Options, Seq48};
use pipe::{Queue, options};
use proptest::prelude::*;

/// Change of the clock before a packet.
#[derive(Clone, Copy, Debug)]
enum Clock {
    Stopped,
    Forward(u64),
    Backward(u64),
    /// The driver calls at each timeout, for this many milliseconds.
    OnTimeouts(u64),
}

fn clocks() -> impl Strategy<Value = Clock> {
    let nanos = || {
        prop_oneof![
            8 => 0u64..10,
            8 => 0u64..10_000_000,
            8 => 0u64..10_000_000_000,
            2 => 0u64..1 << 45,
            1 => any::<u64>().prop_map(|nanos| nanos >> 4),
        ]
    };
    prop_oneof![
        2 => Just(Clock::Stopped),
        3 => nanos().prop_map(Clock::Forward),
        1 => nanos().prop_map(Clock::Backward),
        3 => (0u64..100_000).prop_map(Clock::OnTimeouts),
    ]
}

#[derive(Clone, Copy, Debug)]
enum Action {
    Nothing,
    Send(usize),
    Close,
    Abort,
    StopReceiving,
    ReportDropped(u64, u8),
    TooBig(u64, usize),
    SlowReceiver(bool),
}

fn actions() -> impl Strategy<Value = Action> {
    prop_oneof![
        20 => Just(Action::Nothing),
        20 => prop::sample::select(vec![0, 1, 1000, 1440, 1441, 1480, 9000, 64_487, 64_488, 70_000]).prop_map(Action::Send),
        1 => Just(Action::Close),
        1 => Just(Action::Abort),
        1 => Just(Action::StopReceiving),
        9 => (0u64..100, 0u8..8).prop_map(|(behind, code)| Action::ReportDropped(behind, code)),
        5 => (0u64..5, prop_oneof![0usize..2000, any::<usize>()]).prop_map(|(behind, mtu)| Action::TooBig(behind, mtu)),
        3 => any::<bool>().prop_map(Action::SlowReceiver),
    ]
}

struct Driver {
    connection: Connection,
    outbox: Queue,
    now: Instant,
    /// Last sequence numbers of the peer and of this endpoint.
    numbers: (Seq48, Seq48),
}

impl Driver {
    fn drain(&mut self) {
        let mut sent = 0;
        while let Some(out) = self.connection.poll_transmit(self.now, &mut self.outbox) {
            self.numbers.1 = out.packet.seq;
            assert!(out.packet.encode(&mut vec![0; 70_000], Network::Udp).is_ok());
            sent += 1;
            assert!(sent < 1000, "endless packets: {}", out.packet);
        }
        while self.connection.poll_event().is_some() {}
        let _ = self.connection.status();
    }

    fn settle(&mut self) {
        let mut calls = 0;
        self.drain();
        while let Some(at) = self.connection.poll_timeout().filter(|at| *at <= self.now) {
            self.connection.handle_timeout(self.now);
            self.drain();
            calls += 1;
            assert!(calls < 5, "at {}: repeated timeout {at} in {}", self.now, self.connection.state());
        }
    }

    fn pass(&mut self, clock: Clock) {
        match clock {
            Clock::Stopped => {}
            Clock::Forward(nanos) => self.now += Duration::from_nanos(nanos),
            Clock::Backward(nanos) => {
                self.now = self.now.checked_sub(Duration::from_nanos(nanos)).unwrap_or(Instant::ZERO);
            }
            Clock::OnTimeouts(millis) => {
                let (until, mut calls) = (self.now + Duration::from_millis(millis), 0);
                while let Some(at) = self.connection.poll_timeout().filter(|at| *at <= until) {
                    self.now = self.now.max(at);
                    self.settle();
                    calls += 1;
                    assert!(calls < 1000 + 2 * millis, "{calls} calls in {millis} ms, in {}", self.connection.state());
                }
                self.now = until;
            }
        }
        self.settle();
    }

    fn act(&mut self, action: Action) {
        let (now, (peer, own)) = (self.now, self.numbers);
        match action {
            Action::Nothing => {}
            Action::Send(len) => self.outbox.push(&vec![7; len]),
            Action::Close => self.connection.close(now),
            Action::Abort => self.connection.abort(now),
            Action::StopReceiving => self.connection.stop_receiving(),
            Action::ReportDropped(behind, code) => {
                self.connection.report_dropped(now, peer - behind, DropCode::new(code).unwrap());
            }
            Action::TooBig(behind, mtu) => self.connection.handle_too_big(own - behind, mtu),
            Action::SlowReceiver(slow) => self.connection.set_slow_receiver(slow),
        }
        self.settle();
    }

    fn receive(&mut self, parts: &Parts) {
        let mut parts = parts.clone();
        // Few packets may end the connection.
        if matches!(parts.0, 5..8) && parts.3[1] < 240 {
            parts.0 -= 3;
        }
        let bytes = wire(&parts, self.numbers);
        let packet = Packet::decode(&bytes, Network::Udp).unwrap();
        self.connection.handle(self.now, if parts.6.is_multiple_of(2) { Ecn::Ce } else { Ecn::Ect0 }, &packet);
        let peer = self.numbers.0;
        if let Decoded::Long(packet) = packet
            && packet.seq.is_after(peer)
            && packet.seq.distance_from(peer) < 50
        {
            self.numbers.0 = packet.seq;
        }
        self.settle();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Any packets and actions, in any state, with any clock.
    #[test]
    fn no_clock_causes_endless_timeouts(
        state in prop::sample::select(State::ALL.to_vec()), client: bool, ccid in prop::sample::select(vec![2u8, 3, 4, 248]),
        probe_mtu: bool, timestamps: bool,
        steps in prop::collection::vec((clocks(), actions(), packets()), 1..40),
    ) {
        let preset = ConnectionOptions::preset(Dialect::Rfc);
        let controllers = [preset.controllers.clone(), options().controllers].concat();
        let rules = ConnectionOptions {
            send_ccids: vec![ccid], receive_ccids: vec![ccid], controllers, probe_mtu, timestamps, data_checksum: timestamps, one_way_delays: timestamps, ..preset
        };
        let mut pipe = connection_in(state, &rules);
        let numbers = last_numbers(&pipe, client);
        let now = pipe.now;
        let end = if client { &mut pipe.client } else { &mut pipe.server };
        if let Some(connection) = end.connection.take() {
            let mut driver = Driver { connection, outbox: Queue::default(), now, numbers };
            for (clock, action, parts) in &steps {
                driver.pass(*clock);
                driver.act(*action);
                driver.receive(parts);
            }
        }
    }
}
