//! Reads captures of tcpdump and Wireshark's tools. `data/captures.txt` describes how each was made.
#![cfg(feature = "capture")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails where it panics")]

use headway_media::{
    Capture, CaptureOptions, CaptureProblem, CaptureSchedule, Context, KindRule, Source, SourceOptions,
};
use headway_units::{Bytes, Dialect, Duration, Instant, MediaKind, Options as _, Random};
use proptest::prelude::*;
use std::sync::Arc;

const CAPTURES: &str = include_str!("data/captures.txt");

fn bytes(name: &str) -> Vec<u8> {
    let line = CAPTURES.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')).unwrap();
    let digits = line.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
    digits.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
}

/// Packet number, microseconds after the first packet, sender, payload and payload type of a datagram.
type Row = (u64, i64, String, u32, Option<u8>);

fn rows(file: &[u8]) -> Vec<Row> {
    let capture = Capture::parse(file).unwrap();
    let row = |datagram: &headway_media::CapturedDatagram| {
        let [from, _] = capture.flow(datagram.flow).unwrap();
        let at = datagram.at.unwrap() / 1000;
        (datagram.packet, at, from.to_string(), datagram.bytes, datagram.payload_type)
    };
    capture.datagrams().iter().map(row).collect()
}

fn row(packet: u64, micros: i64, from: &str, bytes: u32, payload_type: Option<u8>) -> Row {
    (packet, micros, from.to_owned(), bytes, payload_type)
}

fn options(change: impl FnOnce(&mut CaptureOptions)) -> CaptureOptions {
    let mut options = CaptureOptions::preset(Dialect::Rfc);
    options.file = "call.pcap".into();
    change(&mut options);
    options
}

fn schedule(name: &str, options: &CaptureOptions) -> Result<CaptureSchedule, (&'static str, String)> {
    options.schedule(&Capture::parse(&bytes(name)).unwrap()).map_err(|error| (error.key, error.message))
}

const NO_CONDITION: KindRule =
    KindRule { payload_type: None, port: None, min_size: None, max_size: None, kind: MediaKind::Audio };

/// `tshark -T fields -e frame.number -e frame.time_relative -e ip.src -e udp.srcport -e udp.length`, with a payload 8 B
/// shorter. The second packet has 1000 B, 22 of them captured. RTCP has no payload type.
#[test]
fn the_link_types_of_a_call() {
    let ethernet = [
        row(1, 0, "127.0.0.1:5004", 172, Some(0)),
        row(2, 20_200, "127.0.0.1:5004", 1000, Some(96)),
        row(3, 33_193, "127.0.0.1:5006", 172, Some(0)),
        row(4, 33_212, "127.0.0.1:5004", 8, None),
        row(5, 33_233, "[::1]:5004", 2, None),
    ];
    assert_eq!(rows(&bytes("ethernet")), ethernet);
    assert_eq!(rows(&bytes("nanoseconds")), ethernet[..2]);
    let sll = rows(&bytes("sll"));
    let times: Vec<i64> = sll.iter().map(|row| row.1).collect();
    assert_eq!(times, [0, 23_606, 33_731, 33_744, 33_767]);
    assert!(
        sll.iter()
            .zip(&ethernet)
            .all(|(sll, ethernet)| (&sll.2, sll.3, sll.4) == (&ethernet.2, ethernet.3, ethernet.4))
    );
    // The cooked header is longer, so less than the UDP header of the IPv6 packet was captured.
    let sll2 = rows(&bytes("sll2"));
    assert_eq!(sll2[..1], ethernet[..1]);
    assert_eq!(sll2.iter().map(|row| row.1).collect::<Vec<_>>(), [0, 20_198, 33_020, 33_037]);
    for name in ["raw", "null"] {
        assert_eq!(
            rows(&bytes(name)),
            [ethernet[0].clone(), row(2, 20_000, "127.0.0.1:5004", 1000, Some(96))],
            "{name}"
        );
    }
    let both = rows(&bytes("interfaces"));
    assert_eq!(both[..5], ethernet);
    assert_eq!(both[5], row(6, 3_024_147, "127.0.0.1:5004", 172, Some(0)));
    assert_eq!(both.len(), 9);
}

