//! Test world: a client, a server, a NAT between them, and streams of numbered datagrams.

use crate::nat::Nat;
use headway_net::{Clock, Closed, Connection, Duration, Endpoint, Event, Fate, Media, Options, SendError, Trust};
use headway_units::Instant;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{Builder, JoinHandle};

/// Longer than any step takes on a busy machine: twice 64 s, the longest interval between packets of TFRC without
/// feedback (`t_mbi`).
pub(crate) const LONG: Duration = Duration::from_secs(150);

/// Options of the server and of the client.
pub(crate) type Both = (Options, Options);

pub(crate) fn secure() -> Both {
    let server = Options::server().unwrap();
    let trust = Trust::Fingerprints(vec![server.fingerprint().unwrap()]);
    (server, Options::client(trust).unwrap())
}

pub(crate) fn insecure() -> Both {
    (Options::insecure(), Options::insecure())
}

/// Runs the test with DTLS and without.
pub(crate) fn each(test: impl Fn(&str, Both)) {
    test("DTLS", secure());
    test("plain", insecure());
}

/// Changes the options of both ends.
pub(crate) fn with(both: Both, change: impl Fn(&mut Options)) -> Both {
    let (mut server, mut client) = both;
    change(&mut server);
    change(&mut client);
    (server, client)
}

pub(crate) fn pause(millis: u64) {
    std::thread::park_timeout(std::time::Duration::from_millis(millis));
}

/// Waits until the condition holds; fails after `LONG`.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let clock = Clock::new();
    while !holds() {
        assert!(clock.now() < Instant::ZERO + LONG, "never: {what}");
        pause(1);
    }
}

/// A connection through a NAT, with both ends.
pub(crate) struct World {
    pub(crate) server: Endpoint,
    pub(crate) client: Endpoint,
    pub(crate) nat: Nat,
    /// The client's end and the server's end.
    pub(crate) ends: [Arc<Connection>; 2],
}

impl World {
    pub(crate) fn new(both: &Both) -> Self {
        Self::through(both, |_| {})
    }

    /// Connects through a NAT that `prepare` has changed.
    pub(crate) fn through(both: &Both, prepare: impl FnOnce(&Nat)) -> Self {
        let server = Endpoint::server("127.0.0.1:0".parse().unwrap(), &both.0).unwrap();
        let client = Endpoint::client(&both.1).unwrap();
        let nat = Nat::new(server.local_addr());
        prepare(&nat);
        let connection = client.connect(nat.address()).unwrap();
        assert_eq!(connection.connected(), Ok(()));
        let accepted = server.accept_timeout(LONG).expect("it has connected");
        Self { server, client, nat, ends: [connection, accepted].map(Arc::new) }
    }

    /// Starts streams in both directions.
    pub(crate) fn streams(&self, make: impl Fn(&Connection) -> Vec<u8> + Clone + Send + 'static) -> [Stream; 2] {
        let [client, server] = &self.ends;
        [Stream::new(client, server, make.clone()), Stream::new(server, client, make)]
    }
}

/// Length of the number in a datagram, in bytes.
const NUMBER: usize = 8;

/// Returns a datagram of 200 bytes; the number is filled in later.
pub(crate) fn small(_: &Connection) -> Vec<u8> {
    vec![0; 200]
}

/// A program that sends a datagram every few milliseconds, and one that receives them.
pub(crate) struct Stream {
    sent: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
    /// Whether `sent` is final.
    all_sent: Arc<AtomicBool>,
    received: Arc<Mutex<Received>>,
    threads: [JoinHandle<()>; 2],
    fates: Arc<Mutex<BTreeMap<u64, Vec<Fate>>>>,
    watcher: JoinHandle<()>,
}

#[derive(Debug, Default)]
pub(crate) struct Received {
    /// How often each number was received.
    pub(crate) numbers: BTreeMap<u64, u64>,
    /// Datagrams that were never sent.
    pub(crate) wrong: u64,
    pub(crate) longest: usize,
    pub(crate) end: Option<Closed>,
}

impl Received {
    /// Returns the number of duplicates and of datagrams that were never sent.
    pub(crate) fn repeats(&self) -> u64 {
        self.wrong + self.numbers.values().map(|times| times - 1).sum::<u64>()
    }
}

