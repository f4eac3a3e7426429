//! TFRC receiver reports as options (RFC 4342 section 8, RFC 5622 section 8.7).

use super::CcidFeedback;
use crate::{
    Ccid, CcidOption, DroppedPackets, EncodeError, LossInterval, LossIntervals, OptionFault, OptionWriter, PacketType,
    RawOption,
};
use headway_rate::{Losses, TfrcReport};
use headway_units::{Probability, Rate};
use std::num::NonZeroU32;

impl CcidFeedback {
    /// Returns the report of a feedback packet, which has a Receive Rate and losses (RFC 4342 section 6).
    pub(super) fn report(&self) -> Option<TfrcReport<'_>> {
        let x_recv = Rate::from_bits_per_second(u64::from(self.receive_rate?) * 8);
        let losses = match (self.intervals(), self.loss_event_rate) {
            (Some((skip, intervals)), _) => Losses::Intervals { skip, intervals },
            (None, Some(Some(inverse))) => {
                Losses::EventRate(Probability::new(1.0 / f64::from(inverse.get())).unwrap_or_default())
            }
            (None, Some(None)) => Losses::EventRate(Probability::ZERO),
            (None, None) => return None,
        };
        Some(TfrcReport { x_recv, losses, new_loss_event: false })
    }
}

/// Reads an option. Experimental CCIDs with TFRC reports use the options of CCID 4.
pub(super) fn read(
    drop_counts: bool,
    raw: RawOption<'_>,
    kind: PacketType,
    feedback: &mut CcidFeedback,
) -> Result<(), OptionFault> {
    match CcidOption::decode(if drop_counts { Ccid::TFRC_SP } else { Ccid::TFRC }, raw, kind)? {
        CcidOption::LossEventRate(inverse) => feedback.loss_event_rate = Some(inverse),
        CcidOption::ReceiveRate(rate) => feedback.receive_rate = Some(rate),
        // A follow-up option continues the first one, so that its Skip Length must be 0 (RFC 4342 section 8.6).
        CcidOption::LossIntervals(more) if feedback.skip.is_some() && more.skip_length() != 0 => {}
        CcidOption::LossIntervals(more) => {
            feedback.skip = feedback.skip.or(Some(more.skip_length()));
            feedback.intervals.extend(more.iter().map(|interval| headway_rate::LossInterval {
                lossless: interval.lossless_length,
                lossy: interval.loss_length,
                data: interval.data_length,
                dropped: interval.loss_length,
            }));
        }
        CcidOption::DroppedPackets(dropped) => feedback.dropped_packets.extend(dropped.iter()),
    }
    Ok(())
}

/// Writes Receive Rate and losses; with `drop_counts` also Dropped Packets, as in CCID 4.
pub(super) fn write(
    report: &TfrcReport<'_>,
    drop_counts: bool,
    writer: &mut OptionWriter<'_>,
) -> Result<(), EncodeError> {
    let bits = report.x_recv.bits_per_second();
    // Zero is reserved for the first report (RFC 5348 section 4.3): in later ones it would limit a
    // sender of small packets to one in 64 s.
    let bytes = (bits / 8).max(bits.min(1));
    writer.push_ccid(CcidOption::ReceiveRate(u32::try_from(bytes).unwrap_or(u32::MAX)))?;
    match report.losses {
        Losses::EventRate(p) => writer.push_ccid(CcidOption::LossEventRate(inverse(p))),
        Losses::Intervals { skip, intervals } => {
            let mut encoded = [[0; 9]; LossIntervals::MAX];
            let mut counts = [[0; 3]; LossIntervals::MAX];
            for ((place, count), interval) in encoded.iter_mut().zip(&mut counts).zip(intervals) {
                let lossy = interval.lossy.min((1 << 23) - 1);
                *place = LossInterval {
                    lossless_length: interval.lossless.min((1 << 24) - 1),
                    loss_length: lossy,
                    nonce: false,
                    data_length: interval.data.min((1 << 24) - 1),
                }
                .to_bytes()
                .unwrap_or_default();
                let [_, bytes @ ..] = interval.dropped.min(lossy).to_be_bytes();
                *count = bytes;
            }
            let many = intervals.len().min(LossIntervals::MAX);
            let skip = skip.min(LossIntervals::MAX_SKIP);
            if let Some(intervals) = encoded.get(..many).and_then(|encoded| LossIntervals::new(skip, encoded)) {
                writer.push_ccid(CcidOption::LossIntervals(intervals))?;
            }
            match counts.get(..many).and_then(DroppedPackets::new) {
                Some(counts) if drop_counts => writer.push_ccid(CcidOption::DroppedPackets(counts)),
                _ => Ok(()),
            }
        }
    }
}

