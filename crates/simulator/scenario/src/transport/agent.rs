//! A rate controller's bare agents, as ns-2 has them: numbered datagrams one way, reports the other, no handshake. Round
//! trips and timestamps are exact.

use super::controlled::{self, Carrier, Controlled};
use super::options::{Tagged, TransportOptions};
use headway_media::{UdpOptions, WriteSize, datagrams};
use headway_rate::{ControllerOptions, Need};
use headway_units::{Bytes, Dialect, Duration, OptionError, Rate, Registry, check_range};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Options of the agents that carry a controller, beside those of the controller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentOptions {
    /// The largest datagram, as an IP packet with its headers; larger writes are cut. At most 65535 B.
    pub datagram: Bytes,
    /// What headers take of each datagram; 0 B where sizes count no headers.
    pub header: Bytes,
    /// A report, as an IP packet.
    pub feedback: Bytes,
    /// Whether datagrams say that they may be marked instead of dropped (ECT(0), RFC 3168).
    pub ecn: bool,
    /// How fast the sender's interface takes packets, for controllers that must know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_rate: Option<Rate>,
    /// A round trip that the sender knows before its first report.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial_rtt: Option<Duration>,
}

impl headway_units::Options for AgentOptions {
    /// In ns-2.35 `Agent/TFRC` adds a `headersize_` of 32 B to its `packetSize_` of 1000 B, and reports have 40 B. The
    /// RFCs' datagram fills an Ethernet packet, behind the headers of IPv4 and of DCCP's Data packets; its report has
    /// those of an Ack with Elapsed Time, Receive Rate and Loss Event Rate.
    fn preset(dialect: Dialect) -> Self {
        let (datagram, header, feedback) = match dialect {
            Dialect::Headway1 | Dialect::Rfc | Dialect::Ns3 | Dialect::Linux => (1500, 36, 60),
            Dialect::Ns2 => (1032, 32, 40),
        };
        Self {
            datagram: Bytes::new(datagram),
            header: Bytes::new(header),
            feedback: Bytes::new(feedback),
            ecn: false,
            line_rate: None,
            initial_rtt: None,
        }
    }

    fn check(&self) -> Result<(), OptionError> {
        TransportOptions::check(&self.cut())?;
        if self.line_rate.is_some_and(|rate| rate.bits_per_second() == 0) {
            return Err(OptionError::new("line_rate", "0bps is out of range: write a rate above 0bps"));
        }
        if self.feedback.count() == 0 || self.feedback > Bytes::new(65_535) {
            let message = format!("{} is out of range: from 1B to 65535B", self.feedback);
            return Err(OptionError::new("feedback", message));
        }
        let round_trips = Duration::from_nanos(1)..=LONGEST_ROUND_TRIP;
        check_range("initial_rtt", self.initial_rtt.unwrap_or(LONGEST_ROUND_TRIP), round_trips)?;
        Ok(())
    }
}

impl AgentOptions {
    /// How writes are cut into datagrams.
    #[must_use]
    pub fn cut(&self) -> UdpOptions {
        UdpOptions { datagram: self.datagram, header: self.header }
    }
}

/// The first controller is `none`, which as a transport is `udp`.
const KINDS: &[&str] = ControllerOptions::KINDS.split_at(1).1;
const _: () =
    assert!(matches!(ControllerOptions::KINDS[0].as_bytes(), b"none"), "`none` is the first line of `controllers!`");

impl TransportOptions for Controlled<AgentOptions> {
    const KINDS: &'static [&'static str] = KINDS;
    const SERIES: usize = controlled::SERIES;

    fn kind(&self) -> &'static str {
        self.controller.kind()
    }

    fn preset(kind: &str, dialect: Dialect) -> Option<Self> {
        KINDS.contains(&kind).then(|| Self::with(kind, dialect))?
    }

    fn deserialize<'de, D: Deserializer<'de>>(kind: &str, options: D) -> Result<Self, D::Error> {
        Self::read(kind, options)
    }

    fn check(&self) -> Result<(), OptionError> {
        self.check_both()
    }

    fn unused(&self) -> Vec<OptionError> {
        self.unused_of_both(&[])
    }

    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Tagged { kind: self.kind(), options: self }.serialize(serializer)
    }

    fn schemas(generator: &mut schemars::SchemaGenerator) -> Vec<serde_json::Value> {
        controlled::schemas::<AgentOptions>(generator, |kind| KINDS.contains(&kind).then_some(kind))
    }

    fn full_packet(&self) -> Bytes {
        self.carrier.datagram
    }

    fn largest_packets(&self, write: Option<WriteSize>) -> (Bytes, Option<Bytes>) {
        let cut = self.carrier.cut();
        let largest = write.and_then(|size| datagrams(size, &cut).next());
        (largest.map_or(cut.datagram, |largest| largest.wire), Some(self.carrier.feedback))
    }

    fn write_header(&self) -> Option<Bytes> {
        Some(self.carrier.header)
    }

    fn controller(&self) -> Option<&ControllerOptions> {
        Some(&self.controller)
    }
}

impl Carrier for AgentOptions {
    fn fulfils(&self, need: Need) -> Result<(), OptionError> {
        match need {
            Need::LineRate if self.line_rate.is_none() => Err(("line_rate", "set it, as in line_rate = \"100Mbps\"")),
            Need::Ect1 if !self.ecn => Err(("ecn", "it should be true")),
            _ => Ok(()),
        }
        .map_err(|(key, remedy)| OptionError::new(key, format!("the controller needs {need}: {remedy}")))
    }
}

/// Longer ones are a slip.
const LONGEST_ROUND_TRIP: Duration = Duration::from_secs(1000);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::DccpOptions;
    use headway_units::Options;

    /// What a carrier cannot give is refused with the key that would.
    #[test]
    fn needs_are_fulfilled_or_refused() {
        let agent = AgentOptions::preset(Dialect::Rfc);
        let keys = |carrier: &dyn Fn(Need) -> Result<(), OptionError>| {
            [Need::SenderClock, Need::RoundTrip, Need::LineRate, Need::Ect1]
                .map(|need| carrier(need).err().map(|error| (error.tables, error.key)))
        };
        let connection = vec!["connection"];
        assert_eq!(keys(&|need| agent.fulfils(need)), [None, None, Some((vec![], "line_rate")), Some((vec![], "ecn"))]);
        let rich = AgentOptions { line_rate: Some(Rate::from_bits_per_second(1_000_000)), ecn: true, ..agent };
        assert_eq!(keys(&|need| rich.fulfils(need)), [None, None, None, None]);
        let mut dccp = DccpOptions::preset(Dialect::Rfc);
        assert_eq!(keys(&|need| dccp.fulfils(need)), [None, None, Some((connection.clone(), "line_rate")), None]);
        dccp.connection.line_rate = rich.line_rate;
        dccp.connection.passed_over_interval = 100;
        assert_eq!(keys(&|need| dccp.fulfils(need)), [None, None, None, Some((connection, "passed_over_interval"))]);
        let error = agent.fulfils(Need::LineRate).unwrap_err();
        assert_eq!(
            error.message,
            "the controller needs the rate of the sender's line: set it, as in line_rate = \"100Mbps\""
        );
    }
}
