//! The registry: a line a kind.

use crate::aimd::Aimd;
use crate::bic::Bic;
use crate::counters::Counters;
use crate::cubic::Cubic;
use crate::dctcp::Dctcp;
use crate::jtcp::Jtcp;
use crate::newreno::NewReno;
use crate::options::{BandwidthFilter, Rules};
use crate::reno::Reno;
use crate::sack::Sack;
use crate::segment::Segment;
use crate::sender::Flow;
use crate::tahoe::Tahoe;
use crate::vegas::{Vegas, VegasRecovery};
use crate::veno::Veno;
use crate::westwood::Westwood;
use headway_units::{
    Bytes, Dialect, Duration, Instant, OptionError, Random, Registry, SchemaRegistry, schema_of_kinds, unused_unless,
};
use serde::Deserialize;
use std::sync::Arc;

/// Makes of the lines below the list of names, `Kind`, and the `Sender` that dispatches statically.
macro_rules! kinds {
    (($d:tt) $( $name:literal => $Variant:ident($recovery:ty, $growth:ty) ),+ $(,)?) => {
        const KINDS: &[&str] = &[$($name),+];

        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        enum Kind { $($Variant),+ }

        impl Kind {
            fn name(self) -> &'static str {
                match self { $(Self::$Variant => $name),+ }
            }
            fn named(name: &str) -> Option<Self> {
                match name { $($name => Some(Self::$Variant),)+ _ => None }
            }
            /// What the kind's recovery and growth ask for beyond the dialect.
            fn adjust(self, rules: &mut Rules, dialect: Dialect) {
                match self { $(Self::$Variant => {
                    <$recovery as crate::sender::Recovery>::adjust(rules, dialect);
                    <$growth as crate::growth::Growth>::adjust(rules, dialect);
                }),+ }
            }
        }

        /// A TCP sender of any kind. Sans-I/O: after each call that may act, poll [`Sender::poll_transmit`] until it
        /// answers `None`, then ask [`Sender::poll_timeout`] when to call [`Sender::handle_timeout`].
        #[derive(Debug)]
        pub struct Sender(Machine);

        #[derive(Debug)]
        enum Machine { $($Variant(Box<Flow<$recovery, $growth>>)),+ }

        impl Sender {
            /// A sender with nothing to send. `random` is drawn from only if `overhead` is not zero.
            #[must_use]
            pub fn new(options: &TcpOptions, random: Random) -> Self {
                Self(match options.kind {
                    $(Kind::$Variant => Machine::$Variant(Box::new(Flow::new(&options.rules, random)))),+
                })
            }
        }

        macro_rules! each {
            ($d value:expr, $d flow:ident => $d body:expr) => {
                match $d value { $(Machine::$Variant($d flow) => $d body),+ }
            };
        }
    };
}

kinds! {
    ($)
    // kind           variant  loss recovery, window growth
    "tcp-tahoe"    => Tahoe(Tahoe, Aimd),
    "tcp-reno"     => Reno(Reno, Aimd),
    "tcp-newreno"  => NewReno(NewReno, Aimd),
    "tcp-sack"     => Sack(Sack, Aimd),
    "tcp-cubic"    => Cubic(Sack, Cubic),
    "tcp-westwood" => Westwood(Sack, Westwood),
    "tcp-vegas"    => Vegas(VegasRecovery, Vegas),
    "tcp-jtcp"     => Jtcp(NewReno, Jtcp),
    "tcp-dctcp"    => Dctcp(Sack, Dctcp),
    "tcp-veno"     => Veno(Sack, Veno),
    "tcp-bic"      => Bic(Sack, Bic),
}