/// With `-o ip.defragment:FALSE -o ipv6.defragment:FALSE`, tshark also reports the UDP length in the first fragment.
#[test]
fn tags_padding_fragments_and_extension_headers() {
    let found: Vec<_> =
        rows(&bytes("frames")).into_iter().map(|(packet, at, _, bytes, kind)| (packet, at, bytes, kind)).collect();
    assert_eq!(
        found,
        [
            (1, 0, 20, Some(8)),
            (2, 20_000, 20, Some(9)),
            (3, 40_000, 4, None),
            (4, 60_000, 2000, Some(96)),
            (6, 100_000, 20, Some(0)),
            (7, 120_000, 1500, Some(97)),
            (11, 200_000, 0, None),
        ]
    );
}

/// The crate `etherparse` 0.21.0 read out of bounds in truncated extension headers.
#[test]
fn truncated_extension_headers_are_not_read() {
    let frames = bytes("frames");
    for snap in 0..100 {
        let (mut file, mut rest) = (frames[..24].to_vec(), &frames[24..]);
        while !rest.is_empty() {
            let length = u32::from_le_bytes(rest[8..12].try_into().unwrap()) as usize;
            let kept = length.min(snap);
            file.extend([&rest[..8], &(kept as u32).to_le_bytes(), &rest[12..16], &rest[16..16 + kept]].concat());
            rest = &rest[16 + length..];
        }
        let (cut, whole) = (rows(&file), rows(&frames));
        assert!(
            cut.iter()
                .all(|one| whole.iter().any(|all| (one.0, one.1, &one.2, one.3) == (all.0, all.1, &all.2, all.3))),
            "{snap}"
        );
        assert!(snap < 90 || cut == whole, "{snap}");
    }
}

/// A big-endian machine writes each header field with reversed bytes.
#[test]
fn the_other_byte_order() {
    for name in ["ethernet", "nanoseconds", "frames"] {
        let file = bytes(name);
        let mut other = Vec::new();
        let words = |bytes: &[u8]| bytes.chunks(4).flat_map(|word| word.iter().rev().copied()).collect::<Vec<u8>>();
        other.extend(words(&file[..4]));
        other.extend([file[5], file[4], file[7], file[6]]);
        other.extend(words(&file[8..24]));
        let mut rest = &file[24..];
        while !rest.is_empty() {
            let length = u32::from_le_bytes(rest[8..12].try_into().unwrap()) as usize;
            other.extend(words(&rest[..16]));
            other.extend(&rest[16..16 + length]);
            rest = &rest[16 + length..];
        }
        assert_eq!(Capture::parse(&other), Capture::parse(&file), "{name}");
    }
}

/// A pcapng file, block by block (draft-ietf-opsawg-pcapng section 4).
struct Blocks {
    big_endian: bool,
    bytes: Vec<u8>,
}

impl Blocks {
    fn new(big_endian: bool) -> Self {
        let mut all = Self { big_endian, bytes: Vec::new() };
        all.section();
        all
    }

    fn section(&mut self) {
        let body = [self.u32(0x1a2b_3c4d), self.u16(1), self.u16(0), vec![0xff; 8]].concat();
        self.block(0x0a0d_0d0a, &body);
    }

    fn u16(&self, value: u16) -> Vec<u8> {
        if self.big_endian { value.to_be_bytes() } else { value.to_le_bytes() }.to_vec()
    }

    fn u32(&self, value: u32) -> Vec<u8> {
        if self.big_endian { value.to_be_bytes() } else { value.to_le_bytes() }.to_vec()
    }

    fn block(&mut self, kind: u32, body: &[u8]) {
        let padding = body.len().next_multiple_of(4) - body.len();
        let length = self.u32((body.len() + padding + 12) as u32);
        let block = [self.u32(kind), length.clone(), body.to_vec(), vec![0; padding], length].concat();
        self.bytes.extend(block);
    }

    /// Adds an interface for raw IP with options: code and value.
    fn interface(&mut self, options: &[(u16, &[u8])]) {
        let mut body = [self.u16(101), self.u16(0), self.u32(0)].concat();
        for (code, value) in options {
            let padding = value.len().next_multiple_of(4) - value.len();
            body.extend([self.u16(*code), self.u16(value.len() as u16), value.to_vec(), vec![0; padding]].concat());
        }
        if !options.is_empty() {
            body.extend([0; 4]);
        }
        self.block(1, &body);
    }

