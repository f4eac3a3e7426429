//! Synthetic media on a real connection, from the sources of scenarios.

use super::framing::MAX_LENGTH;
use super::line::Line;
use super::source::Ended;
use crate::error::Failure;
use crate::output;
use headway_media::{
    Backlog, Capture, Context, Fragment, Framing, Source, SourceOptions, Trace, TransportState, UdpOptions, Write,
};
use headway_net::{Duration, Media};
use headway_run::read;
use headway_scenario::{Place, ScenarioError};
use headway_units::{Bytes, Dialect, Instant, Options as _, Random, Registry};
use std::path::Path;
use std::sync::Arc;

/// Name of the text in messages.
const NAME: &str = "--model";
/// Minimum number of datagrams after which a batch is sent.
const BATCH: usize = 256;
/// Maximum time between two checks whether the source must stop.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

pub(super) struct Model {
    options: SourceOptions,
    trace: Option<Arc<Trace>>,
    seed: u64,
    /// Lifetime of the datagrams for which the source sets none.
    lifetime: Option<Duration>,
}

impl Model {
    /// Parses the keys of a source, as between the braces of `source = { .. }` in a scenario. `lifetime`: that of the
    /// datagrams for which the source sets none.
    pub(super) fn new(text: &str, seed: u64, lifetime: Option<Duration>) -> Result<Self, Failure> {
        if !text.contains('=') {
            return Err(wrong("expected a kind and its keys, such as 'kind = \"conference\", lifetime = \"200ms\"'"));
        }
        let options = headway_scenario::kind::<SourceOptions>(NAME, "source", &format!("source = {{ {text} }}"))?;
        let trace = options.file().map(|file| read_file(&options, file)).transpose()?;
        let header = UdpOptions::preset(Dialect::default()).header;
        if let Some(largest) = options.largest_write(trace.as_deref())
            && largest.payload(header).count() == 0
        {
            return Err(wrong(&format!("the packets have no payload; sizes include {header} of headers")));
        }
        let model = Self { options, trace, seed, lifetime };
        // Report errors before connecting.
        let source = model.start(Instant::ZERO)?;
        if source.backlog() == Backlog::None && model.options.makes_sessions() {
            return Err(wrong("this kind makes sessions with several connections; select another kind"));
        }
        Ok(model)
    }

    fn start(&self, start: Instant) -> Result<Source, Failure> {
        let random = Random::new(self.seed, "model");
        let context = Context { start, stop: None, random, trace: self.trace.clone() };
        Source::new(&self.options, context)
            .map_err(|error| wrong(&format!("{} of {}: {}", error.key, self.options.kind(), error.message)))
    }

    pub(super) fn run(self, line: &Line) -> Result<(), Ended> {
        line.connected()?;
        let mut source = self.start(line.clock.now()).map_err(Ended::Failed)?;
        match source.backlog() {
            Backlog::None => {}
            Backlog::Segments(segments) => return self.backlog(segments, line),
            Backlog::Endless => return self.backlog(u64::MAX, line),
        }
        // Sizes with headers include those of UDP and IPv4.
        let header = UdpOptions::preset(Dialect::default()).header;
        let payload = vec![0; MAX_LENGTH];
        let (mut all, mut fragments, mut framing) = (Vec::new(), Vec::new(), Framing::default());
        while !line.is_stopped() {
            let Some(at) = source.poll_timeout() else { return Ok(()) };
            let now = line.clock.now();
            if at > now {
                std::thread::park_timeout(std::time::Duration::from_nanos(at.since(now).min(POLL_INTERVAL).as_nanos()));
                continue;
            }
            source.follow(|| TransportState {
                target_rate: line.connection().encoding_rate(),
                waiting: line.connection().queued_bytes(),
            });
            // The path MTU can change.
            let cut = UdpOptions { datagram: Bytes::new(line.largest() as u64 + header.count()), header };
            // The limit keeps a source that is faster than this machine from blocking the loop.
            while all.len() < BATCH
                && let Some(write) = source.poll(now)
            {
                let parts = self.media_of(write, &cut, &mut framing, now, &payload);
                parts.for_each(|(media, fragment)| {
                    all.push(media);
                    fragments.push(fragment);
                });
            }
            line.send_frames(&all, &fragments)?;
            all.clear();
            fragments.clear();
        }
        Ok(())
    }

