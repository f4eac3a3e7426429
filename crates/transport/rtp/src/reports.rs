//! Regular RTCP reports of a session (RFC 3550 section 6).

use crate::options::SessionOptions;
use crate::receiver::Receiver;
use crate::rtcp::{SenderInfo, ntp, write_bye, write_cnames, write_report};
use crate::stream::Stream;
use headway_units::{Duration, Instant, Random};
use std::collections::BTreeMap;

/// Mean interval of reports (RFC 3550 section 6.2: the minimum of 5 s, since the session has two members).
const INTERVAL: Duration = Duration::from_secs(5);

/// Times and contents of regular reports.
#[derive(Debug)]
pub(crate) struct Reports {
    ssrc: u32,
    cname: String,
    next: Instant,
    random: Random,
}

impl Reports {
    pub(crate) fn new(now: Instant, ssrc: u32, cname: String, random: Random) -> Self {
        let mut reports = Self { ssrc, cname, next: now, random };
        // The first interval is half as long (RFC 3550 section 6.2).
        reports.next = now + reports.interval() / 2;
        reports
    }

    /// Returns a half to one and a half intervals (RFC 3550 section 6.3.1).
    fn interval(&mut self) -> Duration {
        Duration::from_secs_f64(INTERVAL.as_secs_f64() * (0.5 + self.random.uniform()))
    }

    pub(crate) const fn poll_timeout(&self) -> Instant {
        self.next
    }

    /// Returns the report that is due, if any.
    pub(crate) fn poll(
        &mut self,
        now: Instant,
        options: &SessionOptions,
        streams: &BTreeMap<u32, Stream>,
        receiver: &mut Receiver,
    ) -> Option<Vec<u8>> {
        if now < self.next {
            return None;
        }
        self.next = now + self.interval();
        Some(self.compound(now, options, streams, receiver))
    }

    fn compound(
        &self,
        now: Instant,
        options: &SessionOptions,
        streams: &BTreeMap<u32, Stream>,
        receiver: &mut Receiver,
    ) -> Vec<u8> {
        let mut datagram = Vec::new();
        let mut blocks = receiver.reports(now);
        let mut names = vec![self.ssrc];
        for (ssrc, stream) in streams {
            let Some(info) = sender_info(now, stream, options) else { continue };
            write_report(&mut datagram, *ssrc, Some(&info), &std::mem::take(&mut blocks));
            if *ssrc != self.ssrc {
                names.push(*ssrc);
            }
        }
        if datagram.is_empty() || !blocks.is_empty() {
            write_report(&mut datagram, self.ssrc, None, &blocks);
        }
        write_cnames(&mut datagram, &names, &self.cname);
        datagram
    }

    /// Returns a last report with a BYE of all streams.
    pub(crate) fn bye(
        &self,
        now: Instant,
        options: &SessionOptions,
        streams: &BTreeMap<u32, Stream>,
        receiver: &mut Receiver,
    ) -> Vec<u8> {
        let mut datagram = self.compound(now, options, streams, receiver);
        let mut sources: Vec<u32> = streams.keys().copied().filter(|ssrc| *ssrc != self.ssrc).collect();
        sources.insert(0, self.ssrc);
        write_bye(&mut datagram, &sources);
        datagram
    }
}

/// Returns the contents of a sender report; `None` without a packet or a known clock rate.
fn sender_info(now: Instant, stream: &Stream, options: &SessionOptions) -> Option<SenderInfo> {
    let (timestamp, payload_type, created) = stream.last?;
    let clock_rate = options.clock_rate(payload_type)?;
    let since = (u128::from(now.since(created).as_nanos()) * u128::from(clock_rate) / 1_000_000_000) as u32;
    let rtp_timestamp = timestamp.wrapping_add(since);
    Some(SenderInfo { ntp: ntp(now), rtp_timestamp, packets: stream.packets, octets: stream.octets })
}
