//! A client, a server, what stands between them, and a stream of numbered datagrams.

use crate::nat::Nat;
use headway_net::{Clock, Closed, Connection, Duration, Endpoint, Event, Fate, Media, Options, SendError, Trust};
use headway_units::Instant;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{Builder, JoinHandle};

/// Longer than anything here takes on the busiest machine. A TFRC that has heard nothing for long may send a packet each 64 s and no more (`t_mbi`): twice
/// that.
pub(crate) const LONG: Duration = Duration::from_secs(150);

/// A server's options and its client's.
pub(crate) type Both = (Options, Options);

pub(crate) fn secure() -> Both {
    let server = Options::server().unwrap();
    let trust = Trust::Fingerprints(vec![server.fingerprint().unwrap()]);
    (server, Options::client(trust).unwrap())
}

pub(crate) fn insecure() -> Both {
    (Options::insecure(), Options::insecure())
}

/// With both, and what they are called.
pub(crate) fn each(test: impl Fn(&str, Both)) {
    test("DTLS", secure());
    test("plain", insecure());
}

/// Both ends have other rules of the protocol.
pub(crate) fn with(both: Both, change: impl Fn(&mut Options)) -> Both {
    let (mut server, mut client) = both;
    change(&mut server);
    change(&mut client);
    (server, client)
}

pub(crate) fn pause(millis: u64) {
    std::thread::park_timeout(std::time::Duration::from_millis(millis));
}

/// Until this holds; that it never does is a failure.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let clock = Clock::new();
    while !holds() {
        assert!(clock.now() < Instant::ZERO + LONG, "never: {what}");
        pause(1);
    }
}

/// A connection through a NAT, with both its ends.
pub(crate) struct World {
    pub(crate) server: Endpoint,
    pub(crate) client: Endpoint,
    pub(crate) nat: Nat,
    /// The client's end and the server's.
    pub(crate) ends: [Arc<Connection>; 2],
}

impl World {
    pub(crate) fn new(both: &Both) -> Self {
        Self::through(both, usize::MAX)
    }

    /// Connects through a path that carries no longer datagrams than that.
    pub(crate) fn through(both: &Both, limit: usize) -> Self {
        let server = Endpoint::server("127.0.0.1:0".parse().unwrap(), &both.0).unwrap();
        let client = Endpoint::client(&both.1).unwrap();
        let nat = Nat::new(server.local_addr());
        nat.limit(limit);
        let connection = client.connect(nat.address()).unwrap();
        connection.connected().unwrap();
        let accepted = server.accept_timeout(LONG).expect("it has connected");
        Self { server, client, nat, ends: [connection, accepted].map(Arc::new) }
    }

    /// Both ways at once.
    pub(crate) fn streams(&self, make: impl Fn(&Connection) -> Vec<u8> + Clone + Send + 'static) -> [Stream; 2] {
        let [client, server] = &self.ends;
        [Stream::new(client, server, make.clone()), Stream::new(server, client, make)]
    }
}

/// Of a datagram.
const NUMBER: usize = 8;

/// A datagram of so many bytes, for the number.
pub(crate) fn small(_: &Connection) -> Vec<u8> {
    vec![0; 200]
}

/// A program that sends a datagram every few milliseconds, and one that receives.
pub(crate) struct Stream {
    sent: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
    came: Arc<Mutex<Came>>,
    threads: [JoinHandle<()>; 2],
    fates: JoinHandle<BTreeMap<u64, Vec<Fate>>>,
}

#[derive(Debug, Default)]
pub(crate) struct Came {
    /// By their numbers, how often.
    pub(crate) numbers: BTreeMap<u64, u64>,
    /// Not what was sent.
    pub(crate) wrong: u64,
    pub(crate) longest: usize,
    pub(crate) end: Option<Closed>,
}

