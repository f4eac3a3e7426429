//! Regular RTCP reports of a session (RFC 3550 section 6).

use crate::options::SessionOptions;
use crate::receiver::Receiver;
use crate::rtcp::{
    HEADER_BYTES, MAX_BLOCKS, ReportBlock, SSRC_BYTES, SenderInfo, cname_bytes, ntp, report_bytes, write_bye,
    write_cnames, write_report,
};
use crate::stream::{Sent, Stream};
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

    /// Returns the datagrams of the report that is due, if any.
    pub(crate) fn poll(
        &mut self,
        now: Instant,
        options: &SessionOptions,
        streams: &mut BTreeMap<u32, Stream>,
        receiver: &mut Receiver,
    ) -> Vec<Vec<u8>> {
        if now < self.next {
            return Vec::new();
        }
        self.next = now + self.interval();
        self.compounds(now, options, streams, receiver, false)
    }

    /// Returns a last report with a BYE of all streams.
    pub(crate) fn bye(
        &self,
        now: Instant,
        options: &SessionOptions,
        streams: &mut BTreeMap<u32, Stream>,
        receiver: &mut Receiver,
    ) -> Vec<Vec<u8>> {
        self.compounds(now, options, streams, receiver, true)
    }

    /// Returns compound datagrams (RFC 3550 section 6.1) that fit into the packet size. Each has reports of some sources
    /// of this end, their canonical name, and a BYE at the end of the session. The first report has the blocks about
    /// received streams, as many as fit.
    fn compounds(
        &self,
        now: Instant,
        options: &SessionOptions,
        streams: &mut BTreeMap<u32, Stream>,
        receiver: &mut Receiver,
        is_last: bool,
    ) -> Vec<Vec<u8>> {
        let sources = self.sources(now, options, streams);
        let (mut datagrams, mut rest) = (Vec::new(), &sources[..]);
        while !rest.is_empty() {
            let headers = HEADER_BYTES * (1 + usize::from(is_last));
            // Room for one block at least.
            let mut room = options.largest().saturating_sub(headers + ReportBlock::BYTES);
            let mut reserve = |info: &Option<SenderInfo>| {
                let bye = if is_last { SSRC_BYTES } else { 0 };
                let left = room.checked_sub(report_bytes(info.is_some()) + cname_bytes(&self.cname) + bye);
                room = left.unwrap_or(room);
                left.is_some()
            };
            let fitting = rest.iter().take(MAX_BLOCKS).take_while(|(_, info)| reserve(info)).count();
            let (these, others) = rest.split_at(fitting.max(1));
            rest = others;
            let stacked = room / (MAX_BLOCKS * ReportBlock::BYTES) * report_bytes(false);
            let blocks = receiver.reports(now, 1 + (room - stacked) / ReportBlock::BYTES);
            datagrams.push(self.compound(these, &blocks, is_last));
        }
        datagrams
    }

    fn compound(&self, sources: &[(u32, Option<SenderInfo>)], blocks: &[ReportBlock], is_last: bool) -> Vec<u8> {
        let mut datagram = Vec::new();
        let mut blocks = blocks.chunks(MAX_BLOCKS);
        for (ssrc, info) in sources {
            write_report(&mut datagram, *ssrc, info.as_ref(), blocks.next().unwrap_or_default());
            // "Additional RR packets" (RFC 3550 section 6.4).
            for more in blocks.by_ref() {
                write_report(&mut datagram, *ssrc, None, more);
            }
        }
        let sources: Vec<u32> = sources.iter().map(|(ssrc, _)| *ssrc).collect();
        write_cnames(&mut datagram, &sources, &self.cname);
        if is_last {
            write_bye(&mut datagram, &sources);
        }
        datagram
    }

    /// Returns the sources of this end: the session's own and the streams of which a packet was sent. Each has the
    /// contents of a sender report if a packet was sent since the last report but one.
    fn sources(
        &self,
        now: Instant,
        options: &SessionOptions,
        streams: &mut BTreeMap<u32, Stream>,
    ) -> Vec<(u32, Option<SenderInfo>)> {
        let mut sources = BTreeMap::from([(self.ssrc, None)]);
        for (ssrc, stream) in streams.iter_mut().filter(|(_, stream)| stream.last.is_some()) {
            let is_sender = stream.on_report();
            sources.insert(*ssrc, sender_info(now, stream, options).filter(|_| is_sender));
        }
        sources.into_iter().collect()
    }
}

/// Returns the contents of a sender report; `None` without a packet or a known clock rate.
fn sender_info(now: Instant, stream: &Stream, options: &SessionOptions) -> Option<SenderInfo> {
    let Sent { timestamp, payload_type, created, .. } = stream.last?;
    let clock_rate = options.clock_rate(payload_type)?;
    let since = (u128::from(now.since(created).as_nanos()) * u128::from(clock_rate) / 1_000_000_000) as u32;
    let rtp_timestamp = timestamp.wrapping_add(since);
    Some(SenderInfo { ntp: ntp(now), rtp_timestamp, packets: stream.packets, octets: stream.octets })
}
