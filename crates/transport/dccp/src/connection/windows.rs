//! Sequence number variables and validity windows (RFC 4340 sections 7.1 and 7.5).

use crate::PacketType;
use headway_units::Seq48;

/// Maximum length of a burst of losses, in packets.
const MAX_BURST: u64 = 1 << 24;

/// Sequence number variables of section 7.1, and both Sequence Window features.
///
/// In addition to 48-bit sequence numbers, packets are counted in 64 bits from the first of each direction, which is
/// number 0. Controllers use these numbers; they also distinguish the start of a connection from a wrap.
#[derive(Clone, Debug)]
pub(crate) struct SeqWindows {
    iss: Seq48,
    gss: Seq48,
    gsr: Seq48,
    gar: Seq48,
    /// OSR, the first sequence number received in OPEN; absent if the connection was closed in PARTOPEN.
    pub(crate) osr: Option<Seq48>,
    sent: u64,
    /// Number of the packet whose acknowledgement ends the current round trip.
    round_trip_began: u64,
    gsr_number: u64,
    /// W', the local Sequence Window, in packets.
    pub(crate) local_window: u64,
    /// W, the peer's Sequence Window, in packets.
    pub(crate) remote_window: u64,
}

impl SeqWindows {
    pub(crate) const fn new(iss: Seq48) -> Self {
        Self {
            iss,
            gss: iss,
            gsr: Seq48::ZERO,
            gar: iss,
            osr: None,
            sent: 0,
            round_trip_began: 0,
            gsr_number: 0,
            local_window: 100,
            remote_window: 100,
        }
    }

    /// Records the peer's first packet (step 3 or 4). `gsr` is ISR, or the number before if that
    /// packet still has to pass `GSR < seqno`.
    pub(crate) fn start_receiving(&mut self, gsr: Seq48) {
        self.gsr = gsr;
        // SWL is never below number 0, which is ISR or the number before.
        self.gsr_number = 0;
    }

    pub(crate) fn next(&mut self) -> Seq48 {
        self.gss = self.iss + self.sent;
        self.sent = self.sent.saturating_add(1);
        self.gss
    }
    pub(crate) fn upcoming(&self) -> Seq48 {
        self.iss + self.sent
    }
    pub(crate) const fn upcoming_number(&self) -> u64 {
        self.sent
    }

    /// Returns the number of packets sent after the newest acknowledged one.
    pub(crate) const fn unacknowledged(&self) -> u64 {
        self.gss.distance_from(self.gar)
    }

    /// Returns the number of packets sent up to the newest acknowledged one; the first counts as acknowledged.
    pub(crate) const fn acknowledged(&self) -> u64 {
        self.sent.saturating_sub(self.unacknowledged())
    }

    /// Returns the number of packets sent since the current round trip began.
    pub(crate) const fn sent_in_this_round_trip(&self) -> u64 {
        self.sent.saturating_sub(self.round_trip_began)
    }

    /// Records an acknowledged packet. Returns the number of packets sent in the round trip that this ends, if it does.
    pub(crate) const fn end_of_round_trip(&mut self, acknowledged: u64) -> Option<u64> {
        if acknowledged < self.round_trip_began {
            return None;
        }
        Some(self.sent.saturating_sub(std::mem::replace(&mut self.round_trip_began, self.sent)))
    }

    #[cfg(test)]
    pub(crate) const fn gss(&self) -> Seq48 {
        self.gss
    }
    pub(crate) const fn gar(&self) -> Seq48 {
        self.gar
    }
    pub(crate) const fn gsr(&self) -> Seq48 {
        self.gsr
    }
    /// Returns SWL (section 7.5.1): floor(W/4) packets up to GSR, but not below ISR at the start.
    pub(crate) fn swl(&self) -> Seq48 {
        self.gsr - (self.remote_window / 4).saturating_sub(1).min(self.gsr_number)
    }
    pub(crate) fn swh(&self) -> Seq48 {
        self.gsr + (self.remote_window - self.remote_window / 4)
    }
    /// Returns AWL: W' packets up to GSS, but not below ISS at the start.
    pub(crate) fn awl(&self) -> Seq48 {
        self.gss - (self.local_window - 1).min(self.sent.saturating_sub(1))
    }
    pub(crate) const fn awh(&self) -> Seq48 {
        self.gss
    }

