//! Flows whose endpoints are outside the simulation: the caller passes the time and the packets.

use headway_scenario::{Loaded, NoFiles, load};
use headway_sim::{ExternalPacket, RunError, SetupError, Simulation};
use headway_units::{Dscp, Ecn, Instant};

const SCENARIO: &str = r#"
duration = "1s"
record.series = false
[[link]]
between = ["a", "b"]
rate = "2Mbps"
delay = "10ms"
queue = { kind = "droptail", limit = "2packets" }
[[flow]]
name = "call"
from = "a"
to = "b"
program = "true"
[[flow]]
name = "simulated"
from = "a"
to = "b"
start = "0.5s"
transport = { kind = "udp" }
source = { kind = "cbr", rate = "1Mbps", size = "1000B" }
"#;

#[expect(clippy::unwrap_used, reason = "a test fails where it panics")]
fn loaded() -> Loaded {
    load("lab.toml", SCENARIO, &[], &NoFiles).unwrap()
}

fn packet(flow: usize, forward: bool, at: Instant, number: u8) -> ExternalPacket {
    let mut bytes = vec![number; 1000];
    bytes[0] = 0x45;
    bytes[9] = 17;
    ExternalPacket { flow, forward, at, ecn: Ecn::Ect0, dscp: Dscp::CS0, bytes }
}

/// 1000 B at 2 Mb/s take 4 ms, and the delay is 10 ms. The queue holds two packets next to the one in transmission.
#[test]
fn packets_of_programs_cross_the_links_at_the_times_of_the_simulator() {
    let loaded = loaded();
    let mut simulation = Simulation::with_external(&loaded.scenario, ()).unwrap();
    let ms = Instant::from_millis;
    simulation.advance(ms(5)).unwrap();
    (0..4).for_each(|number| simulation.inject(packet(0, true, ms(5), number)));
    simulation.advance(ms(7)).unwrap();
    simulation.inject(packet(0, false, ms(7), 9));
    // Packets of a simulated flow and of no flow are ignored.
    simulation.inject(packet(1, true, ms(7), 0));
    simulation.inject(packet(2, true, ms(7), 0));
    assert_eq!(simulation.packets(), 4);
    let mut delivered = Vec::new();
    while let Some(at) = simulation.next_event().filter(|at| *at < ms(500)) {
        assert_eq!(simulation.advance(at), Ok(false));
        let of_call = simulation.take_delivered().into_iter();
        delivered.extend(of_call.map(|packet| (packet.at, packet.forward, packet.bytes[1])));
    }
    assert_eq!(delivered, [(ms(19), true, 0), (ms(21), false, 9), (ms(23), true, 1), (ms(27), true, 2)]);
    assert_eq!(simulation.advance(Instant::from_secs(2)), Ok::<_, RunError>(true));
    let summary = simulation.finish().summary;
    assert!(summary.complete);
    let [call, simulated] = &summary.flows[..] else { panic!("two flows") };
    assert_eq!((call.sent_packets, call.received_packets, call.lost_packets.total()), (4, 3, 1));
    // Without the headers of IPv4 and UDP.
    assert_eq!(call.goodput_bps, 3.0 * 972.0 * 8.0);
    assert!(simulated.received_packets > 50);
    assert_eq!((call.kind.as_str(), simulated.kind.as_str()), ("program", "udp"));
}

#[test]
fn a_simulation_alone_refuses_programs() {
    let loaded = loaded();
    let error = Simulation::new(&loaded.scenario, ()).unwrap_err();
    assert_eq!(error, SetupError::External { flow: "call".to_owned() });
    assert!(error.to_string().contains("headway lab"), "{error}");
}