    /// Returns the datagrams of a write, with their positions in frames.
    fn media_of<'a>(
        &self,
        write: Write,
        cut: &UdpOptions,
        framing: &mut Framing,
        now: Instant,
        payload: &'a [u8],
    ) -> impl Iterator<Item = (Media<'a>, Fragment)> {
        let lifetime = self.lifetime;
        write.packets(cut, framing).filter_map(move |packet| {
            let headway_media::Media { size, kind, priority, expires, fragment, .. } = packet;
            let length = usize::try_from(size.count()).unwrap_or(usize::MAX).min(payload.len());
            let expires = expires.map(|at| at.since(now)).or(lifetime);
            let media = Media { kind, priority, expires, ..Media::new(&payload[..length]) };
            Some((media, fragment?))
        })
    }

    /// Sends `segments` datagrams as fast as the connection allows.
    fn backlog(&self, segments: u64, line: &Line) -> Result<(), Ended> {
        let payload = vec![0; MAX_LENGTH];
        let mut left = segments;
        while left > 0 && !line.is_stopped() {
            let batch = left.min(line.wait_for_room() as u64);
            let segment = payload.get(..line.largest()).unwrap_or(&payload);
            line.send(&vec![Media { expires: self.lifetime, ..Media::new(segment) }; batch as usize])?;
            left -= batch;
        }
        Ok(())
    }
}

/// Reads the trace or capture that the source replays.
fn read_file(options: &SourceOptions, name: &str) -> Result<Arc<Trace>, Failure> {
    let path = Path::new(name);
    let read = |limit: Bytes| read(path, limit.count()).map_err(Failure::file("read", path));
    let SourceOptions::Capture(options) = options else {
        let trace = Trace::parse(&String::from_utf8_lossy(&read(Trace::LARGEST_TEXT)?));
        return trace.map(Arc::new).map_err(|error| wrong(&format!("{name} is not a trace: {error}")));
    };
    let capture = Capture::parse(&read(Capture::LARGEST_FILE)?);
    let capture = capture.map_err(|error| wrong(&format!("{name} cannot be read: {error}")))?;
    let schedule = options.schedule(&capture);
    let schedule = schedule.map_err(|error| wrong(&format!("{} of capture: {}", error.key, error.message)))?;
    schedule.notes.iter().for_each(|note| output::note(&format!("warning: {NAME}: {note}")));
    Ok(Arc::new(schedule.trace))
}

fn wrong(message: &str) -> Failure {
    ScenarioError::new(NAME, Place::File, message).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lifetimes of the datagrams of the first write.
    fn lifetimes(text: &str, lifetime: Option<Duration>) -> Vec<Option<Duration>> {
        let model = Model::new(text, 1, lifetime).unwrap();
        let mut source = model.start(Instant::ZERO).unwrap();
        let now = source.poll_timeout().unwrap();
        let (write, mut framing) = (source.poll(now).unwrap(), Framing::default());
        let (cut, payload) = (UdpOptions::preset(Dialect::default()), [0; 2000]);
        model.media_of(write, &cut, &mut framing, now, &payload).map(|(media, _)| media.expires).collect()
    }

    #[test]
    fn the_lifetime_of_a_source_has_precedence() {
        let (short, long) = (Some(Duration::from_millis(150)), Some(Duration::from_secs(2)));
        let (plain, own) = ("kind = \"cbr\", rate = \"1Mbps\", size = \"500B\"", ", lifetime = \"150ms\"");
        assert_eq!(lifetimes(plain, None), [None]);
        assert_eq!(lifetimes(plain, long), [long]);
        assert_eq!(lifetimes(&format!("{plain}{own}"), long), [short]);
    }
}
