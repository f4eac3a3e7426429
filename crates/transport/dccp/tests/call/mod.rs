//! A client that sends media to a server, through two endpoints, over a path that the test describes.
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

/// TFRC in both directions, whose data receivers must send Ack Vectors besides.
pub fn tfrc_with_vectors() -> ConnectionOptions {
    let preset = ConnectionOptions::preset(Dialect::Rfc);
    let controllers =
        preset.controllers.iter().map(|row| CcidController { ack_vectors: true, ..row.clone() }).collect();
    ConnectionOptions { send_ccids: vec![3], receive_ccids: vec![3], controllers, ..preset }
}

/// A queue of 10,000 datagrams.
pub fn queue(kind: &str, resend: bool) -> SendQueueOptions {
    let mut options = SendQueueOptions::preset(kind, Dialect::Rfc).unwrap();
    (options.rules.limit, options.rules.resend) = (QueueSize::Packets(10_000), resend);
    options
}

/// How long a datagram to this end is under way, if it arrives.
pub type Way = Box<dyn FnMut(Instant, usize, &[u8]) -> Option<Duration>>;

/// So long each way.
pub fn way(delay: Duration) -> Way {
    Box::new(move |_, _, _| Some(delay))
}

/// So long each way, with so many of a thousand lost.
pub fn lossy(delay: Duration, lost: u64) -> Way {
    let mut random = Random::new(7, "path");
    Box::new(move |_, _, _| (random.below(1000) >= lost).then_some(delay))
}

pub struct Call {
    pub now: Instant,
    pub ends: [Endpoint<Option<MediaOutbox<Vec<u8>>>>; 2],
    pub client: ConnectionHandle,
    server: Option<ConnectionHandle>,
    pub way: Way,
    under_way: BTreeMap<(Instant, u64), (usize, Path, Vec<u8>)>,
    /// By each end.
    pub sent: [u64; 2],
    /// What the server's program has of the client's datagrams: their numbers.
    pub delivered: Vec<u64>,
    pub events: [Vec<Event>; 2],
    /// The client's datagrams, and when it was told.
    pub fates: Vec<(Instant, u64, Fate)>,
    pub dropped: u64,
    /// Marked batches that went: whose probe, and whether it was alone.
    pub probes: Vec<(u64, bool)>,
    /// Whole packets with IP's and UDP's headers that the path carries, if they may not be fragmented.
    pub mtu: usize,
    /// Whether the path loses fragments, as many do: then it carries no larger packet at all.
    pub loses_fragments: bool,
}

impl Call {
    pub fn new(client: &ConnectionOptions, server: &ConnectionOptions, queue: &SendQueueOptions, way: Way) -> Self {
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
            way,
            under_way: BTreeMap::new(),
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

    /// Hands over a datagram of this size, which says its number.
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
                    if let Some(delay) = (self.way)(self.now, 1 - end, bytes) {
                        let key = (self.now + delay, self.sent[CLIENT] + self.sent[SERVER]);
                        self.under_way.insert(key, (1 - end, back, bytes.to_vec()));
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
            let told: Vec<_> = std::iter::from_fn(|| self.outbox().poll_fate()).collect();
            self.fates.extend(told.into_iter().map(|(id, fate)| (now, id, fate)));
        }
    }

    pub fn run(&mut self, time: Duration) {
        let until = self.now + time;
        loop {
            self.drain();
            let arrival = self.under_way.keys().next().map(|(at, _)| *at);
            let timeouts = [CLIENT, SERVER].map(|end| self.ends[end].poll_timeout());
            let next = timeouts.into_iter().chain([arrival]).flatten().min().filter(|at| *at <= until);
            let Some(next) = next else { break };
            self.now = self.now.max(next);
            while let Some(entry) = self.under_way.first_entry().filter(|entry| entry.key().0 <= self.now) {
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
