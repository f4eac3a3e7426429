//! One-way delays over the emulator of `headway proxy`, with virtual clocks that disagree.

use super::*;
use crate::OneWayDelay;
use headway_emulator::{Direction, Emulator, Packet};
use headway_scenario::{Files, links};

/// Scenario without files.
struct NoFiles;

impl Files for NoFiles {
    fn read(&self, name: &str, _: u64) -> io::Result<Vec<u8>> {
        Err(io::Error::other(name))
    }
}

fn clock(offset: &str, skew: &str) -> headway_units::Clock {
    let (offset, skew) = (offset.parse().unwrap(), skew.parse().unwrap());
    headway_units::Clock::new(offset, skew, headway_units::Drift::default(), Duration::ZERO)
}

/// Sends 1000 B each 20 ms for 20 s over these links to a server that measures delays. Returns the delays.
fn delays(link: [&str; 2], controller: &str) -> Vec<(Instant, Option<OneWayDelay>)> {
    let options = Options::insecure().with_controller(controller).unwrap();
    let mut measures = options.clone();
    measures.connection.one_way_delays = true;
    let found = received(link, [&measures, &options], 20, 20);
    assert!(found.len() > 900, "{}", found.len());
    found
}

/// Sends 1000 B each `gap` ms. Returns when each datagram arrived at the server, and its delay. The
/// server's clock gains 200 ppm on the client's.
fn received(
    link: [&str; 2],
    [of_server, of_client]: [&Options; 2],
    gap: u64,
    seconds: u64,
) -> Vec<(Instant, Option<OneWayDelay>)> {
    let text =
        |link: &str, ends: &str| format!("[[link]]\nbetween = [{ends}]\none_way = true\nrate = \"100Mbps\"\n{link}\n");
    let text = [text(link[0], "\"a\", \"b\""), text(link[1], "\"b\", \"a\"")].concat();
    let links = links("x.toml", &text, &[], &NoFiles).unwrap();
    let [forth, back] = links.duplex(None).unwrap();
    let mut emulator =
        Emulator::new(links.ties, [(&forth.name, &forth.config), (&back.name, &back.config)], links.seed);
    let (mut server, mut client) = (End::server(of_server), End::new(2, of_client));
    let clocks = [clock("-1h", "100ppm"), clock("3s", "-100ppm")];
    let (key, _) = client.connect(clocks[1].read(at(0)), &server);
    let (mut mailbox, mut found, mut buffer) = (None, Vec::new(), Vec::new());
    for ms in 0..1000 * seconds {
        let now = at(ms);
        while let Some(departure) = emulator.poll_transmit(now) {
            let (end, other, of) = match departure.direction {
                Direction::ToServer => (&mut server, &client.wire, 0),
                Direction::ToClient => (&mut client, &server.wire, 1),
            };
            let path = Path::Udp { local: end.wire.address, remote: other.address };
            let mut datagram: Vec<u8> = departure.packet.payload;
            let arrived = clocks[of].read(departure.at);
            end.driver.handle_datagram(arrived, Arrived { path, ecn: Ecn::NotEct }, &mut datagram);
        }
        if ms % gap == 0 {
            client.driver.send_all(clocks[1].read(now), key, &[Media::new(&[7; 1000])]);
        }
        for (end, of, way) in [(&mut server, 0, Direction::ToClient), (&mut client, 1, Direction::ToServer)] {
            end.turn(clocks[of].read(now));
            for payload in std::mem::take(&mut *lock(&end.wire.sent)) {
                let packet = Packet { size: payload.len() as u32 + 28, payload, ..Packet::default() };
                emulator.handle(now, way, packet);
            }
        }
        if let Some((.., accepted)) = server.driver.accepts.with(|accepts| accepts.waiting.pop_front()) {
            mailbox = Some(accepted);
        }
        let mut receive =
            |mailbox: &Arc<Mailbox>| mailbox.incoming.with(|incoming| incoming.receive_timed(&mut buffer));
        while let Some(Ok(delay)) = mailbox.as_ref().and_then(&mut receive) {
            found.push((now, delay));
        }
    }
    found
}

/// A proxy with 30 ms in each direction, with clocks an hour and 200 ppm apart. The delay, 30 ms and 83 us of
/// transmission at 100 Mb/s, is within the stated error: half of the round trip, and 2 ms for 4 s of drift and the
/// steps.
#[test]
fn a_symmetric_path_is_within_the_stated_error() {
    for controller in ["tfrc", "tcp-like", "tfrc-filtered"] {
        let delay = "delay = \"30ms\"";
        let found = delays([delay, delay], controller);
        assert!(
            found.iter().all(|(now, delay)| delay.is_some() || *now < at(1000)),
            "{controller}: after some round trips"
        );
        for (now, delay) in found.into_iter().filter_map(|(now, delay)| Some((now, delay?))) {
            let (truth, text) = (Duration::from_micros(30_083), format!("{controller}, {now}: {delay:?}"));
            assert!(delay.least() <= truth && truth <= delay.most(), "{text}");
            assert!(delay.error < Duration::from_micros(34_500), "{text}");
            if now > at(6000) {
                assert!((delay.estimate.as_secs_f64() - 0.03).abs() < 0.0015, "{text}");
            }
        }
    }
}

/// Delays of 10 ms and 50 ms look like 30 ms each; the stated error covers that.
#[test]
fn an_asymmetric_path_is_within_the_stated_error() {
    let found = delays(["delay = \"10ms\"", "delay = \"50ms\""], "tfrc");
    for (now, delay) in found.into_iter().filter_map(|(now, delay)| Some((now, delay?))) {
        let truth = Duration::from_micros(10_083);
        assert!(delay.least() <= truth && truth <= delay.most(), "{now}: {delay:?}");
    }
}

/// The receiver's clock gains 200 ppm, which UDDJ mistakes for a growing queue, so it counts the losses of a channel
/// of 2 % as congestion. If the receiver measures one-way delays, the filter gets them without skew.
#[test]
fn uddj_gets_the_delays_without_skew() {
    let uddj = headway_rate::UddjOptions {
        action: headway_rate::UddjAction::Filter,
        floor: Duration::from_millis(3),
        ..Default::default()
    };
    let filters = |measures| {
        let mut options =
            Options::insecure().with_loss_filter(headway_rate::LossFilterKind::Uddj, Some(uddj.clone())).unwrap();
        options.connection.one_way_delays = measures;
        options
    };
    let link = "delay = \"30ms\"\nloss = { kind = \"bernoulli\", probability = 0.02 }";
    let [with, without] = [true, false].map(|measures| {
        let options = filters(measures);
        received([link, "delay = \"30ms\""], [&options, &filters(false)], 1, 60).len()
    });
    assert!(with > without * 2, "{with} datagrams with measured delays, {without} without");
}
