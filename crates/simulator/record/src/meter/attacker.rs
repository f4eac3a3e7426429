//! Counts of an attacker's packets and their effect.

use serde::{Deserialize, Serialize};

/// An attacker's entry in [`Summary`](crate::Summary), over the whole run. Sizes include IP headers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttackerSummary {
    /// Name of the attacker in the scenario.
    pub name: String,
    /// Name of the attacker's node.
    pub at: String,
    /// Name of the attacked flow.
    pub target: String,
    /// Kind of the attack, such as `flood`.
    pub kind: String,
    /// Packets that the attacker sent.
    pub sent_packets: u64,
    /// Bytes that the attacker sent, with IP headers.
    pub sent_bytes: u64,
    /// Packets of the attacked flow that passed the attacker.
    pub seen_packets: u64,
    /// Passing packets that the attacker modified.
    pub changed_packets: u64,
    /// Passing packets that the attacker delayed.
    pub delayed_packets: u64,
    /// Passing packets that the attacker dropped.
    pub dropped_packets: u64,
    /// Packets that the attacker sent or modified and that arrived at an endpoint of the flow.
    pub arrived_packets: u64,
    /// Packets that the attacker sent or modified and that arrived with an invalid checksum or length.
    pub malformed_packets: u64,
    /// Packets that the attacker sent or modified and that arrived and passed step 7 of RFC 4340 section 8.5, so that
    /// they had an effect.
    pub accepted_packets: u64,
    /// Packets that the attacker sent or modified and whose data an endpoint delivered to the application.
    pub delivered_packets: u64,
    /// Syncs, SyncAcks, Resets and Responses that endpoints sent in reply to packets of the attacker.
    pub answer_packets: u64,
    /// Bytes of the replies to packets of the attacker, with IP headers.
    pub answer_bytes: u64,
    /// Maximum number of connections that the server of the flow kept for spoofed addresses at the same time.
    pub peak_connections: u64,
}
