//! Counts of an attacker's packets and their effect.

use serde::{Deserialize, Serialize};

/// An attacker's entry in [`Summary`](crate::Summary), over the whole run. Sizes include IP headers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttackerSummary {
    /// Name in the scenario.
    pub name: String,
    /// Node of the attacker.
    pub at: String,
    /// Attacked flow.
    pub target: String,
    /// Kind of the attack.
    pub kind: String,
    /// Packets sent.
    pub sent_packets: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Packets of the flow that passed the attacker.
    pub seen_packets: u64,
    /// Passing packets that it modified.
    pub changed_packets: u64,
    /// Passing packets that it delayed.
    pub delayed_packets: u64,
    /// Passing packets that it dropped.
    pub dropped_packets: u64,
    /// Sent or modified packets that arrived at an endpoint of the flow.
    pub arrived_packets: u64,
    /// Arrived packets with an invalid checksum or length.
    pub malformed_packets: u64,
    /// Arrived packets that passed step 7 of RFC 4340 section 8.5, so that they had an effect.
    pub accepted_packets: u64,
    /// Arrived packets whose data was delivered to the application.
    pub delivered_packets: u64,
    /// Syncs, SyncAcks, Resets and Responses sent in reply.
    pub answer_packets: u64,
    /// Bytes of the replies.
    pub answer_bytes: u64,
    /// Maximum number of simultaneous server connections for spoofed addresses.
    pub peak_connections: u64,
}
