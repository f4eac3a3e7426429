//! A client that sends media to a server through two endpoints, over a path defined by the test.
#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    reason = "shared by test files that use parts of it"
)]

use headway_dccp::{
    CcidController, Connection, ConnectionHandle, ConnectionOptions, Endpoint, EndpointOptions, Event, Fate,
    MediaOutbox, Path, ServiceCode,
};
use headway_media::{Media, SendQueueOptions};
use headway_units::{Dialect, Duration, Ecn, Instant, Options, QueueSize, Random, Registry};
use std::collections::BTreeMap;

pub const SERVICE: ServiceCode = ServiceCode(0x5254_5056);
pub const CLIENT: usize = 0;
pub const SERVER: usize = 1;
const PORT: u16 = 5004;

pub fn tfrc_with_vectors() -> ConnectionOptions {
    let preset = ConnectionOptions::preset(Dialect::Rfc);
    let controllers =
        preset.controllers.iter().map(|row| CcidController { ack_vectors: true, ..row.clone() }).collect();
    ConnectionOptions { send_ccids: vec![3], receive_ccids: vec![3], controllers, ..preset }
}

pub fn queue(kind: &str, resend: bool) -> SendQueueOptions {
    let mut options = SendQueueOptions::preset(kind, Dialect::Rfc).unwrap();
    (options.rules.limit, options.rules.resend) = (QueueSize::Packets(10_000), resend);
    options
}

/// Returns the delay of a datagram to an endpoint; `None` if it is lost.
pub type PathDelay = Box<dyn FnMut(Instant, usize, &[u8]) -> Option<Duration>>;

pub fn path_delay(delay: Duration) -> PathDelay {
    Box::new(move |_, _, _| Some(delay))
}

/// Returns a constant delay with `lost` of 1000 datagrams lost.
pub fn lossy(delay: Duration, lost: u64) -> PathDelay {
    let mut random = Random::new(7, "path");
    Box::new(move |_, _, _| (random.below(1000) >= lost).then_some(delay))
}

pub struct Call {
    pub now: Instant,
    pub ends: [Endpoint<Option<MediaOutbox<Vec<u8>>>>; 2],
    pub client: ConnectionHandle,
    server: Option<ConnectionHandle>,
    pub path_delay: PathDelay,
    in_flight: BTreeMap<(Instant, u64), (usize, Path, Vec<u8>)>,
    pub sent: [u64; 2],
    /// Numbers of the client's datagrams delivered to the server.
    pub delivered: Vec<u64>,
    pub events: [Vec<Event>; 2],
    /// Outcomes of the client's datagrams: when reported, number, outcome.
    pub fates: Vec<(Instant, u64, Fate)>,
    pub dropped: u64,
    /// Marked batches that were sent: number of the probe, and whether it was alone.
    pub probes: Vec<(u64, bool)>,
    /// Maximum size of unfragmented packets with IP and UDP headers, in bytes.
    pub mtu: usize,
    /// Whether the path loses fragments, as many do, and thus all larger packets.
    pub loses_fragments: bool,
}

impl Call {
    pub fn new(
        client: &ConnectionOptions,
        server: &ConnectionOptions,
        queue: &SendQueueOptions,
        path_delay: PathDelay,
    ) -> Self {
        let now = Instant::from_secs(1);
        let bounds = EndpointOptions { idle_give_up: None, ..EndpointOptions::default() };
        let mut ends = ["client", "server"].map(|name| Endpoint::new(bounds, Random::new(1, name)));
        ends[SERVER].listen(now, PORT, server, &[SERVICE]).unwrap();
        let path = Path::Udp { local: ([192, 0, 2, 1], 4000).into(), remote: ([192, 0, 2, 2], 6511).into() };
        let outbox = Some(MediaOutbox::new(queue).follow());
        let client = ends[CLIENT].connect(now, path, PORT, SERVICE, client, outbox).unwrap();
        Self {
            now,
            ends,
            client,
            server: None,
            path_delay,
            in_flight: BTreeMap::new(),
            sent: [0; 2],
            delivered: vec![],
            events: [vec![], vec![]],
            fates: vec![],
            dropped: 0,
            probes: vec![],
            mtu: usize::MAX,
            loses_fragments: false,
        }
    }

    pub fn client(&mut self) -> &mut Connection {
        self.ends[CLIENT].connection_mut(self.client).unwrap()
    }
    pub fn server(&mut self) -> &mut Connection {
        self.ends[SERVER].connection_mut(self.server.unwrap()).unwrap()
    }
    pub fn outbox(&mut self) -> &mut MediaOutbox<Vec<u8>> {
        self.ends[CLIENT].outbox_mut(self.client).and_then(Option::as_mut).unwrap()
    }

    /// Queues a datagram of this size that contains its number.
    pub fn push(&mut self, size: usize, lifetime: Duration) -> u64 {
        let now = self.now;
        let mut payload = vec![0; size.max(8)];
        let outbox = self.outbox();
        payload[..8].copy_from_slice(&outbox.pushed().to_be_bytes());
        outbox.push(now, Media { expires: Some(now + lifetime), ..Media::new(now, payload) })
    }

    fn drain(&mut self) {
        let mut buffer = vec![];
        for end in [CLIENT, SERVER] {
            while let Some(out) = self.ends[end].poll_transmit(self.now, &mut buffer) {
                let Path::Udp { local, remote } = out.path else { panic!("it runs over UDP") };
                let back = Path::Udp { local: remote, remote: local };
                self.probes.extend(out.probe.map(|probe| (probe, out.len == out.segment_size)));
                for bytes in buffer[..out.len].chunks(out.segment_size) {
                    self.sent[end] += 1;
                    if (out.dont_fragment || self.loses_fragments) && bytes.len() + 28 > self.mtu {
                        continue;
                    }
                    if let Some(delay) = (self.path_delay)(self.now, 1 - end, bytes) {
                        let key = (self.now + delay, self.sent[CLIENT] + self.sent[SERVER]);
                        self.in_flight.insert(key, (1 - end, back, bytes.to_vec()));
                    }
                }
            }
            while let Some((handle, event)) = self.ends[end].poll_event() {
                if end == SERVER {
                    self.server = Some(handle);
                }
                self.events[end].push(event);
            }
        }
        if self.ends[CLIENT].connection(self.client).is_some() {
            let now = self.now;
            let reported: Vec<_> = std::iter::from_fn(|| self.outbox().poll_fate()).collect();
            self.fates.extend(reported.into_iter().map(|(id, fate)| (now, id, fate)));
        }
    }

    pub fn run(&mut self, time: Duration) {
        let until = self.now + time;
        loop {
            self.drain();
            let arrival = self.in_flight.keys().next().map(|(at, _)| *at);
            let timeouts = [CLIENT, SERVER].map(|end| self.ends[end].poll_timeout());
            let next = timeouts.into_iter().chain([arrival]).flatten().min().filter(|at| *at <= until);
            let Some(next) = next else { break };
            self.now = self.now.max(next);
            while let Some(entry) = self.in_flight.first_entry().filter(|entry| entry.key().0 <= self.now) {
                let (end, path, bytes) = entry.remove();
                match self.ends[end].handle_datagram(self.now, path, Ecn::NotEct, &bytes) {
                    Ok(Some(datagram)) if end == SERVER => {
                        self.delivered.push(u64::from_be_bytes(datagram.data[..8].try_into().unwrap()));
                    }
                    Ok(_) => {}
                    Err(_) => self.dropped += 1,
                }
            }
            self.ends.iter_mut().for_each(|end| end.handle_timeout(self.now));
        }
        self.now = until;
    }
}
