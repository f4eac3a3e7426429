//! Options of a session.

use crate::rtcp;
use headway_media::SendQueueOptions;
use headway_rate::{ControllerOptions, EncoderOptions, Need, NumReports};
use headway_units::{Bytes, Dialect, Duration, OptionError, QueueSize, Registry as _};
use std::collections::BTreeMap;

/// Options of a [`Session`](crate::Session).
#[derive(Clone, Debug)]
pub struct SessionOptions {
    /// Controller of the sent data, whose sender and receiver halves both run in this session: the peer reports
    /// arrivals only.
    pub controller: ControllerOptions,
    /// Send queue of the sent packets. It must not send lost packets again (`resend`): a retransmission is a packet of
    /// its own (RFC 4588).
    pub queue: SendQueueOptions,
    /// Conversion of the controller's rate to the rate of an encoder.
    pub encoder: EncoderOptions,
    /// Largest RTP packet that can be sent, and largest RTCP datagram, in bytes without UDP and IP: 256B to 65000B,
    /// 1200B by default.
    pub packet_size: Bytes,
    /// Headers of each packet below RTP, which count in the rates: 28B for UDP over IPv4 by default, and 48B for IPv6.
    pub header: Bytes,
    /// Synchronization source of this end in its RTCP packets: if it sends one stream, that of the stream. `None`: a
    /// random one.
    pub ssrc: Option<u32>,
    /// Canonical name for regular RTCP reports each 5 s on average (RFC 3550 section 6.5.1), 1 B to 255 B, and less if
    /// `packet_size` is below 329B. `None`: the session sends congestion control feedback only, in reduced-size packets,
    /// and the program sends its own reports.
    pub cname: Option<String>,
    /// Clock rates of dynamic payload types in Hz, for sender reports and jitter. Those of RFC 3551 are known. A stream
    /// without a clock rate has no sender reports, and its jitter is reported as 0.
    pub clock_rates: BTreeMap<u8, u32>,
    /// Whether packets are sent with the ECN field that the controller requests; false by default, except for `prague`,
    /// which needs it. Set it only if the peer's feedback reports ECN fields (`a=ecn-capable-rtp`, RFC 8888 section 7).
    pub ecn: bool,
    /// Meaning of `num_reports` in feedback, in both directions.
    pub num_reports: NumReports,
    /// Time from the first packet that was not reported to the next feedback packet, 1 ms to 1 s, 50 ms by default. It
    /// is up to four times as long while feedback would exceed 5 % of the received bytes.
    pub feedback_interval: Duration,
}

impl SessionOptions {
    /// Creates the options for a controller, by its name in scenarios, with its defaults: `scream2`, `gcc`, `nada`,
    /// `tfrc`, ...
    ///
    /// # Errors
    ///
    /// If the name is unknown, or if the controller needs what RTP does not provide.
    pub fn new(controller: &str) -> Result<Self, OptionError> {
        let controller = ControllerOptions::preset(controller, Dialect::default()).ok_or_else(|| {
            let known = ControllerOptions::KINDS.join(", ");
            OptionError::new("controller", format!("\"{controller}\" is unknown; expected one of {known}"))
        })?;
        let mut queue = SendQueueOptions::preset("sure-first", Dialect::default())
            .unwrap_or(SendQueueOptions::fifo(Dialect::default()));
        queue.rules.limit = QueueSize::Packets(256);
        let ecn = controller.needs().any(|need| need == Need::Ect1);
        let options = Self {
            controller,
            queue,
            encoder: EncoderOptions::default(),
            packet_size: Bytes::new(1200),
            header: Bytes::new(28),
            ssrc: None,
            cname: None,
            clock_rates: BTreeMap::new(),
            ecn,
            num_reports: NumReports::default(),
            feedback_interval: Duration::from_millis(50),
        };
        options.check()?;
        Ok(options)
    }

