//! Headers of captured packets, compared with the RFCs.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::common;

use headway_scenario::Scenario;
use headway_sim::PcapngTrace;

/// Enhanced packet block: time in ns, and IP packet.
struct Captured {
    at: u64,
    bytes: Vec<u8>,
}

impl Captured {
    /// Returns the packet after the IPv4 header of 20 bytes.
    fn payload(&self) -> &[u8] {
        &self.bytes[20..]
    }
    fn short(&self, at: usize) -> u16 {
        u16::from_be_bytes(self.payload()[at..at + 2].try_into().unwrap())
    }
    fn word(&self, at: usize) -> u32 {
        u32::from_be_bytes(self.payload()[at..at + 4].try_into().unwrap())
    }
}

/// Returns the packets of a run (draft-ietf-opsawg-pcapng section 4.3).
fn capture(scenario: &Scenario) -> Vec<Captured> {
    let bytes = common::run(scenario, PcapngTrace::new(scenario)).observer.take();
    let (mut packets, mut rest) = (vec![], &*bytes);
    while !rest.is_empty() {
        let word = |number: usize| u32::from_le_bytes(rest[4 * number..4 * number + 4].try_into().unwrap());
        if word(0) == 6 {
            let at = u64::from(word(3)) << 32 | u64::from(word(4));
            packets.push(Captured { at, bytes: rest[28..28 + word(5) as usize].to_vec() });
        }
        rest = &rest[word(1) as usize..];
    }
    packets
}

/// Creates a path of 10 Mb/s and 5 ms in each direction.
fn scenario(duration: &str, loss: &str, flow: &str) -> Scenario {
    let link = |between: &str, more: &str| {
        format!("[[link]]\nbetween = [{between}]\none_way = true\nrate = \"10Mbps\"\ndelay = \"5ms\"\n{more}\n")
    };
    let links = link("\"a\", \"b\"", loss) + &link("\"b\", \"a\"", "");
    common::scenario(&format!(
        "duration = \"{duration}\"\n{links}[[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"\n{flow}\n"
    ))
}

/// RFC 4340 section 8.3: the endpoint that closes sends a Close, and the peer replies with a Reset of code 1,
/// "Closed". Types as in section 5.1, position of the code as in section 5.6.
#[test]
fn a_connection_is_closed_when_its_flow_stops() {
    const REQUEST: u8 = 0;
    const RESPONSE: u8 = 1;
    const CLOSE: u8 = 6;
    const RESET: u8 = 7;
    for source in [r#"{ kind = "ftp" }"#, r#"{ kind = "cbr", interval = "20ms", payload = "160B" }"#] {
        let flow = format!("transport = {{ kind = \"dccp\", ccid = 3 }}\nstop = \"990ms\"\nsource = {source}");
        let packets = capture(&scenario("5s", "", &flow));
        let types: Vec<u8> = packets.iter().map(|packet| packet.payload()[8] >> 1 & 15).collect();
        assert_eq!((types[0], types[1]), (REQUEST, RESPONSE), "{source}");
        let [close, reset] = packets.last_chunk().unwrap();
        assert_eq!(types[types.len() - 2..], [CLOSE, RESET], "{source}");
        assert_eq!(types.iter().filter(|kind| [CLOSE, RESET].contains(kind)).count(), 2, "{source}");
        // Sent at once, after the packets in the link's queue.
        assert!((990_000_000..1_100_000_000).contains(&close.at), "{source}: {}", close.at);
        // After a header of 16 bytes with long sequence numbers and 8 bytes of acknowledgement.
        assert_eq!(reset.payload()[24], 1, "{source}");
    }
}

/// RFC 9293 section 3.1 and 3.5, and RFC 2018 section 3: a SYN and its reply use number 0, data of 1460 B begin at 1,
/// and the third of eight segments is lost. Each row: sequence number, acknowledgement, words of header, flags.
#[test]
fn tcp_segments_are_numbered_in_bytes() {
    const SYN: u8 = 2;
    const ACK: u8 = 16;
    const PAYLOAD: u32 = 1460;
    let tcp = "transport = { kind = \"tcp-sack\", dialect = \"rfc\", segment = \"1500B\", header = \"40B\", delayed_ack = false, \
               initial_window = \"8packets\" }\nsource = { kind = \"ftp\", segments = 8 }";
    let packets = capture(&scenario("35ms", "loss = { kind = \"list\", packets = [3] }", tcp));
    let begins = |segment: u32| 1 + PAYLOAD * segment;
    let (there, back): (Vec<_>, Vec<_>) = packets.iter().partition(|packet| packet.bytes[12..16] == [10, 0, 0, 1]);
    let header = |packet: &Captured| (packet.word(4), packet.word(8), packet.payload()[12] >> 4, packet.payload()[13]);
    let mut expected = vec![(0, 0, 5, SYN)];
    expected.extend((0..8).filter(|segment| *segment != 2).map(|segment| (begins(segment), 1, 5, ACK)));
    expected.push((begins(2), 1, 5, ACK));
    assert_eq!(there.iter().map(|packet| header(packet)).collect::<Vec<_>>(), expected);
    let mut expected = vec![(0, 1, 5, SYN | ACK), (1, begins(1), 5, ACK), (1, begins(2), 5, ACK)];
    expected.extend([(1, begins(2), 8, ACK); 5]);
    expected.push((1, begins(8), 5, ACK));
    assert_eq!(back.iter().map(|packet| header(packet)).collect::<Vec<_>>(), expected);
    for packet in &there {
        assert_eq!(packet.short(0), 49_152);
        assert_eq!(packet.short(2), packets[0].short(2));
    }
    for (packet, end) in back[3..8].iter().zip(4..) {
        assert_eq!((packet.short(0), packet.short(2)), (there[0].short(2), there[0].short(0)));
        // Kind 5, ten bytes, and one block: the data after the gap, up to the last segment received.
        assert_eq!(packet.payload()[22..24], [5, 10]);
        assert_eq!((packet.word(24), packet.word(28)), (begins(3), begins(end)));
    }
}

/// RFC 2474 section 3 and RFC 3168 section 5: the second byte of the IPv4 header contains six bits of DSCP and two of
/// ECN. EF is 46; TFRC's datagrams here are ECT(0), its reports are not ECN-capable.
#[test]
fn the_traffic_class_contains_the_dscp() {
    let flow = "dscp = \"ef\"\ntransport = { kind = \"tfrc\", ecn = true }\nsource = { kind = \"cbr\", interval = \"20ms\", payload = \"160B\" }";
    let packets = capture(&scenario("500ms", "", flow));
    let classes = |node: u8| {
        packets.iter().filter(move |packet| packet.bytes[12..16] == [10, 0, 0, node]).map(|packet| packet.bytes[1])
    };
    assert!(classes(1).count() > 10 && classes(2).count() > 1);
    assert!(classes(1).all(|class| class == 46 << 2 | 0b10));
    assert!(classes(2).all(|class| class == 46 << 2));
}
