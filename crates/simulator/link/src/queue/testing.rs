//! Helpers for the tests of queues.

use crate::pool::Item;
use headway_units::{Dialect, Dscp, Ecn, Options};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Packet {
    pub(super) size: u32,
    pub(super) ecn: Ecn,
    pub(super) dscp: Dscp,
    pub(super) flow: u64,
    pub(super) number: usize,
}

impl Packet {
    pub(super) const fn of(size: u32) -> Self {
        Self { size, ecn: Ecn::NotEct, dscp: Dscp::CS0, flow: 0, number: 0 }
    }
}

impl Item for Packet {
    fn release(&mut self) {}
    fn size(&self) -> u32 {
        self.size
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn set_ecn(&mut self, _: Ecn) {}
    fn dscp(&self) -> Dscp {
        self.dscp
    }
    fn flow(&self) -> u64 {
        self.flow
    }
    fn host_pair(&self) -> (usize, bool) {
        (self.flow as usize, true)
    }
}

type Change<O> = fn(&mut O);

/// Asserts that `check` accepts the preset with each change of `accepted`, and rejects each of `refused` by key.
pub(super) fn check_bounds<O: Options>(accepted: &[Change<O>], refused: &[(&str, Change<O>)]) {
    let check = |change: &Change<O>| {
        let mut options = O::preset(Dialect::Rfc);
        change(&mut options);
        options.check().map_err(|error| error.key)
    };
    for (at, change) in accepted.iter().enumerate() {
        assert_eq!(check(change), Ok(()), "accepted change {at}");
    }
    for (at, (key, change)) in refused.iter().enumerate() {
        assert_eq!(check(change), Err(*key), "refused change {at}");
    }
}