    fn enhanced(&mut self, interface: u32, ticks: u64, data: &[u8]) {
        let length = data.len() as u32;
        let fields = [interface, (ticks >> 32) as u32, ticks as u32, length, length];
        let fields: Vec<u8> = fields.iter().flat_map(|field| self.u32(*field)).collect();
        self.block(6, &[&fields, data].concat());
    }

    fn obsolete(&mut self, interface: u16, ticks: u64, data: &[u8]) {
        let length = data.len() as u32;
        let fields = [(ticks >> 32) as u32, ticks as u32, length, length];
        let fields: Vec<u8> = fields.iter().flat_map(|field| self.u32(*field)).collect();
        let start = [self.u16(interface), self.u16(0xffff), fields].concat();
        self.block(2, &[&start, data].concat());
    }

    fn simple(&mut self, data: &[u8]) {
        let length = self.u32(data.len() as u32);
        self.block(3, &[&length, data].concat());
    }
}

fn datagram(bytes: u16) -> Vec<u8> {
    let (total, udp) = (28 + bytes, 8 + bytes);
    let ip = [vec![0x45, 0], total.to_be_bytes().to_vec(), vec![0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2]];
    let udp = [vec![0x13, 0x8c, 0x13, 0x8e], udp.to_be_bytes().to_vec(), vec![0, 0], vec![0; bytes.into()]];
    [ip.concat(), udp.concat()].concat()
}

/// `if_tsresol` 9 is nanoseconds, 0x8a units of 1/1024 s, 6 the default; `if_tsoffset` is in seconds (section 4.2). A
/// new section has separate interfaces.
#[test]
fn blocks_of_pcapng_in_both_byte_orders() {
    for big_endian in [false, true] {
        let mut file = Blocks::new(big_endian);
        let offset: Vec<u8> = if big_endian { 100i64.to_be_bytes() } else { 100i64.to_le_bytes() }.to_vec();
        file.interface(&[(9, &[9])]);
        file.interface(&[(9, &[0x8a]), (14, &offset)]);
        file.enhanced(0, 200_000_000_001, &datagram(1));
        file.enhanced(1, 100 * 1024 + 512, &datagram(2));
        file.obsolete(0, 200_000_000_004, &datagram(3));
        file.block(0x0bad, &[1, 2, 3]);
        file.section();
        file.interface(&[]);
        file.enhanced(0, 200_250_000, &datagram(5));
        let capture = Capture::parse(&file.bytes).unwrap();
        let found: Vec<_> = capture.datagrams().iter().map(|one| (one.at.unwrap(), one.bytes)).collect();
        assert_eq!(found, [(0, 1), (499_999_999, 2), (3, 3), (249_999_999, 5)], "big endian: {big_endian}");
        assert_eq!(capture.cut(), None);
    }
}

/// A Simple Packet Block has no time (section 4.4), so its packet cannot be scheduled.
#[test]
fn a_packet_without_a_time_is_reported() {
    let mut file = Blocks::new(false);
    file.interface(&[]);
    file.simple(&datagram(7));
    let capture = Capture::parse(&file.bytes).unwrap();
    assert_eq!((capture.datagrams()[0].at, capture.datagrams()[0].bytes), (None, 7));
    let error = options(|_| {}).schedule(&capture).unwrap_err();
    assert_eq!(error.key, "file");
    assert!(error.message.starts_with("packet 1 of \"call.pcap\" has no time"), "{}", error.message);
}

#[test]
fn a_direction_is_chosen_by_address_and_port() {
    let sizes = |change: fn(&mut CaptureOptions)| {
        let frames = schedule("ethernet", &options(change)).unwrap().trace.frames().to_vec();
        frames.into_iter().map(|frame| (frame.at.as_nanos() / 1000, frame.bytes.count())).collect::<Vec<_>>()
    };
    let caller = [(0, 172), (20_200, 1000), (33_212, 8)];
    assert_eq!(sizes(|o| o.from = Some("127.0.0.1:5004".parse().unwrap())), caller);
    assert_eq!(sizes(|o| o.to = Some("127.0.0.1:5006".parse().unwrap())), caller);
    assert_eq!(sizes(|o| o.to = Some("127.0.0.1:5004".parse().unwrap())), [(0, 172)]);
    assert_eq!(sizes(|o| o.from = Some("::1".parse().unwrap())), [(0, 2)]);
    assert_eq!(sizes(|o| o.from = Some("[::1]:5004".parse().unwrap())), [(0, 2)]);
}

