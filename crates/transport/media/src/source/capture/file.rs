//! The packets of a capture file: classic pcap, and pcapng (draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng).
//!
//! The crate `pcap-parser` parses headers, blocks and options. This file iterates over the packets itself, so that
//! errors have an offset and a truncated file is accepted.

use super::datagrams::{CaptureError, CaptureProblem, Cut};
use pcap_parser::pcapng::{Block, UnknownBlock, parse_block_be, parse_block_le};
use pcap_parser::traits::PcapNGPacketBlock as _;
use pcap_parser::{
    OptionCode, PcapHeader, PcapNGOption, parse_pcap_frame, parse_pcap_frame_be, parse_pcap_frame_modified,
    parse_pcap_header,
};

/// A captured packet.
#[derive(Debug)]
pub(super) struct Packet<'a> {
    /// Number of the packet, from 1.
    pub(super) number: u64,
    /// Time since the epoch in ns; absent if the file gives none.
    pub(super) at: Option<i128>,
    /// LINKTYPE value.
    pub(super) link_type: u16,
    /// Length as sent, in bytes.
    pub(super) original: u32,
    /// Captured bytes.
    pub(super) data: &'a [u8],
}

const GZIP: [u8; 2] = [0x1f, 0x8b];
/// Type of a Section Header Block, the same in both byte orders.
const SECTION: [u8; 4] = [0x0a, 0x0d, 0x0d, 0x0a];
/// Type of an Enhanced Packet Block.
const ENHANCED_PACKET: u32 = 6;
/// Type of the obsolete Packet Block.
const PACKET_BLOCK: u32 = 2;
const NS_PER_S: i128 = 1_000_000_000;
/// Maximum captured length of a packet, in bytes; libpcap and Wireshark treat larger ones as damage.
const LARGEST_CAPTURED: u32 = 262_144;
/// Maximum length of a pcapng block, in bytes, as in libpcap.
const LARGEST_BLOCK: u32 = 16 << 20;
/// Maximum length of the options of a packet block, in bytes, as in libpcap.
const LARGEST_OPTIONS: u32 = 131_072;

/// Calls `each` for every packet, in the order of the file. Returns where the file was truncated, if it was.
pub(super) fn packets<'a>(
    bytes: &'a [u8],
    mut each: impl FnMut(&Packet<'a>) -> Result<(), CaptureProblem>,
) -> Result<Option<Cut>, CaptureError> {
    if bytes.starts_with(&SECTION) {
        return pcapng(bytes, &mut each);
    }
    let problem = if bytes.starts_with(&GZIP) { CaptureProblem::Compressed } else { CaptureProblem::NotACapture };
    match parse_pcap_header(bytes) {
        Ok((records, header)) => pcap(bytes, records, &header, &mut each),
        Err(_) => Err(CaptureError { packet: None, offset: 0, problem }),
    }
}

fn pcap<'a>(
    bytes: &'a [u8],
    mut records: &'a [u8],
    header: &PcapHeader,
    each: &mut impl FnMut(&Packet<'a>) -> Result<(), CaptureProblem>,
) -> Result<Option<Cut>, CaptureError> {
    let parse = match (header.is_bigendian(), header.is_modified_format()) {
        (true, _) => parse_pcap_frame_be,
        (false, true) => parse_pcap_frame_modified,
        (false, false) => parse_pcap_frame,
    };
    let fraction_ns = if header.is_nanosecond_precision() { 1 } else { 1000 };
    for number in 1.. {
        if records.is_empty() {
            break;
        }
        let offset = (bytes.len() - records.len()) as u64;
        let damaged = |problem| CaptureError { packet: Some(number), offset, problem };
        let lengths = word(records, 8, header.is_bigendian()).zip(word(records, 12, header.is_bigendian()));
        if let Some((captured, original)) = lengths {
            check_lengths(captured, original).map_err(damaged)?;
        }
        // Fails only for a record longer than the rest of the file.
        let Ok((rest, record)) = parse(records) else {
            return match lengths {
                Some((captured, _)) if header.snaplen > 0 && captured > header.snaplen => {
                    Err(damaged(CaptureProblem::SnapLength { captured, snap: header.snaplen }))
                }
                _ => Ok(Some(Cut { packets: number - 1, offset })),
            };
        };
        records = rest;
        let packet = Packet {
            number,
            at: Some(i128::from(record.ts_sec) * NS_PER_S + i128::from(record.ts_usec) * fraction_ns),
            // The upper half contains the length of the frame check sequence.
            link_type: header.network.0 as u16,
            original: record.origlen,
            data: record.data,
        };
        each(&packet).map_err(damaged)?;
    }
    Ok(None)
}