impl Stream {
    fn new(
        from: &Arc<Connection>,
        to: &Arc<Connection>,
        make: impl Fn(&Connection) -> Vec<u8> + Send + 'static,
    ) -> Self {
        let (sent, over, received): (Arc<AtomicU64>, Arc<AtomicBool>, Arc<Mutex<Received>>) = Default::default();
        let (sends, counted, stopped) = (Arc::clone(from), Arc::clone(&sent), Arc::clone(&over));
        let sender = Builder::new().spawn(move || {
            while !stopped.load(Ordering::SeqCst) {
                let number = counted.load(Ordering::SeqCst);
                let mut datagram = make(&sends);
                datagram[..NUMBER].copy_from_slice(&number.to_be_bytes());
                match sends.send(Media { expires: Some(Duration::from_millis(300)), ..Media::new(&datagram) }) {
                    Ok(id) => assert_eq!(id, counted.fetch_add(1, Ordering::SeqCst)),
                    // The path has become narrower.
                    Err(SendError::TooLarge { .. }) => {}
                    Err(_) => break,
                }
                pause(3);
            }
        });
        let (receives, seen, stopped) = (Arc::clone(to), Arc::clone(&received), Arc::clone(&over));
        let receiver = Builder::new().spawn(move || {
            let mut datagram = Vec::new();
            while !stopped.load(Ordering::SeqCst) {
                let result = receives.recv_timeout(&mut datagram, Duration::from_millis(10));
                let mut received = seen.lock().unwrap();
                match result {
                    Some(Ok(())) => {
                        received.longest = received.longest.max(datagram.len());
                        let number = datagram.first_chunk::<NUMBER>().map(|number| u64::from_be_bytes(*number));
                        let right = number.filter(|_| datagram[NUMBER..].iter().all(|byte| *byte == 0));
                        match right {
                            Some(number) => *received.numbers.entry(number).or_default() += 1,
                            None => received.wrong += 1,
                        }
                    }
                    Some(Err(why)) => {
                        received.end = Some(why);
                        break;
                    }
                    None => {}
                }
            }
        });
        let all_sent: Arc<AtomicBool> = Arc::default();
        let (watched, counted, stopped) = (Arc::clone(from), Arc::clone(&sent), Arc::clone(&all_sent));
        let fates: Arc<Mutex<BTreeMap<u64, Vec<Fate>>>> = Arc::default();
        let reported = Arc::clone(&fates);
        let watcher = Builder::new().spawn(move || {
            let (mut ended, mut quiet) = (0, 0);
            while !stopped.load(Ordering::SeqCst) || ended < counted.load(Ordering::SeqCst) {
                match watched.event_timeout(Duration::from_millis(20)) {
                    Some(Event::Media(id, fate)) => {
                        (ended, quiet) = (ended + u64::from(fate.is_final()), 0);
                        reported.lock().unwrap().entry(id).or_default().push(fate);
                    }
                    Some(Event::Closed(_)) => break,
                    Some(_) => quiet = 0,
                    // The outcome of the last datagrams stays open if they or their reports were lost.
                    None if quiet == 250 => break,
                    None => quiet += u32::from(stopped.load(Ordering::SeqCst)),
                }
            }
        });
        let threads = [sender, receiver].map(Result::unwrap);
        Self { sent, over, all_sent, received, threads, fates, watcher: watcher.unwrap() }
    }

    /// Returns the number of datagrams queued.
    pub(crate) fn sent(&self) -> u64 {
        self.sent.load(Ordering::SeqCst)
    }

    pub(crate) fn received<R>(&self, look: impl FnOnce(&Received) -> R) -> R {
        look(&self.received.lock().unwrap())
    }

    /// Waits for a datagram that is queued from now on.
    pub(crate) fn continues(&self) {
        self.reaches(self.sent());
    }
    /// Waits for this datagram or a later one.
    pub(crate) fn reaches(&self, number: u64) {
        until("a datagram arrives", || self.has_received(number));
    }
    pub(crate) fn has_received(&self, number: u64) -> bool {
        self.received(|received| received.numbers.range(number..).next().is_some())
    }

    /// Waits until this outcome is reported for this many datagrams.
    pub(crate) fn reports(&self, outcome: Fate, count: usize) {
        until("the outcomes are reported", || {
            let fates = self.fates.lock().unwrap();
            fates.values().filter(|fates| fates.last() == Some(&outcome)).count() >= count
        });
    }

    /// Stops sending. Returns the outcomes once all are known or the connection is closed.
    pub(crate) fn stop(self) -> (u64, BTreeMap<u64, Vec<Fate>>, Received) {
        self.over.store(true, Ordering::SeqCst);
        let [sender, receiver] = self.threads;
        sender.join().unwrap();
        self.all_sent.store(true, Ordering::SeqCst);
        self.watcher.join().unwrap();
        receiver.join().unwrap();
        let fates = std::mem::take(&mut *self.fates.lock().unwrap());
        let received = std::mem::take(&mut *self.received.lock().unwrap());
        (self.sent.load(Ordering::SeqCst), fates, received)
    }
}

/// Checks that each datagram has one final outcome, which is its last event. It may be open only if fewer than 16 later
/// datagrams are reported as delivered: reports on the end of a stream may be lost. No datagram is received twice, or
/// without having been sent. Returns the number of each outcome.
pub(crate) fn accounted(
    (sent, fates, received): &(u64, BTreeMap<u64, Vec<Fate>>, Received),
) -> BTreeMap<&'static str, u64> {
    let mut sums = BTreeMap::new();
    let has_outcome = |fates: &[Fate]| fates.iter().any(Fate::is_final);
    let delivered = fates.iter().filter(|(_, fates)| fates.last() == Some(&Fate::Delivered));
    let delivered: BTreeSet<u64> = delivered.map(|(id, _)| *id).collect();
    for id in 0..*sent {
        let fates = fates.get(&id).unwrap_or_else(|| panic!("no event reports {id}"));
        let is_last = !has_outcome(fates) && delivered.range(id..).take(16).count() < 16;
        let ends = fates.iter().filter(|fate| fate.is_final()).count();
        assert!(is_last || ends == 1 && fates.last().is_some_and(Fate::is_final), "{id}: {fates:?}");
        let name = match fates.last() {
            _ if is_last => "last",
            Some(Fate::Delivered) => "delivered",
            Some(Fate::Lost) => "lost",
            Some(Fate::Unsent { .. }) => "unsent",
            Some(Fate::Unknown) => "unknown",
            other => panic!("{id}: {other:?}"),
        };
        assert!(name != "unsent" || !received.numbers.contains_key(&id), "{id} was not sent, but arrived");
        *sums.entry(name).or_default() += 1;
    }
    assert!(received.numbers.values().all(|times| *times == 1), "some arrived twice");
    assert_eq!(received.wrong, 0, "some arrived that were never sent");
    assert_eq!(sums.values().sum::<u64>(), *sent);
    sums
}
