//! The kinds of TCP. Each kind has a line in the registry and a file.

pub(crate) mod aimd;
pub(crate) mod arizona;
pub(crate) mod bandwidth;
pub(crate) mod bbr;
pub(crate) mod bic;
pub(crate) mod classic_queue;
pub(crate) mod cubic;
pub(crate) mod dctcp;
pub(crate) mod fack;
pub(crate) mod hystart;
pub(crate) mod jtcp;
pub(crate) mod newreno;
pub(crate) mod prague;
pub(crate) mod rack_tlp;
pub(crate) mod reno;
pub(crate) mod sack;
pub(crate) mod sack1;
pub(crate) mod tahoe;
pub(crate) mod vegas;
pub(crate) mod veno;
pub(crate) mod westwood;
pub(crate) mod westwood_linux;

use crate::counters::Counters;
use crate::keys::{EXPERT, Keys, Parts, Table, Tables, options};
use crate::options::Rules;
use crate::segment::Segment;
use crate::sender::Flow;
use aimd::Aimd;
use bbr::Bbr;
use bic::Bic;
use cubic::Cubic;
use dctcp::Dctcp;
use headway_units::{
    Bytes, Dialect, Duration, Instant, OptionError, Random, Registry, SchemaRegistry, schema_of_kinds,
};
use jtcp::Jtcp;
use newreno::NewReno;
use prague::Prague;
use rack_tlp::RackTlp;
use reno::Reno;
use sack::Sack;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::json;
use std::fmt;
use std::sync::Arc;
use tahoe::Tahoe;
use vegas::{Vegas, VegasRecovery};
use veno::Veno;
use westwood::Westwood;

