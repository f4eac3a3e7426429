//! An on-path attacker that truncates packets, with the original or an updated checksum.

use crate::{Context, Direction, Fate, packets};
use headway_dccp::{Addresses, CsCov, Network};
use headway_units::{Dialect, Instant, Probability};
use serde::{Deserialize, Serialize};

/// Options of an attack of `kind = "truncate"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// Probability that the attacker truncates a packet of the flow, in either direction, to a random length.
    pub share: Probability,
    /// Whether the attacker updates the checksum of a truncated packet, so that it is valid for the remaining bytes.
    pub fix_checksum: bool,
}

impl headway_units::Options for Options {
    fn preset(_: Dialect) -> Self {
        Self { share: Probability::new(0.1).unwrap_or(Probability::ZERO), fix_checksum: false }
    }
}

/// State of a running attack that truncates packets.
#[derive(Debug)]
pub struct Truncate {
    options: Options,
    context: Context,
}

impl Truncate {
    pub(crate) fn new(options: &Options, context: Context) -> Self {
        Self { options: options.clone(), context }
    }

    pub(crate) fn handle(&mut self, now: Instant, direction: Direction, bytes: &[u8]) -> Fate {
        if !self.context.hits(now, self.options.share) {
            return Fate::Forwarded;
        }
        let left = self.context.random.below(bytes.len() as u64) as usize;
        let mut cut = bytes.get(..left).unwrap_or_default().to_vec();
        if self.options.fix_checksum {
            let (source, destination) = self.context.target.ends(direction);
            fix_checksum(&mut cut, packets::network(source, destination));
        }
        Fate::Changed(cut)
    }
}

/// Protocol number of DCCP in the pseudo-header.
const DCCP: u8 = 33;

/// Updates the checksum (RFC 4340 section 9.1) if the packet is long enough to have one. Respects CsCov.
fn fix_checksum(bytes: &mut [u8], network: Network) {
    let Network::Ip(Addresses::V4 { source, destination }) = network else { return };
    if bytes.len() < 8 {
        return;
    }
    let header = (usize::from(bytes[4]) * 4).min(bytes.len());
    let data = bytes.len() - header;
    let covered = CsCov::new(bytes[5] & 15).and_then(|cscov| cscov.covered(data)).unwrap_or(data);
    bytes[6..8].fill(0);
    let mut sum = 0u32;
    let mut add = |part: &[u8]| {
        for pair in part.chunks(2) {
            sum += u32::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]));
        }
    };
    add(&source.octets());
    add(&destination.octets());
    add(&[0, DCCP]);
    add(&(bytes.len() as u16).to_be_bytes());
    add(&bytes[..header + covered]);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    bytes[6..8].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{data, target};
    use headway_dccp::{Packet, PacketError};

    /// Truncates at every byte. The checksum detects each cut; with an updated checksum, the rest is a shorter packet
    /// or an invalid header.
    #[test]
    fn truncation_is_detected_unless_the_checksum_is_updated() {
        let (target, direction) = (target(), Direction::ToServer);
        let (source, destination) = target.ends(direction);
        let network = packets::network(source, destination);
        let whole = data(&target, direction, 7, &[1; 40]);
        assert!(Packet::decode(&whole, network).is_ok());
        let mut shorter = 0;
        for left in 0..whole.len() {
            let mut cut = whole[..left].to_vec();
            assert!(Packet::decode(&cut, network).is_err(), "{left}");
            fix_checksum(&mut cut, network);
            match Packet::decode(&cut, network) {
                Ok(_) => shorter += 1,
                Err(error) => assert!(!matches!(error, PacketError::Checksum { .. }), "{left}: {error}"),
            }
        }
        // 16 bytes of header and 0 to 39 bytes of data.
        assert_eq!(shorter, 40);
    }
}