/// Checks the captured and the original length of a packet.
fn check_lengths(captured: u32, original: u32) -> Result<(), CaptureProblem> {
    if captured > LARGEST_CAPTURED {
        return Err(CaptureProblem::Captured(captured));
    }
    if captured > original {
        return Err(CaptureProblem::Lengths { captured, original });
    }
    Ok(())
}

/// Returns whether a truncated last block can have this length.
fn is_plausible(block: &[u8], length: u32, big_endian: bool) -> bool {
    let field = |at| word(block, at, big_endian);
    match (field(0), field(20), field(24)) {
        (Some(ENHANCED_PACKET), Some(captured), Some(original)) => {
            let least = 32 + u64::from(captured).next_multiple_of(4);
            check_lengths(captured, original).is_ok()
                && (least..=least + u64::from(LARGEST_OPTIONS)).contains(&length.into())
        }
        _ => true,
    }
}

/// Description of an interface in a section.
struct Interface {
    link_type: u16,
    /// `if_tsresol`: negative power of 10, or of 2 if the highest bit is set.
    resolution: u8,
    /// `if_tsoffset`, in s.
    offset_s: i64,
}

impl Interface {
    fn time(&self, high: u32, low: u32) -> i128 {
        let ticks = u128::from(high) << 32 | u128::from(low);
        let exponent = u32::from(self.resolution & 0x7f);
        let base: u128 = if self.resolution & 0x80 == 0 { 10 } else { 2 };
        // Units that overflow a u128 are far below a nanosecond.
        let ns = base.checked_pow(exponent).map_or(0, |units| ticks * NS_PER_S as u128 / units);
        ns as i128 + i128::from(self.offset_s) * NS_PER_S
    }
}

/// Returns `if_tsoffset`. The field of the parser has reversed bytes in big-endian files.
fn offset_s(options: &[PcapNGOption<'_>], big_endian: bool) -> i64 {
    let option = options.iter().find(|option| option.code == OptionCode::IfTsoffset);
    let value = option.and_then(|option| option.value.first_chunk::<8>());
    value.map_or(0, |value| if big_endian { i64::from_be_bytes(*value) } else { i64::from_le_bytes(*value) })
}

/// Packet of pcapng before its interface is resolved.
struct Captured<'a> {
    interface: u32,
    /// Upper and lower half of the time; absent in a Simple Packet Block.
    time: Option<(u32, u32)>,
    original: u32,
    data: &'a [u8],
}

