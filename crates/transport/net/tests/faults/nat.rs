//! NAT with one client between it and a server. It can rebind, drop, truncate the path MTU and lose datagrams.

use crate::world::until;
use std::collections::VecDeque;
use std::net::{SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// Number of datagrams kept of each direction, for forgeries.
const REMEMBERED: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    ToServer,
    ToClient,
}

/// Whether a path loses the n-th datagram of a direction, counted from 1.
type IsLost = Box<dyn Fn(Direction, u64) -> bool + Send>;

/// Attacker on the path: gets each passing datagram, or `None` from time to time, and returns the datagrams to
/// forward.
pub(crate) type OnPath = Box<dyn FnMut(Option<(Direction, &[u8])>) -> Vec<(Direction, Vec<u8>)> + Send>;

struct State {
    /// Whether all datagrams are dropped.
    hole: bool,
    /// Largest UDP payload that is forwarded, in bytes.
    limit: usize,
    is_lost: IsLost,
    /// Number of datagrams of each direction since `is_lost` was set.
    counted: [u64; 2],
    client: Option<SocketAddr>,
    /// Socket whose address the server sees; `None` once the NAT has vanished.
    outside: Option<Arc<UdpSocket>>,
    /// Earlier sockets; datagrams that arrive at them are dropped.
    before: Vec<Arc<UdpSocket>>,
    seen: [VecDeque<Vec<u8>>; 2],
    on_path: Option<OnPath>,
}

pub(crate) struct Nat {
    inside: Arc<UdpSocket>,
    server: SocketAddr,
    state: Arc<Mutex<State>>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Nat {
    pub(crate) fn new(server: SocketAddr) -> Self {
        let inside = Arc::new(socket());
        let state = State {
            hole: false,
            limit: usize::MAX,
            is_lost: Box::new(|_, _| false),
            counted: [0; 2],
            client: None,
            outside: None,
            before: Vec::new(),
            seen: Default::default(),
            on_path: None,
        };
        let nat =
            Self { inside: Arc::clone(&inside), server, state: Arc::new(Mutex::new(state)), threads: Mutex::default() };
        nat.rebind();
        let state = Arc::clone(&nat.state);
        nat.run(move |buffer| {
            let received = inside.recv_from(buffer);
            let mut state = state.lock().unwrap();
            if state.outside.is_none() {
                return false;
            }
            if let Ok((_, client)) = received {
                state.client = Some(client);
            }
            let received = received.ok().map(|(len, _)| (Direction::ToServer, &buffer[..len]));
            state.carry(received, &inside, server);
            true
        });
        nat
    }

    fn run(&self, mut turn: impl FnMut(&mut [u8]) -> bool + Send + 'static) {
        let thread = Builder::new().spawn(move || {
            let mut buffer = vec![0; 1 << 16];
            while turn(&mut buffer) {}
        });
        self.threads.lock().unwrap().push(thread.unwrap());
    }

    /// Address at which the client reaches the server.
    pub(crate) fn address(&self) -> SocketAddr {
        self.inside.local_addr().unwrap()
    }

    /// Gives the client another port; datagrams to the old port are dropped.
    pub(crate) fn rebind(&self) {
        self.bind(Arc::new(socket()));
    }

    /// Gives the client its first port again.
    pub(crate) fn rebind_to_first(&self) {
        let first = Arc::clone(&self.state.lock().unwrap().before[0]);
        self.bind(first);
    }

    fn bind(&self, outside: Arc<UdpSocket>) {
        let before = self.state.lock().unwrap().outside.replace(Arc::clone(&outside));
        self.state.lock().unwrap().before.extend(before);
        let (state, inside, server) = (Arc::clone(&self.state), Arc::clone(&self.inside), self.server);
        self.run(move |buffer| {
            let received = outside.recv_from(buffer);
            let mut state = state.lock().unwrap();
            if state.outside.as_ref().is_none_or(|now| !Arc::ptr_eq(now, &outside)) {
                return false;
            }
            if let Ok((len, _)) = received {
                state.carry(Some((Direction::ToClient, &buffer[..len])), &inside, server);
            }
            true
        });
    }

    /// Drops all datagrams, or stops doing so.
    pub(crate) fn hole(&self, hole: bool) {
        self.state.lock().unwrap().hole = hole;
    }
    /// Drops larger datagrams without an ICMP error.
    pub(crate) fn limit(&self, limit: usize) {
        self.state.lock().unwrap().limit = limit;
    }
    /// Loses datagrams by their number in their direction, counted from 1 at this call.
    pub(crate) fn lose(&self, is_lost: impl Fn(Direction, u64) -> bool + Send + 'static) {
        let mut state = self.state.lock().unwrap();
        (state.is_lost, state.counted) = (Box::new(is_lost), [0; 2]);
    }
    /// Puts an attacker on the path.
    pub(crate) fn on_path(&self, on_path: OnPath) {
        self.state.lock().unwrap().on_path = Some(on_path);
    }
    /// Returns the last datagrams of this direction.
    pub(crate) fn seen(&self, direction: Direction) -> Vec<Vec<u8>> {
        self.state.lock().unwrap().seen[direction as usize].iter().cloned().collect()
    }

    /// Waits until all datagrams that the server has sent have been forwarded or dropped.
    pub(crate) fn drain(&self) {
        const LAST: &[u8] = b"the last datagram";
        let outside = self.state.lock().unwrap().outside.as_ref().unwrap().local_addr().unwrap();
        socket().send_to(LAST, outside).unwrap();
        until("the last datagram arrives", || self.seen(Direction::ToClient).iter().any(|datagram| datagram == LAST));
    }

    /// Sends a datagram with the address of the peer.
    pub(crate) fn inject(&self, direction: Direction, datagram: &[u8]) {
        self.state.lock().unwrap().send(direction, datagram, &self.inside, self.server);
    }

    /// Ends without notice.
    pub(crate) fn vanish(self) {
        let mut state = self.state.lock().unwrap();
        (state.outside, state.client) = (None, None);
        state.before.clear();
        drop(state);
        self.threads.into_inner().unwrap().into_iter().for_each(|thread| thread.join().unwrap());
    }
}

impl State {
    /// Forwards a datagram as the path and the attacker decide.
    fn carry(&mut self, received: Option<(Direction, &[u8])>, inside: &UdpSocket, server: SocketAddr) {
        let received = received.filter(|(direction, datagram)| self.passes(*direction, datagram));
        match &mut self.on_path {
            None => {
                received.into_iter().for_each(|(direction, datagram)| self.send(direction, datagram, inside, server));
            }
            Some(on_path) => {
                on_path(received)
                    .into_iter()
                    .for_each(|(direction, datagram)| self.send(direction, &datagram, inside, server));
            }
        }
    }

    fn send(&self, direction: Direction, datagram: &[u8], inside: &UdpSocket, server: SocketAddr) {
        match (direction, self.client, &self.outside) {
            (Direction::ToServer, _, Some(outside)) => drop(outside.send_to(datagram, server)),
            (Direction::ToClient, Some(client), _) => drop(inside.send_to(datagram, client)),
            _ => {}
        }
    }

    fn passes(&mut self, direction: Direction, datagram: &[u8]) -> bool {
        let seen = &mut self.seen[direction as usize];
        if seen.len() == REMEMBERED {
            seen.pop_front();
        }
        seen.push_back(datagram.to_vec());
        let counted = &mut self.counted[direction as usize];
        *counted += 1;
        !self.hole && datagram.len() <= self.limit && !(self.is_lost)(direction, *counted)
    }
}

fn socket() -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
    socket
}
