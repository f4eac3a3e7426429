//! Invariants of an endpoint with an open connection and a malicious peer. Shared by the fuzz target and the test
//! that replays `fuzz/corpus`.
//!
//! Sequence and acknowledgement numbers are in the windows, and options have known types, so that packets get past
//! step 6 of RFC 4340 section 8.5.

use super::choices::Choices;
use super::datagrams::Datagrams;
use headway_dccp::{
    AckVector, Arrivals, Body, CcVal, CcidOption, Closed, Connection, ConnectionOptions, CsCov, DataDropped,
    DccpOption, Delivery, DropCode, DroppedPackets, Elapsed, Event, Feature, FeatureAction, FeatureOption, Ignored,
    Listener, LossIntervals, Network, NoData, OptionArea, OptionWriter, Outcome, Packet, Path, Ports, RawOption, Reset,
    ResetCode, ServiceCode, State, Timestamp, crc32c,
};
use headway_units::{Dialect, Duration, Ecn, Instant, Options, Random, Seq48};
use std::net::Ipv4Addr;
use std::num::NonZeroU32;

const SERVICE: ServiceCode = ServiceCode(0x5254_5056);
const PORTS: Ports = Ports { local: 50_000, remote: 5004 };
/// Path of the server's packets.
const PATH: Path = Path::Ipv4 { local: Ipv4Addr::new(192, 0, 2, 2), remote: Ipv4Addr::new(192, 0, 2, 1) };
/// Maximum burst: a window, and the allowance of a long pause.
const MAX_BURST: usize = 8192;
/// Maximum length of the debug output of an endpoint, which has its complete state.
const MAX_STATE_BYTES: usize = 8 << 20;
/// Minimum Sequence Window (section 7.5.2): a packet less than three quarters of it ahead is always valid.
const MIN_WINDOW: u64 = 32;

struct Victim {
    end: Connection,
    outbox: Datagrams,
    now: Instant,
    begun: Instant,
    /// Greatest number that it sent, and greatest valid number from the peer.
    gss: Seq48,
    gsr: Seq48,
    closed: Option<Closed>,
}

/// Interprets the bytes as options and packets of the peer. The first two select the role, the CCIDs and the dialect.
pub(crate) fn check(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let Some(mut victim) = Victim::new(&mut choices) else { return };
    while let Some(step) = choices.step() {
        victim.now += Duration::from_millis(u64::from(step >> 4));
        let before = victim.end.state();
        match step & 15 {
            0..9 => victim.receive(&mut choices),
            9 => {
                let data = vec![7; usize::from(choices.byte()) * 8];
                for _ in 0..=choices.byte() & 63 {
                    victim.outbox.waiting.push_back(data.clone());
                }
                victim.outbox.waiting.truncate(1000);
            }
            10 => victim.now += Duration::from_micros(1 << choices.byte().min(40)),
            11 => victim.call(&mut choices),
            _ => victim.next_timeout(),
        }
        victim.settle();
        victim.holds(before);
    }
    assert!(format!("{:?}", victim.end).len() < MAX_STATE_BYTES, "its state is bounded");
}

impl Victim {
    /// Connects two endpoints; one of them then belongs to the attacker.
    fn new(choices: &mut Choices<'_>) -> Option<Self> {
        let (choice, more) = (choices.byte(), choices.byte());
        let dialect = [Dialect::Rfc, Dialect::Ns2, Dialect::Linux][usize::from(choice % 3)];
        let ccids = [&[2][..], &[3], &[4], &[2, 3, 4]][usize::from(choice >> 4 & 3)].to_vec();
        let options = ConnectionOptions {
            receive_ccids: ccids.clone(),
            send_ccids: ccids,
            server_time_wait: choice & 128 != 0,
            ndp_counts: more & 1 != 0,
            timestamps: more & 2 != 0,
            data_checksum: more & 4 != 0,
            loss_event_rate: more & 8 != 0,
            probe_mtu: more & 16 != 0,
            minimum_coverage: more >> 6 & 1,
            ..ConnectionOptions::preset(dialect)
        };
        let mut now = Instant::from_secs(1);
        let mut client = Connection::connect(now, &options, PORTS, SERVICE, Random::new(1, "client"));
        let mut listener = Listener::new(now, &options, &[SERVICE], Random::new(2, "listener"));
        let request = client.poll_transmit(now, &mut NoData).map(|out| encoded(&out.packet))?;
        let packet = Packet::decode(&request, Network::Udp).expect("its own words");
        let Outcome::Accepted(mut server, _) = listener.handle(now, PATH, Ecn::Ect0, &packet) else {
            panic!("a first Request is accepted");
        };
        let mut newest = [Seq48::ZERO; 2];
        for _ in 0..20 {
            now += Duration::from_millis(5);
            while let Some(out) = server.poll_transmit(now, &mut NoData) {
                newest[1] = out.packet.seq;
                let bytes = encoded(&out.packet);
                client.handle(now, Ecn::Ect0, &Packet::decode(&bytes, Network::Udp).expect("its own words"));
            }
            while let Some(out) = client.poll_transmit(now, &mut NoData) {
                newest[0] = out.packet.seq;
                let bytes = encoded(&out.packet);
                server.handle(now, Ecn::Ect0, &Packet::decode(&bytes, Network::Udp).expect("its own words"));
            }
        }
        assert_eq!((client.state() >= State::PartOpen, server.state()), (true, State::Open), "{dialect:?}");
        let (end, [gss, gsr]) = if choice & 64 == 0 { (client, newest) } else { (*server, [newest[1], newest[0]]) };
        Some(Self { end, outbox: Datagrams::default(), now, begun: now, gss, gsr, closed: None })
    }

