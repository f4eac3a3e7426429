//! The registry of send queues, one line per kind: first in, first out, SFDPS (`sfdps1`, `sfdps2`), and others. Their
//! order is in `order.rs`, the waiting packets are in `waiting.rs`.

use super::external::{External, ExternalQueue, Maker};
use super::{Full, KindMethods, Late, Order, Rules, Travel};
use headway_units::{Dialect, Duration, OptionError, QueueSize, Registry};
use std::sync::Arc;

struct Kind {
    name: &'static str,
    order: Order,
    full: Full,
    late: Late,
    travel: Travel,
    /// Limit in packets; `None` for the dialect's.
    limit: Option<u64>,
}

const fn kind(name: &'static str, order: Order, full: Full, late: Late) -> Kind {
    Kind { name, order, full, late, travel: Travel::RoundTrip, limit: None }
}

/// All kinds; the first one is the default.
const TABLE: [Kind; 12] = [
    // kind: order, behavior when full, behavior for late packets
    kind("fifo", Order::Arrival, Full::Refuse, Late::Send),
    kind("prio", Order::Priority, Full::DropLeastUrgent, Late::Send),
    kind("sfdps1", Order::PriorityExpiry, Full::Refuse, Late::Discard),
    kind("sfdps2", Order::PriorityExpiry, Full::Refuse, Late::DiscardUnlessLast),
    kind("ring", Order::Arrival, Full::DropLeastUrgent, Late::Send),
    Kind { limit: Some(3), ..kind("ring-3", Order::Arrival, Full::DropLeastUrgent, Late::Send) },
    kind("ring-sfdps2", Order::PriorityExpiry, Full::DropLeastUrgent, Late::DiscardUnlessLast),
    kind("score", Order::Score, Full::DropWorst, Late::DiscardUnlessLast),
    kind("patient", Order::PriorityExpiry, Full::DropWorst, Late::SendLast),
    Kind { travel: Travel::Forward, ..kind("sure-first", Order::PriorityExpiry, Full::DropWorst, Late::SureFirst) },
    kind("priority", Order::Priority, Full::Refuse, Late::Send),
    kind("edf", Order::Expiry, Full::Refuse, Late::Discard),
];

/// Kind of external queues. No scenario file can select it.
const EXTERNAL: &str = "external";

const KINDS: [&str; TABLE.len()] = {
    let mut names = [""; TABLE.len()];
    let mut index = 0;
    while index < TABLE.len() {
        names[index] = TABLE[index].name;
        index += 1;
    }
    names
};

/// Options of a send queue: the name of a queue, such as `fifo` or `sfdps1`, and its rules.
#[derive(Clone, Debug, PartialEq)]
pub struct SendQueueOptions {
    kind: &'static str,
    /// Limit, order, behavior of a full queue, behavior for late packets, estimate of the path delay, and their
    /// parameters.
    pub rules: Rules,
    external: Option<Maker>,
}

impl SendQueueOptions {
    /// Returns the options of the default queue of a flow: first in, first out. The limit is 32 packets; 5 under the
    /// dialect `linux`, 1000 under `ns2`.
    #[must_use]
    pub fn fifo(dialect: Dialect) -> Self {
        Self::of(&TABLE[0], dialect)
    }

    /// Returns these options with the order and the drops decided by the external `queue`. The limit and the estimate
    /// of the path delay are kept. At most 1000 packets wait, even if the limit is higher.
    #[must_use]
    pub fn with_external(self, queue: Arc<dyn ExternalQueue>) -> Self {
        let rules = Rules {
            order: Order::Arrival,
            full: Full::DropWorst,
            late: Late::Discard,
            discard_spends: false,
            methods: KindMethods::default(),
            ..self.rules
        };
        Self { kind: EXTERNAL, rules, external: Some(Maker(queue)) }
    }

    /// Returns whether single messages can have a [queueing method](super::QueueMethod). `sure-first` compares all
    /// waiting messages, and external queues decide for all messages, so both exclude methods.
    #[must_use]
    pub fn accepts_methods(&self) -> bool {
        self.external.is_none() && self.rules.late != Late::SureFirst
    }

    pub(super) fn external(&self) -> Option<External> {
        self.external.as_ref().map(|maker| External(maker.0.decisions()))
    }

    /// Returns the options of a kind. The limit in Linux is 5 (net.dccp.default.tx_qlen); ns-2's agents accept all
    /// packets; otherwise it is 32 packets, for the 16 KiB TCP buffer of the SFDPS paper.
    fn of(kind: &Kind, dialect: Dialect) -> Self {
        let limit = kind.limit.unwrap_or(match dialect {
            Dialect::Headway1 | Dialect::Rfc | Dialect::Ns3 => 32,
            Dialect::Linux => 5,
            Dialect::Ns2 => 1000,
        });
        let rules = Rules {
            limit: QueueSize::Packets(limit),
            order: kind.order,
            full: kind.full,
            late: kind.late,
            travel: kind.travel,
            rtt_share: 0.5,
            margin: 4.0,
            priority_weight: Duration::from_millis(100),
            size_weight: Duration::ZERO,
            resend: false,
            discard_spends: false,
            methods: KindMethods::default(),
        };
        Self { kind: kind.name, rules, external: None }
    }
}

impl Registry for SendQueueOptions {
    const WHAT: &'static str = "send queue";
    const KINDS: &'static [&'static str] = &KINDS;

    fn kind(&self) -> &'static str {
        self.kind
    }

    fn preset(kind: &str, dialect: Dialect) -> Option<Self> {
        TABLE.iter().find(|known| known.name == kind).map(|known| Self::of(known, dialect))
    }

    fn check(&self) -> Result<(), OptionError> {
        self.rules.check()
    }

    fn unused(&self) -> Vec<OptionError> {
        self.rules.unused()
    }
}

/// Serialization as tables of a scenario.
#[cfg(feature = "schema")]
mod tables {
    use super::{KINDS, Rules, SendQueueOptions};
    use headway_units::{SchemaRegistry, schema_of_kinds};
    use serde::{Deserialize as _, Deserializer, Serialize, Serializer};

    impl SchemaRegistry for SendQueueOptions {
        fn deserialize<'de, D: Deserializer<'de>>(kind: &str, options: D) -> Result<Self, D::Error> {
            let known = KINDS.iter().find(|known| **known == kind);
            let kind = known.ok_or_else(|| serde::de::Error::unknown_variant(kind, &KINDS))?;
            Ok(Self { kind, rules: Rules::deserialize(options)?, external: None })
        }
    }

    impl Serialize for SendQueueOptions {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            #[derive(Serialize)]
            struct Tagged {
                kind: &'static str,
                #[serde(flatten)]
                rules: Rules,
            }
            Tagged { kind: self.kind, rules: self.rules.clone() }.serialize(serializer)
        }
    }

    impl schemars::JsonSchema for SendQueueOptions {
        fn schema_name() -> std::borrow::Cow<'static, str> {
            "SendQueue".into()
        }

        fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
            let rules = Rules::json_schema(generator);
            schema_of_kinds(KINDS.iter().map(|kind| (*kind, rules.clone())).collect())
        }
    }
}
