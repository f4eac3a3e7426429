//! Writes a capture with every packet type, option, feature and Reset code of this crate, over IPv4 and IPv6, and
//! prints one line per packet: its name and tab-separated `field=value` pairs with Wireshark's field names. The
//! expected option values are written here by hand from the RFCs. `validation/tshark` compares both.
//!
//! usage: every_packet FILE.pcapng

use headway_dccp::{
    AckVector, Addresses, Body, CcVal, CcidOption, CsCov, DataDropped, DccpOption, DroppedPackets, Elapsed, Feature,
    FeatureAction, FeatureOption, LossInterval, LossIntervals, Network, OptionArea, OptionWriter, Packet, RawOption,
    Reset, ResetCode, SequenceNumber, ServiceCode, Timestamp, crc32c,
};
use headway_record::{IpAddresses, IpHeader, PcapngDirection, PcapngInterface, PcapngPacket, PcapngWriter};
use headway_units::{Ecn, Instant, Seq24, Seq48};
use std::fs::File;
use std::io::BufWriter;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::num::NonZeroU32;

type Outcome = Result<(), Box<dyn std::error::Error>>;

const V4: [Ipv4Addr; 2] = [Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(192, 0, 2, 2)];
const V6: [Ipv6Addr; 2] =
    [Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1), Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2)];

/// An option with its type and expected value.
type Shown<'a> = (Opt<'a>, u8, String);

#[derive(Clone, Copy)]
enum Opt<'a> {
    Any(DccpOption<'a>),
    Ccid(CcidOption<'a>),
}

struct Capture {
    file: PcapngWriter<BufWriter<File>>,
    interface: PcapngInterface,
    packets: u64,
}

/// Returns a packet without options.
fn packet<N>(seq: N, body: Body<N>, data: &[u8]) -> Packet<'_, N> {
    Packet {
        source_port: 50_000,
        destination_port: 5004,
        ccval: CcVal::ZERO,
        cscov: CsCov::ALL,
        seq,
        body,
        options: OptionArea::EMPTY,
        data,
    }
}

