//! Changes to single packets at Headway's endpoint: deterministic losses, and packets that Headway would not send.

use headway_dccp::{CcVal, OptionArea, Packet, PacketType};
use headway_units::Seq48;
use serde::Deserialize;
use std::time::Duration;

/// Rule for lost packets.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Loss {
    /// Whether it applies to packets that Headway sends, or to those that it receives.
    sent: bool,
    /// Type of the packets; all types if absent.
    kind: Option<String>,
    /// Maximum number of lost packets; 0 for no limit.
    first: u32,
    /// Start, in ms.
    from_ms: u64,
    /// End, in ms; 0 for none.
    until_ms: u64,
    #[serde(skip)]
    lost: u32,
}

impl Loss {
    /// Returns whether the packet is lost.
    pub(crate) fn applies(&mut self, now: Duration, sent: bool, kind: PacketType) -> bool {
        let begun = now >= Duration::from_millis(self.from_ms);
        let over = self.until_ms > 0 && now >= Duration::from_millis(self.until_ms);
        let right = self.kind.as_ref().is_none_or(|configured| *configured == kind.to_string());
        let applies = self.sent == sent && right && begun && !over && (self.first == 0 || self.lost < self.first);
        self.lost += u32::from(applies);
        applies
    }
}

/// Rule for changed packets that Headway sends.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Change {
    /// Type of the packets.
    kind: String,
    /// Number of packets before the first change.
    skip: u32,
    /// Number of changed packets; 0 for all.
    count: u32,
    /// Bytes inserted before the options, as hexadecimal digits; whole words.
    options: String,
    /// Whether all options are removed.
    bare: bool,
    /// Whether the checksum is wrong.
    checksum: bool,
    /// Increment of the sequence number of an additional copy; 0 for none.
    ahead: u64,
    #[serde(skip)]
    met: u32,
}

impl Change {
    /// Returns whether the rule applies to this packet.
    pub(crate) fn applies(&mut self, kind: PacketType) -> bool {
        if self.kind != kind.to_string() {
            return false;
        }
        self.met += 1;
        self.met > self.skip && (self.count == 0 || self.met <= self.skip + self.count)
    }

    /// Returns the packets to send instead: one or two.
    pub(crate) fn make(&self, packet: &Packet<'_>, network: headway_dccp::Network) -> Vec<Vec<u8>> {
        let digits = |at| self.options.get(at..at + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok());
        let mut options: Vec<u8> = (0..self.options.len()).step_by(2).filter_map(digits).collect();
        if !self.bare {
            options.extend(packet.options.as_bytes());
        }
        let changed = Packet { options: OptionArea::new(&options).unwrap_or_default(), ..*packet };
        let mut bytes = encode(&changed, network);
        if self.checksum {
            bytes[6] ^= 0x55;
        }
        let mut all = vec![bytes];
        if self.ahead > 0 {
            let seq = Seq48::new(packet.seq.value() + self.ahead);
            all.push(encode(&Packet { seq, ccval: CcVal::ZERO, ..changed }, network));
        }
        all
    }
}

/// Encodes a packet.
pub(crate) fn encode(packet: &Packet<'_>, network: headway_dccp::Network) -> Vec<u8> {
    let mut bytes = vec![0; packet.encoded_len()];
    packet.encode(&mut bytes, network).expect("packets of a connection can be encoded");
    bytes
}