    fn receive(&mut self, choices: &mut Choices<'_>) {
        let (kind, how) = (choices.byte(), choices.byte());
        let ahead = u64::from(choices.byte());
        let seq = match how & 7 {
            0..4 => self.gsr + 1,
            4 => self.gsr + (1 + ahead % (MIN_WINDOW * 3 / 4)),
            5 => self.gsr + ahead,
            6 => self.gsr - ahead,
            _ => Seq48::new(choices.wide()),
        };
        let back = if how & 8 == 0 { 0 } else { u64::from(choices.byte()) };
        let ack = if back == 255 { Seq48::new(choices.wide()) } else { self.gss - back };
        let body = match kind & 15 {
            0..3 => Body::Data,
            3..6 => Body::Ack { ack },
            6..9 => Body::DataAck { ack },
            9 => Body::Sync { ack },
            10 => Body::SyncAck { ack },
            11 => match kind >> 4 {
                0 => Body::Close { ack },
                1 => Body::CloseReq { ack },
                2 => Body::Reset { ack, reset: Reset { code: ResetCode(choices.byte()), data: [0; 3] } },
                3 => Body::Request { service: SERVICE },
                4 => Body::Response { ack, service: SERVICE },
                5 => Body::Listen { service: SERVICE },
                _ => Body::Ack { ack },
            },
            _ => Body::Ack { ack },
        };
        let data = vec![7; usize::from(choices.byte()) * usize::from(how >> 4 & 1)];
        let mut area = [0; 900];
        let mut writer = OptionWriter::new(&mut area);
        for _ in 0..how >> 5 {
            option(choices, &mut writer, &data);
        }
        let packet = encoded(&Packet {
            source_port: PORTS.remote,
            destination_port: PORTS.local,
            ccval: CcVal::new(kind >> 4).unwrap_or(CcVal::ZERO),
            cscov: CsCov::ALL,
            seq,
            body,
            options: writer.finish().unwrap_or(OptionArea::EMPTY),
            data: &data,
        });
        let ecn = if ahead == 77 { Ecn::Ce } else { Ecn::Ect0 };
        let Ok(decoded) = Packet::decode(&packet, Network::Udp) else { return };
        let synchronized = (State::PartOpen..=State::Closing).contains(&self.end.state());
        let delivery = self.end.handle(self.now, ecn, &decoded);
        if let Some(Arrivals { newest, runs, .. }) = self.end.take_arrivals() {
            assert!(!newest.is_after(self.gss), "acknowledged numbers were sent");
            assert!(runs.iter().all(|run| run.packets > 0));
        }
        // Section 7.5.1 with the minimum windows: GSR + 1 to GSR + 24 acknowledging GSS.
        let invalid = delivery == Delivery::Dropped(Ignored::SequenceInvalid);
        assert!(!invalid || !synchronized || how & 7 > 4 || back > 0, "a valid packet is called invalid: {body:?}");
        // A Listen is not part of a connection.
        if !invalid && synchronized && seq.is_after(self.gsr) && !matches!(body, Body::Listen { .. }) {
            self.gsr = seq;
        }
    }

    /// Calls a method of the application.
    fn call(&mut self, choices: &mut Choices<'_>) {
        let (what, by) = (choices.byte(), u64::from(choices.byte()));
        match what & 15 {
            0 => self.end.close(self.now),
            1 => self.end.abort(self.now),
            2 => self.end.stop_receiving(),
            3..6 => self.end.set_slow_receiver(what & 16 == 0),
            6..9 => self.end.handle_too_big(self.gss - by, usize::from(what) * 8),
            _ => {
                let code = DropCode::new(what >> 4 & 7).unwrap_or(DropCode::CORRUPT);
                self.end.report_dropped(self.now, self.gsr - by, code);
            }
        }
    }

    fn next_timeout(&mut self) {
        self.now = self.end.poll_timeout().map_or(self.now, |at| at.max(self.now));
    }

