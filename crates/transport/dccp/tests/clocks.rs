//! The clock of a driver may stand still, jump by hours, or go back: `poll_timeout` never asks for the same instant again and again, and
//! nobody talks without end.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::anything;
use crate::pipe;

use anything::{Parts, bring, last_numbers, packets, wire};
use headway_dccp::{Connection, ConnectionOptions, Decoded, DropCode, Network, Packet, State};
use headway_units::{Dialect, Duration, Ecn, Instant, Options, Seq48};
use pipe::{Queue, options};
use proptest::prelude::*;

/// How the clock goes on before a packet.
#[derive(Clone, Copy, Debug)]
enum Clock {
    StandsStill,
    GoesOn(u64),
    GoesBack(u64),
    /// The driver comes whenever it was asked to, for so long.
    AsAsked(u64),
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
        2 => Just(Clock::StandsStill),
        3 => nanos().prop_map(Clock::GoesOn),
        1 => nanos().prop_map(Clock::GoesBack),
        3 => (0u64..100_000).prop_map(Clock::AsAsked),
    ]
}

/// What the application does.
#[derive(Clone, Copy, Debug)]
enum Deed {
    Nothing,
    Send(usize),
    Close,
    Abort,
    StopReceiving,
    ReportDropped(u64, u8),
    TooBig(u64, usize),
    SlowReceiver(bool),
}

fn deeds() -> impl Strategy<Value = Deed> {
    prop_oneof![
        20 => Just(Deed::Nothing),
        20 => prop::sample::select(vec![0, 1, 1000, 1440, 1441, 1480, 9000, 64_487, 64_488, 70_000]).prop_map(Deed::Send),
        1 => Just(Deed::Close),
        1 => Just(Deed::Abort),
        1 => Just(Deed::StopReceiving),
        9 => (0u64..100, 0u8..8).prop_map(|(behind, code)| Deed::ReportDropped(behind, code)),
        5 => (0u64..5, prop_oneof![0usize..2000, any::<usize>()]).prop_map(|(behind, mtu)| Deed::TooBig(behind, mtu)),
        3 => any::<bool>().prop_map(Deed::SlowReceiver),
    ]
}

struct Driver {
    connection: Connection,
    outbox: Queue,
    now: Instant,
    /// The last numbers of the peer and of this end.
    numbers: (Seq48, Seq48),
}

impl Driver {
    fn drain(&mut self) {
        let mut sent = 0;
        while let Some(out) = self.connection.poll_transmit(self.now, &mut self.outbox) {
            self.numbers.1 = out.packet.seq;
            assert!(out.packet.encode(&mut vec![0; 70_000], Network::Udp).is_ok());
            sent += 1;
            assert!(sent < 1000, "it talks without end: {}", out.packet);
        }
        while self.connection.poll_event().is_some() {}
        let _ = self.connection.status();
    }

    /// Calls until nothing is asked for at this instant.
    fn come(&mut self) {
        let mut calls = 0;
        self.drain();
        while let Some(at) = self.connection.poll_timeout().filter(|at| *at <= self.now) {
            self.connection.handle_timeout(self.now);
            self.drain();
            calls += 1;
            assert!(calls < 5, "at {} it asks for {at} again and again, in {}", self.now, self.connection.state());
        }
    }

    fn pass(&mut self, clock: Clock) {
        match clock {
            Clock::StandsStill => {}
            Clock::GoesOn(nanos) => self.now += Duration::from_nanos(nanos),
            Clock::GoesBack(nanos) => {
                self.now = self.now.checked_sub(Duration::from_nanos(nanos)).unwrap_or(Instant::ZERO);
            }
            Clock::AsAsked(millis) => {
                let (until, mut calls) = (self.now + Duration::from_millis(millis), 0);
                while let Some(at) = self.connection.poll_timeout().filter(|at| *at <= until) {
                    self.now = self.now.max(at);
                    self.come();
                    calls += 1;
                    assert!(calls < 1000 + 2 * millis, "{calls} calls in {millis} ms, in {}", self.connection.state());
                }
                self.now = until;
            }
        }
        self.come();
    }

    fn act(&mut self, deed: Deed) {
        let (now, (peer, own)) = (self.now, self.numbers);
        match deed {
            Deed::Nothing => {}
            Deed::Send(len) => self.outbox.push(&vec![7; len]),
            Deed::Close => self.connection.close(now),
            Deed::Abort => self.connection.abort(now),
            Deed::StopReceiving => self.connection.stop_receiving(),
            Deed::ReportDropped(behind, code) => {
                self.connection.report_dropped(now, peer - behind, DropCode::new(code).unwrap());
            }
            Deed::TooBig(behind, mtu) => self.connection.handle_too_big(own - behind, mtu),
            Deed::SlowReceiver(slow) => self.connection.set_slow_receiver(slow),
        }
        self.come();
    }

    fn hear(&mut self, parts: &Parts) {
        let mut parts = parts.clone();
        // Few that end the connection.
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
        self.come();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Any packets and any deeds, in any state, under any clock.
    #[test]
    fn no_clock_keeps_a_connection_awake(
        state in prop::sample::select(State::ALL.to_vec()), client: bool, ccid in prop::sample::select(vec![2u8, 3, 4, 248]),
        probe_mtu: bool, timestamps: bool,
        steps in prop::collection::vec((clocks(), deeds(), packets()), 1..40),
    ) {
        let preset = ConnectionOptions::preset(Dialect::Rfc);
        let controllers = [preset.controllers.clone(), options().controllers].concat();
        let rules = ConnectionOptions {
            send_ccids: vec![ccid], receive_ccids: vec![ccid], controllers, probe_mtu, timestamps, data_checksum: timestamps, one_way_delays: timestamps, ..preset
        };
        let mut pipe = bring(state, &rules);
        let numbers = last_numbers(&pipe, client);
        let now = pipe.now;
        let end = if client { &mut pipe.client } else { &mut pipe.server };
        if let Some(connection) = end.connection.take() {
            let mut driver = Driver { connection, outbox: Queue::default(), now, numbers };
            for (clock, deed, parts) in &steps {
                driver.pass(*clock);
                driver.act(*deed);
                driver.hear(parts);
            }
        }
    }
}