/// The error lists the flows with their number of datagrams.
#[test]
fn selections_of_no_or_both_directions_are_rejected_with_a_list_of_flows() {
    let flows = "\"call.pcap\" has 127.0.0.1:5004 > 127.0.0.1:5006 (3), 127.0.0.1:5006 > 127.0.0.1:5004 (1), [::1]:5004 > [::1]:5006 (1)";
    let (key, message) = schedule("ethernet", &options(|o| o.from = Some("192.0.2.7".parse().unwrap()))).unwrap_err();
    assert_eq!((key, message), ("from", format!("no datagram matches; {flows}")));
    let (key, message) = schedule("ethernet", &options(|o| o.to = Some("127.0.0.1:9".parse().unwrap()))).unwrap_err();
    assert_eq!((key, message), ("to", format!("no datagram matches; {flows}")));
    let (key, message) = schedule("ethernet", &options(|_| {})).unwrap_err();
    assert_eq!((key, message), ("from", format!("choose one direction with from, to or both; {flows}")));
    // A single sender needs no selection.
    assert!(schedule("raw", &options(|_| {})).is_ok());
}

#[test]
fn a_capture_without_udp_reports_the_reason() {
    let ethernet = |data: &[u8], link_type: u8| {
        let mut file = bytes("ethernet")[..24].to_vec();
        file[20] = link_type;
        // The packet has 142 bytes, of which `data` was captured.
        let (length, original) = ((data.len() as u32).to_le_bytes(), 142u32.to_le_bytes());
        file.extend([&[0; 8], &length[..], &original[..], data].concat());
        options(|_| {}).schedule(&Capture::parse(&file).unwrap()).unwrap_err().message
    };
    let arp = ethernet(&[&[0; 12], &[8, 6][..], &[0; 28]].concat(), 1);
    assert_eq!(arp, "\"call.pcap\" has no UDP datagram among its 1 packets");
    let radio = ethernet(&[0; 40], 127);
    assert_eq!(
        radio,
        "\"call.pcap\" has no UDP datagram among its 1 packets; 1 have link type 127, which is not supported"
    );
    let short = ethernet(&[&[0; 12], &[8, 0][..], &datagram(100)[..24]].concat(), 1);
    assert!(short.ends_with("1 were captured without their UDP header: capture 96 bytes or more of each"), "{short}");
}

/// The first matching rule applies; `media` is used for other datagrams.
#[test]
fn kinds_follow_payload_types_ports_and_sizes() {
    let kinds = |rules: &[KindRule]| {
        let options = options(|o| {
            o.from = Some("127.0.0.1:5004".parse().unwrap());
            o.kinds = rules.to_vec();
        });
        let schedule = schedule("ethernet", &options).unwrap();
        let kinds = schedule.trace.frames().iter().map(|frame| frame.kind.name()).collect::<Vec<_>>().join(" ");
        (kinds, schedule.notes)
    };
    let audio = KindRule { payload_type: Some(0), ..NO_CONDITION };
    let video = KindRule { min_size: Some(Bytes::new(800)), kind: MediaKind::Video, ..NO_CONDITION };
    let small = KindRule { max_size: Some(Bytes::new(172)), kind: MediaKind::VideoB, ..NO_CONDITION };
    let port = KindRule { port: Some(5006), kind: MediaKind::VideoI, ..NO_CONDITION };
    assert_eq!(kinds(&[]), ("data data data".to_owned(), vec![]));
    assert_eq!(kinds(&[audio.clone(), video]).0, "audio video data");
    assert_eq!(kinds(&[audio.clone(), small, port.clone()]).0, "audio video-i video-b");
    assert_eq!(
        kinds(&[port, audio]),
        ("video-i video-i video-i".to_owned(), vec!["rule 2 of kinds decides for no datagram".to_owned()])
    );
    let both = KindRule { min_size: Some(Bytes::new(172)), max_size: Some(Bytes::new(172)), ..NO_CONDITION };
    assert_eq!(kinds(&[both]).0, "audio data data");
}

