//! Memory of a listener during a flood of Requests from unused addresses, measured by the allocator.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails where it panics")]

use crate::counting;
use crate::pipe;

use headway_dccp::{
    Body, CcVal, Connection, ConnectionOptions, CsCov, Decoded, InitCookies, Listener, NoData, OptionArea, Outcome,
    Packet, Ports,
};
use headway_units::{Duration, Ecn, Instant, Random, Seq48};
use pipe::{PORTS, SERVICE, options};

fn request(random: &mut Random, ports: Ports) -> Packet<'static> {
    Packet {
        source_port: ports.local,
        destination_port: ports.remote,
        ccval: CcVal::ZERO,
        cscov: CsCov::ALL,
        seq: Seq48::new(random.bits()),
        body: Body::Request { service: SERVICE },
        options: OptionArea::EMPTY,
        data: &[],
    }
}

/// Returns the listener, the bytes held before and after each thousand Requests, the kept
/// connections, and the greatest ratio of a reply to its Request in size.
#[allow(clippy::vec_box, reason = "kept as a driver would keep them")]
fn flood(rules: &ConnectionOptions, thousands: u64) -> (Listener, Vec<usize>, Vec<Box<Connection>>, f64) {
    let mut random = Random::new(1, "flood");
    let mut listener = Listener::new(Instant::ZERO, rules, &[SERVICE], Random::new(1, "listener"));
    let mut kept = Vec::with_capacity(1000);
    let mut held = Vec::with_capacity(1000);
    let mut longest: f64 = 0.0;
    held.push(counting::held());
    for thousand in 0..thousands {
        for n in 0..1000 {
            let now = Instant::ZERO + Duration::from_micros(1000 * thousand + n);
            let request = request(&mut random, Ports { local: random_port(n), ..PORTS });
            let sent = request.encoded_len();
            match listener.handle(now, pipe::peer((thousand * 1000 + n) as u32), Ecn::NotEct, &Decoded::Long(request)) {
                Outcome::Accepted(connection, _) => kept.push(connection),
                Outcome::Reply(reply) => longest = longest.max(reply.packet.encoded_len() as f64 / sent as f64),
                Outcome::Ignored(_) => {}
            }
        }
        held.push(counting::held());
    }
    (listener, held, kept, longest)
}

const fn random_port(n: u64) -> u16 {
    (n * 40_503 % 65_536) as u16
}

/// RFC 4340 section 8.1.4: with Init Cookies, a hundred thousand Requests leave no memory
/// allocated, and a real client is accepted. With a backlog, memory is limited to its connections.
#[test]
fn a_flood_of_requests_leaves_no_memory_allocated() {
    let always = ConnectionOptions { init_cookies: InitCookies::Always, ..options() };
    let (mut listener, held, kept, longest) = flood(&always, 100);
    assert!(kept.is_empty());
    // The first reply allocates one connection, whose memory is reused.
    assert_eq!(held[1], *held.last().unwrap(), "{held:?}");
    assert!(longest <= 3.0, "{longest}");

    let now = Instant::from_secs(1);
    let mut client = Connection::connect(now, &options(), PORTS, SERVICE, Random::new(0, "honest"));
    let mut no_data = NoData;
    let request = Decoded::Long(client.poll_transmit(now, &mut no_data).unwrap().packet);
    let Outcome::Reply(response) = listener.handle(now, pipe::peer(1 << 20), Ecn::NotEct, &request) else {
        panic!("no cookie")
    };
    client.handle(now, Ecn::NotEct, &Decoded::Long(response.packet));
    let ack = Decoded::Long(client.poll_transmit(now, &mut no_data).unwrap().packet);
    assert!(matches!(listener.handle(now, pipe::peer(1 << 20), Ecn::NotEct, &ack), Outcome::Accepted(..)));

    let places = 128;
    for init_cookies in [InitCookies::WhenBusy, InitCookies::Never] {
        let rules = ConnectionOptions { init_cookies, backlog: places, ..options() };
        let (_, held, kept, _) = flood(&rules, 100);
        assert_eq!(kept.len(), places);
        assert_eq!(held[1], *held.last().unwrap(), "{held:?}");
        let each = (held[1] - held[0]) / places;
        println!("{init_cookies:?}: {each} B a place");
        assert!(each < 16 << 10, "{each} B a place");
    }
}