/// The keys that only the window growth of some kinds reads.
const KEYS_OF_KINDS: [(&[&str], &[&str]); 8] = [
    (&["tcp-cubic"], &["cubic_scale", "reno_friendly", "reno_friendly_alpha_rises", "grow_without_plateau", "hystart"]),
    (&["tcp-cubic", "tcp-bic"], &["beta", "fast_convergence"]),
    (&["tcp-vegas"], &["vegas", "vegas_alpha", "vegas_beta", "vegas_gamma"]),
    (&["tcp-veno"], &["veno_beta"]),
    (&["tcp-bic"], &["bic_low_window", "bic_max_increment", "bic_smooth_part"]),
    (&["tcp-westwood"], &["bandwidth_filter", "bandwidth_time_constant"]),
    (&["tcp-jtcp"], &["jitter_threshold"]),
    (&["tcp-dctcp"], &["dctcp_gain"]),
];

/// Options of a TCP connection: which kind, and its rules.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpOptions {
    kind: Kind,
    /// The kind's rules; shared by the connections that are told the same.
    pub rules: Arc<Rules>,
}

impl TcpOptions {
    /// The rules, to be changed for this connection alone.
    pub fn rules_mut(&mut self) -> &mut Rules {
        Arc::make_mut(&mut self.rules)
    }
}

impl Registry for TcpOptions {
    const WHAT: &'static str = "transport";
    const KINDS: &'static [&'static str] = KINDS;

    fn kind(&self) -> &'static str {
        self.kind.name()
    }
    fn preset(kind: &str, dialect: Dialect) -> Option<Self> {
        let kind = Kind::named(kind)?;
        let mut rules = Rules::preset(dialect);
        kind.adjust(&mut rules, dialect);
        Some(Self { kind, rules: Arc::new(rules) })
    }
    fn check(&self) -> Result<(), OptionError> {
        self.rules.check()
    }

    fn unused(&self) -> Vec<OptionError> {
        let kind = self.kind.name();
        let of_other_kinds =
            KEYS_OF_KINDS.iter().filter(|(kinds, _)| !kinds.contains(&kind)).flat_map(|(kinds, keys)| {
                let owners = kinds.join(" and ");
                let message = move |key| format!("this key has no effect but on {owners}: leave {key} out");
                keys.iter().map(move |key| OptionError::new(key, message(key)))
            });
        let time_constant = unused_unless(
            self.rules.bandwidth_filter == BandwidthFilter::Tustin,
            "bandwidth_time_constant",
            "bandwidth_filter = \"tustin\"",
        );
        let least_flight =
            unused_unless(self.rules.exit_recovery_fix, "exit_recovery_least_flight", "exit_recovery_fix = true");
        of_other_kinds.chain(time_constant).chain(least_flight).chain(self.rules.unused()).collect()
    }
}

impl SchemaRegistry for TcpOptions {
    fn deserialize<'de, D: serde::Deserializer<'de>>(kind: &str, options: D) -> Result<Self, D::Error> {
        let kind = Kind::named(kind)
            .ok_or_else(|| <D::Error as serde::de::Error>::unknown_variant(kind, <Self as Registry>::KINDS))?;
        Ok(Self { kind, rules: Arc::new(Rules::deserialize(options)?) })
    }
}

impl serde::Serialize for TcpOptions {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(serde::Serialize)]
        struct Tagged<'a> {
            kind: &'static str,
            #[serde(flatten)]
            rules: &'a Rules,
        }
        Tagged { kind: self.kind.name(), rules: &self.rules }.serialize(serializer)
    }
}

impl schemars::JsonSchema for TcpOptions {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "TcpOptions".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let rules = Rules::json_schema(generator);
        schema_of_kinds(KINDS.iter().map(|kind| (*kind, rules.clone())).collect())
    }
}