#[test]
fn invalid_rules_are_rejected() {
    for (rule, part) in [
        (NO_CONDITION, "rule 1: no condition: expected payload_type, port, min_size or max_size"),
        (
            KindRule { payload_type: Some(128), ..NO_CONDITION },
            "payload_type = 128 is not an RTP payload type: expected 0 to 127",
        ),
        (
            KindRule { min_size: Some(Bytes::new(2)), max_size: Some(Bytes::new(1)), ..NO_CONDITION },
            "min_size = 2B is above max_size = 1B",
        ),
    ] {
        let error = options(|o| o.kinds = vec![rule.clone()]).check().unwrap_err();
        assert_eq!(error.key, "kinds");
        assert!(error.message.contains(part), "{}", error.message);
    }
}

/// tshark prints the packets before the truncation, and that the file was cut short.
#[test]
fn a_truncated_file_has_the_packets_before_the_truncation() {
    for name in ["ethernet", "interfaces"] {
        let file = bytes(name);
        let whole = rows(&file);
        let cut = Capture::parse(&file[..file.len() - 5]).unwrap();
        let lost = if name == "ethernet" { 1 } else { 0 };
        assert_eq!(cut.datagrams().len(), whole.len() - lost, "{name}");
        assert!(cut.cut().is_some());
    }
    let file = bytes("ethernet");
    let cut = Capture::parse(&file[..file.len() - 5]).unwrap();
    let schedule = options(|o| o.from = Some("127.0.0.1:5004".parse().unwrap())).schedule(&cut).unwrap();
    assert_eq!(schedule.trace.frames().len(), 3);
    assert_eq!(
        schedule.notes,
        ["\"call.pcap\": the file was cut within the record at byte 330; the 4 packets before it are used"]
    );
}

#[test]
fn damage_is_reported_with_its_offset() {
    let error = |bytes: &[u8]| Capture::parse(bytes).unwrap_err().to_string();
    assert_eq!(
        error(b"packet|codec_type=audio"),
        "byte 0: the file does not start like a capture: expected pcap or pcapng, as tcpdump and dumpcap write"
    );
    assert_eq!(error(b""), error(b"\0\0"));
    assert!(error(&[0x1f, 0x8b, 8, 0]).contains("decompress it with gunzip"));
    let mut file = Blocks::new(false);
    file.enhanced(3, 1, &datagram(1));
    assert_eq!(
        error(&file.bytes),
        "packet 1, byte 28: the packet refers to interface 3, which the file does not describe"
    );
    let mut file = Blocks::new(true);
    file.interface(&[]);
    file.enhanced(0, 0, &datagram(1));
    file.enhanced(0, u64::MAX, &datagram(1));
    assert_eq!(
        error(&file.bytes),
        "packet 2, byte 112: the packet's time is more than 63 years from that of the first packet"
    );
    let mut length = Blocks::new(false).bytes;
    length.extend([6, 0, 0, 0, 13, 0, 0, 0]);
    assert_eq!(
        error(&length),
        "packet 1, byte 28: the block has an impossible length of 13 bytes: the file is damaged"
    );
    let mut contents = Blocks::new(false);
    contents.interface(&[]);
    contents.block(6, &[0xff; 20]);
    assert_eq!(error(&contents.bytes), "packet 1, byte 48: the block cannot be read: the file is damaged");
    let long = vec![0; Capture::LARGEST_FILE.count() as usize + 1];
    assert!(matches!(Capture::parse(&long).unwrap_err().problem, CaptureProblem::TooLong(_)));
}

/// Returns a copy of the file with the little-endian word at `place` replaced.
fn with_word(file: &[u8], place: usize, word: u32) -> Vec<u8> {
    let mut file = file.to_vec();
    file[place..place + 4].copy_from_slice(&word.to_le_bytes());
    file
}

/// Returns the offsets of the records of a little-endian file, given the offset of the first record, the offset of the
/// length in a record, and the bytes of a record without data.
fn records(file: &[u8], first: usize, length: usize, others: usize) -> Vec<usize> {
    let mut places = vec![first];
    while let Some(&place) = places.last()
        && place < file.len()
    {
        let length = file[place + length..].first_chunk::<4>().unwrap();
        places.push(place + u32::from_le_bytes(*length) as usize + others);
    }
    places.pop();
    places
}

