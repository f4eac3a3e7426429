//! Parsed options of one received packet.

use crate::ccid::OnData;
use crate::{DataDropped, DeliveryOrder, DropCode, DropRun, Elapsed, Timestamp};
use headway_rate::{Arrival, Run};

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ParsedOptions {
    pub(crate) elapsed: Option<Elapsed>,
    pub(crate) echo: Option<(Timestamp, Elapsed)>,
    pub(crate) ndp_count: Option<u64>,
    pub(crate) slow_receiver: bool,
    pub(crate) data_checksum: Option<u32>,
    pub(crate) order: Option<DeliveryOrder>,
    pub(crate) on_data: OnData,
    pub(crate) timestamp: Option<Timestamp>,
    pub(crate) vector: bool,
    pub(crate) negotiated: bool,
    pub(crate) changed: bool,
}

/// Lists of a packet's options, kept to reuse their memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scratch {
    pub(crate) runs: Vec<Run>,
    pub(crate) drops: Vec<DropRun>,
}

impl Scratch {
    pub(crate) fn clear(&mut self) {
        self.runs.clear();
        self.drops.clear();
    }

    pub(crate) fn read_dropped(&mut self, dropped: &DataDropped<'_>) {
        self.drops.extend(dropped.runs());
    }

    /// Returns whether Data Dropped lists a packet that the Ack Vector reports as not received.
    pub(crate) fn drops_unreceived_packets(&self) -> bool {
        let mut runs = self.runs.iter().map(|run| (run.arrival, run.packets));
        let (mut arrival, mut left) = (Arrival::Received, 0);
        for drop in &self.drops {
            let mut packets = u64::from(drop.packets);
            while packets > 0 {
                if left == 0 {
                    let Some(run) = runs.next() else { return false };
                    (arrival, left) = run;
                }
                let part = packets.min(left);
                if drop.code.is_some() && arrival == Arrival::NotReceived && part > 0 {
                    return true;
                }
                packets -= part;
                left -= part;
            }
        }
        false
    }

    /// Marks packets whose data was dropped: codes 3 to 7 count like ECN marks (section 11.7.2).
    pub(crate) fn mark_dropped(&mut self) {
        let serious = |run: &DropRun| run.code.is_some_and(DropCode::counts_as_mark);
        if !self.drops.iter().any(serious) {
            return;
        }
        let mut marked = Vec::with_capacity(self.runs.len() + 2 * self.drops.len());
        let mut drops = self.drops.iter().map(|run| (serious(run), u64::from(run.packets)));
        let mut drop = drops.next();
        for run in &self.runs {
            let mut left = run.packets;
            while left > 0 {
                let (serious, packets) = drop.unwrap_or((false, left));
                let part = packets.min(left);
                let received = run.arrival == Arrival::Received;
                push_run(&mut marked, if serious && received { Arrival::Marked } else { run.arrival }, part);
                left -= part;
                drop = if part < packets { Some((serious, packets - part)) } else { drops.next() };
            }
        }
        self.runs = marked;
    }
}

pub(super) fn push_run(runs: &mut Vec<Run>, arrival: Arrival, packets: u64) {
    match runs.last_mut() {
        Some(last) if last.arrival == arrival => last.packets += packets,
        _ => runs.push(Run { arrival, packets }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(runs: &[(Arrival, u64)], drops: &[u8]) -> Scratch {
        let mut scratch = Scratch::default();
        runs.iter().for_each(|(arrival, packets)| push_run(&mut scratch.runs, *arrival, *packets));
        scratch.read_dropped(&DataDropped::new(drops));
        scratch
    }
    fn runs(scratch: &Scratch) -> Vec<(Arrival, u64)> {
        scratch.runs.iter().map(|run| (run.arrival, run.packets)).collect()
    }

    /// RFC 4340 section 11.7.2: codes 3 to 7 count like marks, codes 0, 1 and 2 do not. Packets
    /// that were not received remain so.
    #[test]
    fn corrupt_packets_count_as_marked() {
        use Arrival::{Marked, NotReceived, Received};
        // A Normal Block of 2, Corrupt of 2, Receive Buffer of 1, Delivered Corrupt of 3.
        let mut all = scratch(&[(Received, 3), (NotReceived, 1), (Received, 10)], &[1, 0xb1, 0xa0, 0xf2]);
        all.mark_dropped();
        assert_eq!(
            runs(&all),
            [(Received, 2), (Marked, 1), (NotReceived, 1), (Received, 1), (Marked, 3), (Received, 6)]
        );
        let mut mild = scratch(&[(Received, 5)], &[0x80, 0x90, 0xa0]);
        mild.mark_dropped();
        assert_eq!(runs(&mild), [(Received, 5)]);
    }
}
