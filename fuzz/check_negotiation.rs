//! Invariants of feature negotiation (RFC 4340 section 6) between two endpoints with a man in the middle, who drops,
//! repeats, reorders, strips and optionally edits packets. Shared by the fuzz target and the test that replays
//! `fuzz/corpus`.
//!
//! After the attack the endpoints agree on every feature whose preferences are unchanged, unless the attacker edited
//! packets: section 6 does not authenticate options. In every case negotiation ends.

use super::choices::Choices;
use headway_dccp::{
    Ccid, CcidController, Connection, ConnectionOptions, DccpOption, Decoded, Feature, InitCookies, Listener, Network,
    NoData, OptionArea, OptionWriter, Outcome, Packet, Path, Ports, ServiceCode, State,
};
use headway_rate::{ControllerOptions, Terms};
use headway_units::{Dialect, Duration, Ecn, Instant, Options, Random, Registry};
use std::collections::VecDeque;
use std::net::Ipv4Addr;

const SERVICE: ServiceCode = ServiceCode(0x5254_5056);
/// Path of the server's packets.
const PATH: Path = Path::Ipv4 { local: Ipv4Addr::new(192, 0, 2, 2), remote: Ipv4Addr::new(192, 0, 2, 1) };
/// Maximum number of packets in flight in a direction. Further ones are lost.
const MAX_IN_FLIGHT: usize = 16;
const DELAY: Duration = Duration::from_millis(5);
/// Time until agreement. Changes are repeated at least every 64 s (section 6.6.3), CCIDs may change again after 60 s
/// (section 10.5), a client repeats its Request every 64 s, and endpoints with numbers outside of the windows need
/// several of these to resynchronize.
const CONVERGENCE: Duration = Duration::from_secs(2000);
/// Time after which no feature is negotiated.
const QUIET: Duration = Duration::from_secs(130);
const FEATURES: [Feature; 10] = [
    Feature::CCID,
    Feature::ALLOW_SHORT_SEQNOS,
    Feature::SEQUENCE_WINDOW,
    Feature::ECN_INCAPABLE,
    Feature::ACK_RATIO,
    Feature::SEND_ACK_VECTOR,
    Feature::SEND_NDP_COUNT,
    Feature::MINIMUM_CHECKSUM_COVERAGE,
    Feature::CHECK_DATA_CHECKSUM,
    Feature::SEND_LOSS_EVENT_RATE,
];

struct World {
    now: Instant,
    /// The client and the server.
    ends: [Option<Connection>; 2],
    listener: Listener,
    /// Packets in flight to each.
    in_flight: [VecDeque<Vec<u8>>; 2],
    /// Time of the last feature option that was not a reply.
    last_change: Instant,
}

/// Interprets the bytes as preferences and attacks: whether the attacker edits and the endpoints have terms, two
/// bytes of preferences per endpoint (five with terms), then a byte per attack.
pub(crate) fn check(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let first = choices.byte();
    let (edits, of_terms) = (first & 1 != 0, first & 2 != 0);
    let mut edited = edits;
    let [client, server] = [(); 2].map(|()| {
        let options = options(&mut choices);
        if of_terms { with_terms(options, &mut choices) } else { options }
    });
    let now = Instant::from_secs(1);
    let ports = Ports { local: 50_000, remote: 5004 };
    let connection = Connection::connect(now, &client, ports, SERVICE, Random::new(1, "client"));
    let mut world = World {
        now,
        ends: [Some(connection), None],
        listener: Listener::new(now, &server, &[SERVICE], Random::new(2, "listener")),
        in_flight: Default::default(),
        last_change: now,
    };
    world.drain();
    while let Some(step) = choices.step() {
        world.now += DELAY;
        let to = usize::from(step >> 7);
        let Some(packet) = world.in_flight[to].pop_front() else {
            world.next_timeout(world.now + Duration::from_secs(u64::from(step & 127)));
            continue;
        };
        match step & 15 {
            0..5 => world.arrive(to, &packet),
            5 => {}
            6 => {
                world.arrive(to, &packet);
                world.in_flight[to].push_back(packet);
            }
            7 => world.in_flight[to].push_back(packet),
            8..10 => {
                // A stateless listener replies to each Request independently.
                edited |= to == 1 && world.ends[1].is_none();
                world.arrive(to, &stripped(&packet, &mut choices));
            }
            10..14 if edits => world.arrive(to, &with_edits(&packet, &mut choices)),
            _ => {
                world.in_flight[to].push_front(packet);
                world.next_timeout(world.now + Duration::from_secs(u64::from(step & 127)));
            }
        }
        world.settle();
    }
    world.converge(edited);
}