impl Sender {
    /// The application has `segments` more segments to send, from `now` on; more than can ever be sent is an endless
    /// transfer. The first call opens the connection with a SYN, which is not counted.
    pub fn write(&mut self, now: Instant, segments: u64) {
        each!(&mut self.0, flow => flow.write(now, segments));
    }
    /// The application stops: what it wrote and was never sent is forgotten (ns-2 FTP `stop`). What was sent is still
    /// brought to its end.
    pub fn stop(&mut self) {
        each!(&mut self.0, flow => flow.state.end = flow.state.end.min(flow.state.max));
    }
    /// An acknowledgement has arrived. What was never sent, or is no acknowledgement, is ignored.
    #[inline]
    pub fn handle(&mut self, now: Instant, ack: &Segment) {
        each!(&mut self.0, flow => flow.handle(now, ack));
    }
    /// The instant of [`Sender::poll_timeout`] has come.
    pub fn handle_timeout(&mut self, now: Instant) {
        each!(&mut self.0, flow => flow.handle_timeout(now));
    }
    /// The next packet to send now, if any.
    #[inline]
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Segment> {
        each!(&mut self.0, flow => flow.poll_transmit(now))
    }
    /// When to call [`Sender::handle_timeout`], unless something else happens before.
    #[must_use]
    #[inline]
    pub fn poll_timeout(&self) -> Option<Instant> {
        each!(&self.0, flow => flow.state.poll_timeout())
    }
    /// The congestion window in segments, without the inflation of a fast recovery.
    #[must_use]
    pub fn cwnd(&self) -> f64 {
        each!(&self.0, flow => flow.state.window.cwnd)
    }
    /// The slow-start threshold in segments.
    #[must_use]
    pub fn ssthresh(&self) -> f64 {
        each!(&self.0, flow => flow.state.window.ssthresh)
    }
    /// The smoothed round-trip time; zero before the first sample.
    #[must_use]
    pub fn srtt(&self) -> Duration {
        each!(&self.0, flow => flow.state.rto.srtt(&flow.state.rules))
    }
    /// The smoothed deviation of the round-trip time.
    #[must_use]
    pub fn rttvar(&self) -> Duration {
        each!(&self.0, flow => flow.state.rto.rttvar(&flow.state.rules))
    }
    /// The retransmission timeout, back-off included.
    #[must_use]
    pub fn rto(&self) -> Duration {
        each!(&self.0, flow => flow.state.rto.timeout(&flow.state.rules))
    }
    /// The factor on the retransmission timeout: 1, 2, 4 ..
    #[must_use]
    pub fn backoff(&self) -> u64 {
        each!(&self.0, flow => flow.state.rto.backoff())
    }
    /// Duplicate acknowledgements since the last new one.
    #[must_use]
    pub fn dupacks(&self) -> u32 {
        each!(&self.0, flow => flow.state.dupacks)
    }
    /// Segments sent and not yet acknowledged, lost ones included (FlightSize of RFC 5681).
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        each!(&self.0, flow => flow.state.flight())
    }
    /// The next number the peer waits for: 1 once the SYN is acknowledged.
    #[must_use]
    pub fn acknowledged(&self) -> u64 {
        each!(&self.0, flow => flow.state.una)
    }
    /// Whether all that was written is acknowledged.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        each!(&self.0, flow => flow.state.una >= flow.state.end)
    }
    /// Returns whether there is data to send but neither an open window nor a timer that could open one. No sender should ever be so.
    #[must_use]
    pub fn is_stuck(&self) -> bool {
        each!(&self.0, flow => flow.state.is_stuck())
    }
    /// Asks the processor to fetch what an acknowledgement touches: see [`headway_prefetch`].
    #[inline]
    pub fn fetch(&self) {
        each!(&self.0, flow => flow.state.fetch());
    }
    /// What has been counted so far.
    #[must_use]
    pub fn counters(&self) -> Counters {
        each!(&self.0, flow => flow.state.counters)
    }
    /// Bytes of a full data segment on the wire.
    #[must_use]
    pub fn segment_size(&self) -> Bytes {
        each!(&self.0, flow => flow.state.rules.segment)
    }
    /// Bytes of data in it.
    #[must_use]
    pub fn payload_size(&self) -> Bytes {
        each!(&self.0, flow => flow.state.rules.payload())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_is_in_range_and_survives_its_text() {
        for kind in TcpOptions::KINDS {
            for dialect in [Dialect::Headway1, Dialect::Rfc, Dialect::Ns2, Dialect::Ns3, Dialect::Linux] {
                let options = TcpOptions::preset(kind, dialect).unwrap();
                options.check().unwrap();
                let mut text = serde_json::to_value(&options).unwrap();
                assert_eq!(text["kind"], *kind);
                text.as_object_mut().unwrap().remove("kind");
                assert_eq!(TcpOptions::deserialize(kind, text).unwrap(), options);
            }
        }
        assert!(TcpOptions::preset("tcp-fack", Dialect::Rfc).is_none());
    }

    #[test]
    fn a_wrong_key_or_value_is_named() {
        let with = |key: &str, value: serde_json::Value| {
            let options = TcpOptions::preset("tcp-reno", Dialect::Ns2).unwrap();
            let mut text = serde_json::to_value(&*options.rules).unwrap();
            text[key] = value;
            TcpOptions::deserialize("tcp-reno", text)
        };
        assert!(with("windw", 5.into()).unwrap_err().to_string().contains("windw"));
        for (key, value) in [
            ("window", "0packets"),
            ("segment", "40B"),
            ("segment", "70kB"),
            ("tick", "0s"),
            ("clock_phase", "10ms"),
            ("min_rto", "100s"),
            ("initial_rto", "0s"),
            ("initial_rto", "100s"),
            ("delayed_ack", "0s"),
            ("initial_ssthresh", "2000000000packets"),
        ] {
            let error = with(key, value.into()).unwrap().check().unwrap_err();
            assert!(error.key == key || key == "segment", "{key} = {value}: {error:?}");
        }
    }

    /// ns-2.35, tcl/lib/ns-default.tcl.
    #[test]
    fn ns2_defaults() {
        let rules = TcpOptions::preset("tcp-newreno", Dialect::Ns2).unwrap().rules;
        let text = serde_json::to_value(&*rules).unwrap();
        for (key, value) in [
            ("window", "20packets"),
            ("segment", "1.04kB"),
            ("initial_window", "2packets"),
            ("min_rto", "200ms"),
            ("max_rto", "60s"),
            ("initial_rto", "3s"),
            ("tick", "10ms"),
            ("partial_ack_timer", "impatient"),
            ("restart_after_idle", "one"),
        ] {
            assert_eq!(text[key], value, "{key}");
        }
        assert!(text.get("delayed_ack").is_none());
        // ns-2's windowInit_ is in packets and no bytes bound it.
        assert!(text.get("initial_window_bytes").is_none());
    }

    /// ns-2.35, tcl/lib/ns-default.tcl (Agent/TCP/Linux) and `install_congestion_control` of tcp/tcp-linux.cc.
    #[test]
    fn ns2_defaults_of_westwood() {
        let mut options = TcpOptions::preset("tcp-westwood", Dialect::Ns2).unwrap();
        let text = serde_json::to_value(&*options.rules).unwrap();
        for (key, value) in [
            ("pipe", "fack"),
            ("bandwidth_filter", "linux"),
            ("min_rto", "200ms"),
            ("max_rto", "120s"),
            ("initial_rto", "3s"),
            ("tick", "1ms"),
            ("clock_phase", "558.807us"),
        ] {
            assert_eq!(text[key], value, "{key}");
        }
        assert_eq!((&text["timestamps"], &text["timestamps_reset_backoff"]), (&false.into(), &true.into()));
        // No other recovery tells the filter what it goes by.
        options.rules_mut().pipe = crate::Pipe::Scoreboard;
        assert_eq!(options.check().unwrap_err().key, "bandwidth_filter");
    }

    #[test]
    fn the_schema_names_every_kind() {
        let schema = schemars::schema_for!(TcpOptions).to_value().to_string();
        assert!(TcpOptions::KINDS.iter().all(|kind| schema.contains(&format!("\"const\":\"{kind}\""))), "{schema}");
    }
}
