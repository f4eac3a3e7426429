//! What became of a flow's frames: of what its receiver plays as one, in as many packets as it takes.
//!
//! A frame belongs to the interval in which its deadline lies, as packets do for on-time shares; one without a deadline to that in which it
//! was written. It counts there as written, complete and on time, or in another interval as nothing.

use super::delay::DelaySummary;
use super::distribution::Distribution;
use super::histogram::Histogram;
use super::measured::Measured;
use headway_units::{Instant, MediaKind};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A frame as its application handed it over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrittenFrame {
    /// What it is.
    pub kind: MediaKind,
    /// When its first packet was written.
    pub created: Instant,
    /// Until when it is of use; far in the future: always.
    pub deadline: Instant,
}

impl WrittenFrame {
    pub(crate) fn deadline(&self) -> Option<Instant> {
        (self.deadline != Instant::FAR_FUTURE).then_some(self.deadline)
    }
}

/// What became of the frames of one kind that belong to the measured interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FrameSummary {
    /// Frames that the application handed over.
    pub written_frames: u64,
    /// Those of them all of whose packets have arrived.
    pub complete_frames: u64,
    /// Those of them that were complete by their deadline; absent where none has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_time_frames: Option<u64>,
    /// Complete by written.
    pub complete_ratio: f64,
    /// On time by those written that have a deadline; absent where none has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_time_ratio: Option<f64>,
    /// Of the complete ones, from the writing of the first packet to the arrival of the packet that completed it, in s; none if none is
    /// complete, or if times of arrival are unknown.
    pub delay_s: Option<DelaySummary>,
}

#[derive(Clone, Debug, Default)]
struct Counts {
    written: u64,
    due: u64,
    on_time: u64,
    delays: Histogram,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct FrameMeter {
    kinds: [Counts; MediaKind::ALL.len()],
}

impl FrameMeter {
    /// Of a flow each of whose packets is a frame of data without a deadline.
    pub(crate) fn of_packets(sent: u64, delays: &Histogram) -> Self {
        let mut meter = Self::default();
        meter.kinds[MediaKind::Data as usize] = Counts { written: sent, delays: delays.clone(), ..Counts::default() };
        meter
    }

    fn belongs(measured: &Measured, frame: &WrittenFrame) -> bool {
        measured.holds(frame.deadline().unwrap_or(frame.created))
    }

    #[inline]
    pub(crate) fn written(&mut self, measured: &Measured, frame: &WrittenFrame) {
        if Self::belongs(measured, frame) {
            let counts = &mut self.kinds[frame.kind as usize];
            counts.written += 1;
            counts.due += u64::from(frame.deadline().is_some());
        }
    }

    #[inline]
    pub(crate) fn complete(&mut self, now: Instant, measured: &Measured, frame: &WrittenFrame) {
        if Self::belongs(measured, frame) {
            let counts = &mut self.kinds[frame.kind as usize];
            counts.on_time += u64::from(frame.deadline().is_some_and(|deadline| now <= deadline));
            counts.delays.record(now.since(frame.created).as_nanos());
        }
    }

    /// By kind, of all that were written; kinds of which nothing was are absent.
    pub(crate) fn distributions(&self) -> BTreeMap<MediaKind, Distribution> {
        let of = |kind: MediaKind| {
            let Counts { written, delays, .. } = &self.kinds[kind as usize];
            (*written > 0).then(|| (kind, Distribution::of(delays, *written)))
        };
        MediaKind::ALL.into_iter().filter_map(of).collect()
    }

    /// By kind; kinds of which nothing was written are absent.
    pub(crate) fn summary(&self) -> BTreeMap<MediaKind, FrameSummary> {
        let summary = |kind: MediaKind| {
            let Counts { written, due, on_time, delays } = &self.kinds[kind as usize];
            let complete = delays.total();
            (*written > 0).then(|| {
                let summary = FrameSummary {
                    written_frames: *written,
                    complete_frames: complete,
                    on_time_frames: (*due > 0).then_some(*on_time),
                    complete_ratio: complete as f64 / *written as f64,
                    on_time_ratio: (*due > 0).then(|| *on_time as f64 / *due as f64),
                    delay_s: delays.summary(),
                };
                (kind, summary)
            })
        };
        MediaKind::ALL.into_iter().filter_map(summary).collect()
    }
}
