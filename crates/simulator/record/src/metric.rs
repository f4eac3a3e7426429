//! The metrics that a run samples over time. The record, the book and the viewer use this table. Figures of a whole
//! run, such as goodput, are computed in `meter/`.

use serde::Serialize;

/// A metric that a run samples over time into `series.arrow`.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Metric {
    /// Name of the metric in `series.arrow`, which ends in its unit.
    pub name: &'static str,
    /// Title of the metric's chart.
    pub title: &'static str,
    /// Entities that have the metric, such as flows or link directions, in words.
    #[serde(skip)]
    pub entities: &'static str,
    /// Description of the metric's values.
    #[serde(skip)]
    pub meaning: &'static str,
}

macro_rules! metrics {
    ($($constant:ident $name:literal, $title:literal, $entities:literal, $meaning:literal;)*) => {
        $(
            #[doc = concat!("Metric of a ", $entities, ": ", $meaning, ".")]
            pub const $constant: &str = $name;
        )*

        /// All metrics, in the order of the viewer's charts.
        pub const ALL: &[Metric] =
            &[$(Metric { name: $constant, title: $title, entities: $entities, meaning: $meaning }),*];
    };
}

metrics! {
    THROUGHPUT "throughput_bps", "Throughput", "flow, link",
        "wire bits that arrived (flow) or left the queue (link) since the previous sample, divided by the time since then";
    LINK_RATE "link_rate_bps", "Link rate", "link whose rate changes or was measured",
        "mean rate since the previous sample";
    ALLOWED_RATE "allowed_rate_bps", "Allowed rate", "flow with a rate controller",
        "data rate that the controller allows";
    SENDING_RATE "sending_rate_bps", "Sending rate", "flow with a rate controller",
        "data bits that the sender sent since the previous sample, with retransmissions and without headers, divided by \
         the time since then";
    ENCODER_RATE "encoder_rate_bps", "Encoder rate", "flow with the source `encoder` or `encodings`, or of a real connection",
        "rate of the encoder without headers, from the start to the stop of the flow; of a real connection, the rate \
         that an encoder should have";
    QUEUE "queue_packets", "Queue", "link", "packets in the queue, without the packet in transmission";
    RED_AVERAGE "red_average_packets", "RED average queue", "link with RED", "average queue length of RED";
    LINK_DELAY "link_delay_s", "Link delay", "link whose delay changes", "current propagation delay";
    WAITING "waiting_packets", "Send queue", "flow of a real connection, at its sender",
        "datagrams in the send queue";
    ONE_WAY_DELAY "one_way_delay_s", "One-way delay", "flow, media kind of a flow",
        "mean one-way delay of the packets that arrived since the previous sample and were sent from `measure_from` on; \
         of a media kind, of those whose deadline is from `measure_from` to the end of the run";
    LOSS "loss_packets", "Lost packets", "flow", "packets lost since the start of the run";
    RTT "rtt_s", "Round-trip time", "flow with a rate controller", "smoothed round-trip time of the controller";
    CWND "cwnd_packets", "Congestion window", "TCP flow without sessions", "congestion window";
    SSTHRESH "ssthresh_packets", "Slow-start threshold", "TCP flow without sessions", "slow-start threshold";
    LOSS_EVENT_RATE "loss_event_ratio", "Loss event rate p", "flow with TFRC", "loss event rate that the sender uses";
    OPEN_SESSIONS "open_sessions", "Open sessions", "TCP flow with sessions", "number of open sessions";
    ARRIVED "arrived_packets", "Arrived packets", "link, flow at a link",
        "packets offered to the link since the start of the run";
    DROPPED "dropped_packets", "Dropped packets", "link, flow at a link",
        "packets dropped at the link since the start of the run";
}

/// Returns the title of a metric in lower case, as a label; the name of a metric that is not listed.
#[cfg(feature = "plot")]
pub(crate) fn label_of(name: &str) -> String {
    ALL.iter().find(|metric| metric.name == name).map_or(name, |metric| metric.title).to_lowercase()
}

/// Returns whether a metric is a mean rate since the previous sample.
#[cfg(feature = "plot")]
pub(crate) fn is_mean_rate(name: &str) -> bool {
    [THROUGHPUT, SENDING_RATE].contains(&name)
}

/// Suffixes of names and their units.
const UNITS: [(&str, &str); 4] = [("_bps", "bps"), ("_s", "s"), ("_packets", "packets"), ("_bytes", "B")];

/// Returns the unit given by the suffix of a record's key: `bps`, `s`, `packets` or `B`.
pub(crate) fn unit_of(name: &str) -> Option<&'static str> {
    UNITS.iter().find(|(suffix, _)| name.ends_with(suffix)).map(|(_, unit)| *unit)
}