fn options(choices: &mut Choices<'_>) -> ConnectionOptions {
    const CCIDS: [&[u8]; 8] = [&[2], &[3], &[4], &[2, 3], &[3, 2], &[4, 3, 2], &[3, 4], &[2, 4]];
    let (preferences, more) = (choices.byte(), choices.byte());
    let dialect = if more & 128 == 0 { Dialect::Rfc } else { Dialect::Linux };
    ConnectionOptions {
        send_ccids: CCIDS[usize::from(preferences & 7)].to_vec(),
        receive_ccids: CCIDS[usize::from(preferences >> 3 & 7)].to_vec(),
        ecn: preferences & 64 == 0,
        init_cookies: if preferences & 128 == 0 { InitCookies::WhenBusy } else { InitCookies::Always },
        ndp_counts: more & 1 != 0,
        loss_event_rate: more & 2 != 0,
        data_checksum: more & 4 != 0,
        send_coverage: more >> 3 & 1,
        minimum_coverage: more >> 4 & 3,
        sequence_window: if more & 64 == 0 { 100 } else { 1000 },
        ..ConnectionOptions::preset(dialect)
    }
}

/// Adds UDPm with these terms to the options.
fn with_terms(options: ConnectionOptions, choices: &mut Choices<'_>) -> ConnectionOptions {
    let udpm = ControllerOptions::preset("udpm", Dialect::Rfc).expect("a controller");
    let initial = Terms::initial();
    let (form, levels, rules) = (choices.byte(), choices.byte(), choices.byte());
    let mut scales = initial.scales.clone();
    if form & 1 != 0 {
        scales[7] = levels.max(1);
    } else if form & 2 != 0 {
        scales = [&[1], &scales[1..6]].concat();
        (0..=levels % 49).for_each(|rate| scales.extend_from_slice(&[0, 0, 0, rate, 1]));
    }
    // Endpoints with equal rules, or with the initial ones, reach agreement.
    let rules = if rules & 1 == 0 { initial.rules } else { Terms::RULES[usize::from(rules >> 1) % Terms::RULES.len()] };
    let controller = udpm.with_terms(&Terms { scales, rules }).expect("terms of an end are in order");
    let controllers = vec![CcidController::new(Ccid(248), controller)];
    ConnectionOptions { send_ccids: vec![248], receive_ccids: vec![248], controllers, ..options }
}

impl World {
    fn drain(&mut self) {
        for from in [0, 1] {
            let Some(connection) = &mut self.ends[from] else { continue };
            for sent in 0.. {
                assert!(sent < 256, "it talks without end");
                while connection.poll_event().is_some() {}
                let mut outbox = NoData;
                let Some(out) = connection.poll_transmit(self.now, &mut outbox) else { break };
                let changes = out.packet.options.iter().flatten().any(|option| match option {
                    DccpOption::Feature(option) => option.action.is_change(),
                    _ => false,
                });
                if changes {
                    self.last_change = self.now;
                }
                let bytes = encoded(&out.packet);
                if self.in_flight[1 - from].len() < MAX_IN_FLIGHT {
                    self.in_flight[1 - from].push_back(bytes);
                }
            }
        }
    }

    fn arrive(&mut self, to: usize, bytes: &[u8]) {
        let packet = Packet::decode(bytes, Network::Udp).expect("only options are others");
        if let Some(connection) = &mut self.ends[to] {
            connection.handle(self.now, Ecn::Ect0, &packet);
            return;
        }
        let reply = match self.listener.handle(self.now, PATH, Ecn::Ect0, &packet) {
            Outcome::Accepted(connection, _) => {
                self.ends[1] = Some(*connection);
                None
            }
            Outcome::Reply(out) => Some(encoded(&out.packet)),
            Outcome::Ignored(_) => None,
        };
        self.in_flight[0].extend(reply);
    }

    fn settle(&mut self) {
        for connection in self.ends.iter_mut().flatten() {
            if connection.poll_timeout().is_some_and(|at| at <= self.now) {
                connection.handle_timeout(self.now);
                assert!(connection.poll_timeout().is_none_or(|at| at > self.now), "an expired timer has a later time");
            }
        }
        self.drain();
        for connection in self.ends.iter().flatten() {
            self.are_values(connection);
        }
    }

    /// Checks that features have valid values (sections 6.4, 7.5.2, 9.2.1, 10 and 11).
    fn are_values(&self, connection: &Connection) {
        for feature in FEATURES {
            for value in connection.feature_values(feature).expect("a known feature") {
                let good = match feature {
                    Feature::CCID => (2..=4).contains(&value) || value == 248,
                    // These endpoints neither send nor accept short numbers.
                    Feature::ALLOW_SHORT_SEQNOS => value == 0,
                    Feature::SEQUENCE_WINDOW => (32..1 << 46).contains(&value),
                    Feature::ACK_RATIO => value <= 0xffff,
                    Feature::MINIMUM_CHECKSUM_COVERAGE => value <= 15,
                    _ => value <= 1,
                };
                assert!(good, "{feature} is {value}");
            }
        }
    }

    /// Checks that both controllers have the same terms.
    fn agree_on_terms(client: &Connection, server: &Connection) {
        let [ours, theirs] = [client, server]
            .map(|end| end.controllers().map(|controller| controller.and_then(|controller| controller.terms())));
        assert_eq!([&ours[0], &ours[1]], [&theirs[1], &theirs[0]], "they disagree on terms");
    }

