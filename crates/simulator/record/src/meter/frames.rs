//! Counts of a flow's frames. A frame is a unit of playout, sent in one or more packets.
//!
//! A frame belongs to the interval that contains its deadline, as packets do for on-time ratios, or without a deadline,
//! its creation time. Writing, completion and timeliness of a frame count in that interval only. A frame without a
//! deadline is never counted as on time.

use super::delay::DelaySummary;
use super::display::{DisplayMeter, DisplaySummary};
use super::distribution::Distribution;
use super::histogram::Histogram;
use super::measured::Measured;
use headway_units::{Instant, MediaKind};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A frame written by the application.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WrittenFrame {
    /// Media kind of the frame.
    pub kind: MediaKind,
    /// Time at which the application wrote the first packet of the frame.
    pub created: Instant,
    /// Deadline of the frame; [`Instant::FAR_FUTURE`] for none.
    pub deadline: Instant,
}

impl WrittenFrame {
    pub(crate) fn deadline(&self) -> Option<Instant> {
        (self.deadline != Instant::FAR_FUTURE).then_some(self.deadline)
    }
}

/// Counts of the frames of one media kind whose deadline (without a deadline: creation) is in the measured interval.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FrameSummary {
    /// Frames written by the application.
    pub written_frames: u64,
    /// Written frames of which all packets arrived by the end of the run.
    pub complete_frames: u64,
    /// Written frames that have a deadline and all of whose packets arrived by that time; absent if no frame has a
    /// deadline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_time_frames: Option<u64>,
    /// Complete frames divided by written frames.
    pub complete_ratio: f64,
    /// `on_time_frames` divided by the written frames with a deadline; absent if no frame has a deadline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_time_ratio: Option<f64>,
    /// Times of complete frames from writing the first packet to the arrival of the last missing packet, in s. `None`
    /// without complete frames or if arrival times are unknown.
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
    /// Allocated with the first video frame.
    display: Option<Box<DisplayMeter>>,
}

impl FrameMeter {
    /// Returns the meter of a flow in which each packet is a data frame without a deadline.
    pub(crate) fn of_packets(sent: u64, delays: &Histogram) -> Self {
        let mut meter = Self::default();
        meter.kinds[MediaKind::Data as usize] = Counts { written: sent, delays: delays.clone(), ..Counts::default() };
        meter
    }

    fn belongs(measured: &Measured, frame: &WrittenFrame) -> bool {
        measured.contains(frame.deadline().unwrap_or(frame.created))
    }

    #[inline]
    pub(crate) fn written(&mut self, measured: &Measured, frame: &WrittenFrame) {
        if frame.kind.is_video() {
            self.display.get_or_insert_default().written(frame);
        }
        if Self::belongs(measured, frame) {
            let counts = &mut self.kinds[frame.kind as usize];
            counts.written += 1;
            counts.due += u64::from(frame.deadline().is_some());
        }
    }

    #[inline(always)]
    pub(crate) fn complete(&mut self, now: Instant, measured: &Measured, frame: &WrittenFrame) {
        if frame.kind.is_video() {
            self.show(now, measured, frame);
        }
        if Self::belongs(measured, frame) {
            let counts = &mut self.kinds[frame.kind as usize];
            counts.on_time += u64::from(frame.deadline().is_some_and(|deadline| now <= deadline));
            counts.delays.record(now.since(frame.created).as_nanos());
        }
    }

    /// Not inlined: most flows have no video.
    #[inline(never)]
    fn show(&mut self, now: Instant, measured: &Measured, frame: &WrittenFrame) {
        if let Some(display) = &mut self.display {
            display.complete(now, measured, frame);
        }
    }

    /// Returns the distribution over all written frames, by kind; kinds without written frames are absent.
    pub(crate) fn distributions(&self) -> BTreeMap<MediaKind, Distribution> {
        let of = |kind: MediaKind| {
            let Counts { written, delays, .. } = &self.kinds[kind as usize];
            (*written > 0).then(|| (kind, Distribution::of(delays, *written)))
        };
        MediaKind::ALL.into_iter().filter_map(of).collect()
    }

    /// Returns the display of video frames; `None` if none was written.
    pub(crate) fn display(&self, measured: &Measured) -> Option<DisplaySummary> {
        self.display.as_ref().map(|display| display.summary(measured))
    }

    /// Returns the counts by kind; kinds without written frames are absent.
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
