//! Reception state and arrival time per packet (RFC 8888 section 3.1).
//!
//! ```text
//! report:  the receiver's clock in 1/65536 s, 32 bits, then for each packet from the acknowledged one downwards
//! packet:  R (1 bit) | ECN (2 bits) | ATO (13 bits), age of the arrival in the report, in 1/1024 s
//! ```
//!
//! RFC 8888 lists packets from the oldest upwards, which is the only difference.

use headway_units::{Duration, Ecn, Instant};

/// ATO of an age above its range.
const OUT_OF_RANGE: u16 = 0x1ffe;
/// ATO of an unknown arrival time.
const UNKNOWN: u16 = 0x1fff;
const RECEIVED: u16 = 1 << 15;

/// Reception state of one packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TimedArrival {
    /// The packet has not been received yet.
    #[default]
    NotReceived,
    /// The packet was received.
    Received {
        /// ECN field on arrival.
        ecn: Ecn,
        /// Time from the arrival to the creation of the report; `None` if unknown, or if it was about 8 s or more,
        /// which the encoding cannot express.
        before: Option<Duration>,
    },
}

/// Report of which packets were received, with their ECN fields and arrival times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimedReport<'a> {
    /// Receiver's clock when the report was created. Its zero is arbitrary: only differences are meaningful.
    pub clock: Instant,
    /// States of the packets from number [`Feedback::acknowledged`](crate::Feedback::acknowledged) downwards, one per
    /// packet.
    pub arrivals: &'a [TimedArrival],
}

impl TimedReport<'_> {
    /// Report without arrivals, which a receiver half returns; the transport adds the arrivals.
    pub const EMPTY: Self = TimedReport { clock: Instant::ZERO, arrivals: &[] };
    /// Maximum number of packets in a report, so that it fits into one DCCP option. A receiver half that must report
    /// every packet sends a report before this many have arrived.
    pub const MAX_ARRIVALS: usize = 120;

    /// Returns the clock in its encoded form.
    fn ticks(&self) -> u32 {
        (u128::from(self.clock.as_nanos()) * 65_536 / 1_000_000_000) as u32
    }

    /// Encodes the clock and the first [`MAX_ARRIVALS`](Self::MAX_ARRIVALS) packets into `buffer`. Returns the length
    /// in bytes; `None` if they do not fit.
    pub fn encode(&self, buffer: &mut [u8]) -> Option<usize> {
        let arrivals = self.arrivals.get(..Self::MAX_ARRIVALS).unwrap_or(self.arrivals);
        let (clock, packets) = buffer.get_mut(..4 + 2 * arrivals.len())?.split_at_mut(4);
        clock.copy_from_slice(&self.ticks().to_be_bytes());
        for (place, arrival) in packets.chunks_exact_mut(2).zip(arrivals) {
            place.copy_from_slice(&arrival.word().to_be_bytes());
        }
        Some(4 + 2 * arrivals.len())
    }
}

impl TimedArrival {
    pub(super) fn word(self) -> u16 {
        let Self::Received { ecn, before } = self else { return 0 };
        let ago = before.map_or(UNKNOWN, |before| {
            let ticks = u128::from(before.as_nanos()) * 1024 / 1_000_000_000;
            u16::try_from(ticks).unwrap_or(OUT_OF_RANGE).min(OUT_OF_RANGE)
        });
        RECEIVED | (ecn as u16) << 13 | ago
    }

    pub(super) fn of_word(word: u16) -> Self {
        if word & RECEIVED == 0 {
            return Self::NotReceived;
        }
        let ecn = match word >> 13 & 3 {
            0 => Ecn::NotEct,
            1 => Ecn::Ect1,
            2 => Ecn::Ect0,
            _ => Ecn::Ce,
        };
        let ago = word & 0x1fff;
        let before =
            (ago < OUT_OF_RANGE).then(|| Duration::from_nanos((u64::from(ago) * 1_000_000_000).div_ceil(1024)));
        Self::Received { ecn, before }
    }

    /// Decodes a report: appends its packets to `arrivals` and returns its clock in 1/65536 s modulo 2^32. `None` if it
    /// is shorter than its clock, ends within a packet, or has more packets than [`TimedReport::MAX_ARRIVALS`].
    pub fn decode(bytes: &[u8], arrivals: &mut Vec<Self>) -> Option<u32> {
        let (clock, packets) = bytes.split_first_chunk()?;
        let (packets, []) = packets.as_chunks() else { return None };
        if packets.len() > TimedReport::MAX_ARRIVALS {
            return None;
        }
        arrivals.extend(packets.iter().map(|word| Self::of_word(u16::from_be_bytes(*word))));
        Some(u32::from_be_bytes(*clock))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn received(ecn: Ecn, nanos: u64) -> TimedArrival {
        TimedArrival::Received { ecn, before: Some(Duration::from_nanos(nanos)) }
    }

    /// RFC 8888 section 3.1 by hand: 0.5 s is 512 ticks of ATO and 32,768 of the clock. The longest age is 8189/1024 s,
    /// then 0x1FFE; 0x1FFF is unknown. The ECN field is coded as in the IP header, and a packet not received is all
    /// zero.
    #[test]
    fn words_of_rfc_8888() {
        let arrivals = [
            received(Ecn::Ce, 500_000_000),
            TimedArrival::NotReceived,
            received(Ecn::Ect1, 7_998_000_000),
            received(Ecn::Ect0, 9_000_000_000),
            TimedArrival::Received { ecn: Ecn::NotEct, before: None },
        ];
        let report = TimedReport { clock: Instant::from_millis(2500), arrivals: &arrivals };
        let mut buffer = [0; 20];
        let len = report.encode(&mut buffer).unwrap();
        let words = [0xe200_u16, 0, 0xa000 | 8189, 0xdffe, 0x9fff];
        let expected: Vec<u8> =
            [0, 2, 0x80, 0].into_iter().chain(words.into_iter().flat_map(u16::to_be_bytes)).collect();
        assert_eq!(&buffer[..len], expected);
        let mut read = vec![];
        assert_eq!(TimedArrival::decode(&buffer[..len], &mut read), Some(0x2_8000));
        assert_eq!(read[0], arrivals[0]);
        assert_eq!(read[3], TimedArrival::Received { ecn: Ecn::Ect0, before: None });
        assert_eq!(report.encode(&mut [0; 13]), None);
    }

    proptest! {
        /// Decoding and encoding are inverse; malformed reports are rejected.
        #[test]
        fn encoding_inverts_decoding(bytes in prop::collection::vec(any::<u8>(), 0..260)) {
            let mut arrivals = vec![];
            let clock = TimedArrival::decode(&bytes, &mut arrivals);
            prop_assert_eq!(clock.is_some(), bytes.len() >= 4 && bytes.len() % 2 == 0 && bytes.len() <= 244);
            if let Some(clock) = clock {
                let at = Instant::from_nanos((u64::from(clock) * 1_000_000_000).div_ceil(65_536));
                let (mut again, mut buffer) = (vec![], [0; 260]);
                let len = TimedReport { clock: at, arrivals: &arrivals }.encode(&mut buffer).unwrap();
                prop_assert_eq!(TimedArrival::decode(&buffer[..len], &mut again), Some(clock));
                prop_assert_eq!(arrivals, again);
            }
        }
    }
}