    /// Returns whether an acknowledgement number is that of a recently sent packet.
    pub(crate) fn is_acknowledgement_valid(&self, ack: Seq48) -> bool {
        self.sent > 0 && ack.is_within(self.awl(), self.awh())
    }

    /// Returns whether a sequence number is within any burst of losses from GSR. One in 2^23 guesses is.
    pub(crate) fn is_near(&self, seq: Seq48) -> bool {
        seq.is_within(self.gsr - MAX_BURST, self.gsr + MAX_BURST)
    }

    /// Returns whether a packet is valid by the table of section 7.5.3. `active`: a valid packet
    /// has arrived within three round trips, so that the stricter check of Syncs applies.
    pub(crate) fn is_valid(&self, kind: PacketType, seq: Seq48, ack: Option<Seq48>, active: bool) -> bool {
        use PacketType as P;
        let ack_valid = |low| ack.is_none_or(|ack| self.sent > 0 && ack.is_within(low, self.awh()));
        match kind {
            P::CloseReq | P::Close | P::Reset => seq.is_within(self.gsr + 1, self.swh()) && ack_valid(self.gar),
            P::Sync | P::SyncAck if !active => (seq == self.swl() || seq.is_after(self.swl())) && ack_valid(self.awl()),
            _ => seq.is_within(self.swl(), self.swh()) && ack_valid(self.awl()),
        }
    }

    /// Updates GSR and GAR from a valid packet (steps 5 and 6). Returns the increase of GSR.
    pub(crate) fn update(&mut self, seq: Seq48, ack: Option<Seq48>, is_sync: bool) -> u64 {
        let mut steps = 0;
        if seq.is_after(self.gsr) {
            steps = seq.distance_from(self.gsr);
            self.gsr = seq;
            self.gsr_number = self.gsr_number.saturating_add(steps);
        }
        if let Some(ack) = ack.filter(|ack| !is_sync && ack.is_after(self.gar)) {
            self.gar = ack;
        }
        steps
    }