    /// Advances to the next timeout, at most to `until`.
    fn next_timeout(&mut self, until: Instant) {
        let timeouts = self.ends.iter().flatten().filter_map(Connection::poll_timeout);
        self.now = timeouts.min().map_or(until, |at| at.clamp(self.now, until));
        self.settle();
    }

    /// Delivers all packets until the endpoints agree.
    fn converge(&mut self, edited: bool) {
        let (start, mut quiet) = (self.now, self.now + CONVERGENCE);
        for steps in 0.. {
            assert!(steps < 100_000, "it never rests");
            // Confirms are sent once per round trip (section 6.6.1), which the attacker may have delayed by minutes.
            let rtts = self.ends.iter().flatten().filter_map(|end| end.status().rtt);
            let rtt = rtts.max().unwrap_or_default();
            quiet = quiet.max(start + CONVERGENCE + rtt * 10);
            let until = quiet + QUIET;
            if let Some(to) = [steps % 2, 1 - steps % 2].into_iter().find(|to| !self.in_flight[*to].is_empty()) {
                self.now += DELAY;
                let packet = self.in_flight[to].pop_front().unwrap_or_default();
                self.arrive(to, &packet);
                self.settle();
            } else if self.now < until {
                self.next_timeout(until);
            } else {
                break;
            }
        }
        let [Some(client), Some(server)] = &self.ends else { return };
        let open = |end: &Connection| end.state() == State::Open;
        if !open(client) || !open(server) {
            return;
        }
        assert!(self.last_change <= quiet, "they negotiate for ever");
        if !edited {
            Self::agree_on_terms(client, server);
        }
        for feature in FEATURES {
            let [ours, theirs] = client.feature_values(feature).expect("a known feature");
            let of_server = server.feature_values(feature).expect("a known feature");
            // Preferences for these features follow the CCIDs. An endpoint processes a Change with the old list that
            // a Confirm of the new one has overtaken, and the Confirm is ignored (section 6.6.2).
            if matches!(feature, Feature::SEND_ACK_VECTOR | Feature::SEND_LOSS_EVENT_RATE) {
                continue;
            }
            assert!(edited || of_server == [theirs, ours], "{feature}: {ours} and {theirs}, but {of_server:?}");
        }
    }
}

fn encoded(packet: &Packet<'_>) -> Vec<u8> {
    let mut bytes = vec![0; packet.encoded_len()];
    let len = packet.encode(&mut bytes, Network::Udp);
    assert_eq!(len, Ok(bytes.len()), "sent packets can be encoded");
    bytes
}

/// Replaces the options of a packet.
fn with_options(bytes: &[u8], write: impl FnOnce(&[DccpOption<'_>], &mut OptionWriter<'_>)) -> Vec<u8> {
    let Ok(Decoded::Long(packet)) = Packet::decode(bytes, Network::Udp) else { return bytes.to_vec() };
    let options: Vec<_> = packet.options.iter().flatten().filter(|option| *option != DccpOption::Padding).collect();
    let mut buffer = [0; 900];
    let mut writer = OptionWriter::new(&mut buffer);
    write(&options, &mut writer);
    let options = writer.finish().unwrap_or(OptionArea::EMPTY);
    encoded(&Packet { options, ..packet })
}

/// Removes Changes, Confirms or both, and the Mandatory before each.
fn stripped(bytes: &[u8], choices: &mut Choices<'_>) -> Vec<u8> {
    let which = choices.byte();
    with_options(bytes, |options, writer| {
        let is_removed = |option: Option<&DccpOption<'_>>| match option {
            Some(DccpOption::Feature(option)) => which & (if option.action.is_change() { 1 } else { 2 }) == 0,
            _ => false,
        };
        for (place, option) in options.iter().enumerate() {
            let mandatory = *option == DccpOption::Mandatory && is_removed(options.get(place + 1));
            if !mandatory && !is_removed(Some(option)) {
                let _ = writer.push(*option);
            }
        }
    })
}

/// Changes values or features of some negotiation options, and adds one.
fn with_edits(bytes: &[u8], choices: &mut Choices<'_>) -> Vec<u8> {
    with_options(bytes, |options, writer| {
        for option in options {
            let mut option = *option;
            if let DccpOption::Feature(feature) = &mut option {
                let what = choices.byte();
                if what & 1 != 0 {
                    feature.feature = Feature(choices.byte());
                }
                if what & 2 != 0 {
                    feature.values = choices.bytes(usize::from(what >> 4));
                }
            }
            let _ = writer.push(option);
        }
        let kind = choices.byte();
        if kind & 4 != 0 {
            let _ = writer.push(DccpOption::Mandatory);
        }
        use headway_dccp::{FeatureAction as A, FeatureOption};
        let action = [A::ChangeL, A::ConfirmL, A::ChangeR, A::ConfirmR][usize::from(kind & 3)];
        let feature = Feature(choices.byte() % 12);
        let values = choices.bytes(usize::from(kind >> 4));
        let _ = writer.push(DccpOption::Feature(FeatureOption { action, feature, values }));
    })
}
