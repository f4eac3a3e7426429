//! Agents as in ns-2: a rate controller with numbered datagrams in one direction and reports in the other, without a
//! handshake. Round-trip times and timestamps are exact.

use super::controlled::{self, Carrier, Controlled};
use super::options::{Tagged, TransportOptions};
use headway_media::{UdpOptions, WriteSize, datagrams};
use headway_rate::{ControllerOptions, Need};
use headway_units::{Bytes, Dialect, Duration, OptionError, Rate, Registry, check_range};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Options of a transport with a rate controller and no handshake (as ns-2's agents), without the options of the
/// controller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentOptions {
    /// Maximum size of a datagram as an IP packet, at most 65535 B; larger writes of the application are split.
    pub datagram: Bytes,
    /// Size of the headers, part of the size of each datagram; 0 B if sizes do not include headers.
    pub header: Bytes,
    /// Size of each report of the receiver as an IP packet, from 1 B to 65535 B.
    pub feedback: Bytes,
    /// Whether datagrams are ECN-capable: ECT(0) of RFC 3168.
    pub ecn: bool,
    /// Rate of the sender's network interface, above 0bps. Required by the controllers that use it, such as spacing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_rate: Option<Rate>,
    /// Round-trip time that the sender uses before the first report arrives, from 1ns to 1000s. If absent: unknown
    /// until then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub initial_rtt: Option<Duration>,
}

impl headway_units::Options for AgentOptions {
    /// In ns-2.35, `Agent/TFRC` adds a `headersize_` of 32 B to its `packetSize_` of 1000 B, and reports have 40 B. In
    /// the other dialects, a datagram fills an Ethernet packet, including the headers of IPv4 and of a DCCP-Data
    /// packet; a report has the size of a DCCP-Ack with Elapsed Time, Receive Rate and Loss Event Rate.
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
        let round_trips = Duration::from_nanos(1)..=MAX_ROUND_TRIP;
        check_range("initial_rtt", self.initial_rtt.unwrap_or(MAX_ROUND_TRIP), round_trips)?;
        Ok(())
    }
}

impl AgentOptions {
    /// Returns the options by which writes of the application are split into datagrams.
    #[must_use]
    pub fn cut(&self) -> UdpOptions {
        UdpOptions { datagram: self.datagram, header: self.header }
    }
}

/// Kinds of controllers without `none`, whose transport is `udp`.
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

/// Maximum initial round-trip time.
const MAX_ROUND_TRIP: Duration = Duration::from_secs(1000);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::DccpOptions;
    use headway_units::Options;

    /// Errors of unmet needs name the key that meets them.
    #[test]
    fn unmet_needs_of_controllers_are_errors() {
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
