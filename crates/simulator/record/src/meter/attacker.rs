//! What an attacker did, and what came of it.

use serde::{Deserialize, Serialize};

/// An attacker's entry in [`Summary`](crate::Summary), over the whole run. Bytes are those of IP packets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttackerSummary {
    /// Its name in the scenario.
    pub name: String,
    /// Its node.
    pub at: String,
    /// The flow that it attacked.
    pub target: String,
    /// The kind of its attack.
    pub kind: String,
    /// Packets that it sent.
    pub sent_packets: u64,
    /// Their bytes.
    pub sent_bytes: u64,
    /// Packets of the flow that passed it.
    pub seen_packets: u64,
    /// Those of them that it changed.
    pub changed_packets: u64,
    /// Those of them that it held back.
    pub delayed_packets: u64,
    /// Those of them that it took away.
    pub taken_packets: u64,
    /// Packets that it sent or changed and that came to an end of the flow.
    pub arrived_packets: u64,
    /// Those of them that were no packets, for their checksum or their lengths.
    pub malformed_packets: u64,
    /// Those of them that passed step 7 of RFC 4340 section 8.5: they had some effect.
    pub accepted_packets: u64,
    /// Those of them whose data was delivered.
    pub delivered_packets: u64,
    /// Syncs, SyncAcks, Resets and Responses that answered them.
    pub answer_packets: u64,
    /// Their bytes.
    pub answer_bytes: u64,
    /// Connections that the server kept for addresses that the attacker made up, at most at once.
    pub most_connections: u64,
}