/// Returns a capture of ten packets of 148 octets, one per second, in both formats.
fn ten_packets() -> [Vec<u8>; 2] {
    let mut pcap = [0xa1b2_c3d4u32, 0x0004_0002, 0, 0, 65_535, 101].map(u32::to_le_bytes).concat();
    let mut blocks = Blocks::new(false);
    blocks.interface(&[]);
    for second in 0..10 {
        pcap.extend([1_000 + second, 0, 148, 148].map(u32::to_le_bytes).concat());
        pcap.extend(datagram(120));
        blocks.enhanced(0, u64::from(1_000 + second) * 1_000_000, &datagram(120));
    }
    [pcap, blocks.bytes]
}

/// tshark 4.0.17 on the same lengths: "File has 262145-byte packet, bigger than maximum of 262144".
#[test]
fn an_impossible_captured_length_is_damage() {
    let [pcap, _] = ten_packets();
    for (number, place) in [(1, 24), (6, 24 + 5 * 164)] {
        for length in [0xffff_ffff, 1 << 20, 262_145] {
            assert_eq!(
                Capture::parse(&with_word(&pcap, place + 8, length)).unwrap_err().to_string(),
                format!(
                    "packet {number}, byte {place}: the captured length of {length} bytes is above the maximum of 262144 bytes: the file is \
                     damaged"
                )
            );
        }
        assert_eq!(
            Capture::parse(&with_word(&pcap, place + 8, 70_000)).unwrap_err().to_string(),
            format!(
                "packet {number}, byte {place}: the captured length of 70000 bytes is above the packet's length of 148 bytes: the file is damaged"
            )
        );
        let both = with_word(&with_word(&pcap, place + 8, 70_000), place + 12, 70_000);
        let error = Capture::parse(&both).unwrap_err();
        assert_eq!(error.problem, CaptureProblem::SnapLength { captured: 70_000, snap: 65_535 });
        assert_eq!((error.packet, error.offset), (Some(number), place as u64));
    }
}

/// tshark 4.0.17: "total block length 4294967292 is too large", "total block lengths (first 180 and second 8) don't
/// match", "total block length 176 of an EPB is too small for 300000 bytes of packet data".
#[test]
fn an_impossible_block_length_is_damage() {
    let [_, file] = ten_packets();
    for (number, place) in [(1, 48), (6, 48 + 5 * 180)] {
        for length in [0xffff_fffc, (16 << 20) + 4, 1 << 20, 184, 176] {
            let error = Capture::parse(&with_word(&file, place + 4, length)).unwrap_err();
            assert_eq!((error.packet, error.offset), (Some(number), place as u64), "{length}");
            assert_eq!(error.problem, CaptureProblem::Length(length));
        }
        for length in [300_000, 200] {
            let error = Capture::parse(&with_word(&file, place + 20, length)).unwrap_err();
            assert_eq!((error.packet, error.offset), (Some(number), place as u64), "{length}");
        }
    }
}

/// Flips every bit of every length field. Results that lack half of the datagrams always have a note.
#[test]
fn no_change_of_a_length_field_loses_datagrams_silently() {
    let [pcap, pcapng] = ten_packets();
    let mut changed = Vec::new();
    for place in records(&pcap, 24, 8, 16) {
        changed.extend([8, 12].map(|field| (&pcap, place + field)));
    }
    for place in records(&pcapng, 48, 4, 0) {
        changed.extend([4, 20, 24, 176].map(|field| (&pcapng, place + field)));
    }
    assert_eq!(changed.len(), 60);
    for (file, place) in changed {
        let word = u32::from_le_bytes(*file[place..].first_chunk().unwrap());
        for bit in 0..32 {
            let Ok(capture) = Capture::parse(&with_word(file, place, word ^ 1 << bit)) else { continue };
            let Ok(schedule) = options(|_| {}).schedule(&capture) else { continue };
            let frames = schedule.trace.frames().len();
            assert!(frames >= 9 || !schedule.notes.is_empty(), "byte {place}, bit {bit}: {frames} datagrams");
        }
    }
}