    /// Returns the 64-bit number of a received packet, after GSR was updated.
    pub(crate) const fn number_received(&self, seq: Seq48) -> u64 {
        self.gsr_number.saturating_sub(self.gsr.distance_from(seq))
    }
    /// Returns the sequence number of the peer's packet with this 64-bit number.
    pub(crate) fn received_at(&self, number: u64) -> Seq48 {
        self.gsr - self.gsr_number.saturating_sub(number)
    }
    pub(crate) const fn number_sent(&self, seq: Seq48) -> u64 {
        self.sent.saturating_sub(1).saturating_sub(self.gss.distance_from(seq))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use PacketType as P;
    use proptest::prelude::*;

    fn windows(iss: u64, gss: u64, isr: u64, gsr: u64, w: u64, w_own: u64) -> SeqWindows {
        let mut windows = SeqWindows::new(Seq48::new(iss));
        while windows.gss() != Seq48::new(gss) || windows.sent == 0 {
            windows.next();
        }
        windows.start_receiving(Seq48::new(isr));
        windows.update(Seq48::new(gsr), None, false);
        (windows.remote_window, windows.local_window) = (w, w_own);
        windows
    }

    /// Computed by hand from the formulas of section 7.5.1: the middle of a connection, its start,
    /// and windows that are not multiples of four.
    #[test]
    fn worked_windows() {
        for ((iss, gss, isr, gsr, w, w_own), wanted) in [
            ((20, 500, 10, 1000, 100, 100), [976, 1075, 401, 500]),
            ((20, 25, 10, 12, 100, 100), [10, 87, 20, 25]),
            ((20, 500, 10, 1000, 103, 33), [976, 1078, 468, 500]),
        ] {
            let windows = windows(iss, gss, isr, gsr, w, w_own);
            let found = [windows.swl(), windows.swh(), windows.awl(), windows.awh()].map(Seq48::value);
            assert_eq!(found, wanted);
        }
    }

    /// Sections 6.4 and 7.5.2: both windows are initially 100 packets.
    #[test]
    fn windows_are_initially_100_packets() {
        let mut windows = SeqWindows::new(Seq48::new(20));
        for _ in 20..=500 {
            windows.next();
        }
        windows.start_receiving(Seq48::new(10));
        windows.update(Seq48::new(1000), None, false);
        let found = [windows.swl(), windows.swh(), windows.awl(), windows.awh()].map(Seq48::value);
        assert_eq!(found, [976, 1075, 401, 500]);
    }

    /// "The adjustments MUST NOT be applied" once the numbers have wrapped below ISS and ISR.
    #[test]
    fn windows_wrap() {
        let top = Seq48::MAX.value();
        let windows = windows(top - 200, 10, top - 300, 5, 100, 100);
        assert_eq!(windows.swl(), Seq48::new(5) - 24);
        assert_eq!(windows.awl(), Seq48::new(10) - 99);
        assert_eq!(windows.number_sent(Seq48::new(10)), 211);
        assert_eq!(windows.number_received(Seq48::new(4)), 305);
        assert_eq!(windows.received_at(305), Seq48::new(4));
    }

    /// All rows of the tables of section 7.5.3, at both ends of each window and one number beyond.
    #[test]
    fn packets_are_valid_by_the_table_of_7_5_3() {
        let mut windows = windows(20, 500, 10, 1000, 100, 100);
        windows.update(Seq48::new(1000), Some(Seq48::new(450)), false);
        let gsr = 1000;
        let (swl, swh, awl, awh, gar) = (976, 1075, 401, 500, 450);
        // Packet type, active, lowest and highest valid sequence number, lowest valid acknowledgement number.
        let far = gsr + (1 << 46);
        for (kind, active, low, high, ack_low) in [
            (P::Request, true, swl, swh, None),
            (P::Response, true, swl, swh, Some(awl)),
            (P::Data, true, swl, swh, None),
            (P::Ack, true, swl, swh, Some(awl)),
            (P::DataAck, true, swl, swh, Some(awl)),
            (P::CloseReq, true, gsr + 1, swh, Some(gar)),
            (P::Close, true, gsr + 1, swh, Some(gar)),
            (P::Reset, true, gsr + 1, swh, Some(gar)),
            (P::Sync, true, swl, swh, Some(awl)),
            (P::SyncAck, true, swl, swh, Some(awl)),
            (P::Ack, false, swl, swh, Some(awl)),
            (P::Close, false, gsr + 1, swh, Some(gar)),
            (P::Sync, false, swl, far, Some(awl)),
            (P::SyncAck, false, swl, far, Some(awl)),
        ] {
            let valid = |seq, ack: Option<u64>| windows.is_valid(kind, Seq48::new(seq), ack.map(Seq48::new), active);
            let good = ack_low.map(|_| awh);
            assert!(valid(low, good) && valid(high, good), "{kind}");
            assert!(!valid(low - 1, good), "{kind}");
            assert_eq!(valid(high + 1, good), high == far, "{kind}");
            if let Some(ack_low) = ack_low {
                assert!(valid(low, Some(ack_low)) && !valid(low, Some(ack_low - 1)), "{kind}");
                assert!(!valid(low, Some(awh + 1)), "{kind}");
            }
        }
    }

    /// Packets that were not sent cannot be acknowledged.
    #[test]
    fn nothing_is_valid_before_the_first_packet() {
        let windows = SeqWindows::new(Seq48::new(7));
        assert!(!windows.is_acknowledgement_valid(Seq48::new(7)));
        assert!(!windows.is_valid(P::Ack, Seq48::ZERO, Some(Seq48::new(7)), false));
    }

    proptest! {
        /// "The Sequence and Acknowledgement Number windows always contain GSR and GSS, respectively". They are W and
        /// W' wide once the connection is old enough, and never panic.
        #[test]
        fn windows_contain_their_reference(
            iss: u64, isr: u64, steps in 0u64..1 << 46, w in 32u64..1 << 46, w_own in 32u64..1 << 46,
        ) {
            let mut windows = SeqWindows::new(Seq48::new(iss));
            windows.next();
            windows.start_receiving(Seq48::new(isr));
            windows.update(Seq48::new(isr) + steps, None, false);
            (windows.remote_window, windows.local_window) = (w, w_own);
            prop_assert!(windows.gsr().is_within(windows.swl(), windows.swh()));
            prop_assert!(windows.gss().is_within(windows.awl(), windows.awh()));
            if steps >= w {
                prop_assert_eq!(windows.swh().distance_from(windows.swl()) + 1, w);
            }
        }
    }
}
