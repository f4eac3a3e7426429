//! What an HC-Sender is told of its packets, as its rate controller reads it.

use crate::{AckState, AckVector, DropCode, DropRun};
use headway_rate::{Arrival, Run};
use headway_units::Seq48;

/// What a packet has told of the packets that its receiver had sent: all runs go downwards from `newest`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrivals<'a> {
    /// The acknowledgement number.
    pub newest: Seq48,
    /// Which have come (Ack Vectors, RFC 4340 section 11.4). One whose data was dropped has come.
    pub runs: &'a [Run],
    /// Whose data did not reach the program (Data Dropped, section 11.7).
    pub dropped: &'a [DropRun],
}

impl Arrivals<'_> {
    /// The packets whose data did not reach the program: the newest of each run, how many they are, and why.
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

/// Puts the Ack Vectors of a packet, which continue each other, into `runs`: from the packet's acknowledgement number
/// downwards, neighbours of one fate in one run. The reserved state tells nothing, so its packets have not come yet.
///
/// A packet's options hold at most 1008 bytes, and so as many runs. Runs of several packets are combined as RFC 4340
/// section 11.4.1 says by the controller, which alone knows what it was told before.
pub fn arrivals<'a>(vectors: impl IntoIterator<Item = AckVector<'a>>, runs: &mut Vec<Run>) {
    runs.clear();
    for run in vectors.into_iter().flat_map(|vector| vector.runs()) {
        let arrival = fate(run.state);
        match runs.last_mut() {
            Some(last) if last.arrival == arrival => last.packets += u64::from(run.packets),
            _ => runs.push(Run { arrival, packets: run.packets.into() }),
        }
    }
}

/// What a state says to a controller.
pub(crate) fn fate(state: AckState) -> Arrival {
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

    /// The example of RFC 4340 section 11.4: 0,192,3,64,5.
    #[test]
    fn the_rfcs_example() {
        use Arrival::{Marked, NotReceived, Received};
        let wanted = [(Received, 1), (NotReceived, 1), (Received, 4), (Marked, 1), (Received, 6)];
        assert_eq!(read(&[&[0, 192, 3, 64, 5]]), wanted);
        // "The second Ack Vector begins where the first left off."
        assert_eq!(read(&[&[0, 192, 1], &[1, 64], &[], &[5]]), wanted);
    }

    #[test]
    fn long_runs_are_one_and_the_reserved_state_is_nothing() {
        assert_eq!(read(&[&[63, 63, 0]]), [(Arrival::Received, 129)]);
        assert_eq!(read(&[&[0, 128 + 2, 192]]), [(Arrival::Received, 1), (Arrival::NotReceived, 4)]);
        assert_eq!(read(&[]), []);
    }
}