/// Returns 1/p, rounded up (RFC 4342 section 8.5).
fn inverse(p: Probability) -> Option<NonZeroU32> {
    // `as` saturates: the smallest encodable p is 1 / 4294967294.
    let inverse = (1.0 / p.value()).ceil() as u32;
    (p > Probability::ZERO).then(|| NonZeroU32::new(inverse.min(u32::MAX - 1))).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4342 section 6: Receive Rate and Loss Event Rate or Loss Intervals; RFC 4342 section 8.5: p is the inverse.
    #[test]
    fn a_report_needs_a_receive_rate_and_losses() {
        let feedback = CcidFeedback { receive_rate: Some(1000), ..CcidFeedback::default() };
        assert_eq!(feedback.report(), None);
        let lossless = CcidFeedback { loss_event_rate: Some(None), ..feedback.clone() };
        let report = lossless.report().unwrap();
        assert_eq!((report.x_recv.bits_per_second(), report.losses), (8000, Losses::EventRate(Probability::ZERO)));
        let lossy = CcidFeedback { loss_event_rate: Some(NonZeroU32::new(50)), ..feedback.clone() };
        assert_eq!(Some(lossy.report().unwrap().losses), Probability::new(0.02).map(Losses::EventRate));
        assert_eq!(CcidFeedback { receive_rate: None, ..lossless }.report(), None);
        assert!(CcidFeedback { skip: Some(0), ..feedback }.report().is_some());
    }

    /// RFC 4342 section 8.5: "the inverse of the loss event rate, rounded UP".
    #[test]
    fn inverses_are_rounded_up() {
        let inverse = |p| inverse(Probability::new(p).unwrap()).map(NonZeroU32::get);
        assert_eq!(inverse(0.0), None);
        assert_eq!(inverse(1.0), Some(1));
        assert_eq!(inverse(0.3), Some(4));
        assert_eq!(inverse(0.01), Some(100));
        assert_eq!(inverse(1e-300), Some(u32::MAX - 1));
    }

    /// Example of RFC 4342 section 8.6.2.
    #[test]
    fn the_rfcs_intervals() {
        let interval = |lossless, lossy, data| headway_rate::LossInterval { lossless, lossy, data, dropped: lossy };
        let intervals = [interval(10, 1, 10), interval(8, 5, 10), interval(8, 1, 8), interval(10, 0, 15)];
        let report = TfrcReport {
            x_recv: Rate::from_bits_per_second(8 * 9991),
            losses: Losses::Intervals { skip: 2, intervals: &intervals },
            new_loss_event: false,
        };
        let mut bytes = [0; 100];
        let mut writer = OptionWriter::new(&mut bytes);
        write(&report, false, &mut writer).unwrap();
        let len = writer.len();
        let wanted = [
            194, 6, 0, 0, 0x27, 7, 193, 39, 2, 0, 0, 10, 0, 0, 1, 0, 0, 10, 0, 0, 8, 0, 0, 5, 0, 0, 10, 0, 0, 8, 0, 0,
            1, 0, 0, 8, 0, 0, 10, 0, 0, 0, 0, 0, 15,
        ];
        assert_eq!(bytes[..len], wanted);
    }

    /// RFC 4342 section 8.6: Lossless Length and Data Length have 24 bits, Loss Length has 23 below
    /// the nonce. Longer values are saturated.
    #[test]
    fn intervals_that_are_too_long() {
        let longest = headway_rate::LossInterval { lossless: u32::MAX, lossy: u32::MAX, data: u32::MAX, dropped: 0 };
        let losses = Losses::Intervals { skip: 0, intervals: &[longest] };
        let report = TfrcReport { x_recv: Rate::from_bits_per_second(8), losses, new_loss_event: false };
        let mut bytes = [0; 100];
        let mut writer = OptionWriter::new(&mut bytes);
        write(&report, false, &mut writer).unwrap();
        let len = writer.len();
        let wanted = [194, 6, 0, 0, 0, 1, 193, 12, 0, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff];
        assert_eq!(bytes[..len], wanted);
    }
}