/// capinfos 4.0.17 prints "Strict time order: False" for such a file, and tshark keeps all of its packets.
#[test]
fn times_that_step_back_are_reported() {
    let [pcap, _] = ten_packets();
    let capture = Capture::parse(&with_word(&pcap, 24 + 5 * 164, 1_003)).unwrap();
    let schedule = options(|_| {}).schedule(&capture).unwrap();
    assert_eq!(schedule.trace.frames().len(), 10);
    assert_eq!(
        schedule.notes,
        ["\"call.pcap\": the times step back at packet 6 by 1 s; datagrams are sent in the order of their times"]
    );
}

#[test]
fn a_file_truncated_in_its_first_record_reports_the_offset() {
    let [pcap, _] = ten_packets();
    let error = options(|_| {}).schedule(&Capture::parse(&pcap[..100]).unwrap()).unwrap_err();
    assert_eq!(
        error.message,
        "\"call.pcap\" has no UDP datagram among its 0 packets; the file was cut within the record at byte 24; no packet is before it"
    );
}

/// A capture is played as a trace: with repetition, lifetimes, and the priorities of its kinds.
#[test]
fn a_capture_is_played_like_a_trace() {
    let options = options(|o| {
        o.from = Some("127.0.0.1:5004".parse().unwrap());
        o.kinds = vec![KindRule { payload_type: Some(0), ..NO_CONDITION }];
        (o.media, o.looped, o.lifetime) = (MediaKind::Video, true, Some(Duration::from_millis(200)));
    });
    let trace = Some(Arc::new(schedule("ethernet", &options).unwrap().trace));
    let (start, stop) = (Instant::from_secs(1), Some(Instant::from_millis(1_070)));
    let options = SourceOptions::Capture(options);
    let mut source =
        Source::new(&options, Context { start, stop, random: Random::new(1, ""), trace: trace.clone() }).unwrap();
    let mut sent = Vec::new();
    while let Some(at) = source.poll_timeout() {
        let write = source.poll(at).unwrap();
        assert_eq!(write.expires, Some(at + Duration::from_millis(200)));
        sent.push((
            at.since(start).as_nanos() / 1000,
            write.size.payload(Bytes::new(28)).count(),
            write.kind.name(),
            write.priority,
        ));
    }
    // Two video datagrams are 13.012 ms apart, so the next round starts 13.012 ms after the last one.
    let once = [(0, 172, "audio", 0), (20_200, 1000, "video", 1), (33_212, 8, "video", 1)];
    let again = once.map(|(at, bytes, kind, priority)| (at + 46_224, bytes, kind, priority));
    assert_eq!(sent, [&once[..], &again[..2]].concat());
    assert_eq!(options.writes_within(trace.as_deref(), Duration::from_millis(46)), 3);
    assert_eq!(options.largest_write(trace.as_deref()).unwrap().payload(Bytes::new(28)), Bytes::new(1000));
}

#[test]
fn a_host_is_an_address_with_or_without_a_port() {
    use headway_media::Host;
    for text in ["192.0.2.1", "192.0.2.1:5004", "2001:db8::1", "[2001:db8::1]:5004"] {
        assert_eq!(text.parse::<Host>().unwrap().to_string(), text);
    }
    for text in ["", "5004", ":5004", "host:1", "192.0.2.1:65536", "[::1]"] {
        let error = text.parse::<Host>().unwrap_err().to_string();
        assert!(error.contains("is not an address: write one such as 192.0.2.1"), "{error}");
    }
}

proptest! {
    #[test]
    fn no_bytes_panic(start in 0usize..4, bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let starts: [&[u8]; 4] = [&[], &[0x0a, 0x0d, 0x0d, 0x0a], &[0xd4, 0xc3, 0xb2, 0xa1], &[0xa1, 0xb2, 0x3c, 0x4d]];
        let _ = Capture::parse(&[starts[start], &bytes].concat());
    }

    /// Damaged files are rejected with an offset, or change only the damaged part.
    #[test]
    fn no_damage_panics(which in 0usize..4, places in prop::collection::vec((0usize..1200, any::<u8>()), 1..4), cut in 0usize..1200) {
        let mut file = bytes(["ethernet", "interfaces", "frames", "sll2"][which]);
        for (place, value) in places {
            let length = file.len();
            file[place % length] = value;
        }
        file.truncate(cut.max(24));
        match Capture::parse(&file) {
            Ok(capture) => prop_assert!(capture.datagrams().len() <= 11),
            Err(error) => prop_assert!(error.offset <= file.len() as u64),
        }
    }
}
