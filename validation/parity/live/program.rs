//! The program at the sending end of a flow: its source, and when it is asked.

use crate::ends::Ends;
use headway_media::{Framing, Media, Source, UdpOptions};
use headway_units::Instant;

/// A source, whose writes are cut into datagrams.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) source: Source,
    pub(crate) cut: UdpOptions,
    pub(crate) framing: Framing,
    pub(crate) start: Instant,
    pub(crate) stop: Option<Instant>,
}

impl Program {
    /// What the source has at `now`: the datagrams, and what they are by the sender's clock.
    pub(crate) fn write(&mut self, now: Instant, ends: &Ends) -> Vec<(Vec<u8>, Media)> {
        let local = ends.to_sender(now);
        let mut all = Vec::new();
        while let Some(due) = self.source.poll_timeout().filter(|due| *due <= local) {
            ends.woke(now, ends.of_sender(due));
            while let Some(write) = self.source.poll(due) {
                all.extend(write.packets(&self.cut, &mut self.framing).map(|media| (ends.write(now, &media), media)));
            }
        }
        all
    }

    /// When it is to be asked next, in true time; its end, too.
    pub(crate) fn next(&self, ends: &Ends) -> Option<Instant> {
        let due = self.source.poll_timeout().map(|due| ends.of_sender(due));
        due.into_iter().chain(self.stop).min()
    }

    /// Whether it has stopped by `now`.
    pub(crate) fn has_stopped(&self, now: Instant) -> bool {
        self.stop.is_some_and(|stop| now >= stop)
    }
}