    /// Handles timers and transmits.
    fn settle(&mut self) {
        if self.end.poll_timeout().is_some_and(|at| at <= self.now) {
            self.end.handle_timeout(self.now);
            assert!(self.end.poll_timeout().is_none_or(|at| at > self.now), "an expired timer has a later time");
        }
        for sent in 0.. {
            assert!(sent < MAX_BURST, "it talks without end");
            let Some(out) = self.end.poll_transmit(self.now, &mut self.outbox) else { break };
            assert!(out.packet.seq.is_after(self.gss) || self.closed.is_some(), "a number is used twice");
            self.gss = out.packet.seq;
            encoded(&out.packet);
        }
        while let Some(event) = self.end.poll_event() {
            if let Event::Closed(why) = event {
                assert_eq!(self.closed.replace(why), None, "it ends once");
            }
        }
    }

    fn holds(&self, before: State) {
        let status = self.end.status();
        // Section 8.4: states have an order, and CLOSED is the last.
        assert!(status.state >= before || status.state == State::Closed, "{before} to {}", status.state);
        let over = matches!(status.state, State::Closed | State::TimeWait);
        assert_eq!(over, self.closed.is_some(), "{}: the application is notified", status.state);
        // Section 7.5.4: at most eight a second.
        let seconds = self.now.since(self.begun).as_secs_f64();
        assert!(
            status.counters.syncs as f64 <= 8.0 * (seconds + 2.0),
            "{} Syncs in {seconds} s",
            status.counters.syncs
        );
        assert!(over || self.end.poll_timeout().is_some() || self.closed.is_none());
    }
}

/// Writes an option of a known type with any values.
fn option(choices: &mut Choices<'_>, writer: &mut OptionWriter<'_>, data: &[u8]) {
    use FeatureAction as A;
    let elapsed = |choices: &mut Choices<'_>| Elapsed::from_duration(Duration::from_nanos(choices.wide()));
    let (what, many) = (choices.byte(), usize::from(choices.byte()));
    // Options without space are omitted.
    let _ = match what & 15 {
        0 | 1 => {
            let action = [A::ChangeL, A::ConfirmL, A::ChangeR, A::ConfirmR][usize::from(what >> 4 & 3)];
            let feature = Feature([1, 2, 3, 4, 5, 6, 7, 8, 9, 192, 200, 77][many % 12]);
            let wide = choices.wide().to_be_bytes();
            let values = match feature {
                Feature::SEQUENCE_WINDOW => &wide[2..],
                Feature::ACK_RATIO => &wide[6..],
                _ => choices.bytes(many >> 5),
            };
            writer.push(DccpOption::Feature(FeatureOption { action, feature, values }))
        }
        2 | 3 => writer.push(DccpOption::AckVector(AckVector::new(what & 16 != 0, choices.bytes(many & 63)))),
        4 => writer.push_ccid(CcidOption::LossEventRate(NonZeroU32::new(choices.wide() as u32))),
        5 => writer.push_ccid(CcidOption::ReceiveRate(choices.wide() as u32)),
        6 => {
            let (intervals, _) = choices.bytes((1 + many % 28) * 9).as_chunks();
            match LossIntervals::new(what >> 6, intervals) {
                Some(intervals) => writer.push_ccid(CcidOption::LossIntervals(intervals)),
                None => Ok(()),
            }
        }
        7 => {
            let (counts, _) = choices.bytes((1 + many % 84) * 3).as_chunks();
            match DroppedPackets::new(counts) {
                Some(counts) => writer.push_ccid(CcidOption::DroppedPackets(counts)),
                None => Ok(()),
            }
        }
        8 => writer.push(DccpOption::ElapsedTime(elapsed(choices))),
        9 => writer.push(DccpOption::Timestamp(Timestamp(choices.wide() as u32))),
        10 => {
            let timestamp = Timestamp(choices.wide() as u32);
            writer.push(DccpOption::TimestampEcho { timestamp, elapsed: elapsed(choices) })
        }
        11 => writer.push(DccpOption::NdpCount(choices.wide() & ((1 << 48) - 1))),
        12 => writer.push(DccpOption::DataDropped(DataDropped::new(choices.bytes(many & 31)))),
        13 => writer.push(DccpOption::DataChecksum(if many & 1 == 0 { crc32c(data) } else { 0 })),
        14 => writer.push(DccpOption::SlowReceiver),
        _ if what & 16 != 0 => writer.push(DccpOption::Mandatory),
        _ => {
            let number = choices.byte() | 32;
            writer.push(DccpOption::Unknown(RawOption { number, data: choices.bytes(many & 15) }))
        }
    };
}

fn encoded(packet: &Packet<'_>) -> Vec<u8> {
    let mut bytes = vec![0; packet.encoded_len()];
    let len = packet.encode(&mut bytes, Network::Udp);
    assert_eq!(len, Ok(bytes.len()), "sent packets can be encoded");
    bytes
}
