//! Receiver half: times of reports (RFC 4340 section 11.3, RFC 4341 section 6). The carrier adds their contents.

use super::options::TcpLikeOptions;
use super::sender::DEFAULT_RTT;
use crate::contract::{Received, ReceiverContext, ReceiverHalf};
use crate::report::{Report, ReportForm};
use headway_units::{Duration, Ecn, Instant};

/// Receiver half of the controller `tcp-like`: makes one report due per number of data packets that the sender requests
/// (Ack Ratio).
///
/// Marked data or a gap is reported immediately, at most once per round trip (RFC 4340 section 11.3). The round-trip
/// time is the sender's, if packets carry it, otherwise the default of 0.2 s (RFC 4340 section 3.4), as under DCCP.
#[derive(Debug)]
pub struct TcpLikeReceiver {
    delayed_ack: Option<Duration>,
    immediate_acks: bool,
    ack_ratio: u64,
    /// Data packets since the last report.
    unreported: u64,
    due: bool,
    /// Deadline of the delayed acknowledgement.
    timer: Option<Instant>,
    newest: Option<u64>,
    rtt: Duration,
    /// Time from which an immediate report is allowed again.
    immediate_from: Instant,
}

impl TcpLikeReceiver {
    pub(crate) fn new(options: &TcpLikeOptions, _: ReceiverContext) -> Self {
        Self {
            delayed_ack: options.expert.delayed_ack,
            immediate_acks: options.expert.immediate_acks,
            ack_ratio: 2,
            unreported: 0,
            due: false,
            timer: None,
            newest: None,
            rtt: DEFAULT_RTT,
            immediate_from: Instant::ZERO,
        }
    }
}

impl ReceiverHalf for TcpLikeReceiver {
    const REPORTS: ReportForm = ReportForm::Arrivals;

    fn on_packet(&mut self, now: Instant, packet: &Received) {
        if let Some(rtt) = packet.rtt {
            self.rtt = rtt;
        }
        let in_order = self.newest.is_none_or(|newest| packet.number == newest.wrapping_add(1));
        self.newest = self.newest.max(Some(packet.number));
        // A mark on an acknowledgement concerns the peer's sender (RFC 4341 section 6.1.1): "there is no need for
        // acks-of-acks-of-acks" (RFC 4340 section 11.1), which would loop on a path that marks every packet.
        let marked = packet.data && packet.ecn == Ecn::Ce;
        if self.immediate_acks && (!in_order || marked) && now >= self.immediate_from {
            self.immediate_from = now + self.rtt;
            self.due = true;
        }
        if packet.data {
            self.unreported += 1;
            self.due |= self.unreported >= self.ack_ratio;
            if self.timer.is_none() {
                self.timer = self.delayed_ack.map(|delay| now + delay);
            }
        }
    }

    fn poll_report(&mut self, _: Instant) -> Option<Report<'_>> {
        if !self.due {
            return None;
        }
        (self.due, self.unreported, self.timer) = (false, 0, None);
        Some(Report::Arrivals(&[]))
    }

    fn handle_timeout(&mut self, now: Instant) {
        if self.timer.is_some_and(|timer| now >= timer) {
            (self.due, self.timer) = (true, None);
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.timer.filter(|_| !self.due)
    }

    /// Treats 0, which means that no ratio is in use, as 1.
    fn set_ack_ratio(&mut self, packets: u16) {
        self.ack_ratio = packets.max(1).into();
        self.due |= self.unreported >= self.ack_ratio;
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use headway_units::{Bytes, Dialect, Options};

    const SIZE: Bytes = Bytes::new(1000);

    fn ms(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    pub(in super::super) fn receiver(options: &TcpLikeOptions) -> TcpLikeReceiver {
        TcpLikeReceiver::new(options, ReceiverContext::new(Instant::ZERO, SIZE))
    }

    pub(in super::super) fn received(number: u64) -> Received {
        Received::new(number, Some(SIZE))
    }

    /// RFC 4340 section 11.3: a report per Ack Ratio data packets, or 0.2 s after the first of them.
    #[test]
    fn section_6_one_report_for_ack_ratio_data_packets() {
        let mut receiver = receiver(&TcpLikeOptions::preset(Dialect::Rfc));
        let mut due = |number, ratio| {
            receiver.set_ack_ratio(ratio);
            receiver.on_packet(ms(number), &Received { data: number != 3, ..received(number) });
            receiver.poll_report(ms(number)).is_some()
        };
        // Packet 3 carries no data.
        let seen: Vec<_> = [2, 2, 2, 2, 2, 3, 3, 3, 1, 1, 0].into_iter().zip(1..).map(|(r, n)| due(n, r)).collect();
        assert_eq!(seen, [false, true, false, false, true, false, false, true, true, true, true]);
        receiver.set_ack_ratio(2);
        receiver.on_packet(ms(50), &received(12));
        assert_eq!(receiver.poll_timeout(), Some(ms(250)));
        receiver.handle_timeout(ms(249));
        assert_eq!(receiver.poll_report(ms(249)), None);
        receiver.handle_timeout(ms(250));
        assert_eq!(receiver.poll_timeout(), None);
        assert_eq!(receiver.poll_report(ms(250)), Some(Report::Arrivals(&[])));
        assert_eq!(receiver.poll_report(ms(250)), None);
    }

    /// RFC 4340 section 11.3: an immediate report on a mark or a gap, once per round trip: the sender's, or 0.2 s.
    #[test]
    fn section_6_marks_and_holes_are_reported_at_once() {
        let marked = |number| Received { ecn: Ecn::Ce, ..received(number) };
        for (rtt, again) in [(None, 300), (Some(Duration::from_millis(10)), 110)] {
            let mut receiver = receiver(&TcpLikeOptions::preset(Dialect::Rfc));
            receiver.set_ack_ratio(100);
            let mut due = |at: u64, packet: Received| {
                receiver.on_packet(ms(at), &Received { rtt, ..packet });
                receiver.poll_report(ms(at)).is_some()
            };
            assert!(!due(0, received(7)));
            assert!(due(100, received(9)), "a gap");
            assert!(!due(again - 1, marked(10)), "too soon");
            assert!(due(again, marked(11)), "a mark");
            assert!(due(again + 200, received(8)), "an old number");
            assert!(!due(again + 400, received(12)));
        }
        let mut receiver = receiver(&TcpLikeOptions::preset(Dialect::Rfc));
        receiver.on_packet(ms(0), &Received { data: false, ..marked(1) });
        assert_eq!(receiver.poll_report(ms(0)), None, "a marked acknowledgement is not acknowledged");
        let mut receiver = self::receiver(&TcpLikeOptions::preset(Dialect::Linux));
        receiver.on_packet(ms(0), &marked(1));
        assert_eq!(receiver.poll_report(ms(0)), None, "Linux waits for the second packet,");
        assert_eq!(receiver.poll_timeout(), None, "without a timer");
    }
}
