//! What a case does to single packets at Headway's end: losses that are not left to chance, and packets that Headway would
//! not send.

use headway_dccp::{CcVal, OptionArea, Packet, PacketType};
use headway_units::Seq48;
use serde::Deserialize;
use std::time::Duration;

/// Packets that get lost.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Loss {
    /// Those that Headway sends; otherwise those for it.
    sent: bool,
    /// Of this type; absent: of every type.
    kind: Option<String>,
    /// Only the first so many, 0: all.
    first: u32,
    /// Not before this.
    from_ms: u64,
    /// Not after this; 0: for ever.
    until_ms: u64,
    #[serde(skip)]
    lost: u32,
}

impl Loss {
    /// Whether a packet gets lost.
    pub(crate) fn takes(&mut self, now: Duration, sent: bool, kind: PacketType) -> bool {
        let begun = now >= Duration::from_millis(self.from_ms);
        let over = self.until_ms > 0 && now >= Duration::from_millis(self.until_ms);
        let right = self.kind.as_ref().is_none_or(|wanted| *wanted == kind.to_string());
        let takes = self.sent == sent && right && begun && !over && (self.first == 0 || self.lost < self.first);
        self.lost += u32::from(takes);
        takes
    }
}

/// What becomes of a packet of Headway's.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Change {
    /// Of this type.
    kind: String,
    /// The first one so many are left alone.
    skip: u32,
    /// So many are changed, 0: all.
    count: u32,
    /// Bytes that stand before its options, as hexadecimal digits; whole words.
    options: String,
    /// It has no options at all.
    bare: bool,
    /// Its checksum is wrong.
    checksum: bool,
    /// A copy goes besides, with a number so much greater.
    ahead: u64,
    #[serde(skip)]
    met: u32,
}

impl Change {
    /// Whether it is this packet's turn.
    pub(crate) fn applies(&mut self, kind: PacketType) -> bool {
        if self.kind != kind.to_string() {
            return false;
        }
        self.met += 1;
        self.met > self.skip && (self.count == 0 || self.met <= self.skip + self.count)
    }

    /// The bytes that go instead, one packet or two.
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

/// A packet's bytes.
pub(crate) fn encode(packet: &Packet<'_>, network: headway_dccp::Network) -> Vec<u8> {
    let mut bytes = vec![0; packet.encoded_len()];
    packet.encode(&mut bytes, network).expect("what a connection sends has a form on the wire");
    bytes
}
