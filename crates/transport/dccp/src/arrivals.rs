//! Reports of received packets, in the form of a rate controller.

use crate::{AckState, AckVector, DropCode, DropRun};
use headway_rate::{Arrival, Run};
use headway_units::Seq48;

/// Peer's report about the packets that this endpoint has sent, as runs of consecutive packets with the same state. The
/// first run begins at `newest`; each further run continues with the next lower sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrivals<'a> {
    /// Acknowledgement number of the report: the newest packet that the peer received.
    pub newest: Seq48,
    /// State of each packet, received or not (Ack Vectors, RFC 4340 section 11.4). Packets whose data was dropped count
    /// as received.
    pub runs: &'a [Run],
    /// Blocks of Data Dropped (RFC 4340 section 11.7). A Drop Block covers packets whose data did not reach the
    /// application or arrived corrupt, a Normal Block all others.
    pub dropped: &'a [DropRun],
}

impl Arrivals<'_> {
    /// Returns the runs of packets whose data did not reach the application: the newest packet of each run, the number
    /// of its packets, and the reason.
    pub fn dropped(&self) -> impl Iterator<Item = (Seq48, u64, DropCode)> + '_ {
        let mut next = self.newest;
        self.dropped.iter().filter_map(move |run| {
            let (newest, packets) = (next, u64::from(run.packets));
            next -= packets;
            let code = run.code.filter(|code| *code != DropCode::DELIVERED_CORRUPT)?;
            Some((newest, packets, code))
        })
    }
}

/// Converts the Ack Vectors of a packet, which continue each other, to `runs` of packets with the same state, from the
/// packet's acknowledgement number down. Adjacent runs have different states. The reserved state counts as not
/// received.
///
/// The options of a packet have at most 1008 bytes, which bounds the number of runs. Runs of several acknowledgements
/// are combined by the controller (RFC 4340 section 11.4.1), which knows the earlier ones.
pub fn arrivals<'a>(vectors: impl IntoIterator<Item = AckVector<'a>>, runs: &mut Vec<Run>) {
    runs.clear();
    for run in vectors.into_iter().flat_map(|vector| vector.runs()) {
        let arrival = arrival_of(run.state);
        match runs.last_mut() {
            Some(last) if last.arrival == arrival => last.packets += u64::from(run.packets),
            _ => runs.push(Run { arrival, packets: run.packets.into() }),
        }
    }
}

pub(crate) fn arrival_of(state: AckState) -> Arrival {
    match state {
        AckState::Received => Arrival::Received,
        AckState::ReceivedEcnMarked => Arrival::Marked,
        AckState::Reserved | AckState::NotYetReceived => Arrival::NotReceived,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(vectors: &[&[u8]]) -> Vec<(Arrival, u64)> {
        let mut runs = vec![Run { arrival: Arrival::Marked, packets: 7 }];
        arrivals(vectors.iter().map(|vector| AckVector::new(false, vector)), &mut runs);
        runs.iter().map(|run| (run.arrival, run.packets)).collect()
    }

    /// Example of RFC 4340 section 11.4: 0,192,3,64,5.
    #[test]
    fn the_rfcs_example() {
        use Arrival::{Marked, NotReceived, Received};
        let wanted = [(Received, 1), (NotReceived, 1), (Received, 4), (Marked, 1), (Received, 6)];
        assert_eq!(read(&[&[0, 192, 3, 64, 5]]), wanted);
        // "The second Ack Vector begins where the first left off."
        assert_eq!(read(&[&[0, 192, 1], &[1, 64], &[], &[5]]), wanted);
    }

    #[test]
    fn runs_are_merged_and_the_reserved_state_is_not_received() {
        assert_eq!(read(&[&[63, 63, 0]]), [(Arrival::Received, 129)]);
        assert_eq!(read(&[&[0, 128 + 2, 192]]), [(Arrival::Received, 1), (Arrival::NotReceived, 4)]);
        assert_eq!(read(&[]), []);
    }
}
