//! Data packets above the greatest number acknowledged, for windows in bytes.

use std::collections::VecDeque;

/// Data packets that are in flight. A packet is in flight until a packet with its number or a greater one is
/// acknowledged, so that a lost packet is, too.
#[derive(Debug)]
pub(crate) struct Outstanding {
    /// Numbers and sizes.
    packets: VecDeque<(u64, u64)>,
    bytes: u64,
    capacity: usize,
}

impl Outstanding {
    /// Creates a record of at most `capacity` packets. With more, the oldest is forgotten.
    pub(crate) const fn new(capacity: usize) -> Self {
        Self { packets: VecDeque::new(), bytes: 0, capacity }
    }

    pub(crate) fn send(&mut self, number: u64, bytes: u64) {
        if self.packets.len() >= self.capacity
            && let Some((_, oldest)) = self.packets.pop_front()
        {
            self.bytes = self.bytes.saturating_sub(oldest);
        }
        self.packets.push_back((number, bytes));
        self.bytes = self.bytes.saturating_add(bytes);
    }

    /// Removes the packets up to `acknowledged` and returns their bytes.
    pub(crate) fn acknowledge(&mut self, acknowledged: u64) -> u64 {
        let mut bytes: u64 = 0;
        while let Some((_, size)) = self.packets.pop_front_if(|(number, _)| *number <= acknowledged) {
            bytes = bytes.saturating_add(size);
        }
        self.bytes = if self.packets.is_empty() { 0 } else { self.bytes.saturating_sub(bytes) };
        bytes
    }

    pub(crate) fn clear(&mut self) {
        self.packets.clear();
        self.bytes = 0;
    }

    pub(crate) const fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_in_flight() {
        let mut outstanding = Outstanding::new(3);
        (1..=4).for_each(|number| outstanding.send(number, 100 * number));
        assert_eq!(outstanding.bytes(), 900, "the oldest is forgotten");
        assert_eq!((outstanding.acknowledge(3), outstanding.bytes()), (500, 400));
        assert_eq!((outstanding.acknowledge(3), outstanding.is_empty()), (0, false));
        assert_eq!((outstanding.acknowledge(9), outstanding.bytes(), outstanding.is_empty()), (400, 0, true));
        outstanding.send(10, 5);
        outstanding.clear();
        assert_eq!((outstanding.bytes(), outstanding.is_empty()), (0, true));
    }
}