    /// Checks each option.
    ///
    /// # Errors
    ///
    /// The first option that is out of range, or that RTP cannot provide.
    pub fn check(&self) -> Result<(), OptionError> {
        self.controller.check()?;
        let is_missing = |need: &Need| match need {
            Need::SenderClock | Need::RoundTrip => false,
            Need::Ect1 => !self.ecn,
            _ => true,
        };
        if let Some(need) = self.controller.needs().find(is_missing) {
            let kind = self.controller.kind();
            return Err(OptionError::new("controller", format!("\"{kind}\" needs {need}, which this session lacks")));
        }
        self.queue.check()?;
        if self.queue.rules.resend {
            let message = "a session sends no packet twice: expected resend = false, and RFC 4588 for retransmissions";
            return Err(OptionError::new("resend", message));
        }
        self.encoder.check()?;
        if !(256..=65_000).contains(&self.packet_size.count()) {
            let message = format!("{} is out of range; expected 256B to 65000B", self.packet_size);
            return Err(OptionError::new("packet_size", message));
        }
        let most = rtcp::MAX_CNAME.min(self.largest().saturating_sub(rtcp::BYTES_WITHOUT_CNAME));
        if let Some(name) = self.cname.as_ref().filter(|name| !(1..=most).contains(&name.len())) {
            let message = format!("it has {} B; expected 1 B to {most} B", name.len());
            return Err(OptionError::new("cname", message));
        }
        if !(Duration::from_millis(1)..=Duration::from_secs(1)).contains(&self.feedback_interval) {
            let message = format!("{} is out of range; expected 1ms to 1s", self.feedback_interval);
            return Err(OptionError::new("feedback_interval", message));
        }
        Ok(())
    }

    /// Returns the largest datagram in bytes.
    pub(crate) fn largest(&self) -> usize {
        usize::try_from(self.packet_size.count()).unwrap_or(usize::MAX)
    }

    /// Returns the clock rate of a payload type in Hz (RFC 3551 section 6), if known.
    pub(crate) fn clock_rate(&self, payload_type: u8) -> Option<u32> {
        let known = || match payload_type {
            6 => Some(16_000),
            0 | 3..=5 | 7..=9 | 12 | 13 | 15 | 18 => Some(8000),
            10 | 11 => Some(44_100),
            16 => Some(11_025),
            17 => Some(22_050),
            14 | 25 | 26 | 28 | 31..=34 => Some(90_000),
            _ => None,
        };
        self.clock_rates.get(&payload_type).copied().or_else(known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controllers_that_rtp_can_serve() {
        let refused: Vec<&str> =
            ControllerOptions::KINDS.iter().copied().filter(|kind| SessionOptions::new(kind).is_err()).collect();
        // The rate of the line.
        assert_eq!(refused, ["spacing-fixed", "spacing"]);
        let unknown = SessionOptions::new("scream").unwrap_err();
        assert!(unknown.message.contains("\"scream\" is unknown; expected one of none, tcp-like"), "{unknown:?}");
        let mut prague = SessionOptions::new("prague").unwrap();
        prague.ecn = false;
        assert_eq!(prague.check().unwrap_err().key, "controller");
    }

    #[test]
    fn each_bound_of_the_options_holds_on_both_sides() {
        let of = |change: fn(&mut SessionOptions)| {
            let mut options = SessionOptions::new("scream2").unwrap();
            change(&mut options);
            options.check().map_err(|error| error.key)
        };
        for change in [
            (|of| of.packet_size = Bytes::new(256)) as fn(&mut SessionOptions),
            |of| of.packet_size = Bytes::new(65_000),
            |of| of.feedback_interval = Duration::from_millis(1),
            |of| of.feedback_interval = Duration::from_secs(1),
            |of| of.cname = Some("n".into()),
            |of| of.cname = Some("n".repeat(255)),
            |of| (of.cname, of.packet_size) = (Some("n".repeat(255)), Bytes::new(329)),
        ] {
            assert_eq!(of(change), Ok(()));
        }
        for (key, change) in [
            ("packet_size", (|of| of.packet_size = Bytes::new(255)) as fn(&mut SessionOptions)),
            ("packet_size", |of| of.packet_size = Bytes::new(65_001)),
            ("feedback_interval", |of| of.feedback_interval = Duration::from_micros(999)),
            ("feedback_interval", |of| of.feedback_interval = Duration::from_millis(1001)),
            ("cname", |of| of.cname = Some(String::new())),
            ("cname", |of| of.cname = Some("n".repeat(256))),
            ("cname", |of| (of.cname, of.packet_size) = (Some("n".repeat(255)), Bytes::new(328))),
            ("resend", |of| of.queue.rules.resend = true),
            ("headroom", |of| of.encoder.headroom = 2.0),
            ("limit", |of| of.queue.rules.limit = QueueSize::Packets(0)),
        ] {
            assert_eq!(of(change), Err(key));
        }
    }

    /// RFC 3551 tables 4 and 5.
    #[test]
    fn clock_rates_of_rfc_3551() {
        let mut options = SessionOptions::new("scream2").unwrap();
        options.clock_rates.insert(96, 90_000);
        let rates = [0, 9, 6, 11, 16, 17, 26, 34, 96, 97].map(|payload_type| options.clock_rate(payload_type));
        let expected = [8000, 8000, 16_000, 44_100, 11_025, 22_050, 90_000, 90_000, 90_000].map(Some);
        assert_eq!(rates[..9], expected);
        assert_eq!(rates[9], None);
    }
}
