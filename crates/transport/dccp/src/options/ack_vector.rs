//! Ack Vector (RFC 4340 section 11.4): state of received packets, in runs, newest first.

use headway_units::Seq48;

/// Data of an Ack Vector option. A vector above 253 bytes continues in the next option of the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AckVector<'a> {
    nonce: bool,
    vector: &'a [u8],
}

/// State of a packet in an Ack Vector (RFC 4340 section 11.4, Table 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum AckState {
    /// The packet was received without an ECN mark.
    Received = 0,
    /// The packet was received with the ECN mark Congestion Experienced.
    ReceivedEcnMarked = 1,
    /// Reserved; never sent.
    Reserved = 2,
    /// The packet has not been received yet.
    NotYetReceived = 3,
}

/// Run of consecutive packets with the same state: one byte of an Ack Vector.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AckRun {
    /// State of each packet of the run.
    pub state: AckState,
    /// Number of packets in the run, 1 to 64.
    pub packets: u8,
}

impl AckRun {
    /// Maximum number of packets in one run of an Ack Vector.
    pub const MAX_PACKETS: u8 = 64;

    /// Decodes a byte of an Ack Vector.
    #[must_use]
    pub const fn from_byte(byte: u8) -> Self {
        let state = match byte >> 6 {
            0 => AckState::Received,
            1 => AckState::ReceivedEcnMarked,
            2 => AckState::Reserved,
            _ => AckState::NotYetReceived,
        };
        Self { state, packets: (byte & 63) + 1 }
    }
    /// Encodes the run as a byte of an Ack Vector; `None` unless it has 1 to 64 packets.
    #[must_use]
    pub const fn to_byte(self) -> Option<u8> {
        match self.packets {
            1..=Self::MAX_PACKETS => Some((self.state as u8) << 6 | (self.packets - 1)),
            _ => None,
        }
    }
}

impl<'a> AckVector<'a> {
    /// Creates a vector from bytes of [`AckRun::to_byte`]. `nonce` is the ECN Nonce Echo, which is 0 since RFC 8311.
    #[must_use]
    pub const fn new(nonce: bool, vector: &'a [u8]) -> Self {
        Self { nonce, vector }
    }
    /// Returns the ECN Nonce Echo: true for option 39, false for option 38.
    #[must_use]
    pub const fn nonce(&self) -> bool {
        self.nonce
    }
    /// Returns the bytes of the Ack Vector, one per run.
    #[must_use]
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.vector
    }
    /// Returns the runs, newest first.
    pub fn runs(&self) -> impl Iterator<Item = AckRun> + use<'a> {
        self.vector.iter().map(|byte| AckRun::from_byte(*byte))
    }
    /// Returns each packet with its state, from `newest` down. `newest` is the packet's acknowledgement number for the
    /// first Ack Vector option, and for each later option the number below the oldest of the one before.
    pub fn packets(&self, newest: Seq48) -> impl Iterator<Item = (Seq48, AckState)> + use<'a> {
        let states = self.runs().flat_map(|run| std::iter::repeat_n(run.state, run.packets.into()));
        states.scan(newest, |next, state| {
            let seq = *next;
            *next -= 1;
            Some((seq, state))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Example of RFC 4340 section 11.4: 0,192,3,64,5 at acknowledgement number 100.
    #[test]
    fn the_rfcs_example() {
        let states: Vec<_> = AckVector::new(false, &[0, 192, 3, 64, 5])
            .packets(Seq48::new(100))
            .map(|(seq, state)| (seq.value(), state as u8))
            .collect();
        let wanted = [0, 3, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0];
        assert_eq!(states, (88..=100).rev().zip(wanted).collect::<Vec<_>>());
    }

    #[test]
    fn every_byte_is_a_run() {
        for byte in 0..=255 {
            assert_eq!(AckRun::from_byte(byte).to_byte(), Some(byte));
        }
        for packets in [0, 65] {
            assert_eq!(AckRun { state: AckState::Received, packets }.to_byte(), None);
        }
    }

    /// "A single Ack Vector option can acknowledge up to 16192 data packets."
    #[test]
    fn longest_vector() {
        assert_eq!(AckVector::new(false, &[63; 253]).packets(Seq48::ZERO).count(), 16192);
    }
}
