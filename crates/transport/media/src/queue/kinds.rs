//! The send queues there are: a line a kind.

use super::external::{External, ExternalQueue, Maker};
use super::{Full, KindMethods, Late, Order, Rules, Travel};
use headway_units::{Dialect, Duration, OptionError, QueueSize, Registry};
use std::sync::Arc;

/// What a kind is: a name and its four decisions.
struct Kind {
    name: &'static str,
    order: Order,
    full: Full,
    late: Late,
    travel: Travel,
    /// Packets; `None`: the dialect's.
    limit: Option<u64>,
}

const fn kind(name: &'static str, order: Order, full: Full, late: Late) -> Kind {
    Kind { name, order, full, late, travel: Travel::RoundTrip, limit: None }
}

/// Every kind, the first of which is the default.
const TABLE: [Kind; 12] = [
    // kind: in which order, when full, what is late
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

/// No file can say so.
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

/// Options of a send queue: a kind, and what it stands for.
#[derive(Clone, Debug, PartialEq)]
pub struct SendQueueOptions {
    kind: &'static str,
    /// The four decisions and their numbers.
    pub rules: Rules,
    external: Option<Maker>,
}

impl SendQueueOptions {
    /// The queue of a flow that names none.
    #[must_use]
    pub fn fifo(dialect: Dialect) -> Self {
        Self::of(&TABLE[0], dialect)
    }

    /// The same limit and way, but who goes, and who is thrown away, is decided elsewhere. Of such a queue 1000 packets wait at most, whatever the limit.
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

    /// Whether a message can have its own method. A queue that compares all messages that wait decides for all of them: `sure-first`, and one whose
    /// decisions are made elsewhere.
    #[must_use]
    pub fn accepts_methods(&self) -> bool {
        self.external.is_none() && self.rules.late != Late::SureFirst
    }

    pub(super) fn external(&self) -> Option<External> {
        self.external.as_ref().map(|maker| External(maker.0.decisions()))
    }

    /// Linux: net.dccp.default.tx_qlen is 5. ns-2's agents take all that they are given. Otherwise 32 packets, which in the
    /// SFDPS paper stand for the 16 KiB of TCP's buffer.
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

/// As tables of a scenario.
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