/// Declares the options of specific kinds.
macro_rules! own_options {
    ($( $(#[$meta:meta])+ $part:ident: $Options:ty ),+ $(,)?) => {
        options! {
            /// Options of specific kinds.
            OwnOptions {} with { $( $(#[$meta])+ $part: $Options; )+ }
        }
        $( impl AsRef<$Options> for OwnOptions {
            fn as_ref(&self) -> &$Options {
                &self.$part
            }
        } )+
        impl AsRef<()> for OwnOptions {
            fn as_ref(&self) -> &() {
                &()
            }
        }
    };
}

/// Generates the list of names, `Kind`, and the statically dispatched `Sender` from the lines below.
macro_rules! kinds {
    (($d:tt) $( $name:literal => $Variant:ident($recovery:ty, $growth:ty) [$($part:ident),*] ),+ $(,)?) => {
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
            fn parts(self) -> Parts {
                match self { $(Self::$Variant => &[$(stringify!($part)),*]),+ }
            }
            /// Returns the rules of a dialect, adjusted by the recovery and the growth of the kind.
            fn preset(self, dialect: Dialect) -> (Rules, OwnOptions) {
                let mut rules = Rules::preset(dialect, self.parts());
                match self { $(Self::$Variant => {
                    <$recovery as crate::sender::Recovery>::adjust(&mut rules, dialect);
                    <$growth as crate::growth::Growth>::adjust(&mut rules, dialect);
                }),+ }
                (rules, OwnOptions::preset(dialect, self.parts()))
            }
            fn check(self, rules: &Rules, own: &OwnOptions) -> Result<(), OptionError> {
                rules.check()?;
                match self { $(Self::$Variant => <$growth as crate::growth::Growth>::check(rules, own.as_ref())),+ }
            }
        }

        /// TCP sender of any kind. Sans-I/O: after each call, poll [`Sender::poll_transmit`] until it returns `None`,
        /// then call [`Sender::handle_timeout`] at the time that [`Sender::poll_timeout`] returns.
        #[derive(Debug)]
        pub struct Sender(Machine);

        #[derive(Debug)]
        enum Machine { $($Variant(Box<Flow<$recovery, $growth>>)),+ }

        impl Sender {
            /// Creates a sender with nothing to send. `random` is used only if `overhead` is not zero.
            #[must_use]
            pub fn new(options: &TcpOptions, random: Random) -> Self {
                Self(match options.kind {
                    $(Kind::$Variant => {
                        let (rules, own) = (&options.rules, &*options.own);
                        Machine::$Variant(Box::new(Flow::new(rules, own.as_ref(), own.as_ref(), random)))
                    }),+
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
    // kind           variant (loss recovery, window growth) [parts of the rules]
    "tcp-tahoe"    => Tahoe(Tahoe, Aimd) [],
    "tcp-reno"     => Reno(Reno, Aimd) [reno],
    "tcp-newreno"  => NewReno(NewReno, Aimd) [reno, newreno],
    "tcp-sack"     => Sack(Sack, Aimd) [reno, sack],
    "tcp-cubic"    => Cubic(Sack, Cubic) [reno, sack, cubic],
    "tcp-westwood" => Westwood(Sack, Westwood) [reno, sack, westwood],
    "tcp-vegas"    => Vegas(VegasRecovery, Vegas) [reno, sack, vegas],
    "tcp-jtcp"     => Jtcp(NewReno, Jtcp) [reno, newreno],
    "tcp-dctcp"    => Dctcp(Sack, Dctcp) [reno, sack, dctcp],
    "tcp-prague"   => Prague(Sack, Prague) [reno, sack, prague],
    "tcp-veno"     => Veno(Sack, Veno) [reno, sack],
    "tcp-bic"      => Bic(Sack, Bic) [reno, sack],
    "tcp-bbr"      => Bbr(RackTlp, Bbr) [sack, bbr],
}

own_options! {
    /// Options of `tcp-cubic`.
    cubic: cubic::CubicOptions,
    /// Options of `tcp-vegas`.
    vegas: vegas::VegasOptions,
    /// Options of `tcp-westwood`.
    westwood: westwood::WestwoodOptions,
    /// Options of `tcp-dctcp`.
    dctcp: dctcp::DctcpOptions,
    /// Options of `tcp-prague`.
    prague: prague::PragueOptions,
    /// Options of `tcp-bbr`.
    bbr: bbr::BbrOptions,
}

/// Options of a TCP connection: the kind of TCP, the options of all kinds, and those that only this kind has.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpOptions {
    kind: Kind,
    /// Options of all kinds of TCP, shared by connections with equal options.
    pub rules: Arc<Rules>,
    /// Options that only this kind of TCP has, shared by connections with equal options.
    pub own: Arc<OwnOptions>,
}

impl TcpOptions {
    /// Returns the options of all kinds for changes that affect only this connection. Options shared with other
    /// connections are cloned first.
    pub fn rules_mut(&mut self) -> &mut Rules {
        Arc::make_mut(&mut self.rules)
    }

    /// Returns the options that only this kind of TCP has, for changes that affect only this connection. Options shared
    /// with other connections are cloned first.
    pub fn own_mut(&mut self) -> &mut OwnOptions {
        Arc::make_mut(&mut self.own)
    }

    fn tables(&self) -> Result<Tables, serde_json::Error> {
        let mut tables = Tables::default();
        self.rules.write(self.kind.parts(), &mut tables)?;
        self.own.write(self.kind.parts(), &mut tables).map(|()| tables)
    }

    /// Adds the table of the key to an error.
    fn placed(&self, error: OptionError) -> OptionError {
        let is_expert = self.tables().is_ok_and(|[_, expert]| expert.contains_key(error.key));
        if is_expert { error.within(EXPERT) } else { error }
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
        let (rules, own) = kind.preset(dialect);
        Some(Self { kind, rules: Arc::new(rules), own: Arc::new(own) })
    }
    fn check(&self) -> Result<(), OptionError> {
        self.kind.check(&self.rules, &self.own).map_err(|error| self.placed(error))
    }
    fn unused(&self) -> Vec<OptionError> {
        self.rules.unused().into_iter().map(|error| self.placed(error)).collect()
    }
}

impl SchemaRegistry for TcpOptions {
    fn deserialize<'de, D: Deserializer<'de>>(kind: &str, options: D) -> Result<Self, D::Error> {
        let kind = Kind::named(kind).ok_or_else(|| D::Error::unknown_variant(kind, KINDS))?;
        let (mut rules, mut own) = kind.preset(Dialect::Rfc);
        rules.clear();
        own.clear();
        TableReader { kind, rules: &mut rules, own: &mut own, table: Table::Usual }.deserialize(options)?;
        Ok(Self { kind, rules: Arc::new(rules), own: Arc::new(own) })
    }
}

/// Reads a table into the rules. Optional values of the rules are absent beforehand.
struct TableReader<'r> {
    kind: Kind,
    rules: &'r mut Rules,
    own: &'r mut OwnOptions,
    table: Table,
}

impl<'de> DeserializeSeed<'de> for TableReader<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, table: D) -> Result<(), D::Error> {
        table.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for TableReader<'_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Self { kind, rules, own, table } = self;
        while let Some(key) = map.next_key::<String>()? {
            let (parts, at) = (kind.parts(), (table, key.as_str()));
            if table == Table::Usual && key == EXPERT {
                map.next_value_seed(TableReader { kind, rules, own, table: Table::Expert })?;
            } else if !rules.read(parts, at, &mut map)? && !own.read(parts, at, &mut map)? {
                return Err(A::Error::custom(format_args!("{} has no key \"{key}\"", kind.name())));
            }
        }
        Ok(())
    }
}

impl serde::Serialize for TcpOptions {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let [mut keys, expert] = self.tables().map_err(serde::ser::Error::custom)?;
        keys.insert("kind".into(), self.kind.name().into());
        keys.insert(EXPERT.into(), expert.into());
        keys.serialize(serializer)
    }
}

impl schemars::JsonSchema for TcpOptions {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "TcpOptions".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut schema = |kind: &'static str| {
            let (options, mut tables) = (TcpOptions::preset(kind, Dialect::Rfc)?, Tables::default());
            options.rules.describe(options.kind.parts(), generator, &mut tables);
            options.own.describe(options.kind.parts(), generator, &mut tables);
            let [mut keys, expert] = tables.map(serde_json::Value::from);
            keys[EXPERT] = json!({
                "description": "Options that normally only presets set.", "type": "object",
                "properties": expert, "additionalProperties": false,
            });
            let table = schemars::json_schema!({ "type": "object", "properties": keys, "additionalProperties": false });
            Some((kind, table))
        };
        schema_of_kinds(KINDS.iter().copied().filter_map(&mut schema).collect())
    }
}

impl Sender {
    /// Queues `segments` more segments for sending from `now` on. The total saturates, so that a huge number gives an
    /// endless transfer. The first call opens the connection with a SYN, which is not counted.
    pub fn write(&mut self, now: Instant, segments: u64) {
        each!(&mut self.0, flow => flow.write(now, segments));
    }
    /// Stops the application: data not yet sent is discarded (ns-2 FTP `stop`). Data already sent is still delivered.
    pub fn stop(&mut self) {
        each!(&mut self.0, flow => flow.state.end = flow.state.end.min(flow.state.max));
    }
    /// Handles an acknowledgement. Segments that are not acknowledgements, or acknowledge data never sent, are ignored.
    #[inline]
    pub fn handle(&mut self, now: Instant, ack: &Segment) {
        each!(&mut self.0, flow => flow.handle(now, ack));
    }
    /// Handles the expiry of a timer at the time that [`Sender::poll_timeout`] returned.
    pub fn handle_timeout(&mut self, now: Instant) {
        each!(&mut self.0, flow => flow.handle_timeout(now));
    }
    /// Returns the next packet to send at `now`; `None` if there is none.
    #[inline]
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Segment> {
        each!(&mut self.0, flow => flow.poll_transmit(now))
    }
    /// Returns when to call [`Sender::handle_timeout`], unless another call changes this time; `None` if no timer runs.
    #[must_use]
    #[inline]
    pub fn poll_timeout(&self) -> Option<Instant> {
        each!(&self.0, flow => flow.state.poll_timeout())
    }
    /// Returns the congestion window in segments, without the segments that a fast recovery adds for duplicate
    /// acknowledgements.
    #[must_use]
    pub fn cwnd(&self) -> f64 {
        each!(&self.0, flow => flow.state.window.cwnd)
    }
    /// Returns the slow-start threshold (ssthresh) in segments.
    #[must_use]
    pub fn ssthresh(&self) -> f64 {
        each!(&self.0, flow => flow.state.window.ssthresh)
    }
    /// Returns the smoothed round-trip time; zero before the first sample.
    #[must_use]
    pub fn srtt(&self) -> Duration {
        each!(&self.0, flow => flow.state.rto.srtt(&flow.state.rules))
    }
    /// Returns the smoothed mean deviation of the round-trip time (RTTVAR of RFC 6298); zero before the first sample.
    #[must_use]
    pub fn rttvar(&self) -> Duration {
        each!(&self.0, flow => flow.state.rto.rttvar(&flow.state.rules))
    }
    /// Returns the current retransmission timeout, including back-off.
    #[must_use]
    pub fn rto(&self) -> Duration {
        each!(&self.0, flow => flow.state.rto.timeout(&flow.state.rules))
    }
    /// Returns the back-off factor of the retransmission timeout: 1, 2, 4, ...
    #[must_use]
    pub fn backoff(&self) -> u64 {
        each!(&self.0, flow => flow.state.rto.backoff())
    }
    /// Returns the number of duplicate acknowledgements since the last new one.
    #[must_use]
    pub fn dupacks(&self) -> u32 {
        each!(&self.0, flow => flow.state.dupacks)
    }
    /// Returns the number of segments sent and not cumulatively acknowledged, including lost ones (FlightSize of RFC
    /// 5681).
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        each!(&self.0, flow => flow.state.flight())
    }
    /// Returns the number of the first segment that is not cumulatively acknowledged: 0 is the SYN, 1 the first data
    /// segment.
    #[must_use]
    pub fn acknowledged(&self) -> u64 {
        each!(&self.0, flow => flow.state.una)
    }
    /// Returns whether all data that was [written](Self::write) is acknowledged.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        each!(&self.0, flow => flow.state.una >= flow.state.end)
    }
    /// Returns whether there is data to send but neither an open window nor a running timer, so that the sender would
    /// never continue. This state is always a bug.
    #[must_use]
    pub fn is_stuck(&self) -> bool {
        each!(&self.0, flow => flow.state.is_stuck())
    }
    /// Prefetches the memory of the state that handling an acknowledgement accesses; see [`headway_prefetch`].
    #[inline]
    pub fn fetch(&self) {
        each!(&self.0, flow => flow.state.fetch());
    }
    /// Returns the counters of sent packets, timeouts and other events.
    #[must_use]
    pub fn counters(&self) -> Counters {
        each!(&self.0, flow => flow.state.counters)
    }
    /// Returns the size of a full data segment on the wire.
    #[must_use]
    pub fn segment_size(&self) -> Bytes {
        each!(&self.0, flow => flow.state.rules.segment)
    }
    /// Returns the size of the data in a full segment, without headers.
    #[must_use]
    pub fn payload_size(&self) -> Bytes {
        each!(&self.0, flow => flow.state.rules.payload())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_is_valid_and_round_trips() {
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

    /// Returns the table of a kind with the preset of ns-2.
    fn text(kind: &str) -> serde_json::Value {
        let mut text = serde_json::to_value(TcpOptions::preset(kind, Dialect::Ns2).unwrap()).unwrap();
        text.as_object_mut().unwrap().remove("kind");
        text
    }

    #[test]
    fn errors_name_the_invalid_key() {
        let with = |key: &str, value: serde_json::Value| {
            let mut text = text("tcp-reno");
            let expert = text["expert"].get(key).is_some();
            (if expert { &mut text["expert"] } else { &mut text })[key] = value;
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
        let text = text("tcp-newreno");
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
            assert_eq!(*text.get(key).unwrap_or(&text["expert"][key]), value, "{key}");
        }
        assert!(text.get("delayed_ack").is_none());
        // ns-2's windowInit_ is in packets without a limit in bytes.
        assert!(text.get("initial_window_bytes").is_none());
    }

    /// ns-2.35, tcl/lib/ns-default.tcl (Agent/TCP/Linux) and `install_congestion_control` of tcp/tcp-linux.cc.
    #[test]
    fn ns2_defaults_of_westwood() {
        let mut options = TcpOptions::preset("tcp-westwood", Dialect::Ns2).unwrap();
        let text = text("tcp-westwood");
        for (key, value) in [
            ("pipe", "fack"),
            ("bandwidth_filter", "linux"),
            ("min_rto", "200ms"),
            ("max_rto", "120s"),
            ("initial_rto", "3s"),
            ("tick", "1ms"),
            ("clock_phase", "558.807us"),
        ] {
            assert_eq!(*text.get(key).unwrap_or(&text["expert"][key]), value, "{key}");
        }
        assert_eq!(text["timestamps"], false);
        assert_eq!(text["expert"]["timestamps_reset_backoff"], true);
        // Other recoveries do not provide the events of this filter.
        options.rules_mut().sack.pipe = crate::Pipe::Scoreboard;
        assert_eq!(options.check().unwrap_err().key, "bandwidth_filter");
    }

    #[test]
    fn the_schema_names_every_kind() {
        let schema = schemars::schema_for!(TcpOptions).to_value().to_string();
        assert!(TcpOptions::KINDS.iter().all(|kind| schema.contains(&format!("\"const\":\"{kind}\""))), "{schema}");
    }
}
