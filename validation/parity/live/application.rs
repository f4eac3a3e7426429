//! The sending application of a flow: its source, and the times at which it writes.

use crate::meters::Meters;
use headway_media::{Framing, Media, Source, UdpOptions};
use headway_units::Instant;

/// Source whose writes are split into datagrams.
#[derive(Debug)]
pub(crate) struct Application {
    pub(crate) source: Source,
    pub(crate) cut: UdpOptions,
    pub(crate) framing: Framing,
    pub(crate) start: Instant,
    pub(crate) stop: Option<Instant>,
}

impl Application {
    /// Returns the datagrams that the source writes by `now`, each with its media description in the sender's time.
    pub(crate) fn write(&mut self, now: Instant, meters: &Meters) -> Vec<(Vec<u8>, Media)> {
        let local = meters.to_sender(now);
        let mut all = Vec::new();
        while let Some(due) = self.source.poll_timeout().filter(|due| *due <= local) {
            meters.record_source_error(now, meters.of_sender(due));
            while let Some(write) = self.source.poll(due) {
                all.extend(write.packets(&self.cut, &mut self.framing).map(|media| (meters.write(now, &media), media)));
            }
        }
        all
    }

    /// Returns the true time of the next write or of the stop.
    pub(crate) fn next(&self, meters: &Meters) -> Option<Instant> {
        let due = self.source.poll_timeout().map(|due| meters.of_sender(due));
        due.into_iter().chain(self.stop).min()
    }

    pub(crate) fn has_stopped(&self, now: Instant) -> bool {
        self.stop.is_some_and(|stop| now >= stop)
    }
}
