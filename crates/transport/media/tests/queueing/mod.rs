//! Send queues and packets for tests.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, reason = "shared by test files that use parts of it")]

pub mod vectors;

use headway_media::{Full, Late, Media, Order, Rules, SendQueueOptions};
use headway_units::{Bytes, Dialect, Duration, Instant, MediaKind, QueueSize, Registry};
use proptest::prelude::*;

pub fn preset(kind: &str, packets: u64) -> SendQueueOptions {
    with(kind, |rules| rules.limit = QueueSize::Packets(packets))
}

/// Returns options with a limit of five packets, modified by `change`.
pub fn with(kind: &str, change: impl FnOnce(&mut Rules)) -> SendQueueOptions {
    let mut options = SendQueueOptions::preset(kind, Dialect::Linux).unwrap();
    change(&mut options.rules);
    options
}

pub fn at(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

pub fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Creates a packet whose size is its name.
pub fn named(name: u64, priority: u8, created: u64, lifetime: u64) -> Media {
    Media {
        payload: (),
        size: Bytes::new(name),
        kind: if priority == 0 { MediaKind::Audio } else { MediaKind::Video },
        priority,
        created: at(created),
        expires: Some(at(created + lifetime)),
        fragment: None,
        method: None,
    }
}

/// Any combination of decisions, with small limits.
pub fn any_queue() -> impl Strategy<Value = SendQueueOptions> {
    let limit = prop_oneof![
        (1u64..40).prop_map(QueueSize::Packets),
        (1u64..20_000).prop_map(|b| QueueSize::Bytes(Bytes::new(b)))
    ];
    let orders =
        prop::sample::select(vec![Order::Arrival, Order::Priority, Order::Expiry, Order::PriorityExpiry, Order::Score]);
    let fulls = prop::sample::select(vec![Full::Refuse, Full::DropOldest, Full::DropLeastUrgent, Full::DropWorst]);
    let lates =
        prop::sample::select(vec![Late::Send, Late::Discard, Late::DiscardUnlessLast, Late::SendLast, Late::SureFirst]);
    (limit, orders, fulls, lates, prop::sample::select(vec![0.0, 0.5, 1.0])).prop_map(
        |(limit, order, full, late, rtt_share)| {
            with("fifo", |rules| *rules = Rules { limit, order, full, late, rtt_share, ..rules.clone() })
        },
    )
}