impl Capture {
    /// Writes the packet over IPv4 and IPv6, and prints its fields. One bit of the data byte `corrupt` is flipped.
    fn corrupted<N: SequenceNumber>(
        &mut self,
        name: &str,
        packet: Packet<'_, N>,
        options: &[Shown<'_>],
        corrupt: Option<usize>,
    ) -> Outcome {
        let mut space = [0; 1008];
        let mut writer = OptionWriter::new(&mut space);
        for (option, ..) in options {
            match *option {
                Opt::Any(option) => writer.push(option)?,
                Opt::Ccid(option) => writer.push_ccid(option)?,
            }
        }
        let padding = writer.len().next_multiple_of(4) - writer.len();
        let packet = Packet { options: writer.finish()?, ..packet };
        let networks = [
            (
                IpAddresses::V4 { source: V4[0], destination: V4[1] },
                Addresses::V4 { source: V4[0], destination: V4[1] },
            ),
            (
                IpAddresses::V6 { source: V6[0], destination: V6[1] },
                Addresses::V6 { source: V6[0], destination: V6[1] },
            ),
        ];
        for (ip, addresses) in networks {
            let mut bytes = vec![0; packet.encoded_len()];
            packet.encode(&mut bytes, Network::Ip(addresses))?;
            let mut data = packet.data.to_vec();
            if let Some(at) = corrupt {
                bytes[packet.header_len() + at] ^= 1;
                data[at] ^= 1;
            }
            let header = IpHeader {
                addresses: ip,
                protocol: 33,
                dscp: 0,
                ecn: Ecn::Ect0,
                hop_limit: 64,
                dont_fragment: true,
                identification: 0,
            };
            let mut whole = vec![];
            header.write(&bytes, &mut whole)?;
            self.file.packet(&PcapngPacket {
                interface: self.interface,
                at: Instant::from_millis(self.packets),
                direction: PcapngDirection::Outbound,
                bytes: &whole,
                length: 0,
                comment: name,
            })?;
            self.packets += 1;
            self.print(name, matches!(addresses, Addresses::V4 { .. }), &packet, options, padding);
            println!("\tdata={}", hex(&data));
        }
        Ok(())
    }

    fn print<N: SequenceNumber>(
        &self,
        name: &str,
        v4: bool,
        packet: &Packet<'_, N>,
        options: &[Shown<'_>],
        padding: usize,
    ) {
        print!("{name}\tip.version={}", if v4 { 4 } else { 6 });
        print!("\tdccp.srcport={}\tdccp.dstport={}", packet.source_port, packet.destination_port);
        print!("\tdccp.data_offset={}\tdccp.type={:?}", packet.header_len() / 4, packet.kind());
        print!("\tdccp.x={}\tdccp.seq_raw={}", u8::from(N::EXTENDED), packet.seq);
        print!("\tdccp.ccval={}\tdccp.cscov={}", packet.ccval.value(), packet.cscov.number());
        if let Some(ack) = packet.body.ack() {
            print!("\tdccp.ack_raw={ack}");
        }
        match packet.body {
            Body::Request { service } | Body::Response { service, .. } | Body::Listen { service } => {
                print!("\tdccp.service_code={}", service.0);
            }
            Body::Reset { reset, .. } => {
                print!("\tdccp.reset_code={}", reset.code);
                for (n, byte) in (1..).zip(reset.data) {
                    print!("\tdccp.data{n}={byte}");
                }
            }
            _ => {}
        }
        for (_, number, value) in options {
            print!("\toption={number} {value}");
        }
        for _ in 0..padding {
            print!("\toption=0 00");
        }
    }

    fn add<N: SequenceNumber>(&mut self, name: &str, packet: Packet<'_, N>, options: &[Shown<'_>]) -> Outcome {
        self.corrupted(name, packet, options, None)
    }

    /// Writes an option alone on an Ack.
    fn option(&mut self, name: &str, option: Shown<'_>) -> Outcome {
        self.add(name, packet(Seq48::new(8), Body::Ack { ack: Seq48::new(100) }, &[]), &[option])
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn any(option: DccpOption<'_>, number: u8, value: impl ToString) -> Shown<'_> {
    (Opt::Any(option), number, value.to_string())
}

fn ccid(option: CcidOption<'_>, number: u8, value: impl ToString) -> Shown<'_> {
    (Opt::Ccid(option), number, value.to_string())
}

fn raw(number: u8, data: &[u8]) -> Shown<'_> {
    any(DccpOption::Unknown(RawOption { number, data }), number, hex(data))
}

fn main() -> Outcome {
    let path = std::env::args().nth(1).ok_or("usage: every_packet FILE.pcapng")?;
    let mut file = PcapngWriter::new(BufWriter::new(File::create(path)?))?;
    let interface = file.interface("every packet")?;
    let mut capture = Capture { file, interface, packets: 0 };
    types(&mut capture)?;
    headers(&mut capture)?;
    resets(&mut capture)?;
    options(&mut capture)?;
    ccid_options(&mut capture)?;
    features(&mut capture)?;
    capture.file.finish()?;
    Ok(())
}

/// RFC 4340 section 5.1, Table 1, and RFC 5596; with short sequence numbers if allowed.
fn types(capture: &mut Capture) -> Outcome {
    let (ack, service) = (Seq48::new(0x1234_5678_9abc), ServiceCode(0x5254_5056));
    let reset = Reset { code: ResetCode::CLOSED, data: [0; 3] };
    let bodies = [
        Body::Request { service },
        Body::Response { ack, service },
        Body::Data,
        Body::Ack { ack },
        Body::DataAck { ack },
        Body::CloseReq { ack },
        Body::Close { ack },
        Body::Reset { ack, reset },
        Body::Sync { ack },
        Body::SyncAck { ack },
        Body::Listen { service },
    ];
    for body in bodies {
        let seq = Seq48::new(0xfedc_ba98_7654);
        let name = format!("{:?}", body.kind());
        capture.add(&name, packet(seq, body, &[]), &[])?;
        capture.add(&format!("{name} with data"), packet(seq, body, b"some data"), &[])?;
        capture.add(
            &format!("{name} with option and data"),
            packet(seq, body, b"data"),
            &[any(DccpOption::NdpCount(1), 37, 1)],
        )?;
    }
    let (seq, ack) = (Seq24::new(0xfe_dcba), Seq24::new(0x12_3456));
    for body in [Body::Data, Body::Ack { ack }, Body::DataAck { ack }] {
        let name = format!("short {:?}", body.kind());
        capture.add(&name, packet(seq, body, b"some data"), &[])?;
        capture.add(
            &format!("{name} with option"),
            packet(seq, body, b"data"),
            &[any(DccpOption::NdpCount(1), 37, 1)],
        )?;
    }
    Ok(())
}

/// Other fields of the header.
fn headers(capture: &mut Capture) -> Outcome {
    let data: Vec<u8> = (0..=255).collect();
    for number in 0..16 {
        let (Some(ccval), Some(cscov)) = (CcVal::new(number), CsCov::new(number)) else { continue };
        let packet = |data| Packet { ccval, cscov, ..packet(Seq48::new(7), Body::Data, data) };
        capture.add(&format!("CCVal and CsCov {number}"), packet(&data[..101]), &[])?;
        if let Some(beyond) = usize::from(number).checked_sub(1).map(|words| 4 * words) {
            capture.add(&format!("CsCov {number}, no more data than covered"), packet(&data[..beyond]), &[])?;
            capture.corrupted(&format!("CsCov {number}, wrong bit beyond"), packet(&data[..101]), &[], Some(beyond))?;
        }
    }
    let ack = Seq48::MAX;
    capture.corrupted("spoilt", packet(Seq48::new(7), Body::Ack { ack }, &data), &[], Some(7))?;
    for number in [Seq48::ZERO, Seq48::new(1), Seq48::new(1 << 32), Seq48::MAX] {
        capture.add(&format!("numbers {number}"), packet(number, Body::DataAck { ack: number }, &data), &[])?;
    }
    for number in [Seq24::ZERO, Seq24::new(1), Seq24::MAX] {
        capture.add(&format!("short numbers {number}"), packet(number, Body::DataAck { ack: number }, &data), &[])?;
    }
    for service in [0, 1, 0x5254_5041, 0xffff_fffe].map(ServiceCode) {
        capture.add(&format!("service code {}", service.0), packet(ack, Body::Request { service }, &[]), &[])?;
    }
    for length in [1, 2, 3, 1400, 65_499] {
        capture.add(&format!("{length} bytes of data"), packet(ack, Body::Data, &vec![0xa5; length]), &[])?;
    }
    Ok(())
}

/// RFC 4340 section 5.6, Table 2; RFC 6773 section 3.8; CCID-specific codes.
fn resets(capture: &mut Capture) -> Outcome {
    for code in (0..=13).chain([127, 128, 191, 192, 255]).map(ResetCode) {
        let body = Body::Reset { ack: Seq48::new(9), reset: Reset { code, data: [1, 128, 255] } };
        capture.add(&format!("Reset, {code}"), packet(Seq48::new(8), body, b"because"), &[])?;
    }
    Ok(())
}

/// RFC 4340 section 5.8, Table 3, except features.
fn options(capture: &mut Capture) -> Outcome {
    capture.option("Padding", any(DccpOption::Padding, 0, "00"))?;
    capture.option("Slow Receiver", any(DccpOption::SlowReceiver, 2, "02"))?;
    let ack = packet(Seq48::new(8), Body::Ack { ack: Seq48::new(100) }, &[]);
    let mandatory = any(DccpOption::Mandatory, 1, "01");
    capture.add("Mandatory", ack, &[mandatory.clone(), any(DccpOption::NdpCount(5), 37, 5)])?;

    for cookie in [&[7][..], &[1, 2, 3, 4, 5, 6, 7, 8], &[0xc0; 253]] {
        let name = format!("Init Cookie of {}", cookie.len());
        capture.option(&name, any(DccpOption::InitCookie(cookie), 36, hex(cookie)))?;
    }
    for (bytes, count) in (1..).zip([0xff, 0x100, 0x1_0000, 0x100_0000, 0x1_0000_0000, 0xffff_ffff_ffff]) {
        capture.option(&format!("NDP Count of {bytes}"), any(DccpOption::NdpCount(count), 37, count))?;
    }
    for (nonce, number) in [(false, 38), (true, 39)] {
        // Example of section 11.4; all states; the longest.
        for vector in [&[][..], &[0, 192, 3, 64, 5], &[0x3f, 0x7f, 0xbf, 0xff], &[0x3f; 253]] {
            let name = format!("Ack Vector {} of {}", u8::from(nonce), vector.len());
            capture.option(&name, any(DccpOption::AckVector(AckVector::new(nonce, vector)), number, hex(vector)))?;
        }
    }
    let vector = |byte, of: &'static [u8]| any(DccpOption::AckVector(AckVector::new(false, of)), 38, byte);
    capture.add("two Ack Vectors", ack, &[vector(hex(&[1; 253]), &[1; 253]), vector(hex(&[2]), &[2])])?;
    // Example of section 11.7; all Drop Codes; the longest.
    for blocks in [&[][..], &[0, 160, 3, 162], &[0x7f, 0x80, 0x90, 0xa0, 0xb0, 0xc0, 0xd0, 0xe0, 0xff], &[0xb0; 253]] {
        let name = format!("Data Dropped of {}", blocks.len());
        capture.option(&name, any(DccpOption::DataDropped(DataDropped::new(blocks)), 40, hex(blocks)))?;
    }

    for time in [0, 1, u32::MAX] {
        capture.option(&format!("Timestamp {time}"), any(DccpOption::Timestamp(Timestamp(time)), 41, time))?;
    }
    for elapsed in [0, 1, 0xffff, 0x1_0000, u32::MAX] {
        let echo = DccpOption::TimestampEcho { timestamp: Timestamp(0x0102_0304), elapsed: Elapsed(elapsed) };
        let value = if elapsed == 0 { "16909060".into() } else { format!("16909060 {elapsed}") };
        capture.option(&format!("Timestamp Echo, {elapsed}"), any(echo, 42, value))?;
        let time = DccpOption::ElapsedTime(Elapsed(elapsed));
        capture.option(&format!("Elapsed Time {elapsed}"), any(time, 43, elapsed))?;
    }
    let crc = crc32c(b"123456789");
    let checked = packet(Seq48::new(8), Body::Data, b"123456789");
    capture.add("Data Checksum", checked, &[any(DccpOption::DataChecksum(crc), 44, 0xe306_9283_u32)])?;

    capture.option("reserved option 3", raw(3, &[]))?;
    capture.option("reserved option 31", raw(31, &[]))?;
    capture.option("reserved option 45", raw(45, &[1, 2, 3]))?;
    capture.option("reserved option 127", raw(127, &[]))?;

    let all = [
        mandatory,
        any(DccpOption::Timestamp(Timestamp(77)), 41, 77),
        any(DccpOption::SlowReceiver, 2, "02"),
        any(DccpOption::ElapsedTime(Elapsed(125)), 43, 125),
        any(DccpOption::AckVector(AckVector::new(false, &[0x3f; 253])), 38, hex(&[0x3f; 253])),
        any(DccpOption::AckVector(AckVector::new(false, &[0x3e; 253])), 38, hex(&[0x3e; 253])),
        any(DccpOption::DataDropped(DataDropped::new(&[0x7f; 253])), 40, hex(&[0x7f; 253])),
        any(DccpOption::InitCookie(&[0xc0; 213]), 36, hex(&[0xc0; 213])),
    ];
    let full = packet(Seq48::new(8), Body::DataAck { ack: Seq48::new(100) }, b"after the longest header");
    capture.add("longest header", full, &all)
}

/// RFC 4342 section 8, RFC 5622 section 8.
fn ccid_options(capture: &mut Capture) -> Outcome {
    capture.option("Loss Event Rate", ccid(CcidOption::LossEventRate(NonZeroU32::new(100)), 192, 100))?;
    capture.option("Loss Event Rate, no loss", ccid(CcidOption::LossEventRate(None), 192, u32::MAX))?;
    capture.option("Receive Rate", ccid(CcidOption::ReceiveRate(125_000), 194, 125_000))?;
    // Example of RFC 4342 section 8.6.2, with its bytes.
    let rows = [(10, 1, true, 10), (8, 5, false, 10), (8, 1, false, 8), (10, 0, true, 15)];
    let intervals: Vec<_> = rows
        .iter()
        .filter_map(|&(lossless_length, loss_length, nonce, data_length)| {
            LossInterval { lossless_length, loss_length, nonce, data_length }.to_bytes()
        })
        .collect();
    let bytes = "0200000a80000100000a000008000005\
                 00000a00000800000100000800000a8000000000\
                 0f";
    let example = LossIntervals::new(2, &intervals).ok_or("four intervals")?;
    capture.option("Loss Intervals of RFC 4342", ccid(CcidOption::LossIntervals(example), 193, bytes))?;
    for count in [1, 28] {
        let bytes = vec![[1, 2, 3, 4, 5, 6, 7, 8, 9]; count];
        let intervals = LossIntervals::new(0, &bytes).ok_or("1 to 28 intervals")?;
        let value = format!("00{}", "010203040506070809".repeat(count));
        capture.option(&format!("Loss Intervals, {count}"), ccid(CcidOption::LossIntervals(intervals), 193, value))?;
    }
    // Example of RFC 5622 section 8.7.1, and the longest.
    for (counts, value) in [
        (vec![[0, 0, 1], [0, 0, 4], [0, 0, 1], [0, 0, 0]], "000001000004000001000000".to_owned()),
        (vec![[1, 2, 3]; 84], "010203".repeat(84)),
    ] {
        let name = format!("Dropped Packets, {}", counts.len());
        let dropped = DroppedPackets::new(&counts).ok_or("1 to 84 counts")?;
        capture.option(&name, ccid(CcidOption::DroppedPackets(dropped), 195, value))?;
    }
    for number in [128, 191, 196, 255] {
        capture.option(&format!("CCID-specific option {number}"), raw(number, &[1, 2, 3]))?;
    }
    Ok(())
}

/// RFC 4340 section 6.4, Table 4, and RFC 4342 section 8.4, in each of the four options; unknown features.
fn features(capture: &mut Capture) -> Outcome {
    use FeatureAction::{ChangeL, ChangeR, ConfirmL, ConfirmR};
    let flags =
        [2, 4, 6, 7, 9, 192].into_iter().flat_map(|feature| [(feature, &[1][..], "1"), (feature, &[0, 1], "0 1")]);
    let unknown = [10, 127, 128, 255].into_iter().map(|feature| (feature, &[9, 8][..], "9 8"));
    let rows = [
        (1, &[2][..], "2"),
        (1, &[3], "3"),
        (1, &[4], "4"),
        (1, &[4, 3, 2], "4 3 2"),
        (3, &[0, 0, 0, 0, 0, 100], "100"),
        (3, &[0x3f, 255, 255, 255, 255, 255], "70368744177663"),
        (5, &[0, 2], "2"),
        (5, &[255, 255], "65535"),
        (8, &[0], "0"),
        (8, &[15], "15"),
        (8, &[1, 0], "1 0"),
    ];
    let rows: Vec<_> = rows.into_iter().chain(flags).chain(unknown).collect();
    for (action, number) in [(ChangeL, 32), (ConfirmL, 33), (ChangeR, 34), (ConfirmR, 35)] {
        let option = |feature, values| DccpOption::Feature(FeatureOption { action, feature: Feature(feature), values });
        for &(feature, bytes, shown) in &rows {
            let name = format!("{action:?} {feature} {shown}");
            capture.option(&name, any(option(feature, bytes), number, format!("{feature}: {shown}")))?;
        }
        let confirmed = if matches!(action, ConfirmL | ConfirmR) {
            &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 127, 128, 192, 255][..]
        } else {
            &[]
        };
        for &feature in confirmed {
            let name = format!("{action:?} {feature}, empty");
            capture.option(&name, any(option(feature, &[]), number, format!("{feature}:")))?;
        }
    }
    Ok(())
}