impl Came {
    /// Some of the same number, or of none.
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
        let (sent, over, came): (Arc<AtomicU64>, Arc<AtomicBool>, Arc<Mutex<Came>>) = Default::default();
        let (sends, counted, stopped) = (Arc::clone(from), Arc::clone(&sent), Arc::clone(&over));
        let sender = Builder::new().spawn(move || {
            while !stopped.load(Ordering::SeqCst) {
                let number = counted.load(Ordering::SeqCst);
                let mut datagram = make(&sends);
                datagram[..NUMBER].copy_from_slice(&number.to_be_bytes());
                match sends.send(Media { expires: Some(Duration::from_millis(300)), ..Media::new(&datagram) }) {
                    Ok(id) => assert_eq!(id, counted.fetch_add(1, Ordering::SeqCst)),
                    // The path has become narrower meanwhile.
                    Err(SendError::TooLarge { .. }) => {}
                    Err(_) => break,
                }
                pause(3);
            }
        });
        let (receives, seen, stopped) = (Arc::clone(to), Arc::clone(&came), Arc::clone(&over));
        let receiver = Builder::new().spawn(move || {
            let mut datagram = Vec::new();
            while !stopped.load(Ordering::SeqCst) {
                let received = receives.recv_timeout(&mut datagram, Duration::from_millis(10));
                let mut came = seen.lock().unwrap();
                match received {
                    Some(Ok(())) => {
                        came.longest = came.longest.max(datagram.len());
                        let number = datagram.first_chunk::<NUMBER>().map(|number| u64::from_be_bytes(*number));
                        let right = number.filter(|_| datagram[NUMBER..].iter().all(|byte| *byte == 0));
                        match right {
                            Some(number) => *came.numbers.entry(number).or_default() += 1,
                            None => came.wrong += 1,
                        }
                    }
                    Some(Err(why)) => {
                        came.end = Some(why);
                        break;
                    }
                    None => {}
                }
            }
        });
        let (hears, counted, stopped) = (Arc::clone(from), Arc::clone(&sent), Arc::clone(&over));
        let fates = Builder::new().spawn(move || {
            let mut fates = BTreeMap::<u64, Vec<Fate>>::new();
            let (mut ended, mut quiet) = (0, 0);
            while !stopped.load(Ordering::SeqCst) || ended < counted.load(Ordering::SeqCst) {
                match hears.event_timeout(Duration::from_millis(20)) {
                    Some(Event::Media(id, fate)) => {
                        (ended, quiet) = (ended + u64::from(fate.is_final()), 0);
                        fates.entry(id).or_default().push(fate);
                    }
                    Some(Event::Closed(_)) => break,
                    Some(_) => quiet = 0,
                    // Of the last nothing is told if they were lost, or the report was.
                    None if quiet == 250 => break,
                    None => quiet += 1,
                }
            }
            fates
        });
        Self { sent, over, came, threads: [sender, receiver].map(Result::unwrap), fates: fates.unwrap() }
    }

    /// So many were handed over.
    pub(crate) fn sent(&self) -> u64 {
        self.sent.load(Ordering::SeqCst)
    }

    pub(crate) fn came<R>(&self, look: impl FnOnce(&Came) -> R) -> R {
        look(&self.came.lock().unwrap())
    }

    /// One of those that are handed over from now on comes.
    pub(crate) fn goes_on(&self) {
        self.reaches(self.sent());
    }
    /// This one comes, or one of those behind it.
    pub(crate) fn reaches(&self, number: u64) {
        until("a datagram comes", || self.has_come(number));
    }
    pub(crate) fn has_come(&self, number: u64) -> bool {
        self.came(|came| came.numbers.range(number..).next().is_some())
    }

    /// No more is sent. What became of each that was, once that is known of all, or the connection is over.
    pub(crate) fn stop(self) -> (u64, BTreeMap<u64, Vec<Fate>>, Came) {
        self.over.store(true, Ordering::SeqCst);
        let [sender, receiver] = self.threads;
        sender.join().unwrap();
        let fates = self.fates.join().unwrap();
        receiver.join().unwrap();
        let came = std::mem::take(&mut *self.came.lock().unwrap());
        (self.sent.load(Ordering::SeqCst), fates, came)
    }
}

/// Each datagram has one end, which is the last that is told of it, but for the very last, where they or what was said of them were lost; none comes twice, and none comes that
/// never went.
pub(crate) fn accounted((sent, fates, came): &(u64, BTreeMap<u64, Vec<Fate>>, Came)) -> BTreeMap<&'static str, u64> {
    let mut sums = BTreeMap::new();
    for id in 0..*sent {
        let fates = fates.get(&id).unwrap_or_else(|| panic!("nothing is told of {id}"));
        let is_last = fates.iter().all(|fate| !fate.is_final()) && id + 16 > *sent;
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
        assert!(name != "unsent" || !came.numbers.contains_key(&id), "{id} never went, and came");
        *sums.entry(name).or_default() += 1;
    }
    assert!(came.numbers.values().all(|times| *times == 1), "some came twice");
    assert_eq!(came.wrong, 0, "some came that were never sent");
    assert_eq!(sums.values().sum::<u64>(), *sent);
    sums
}