fn pcapng<'a>(
    bytes: &'a [u8],
    each: &mut impl FnMut(&Packet<'a>) -> Result<(), CaptureProblem>,
) -> Result<Option<Cut>, CaptureError> {
    let mut interfaces = Vec::new();
    let (mut big_endian, mut number, mut rest) = (false, 1, bytes);
    while !rest.is_empty() {
        let offset = (bytes.len() - rest.len()) as u64;
        let wrong = |packet, problem| CaptureError { packet, offset, problem };
        let cut = Ok(Some(Cut { packets: number - 1, offset }));
        if rest.starts_with(&SECTION) {
            let Some(order) = word(rest, 8, false) else { return cut };
            big_endian = match order {
                0x1a2b_3c4d => false,
                0x4d3c_2b1a => true,
                _ => return Err(wrong(None, CaptureProblem::NotACapture)),
            };
            interfaces.clear();
        }
        let Some(length) = word(rest, 4, big_endian) else { return cut };
        if !(12..=LARGEST_BLOCK).contains(&length) || !length.is_multiple_of(4) {
            return Err(wrong(Some(number), CaptureProblem::Length(length)));
        }
        let Some((block, next)) = rest.split_at_checked(length as usize) else {
            return if is_plausible(rest, length, big_endian) {
                cut
            } else {
                Err(wrong(Some(number), CaptureProblem::Length(length)))
            };
        };
        rest = next;
        let parse = if big_endian { parse_block_be } else { parse_block_le };
        if word(block, block.len() - 4, big_endian) != Some(length) {
            return Err(wrong(Some(number), CaptureProblem::Length(length)));
        }
        let (_, block) = parse(block).map_err(|_| wrong(Some(number), CaptureProblem::Block))?;
        let captured = match block {
            Block::InterfaceDescription(description) => {
                interfaces.push(Interface {
                    link_type: description.linktype.0 as u16,
                    resolution: description.if_tsresol,
                    offset_s: offset_s(&description.options, big_endian),
                });
                continue;
            }
            Block::EnhancedPacket(packet) => {
                let data = packet.data.get(..packet.caplen as usize);
                Captured {
                    interface: packet.if_id,
                    time: Some((packet.ts_high, packet.ts_low)),
                    original: packet.origlen,
                    data: data.ok_or_else(|| wrong(Some(number), CaptureProblem::Block))?,
                }
            }
            Block::SimplePacket(packet) => Captured {
                interface: 0,
                time: None,
                original: packet.orig_len(),
                data: truncated(packet.data, packet.origlen),
            },
            // The parser reads the type in little-endian order.
            Block::Unknown(packet)
                if packet.block_type == PACKET_BLOCK || packet.block_type.swap_bytes() == PACKET_BLOCK =>
            {
                obsolete(&packet, big_endian).ok_or_else(|| wrong(Some(number), CaptureProblem::Block))?
            }
            _ => continue,
        };
        let Captured { interface, time, original, data } = captured;
        check_lengths(data.len() as u32, original).map_err(|problem| wrong(Some(number), problem))?;
        let known = usize::try_from(interface).ok().and_then(|index| interfaces.get(index));
        let found = known.ok_or(CaptureProblem::Interface(interface)).and_then(|known: &Interface| {
            let at = time.map(|(high, low)| known.time(high, low));
            each(&Packet { number, at, link_type: known.link_type, original, data })
        });
        found.map_err(|problem| wrong(Some(number), problem))?;
        number += 1;
    }
    Ok(None)
}

/// Parses an obsolete Packet Block: interface, drops, time, lengths, data.
fn obsolete<'a>(block: &UnknownBlock<'a>, big_endian: bool) -> Option<Captured<'a>> {
    let field = |at| word(block.data, at, big_endian);
    let first = block.data.first_chunk::<2>()?;
    let interface = if big_endian { u16::from_be_bytes(*first) } else { u16::from_le_bytes(*first) };
    let data = block.data.get(20..)?.get(..field(12)? as usize)?;
    Some(Captured { interface: interface.into(), time: Some((field(4)?, field(8)?)), original: field(16)?, data })
}

/// Returns the data without padding.
fn truncated(data: &[u8], length: u32) -> &[u8] {
    data.get(..length as usize).unwrap_or(data)
}

fn word(bytes: &[u8], at: usize, big_endian: bool) -> Option<u32> {
    let word = bytes.get(at..)?.first_chunk::<4>()?;
    Some(if big_endian { u32::from_be_bytes(*word) } else { u32::from_le_bytes(*word) })
}
