//! A game: `cargo run --package headway-net --example game`
//!
//! The player sends its moves 50 times a second and the server the state of the world 20 times: small datagrams in
//! both directions of one connection, with TFRC for small packets (RFC 4828). An old state is useless, so it
//! expires. Chat does not expire and has a higher priority. The player leaves after two seconds.

use headway_net::{Clock, Connection, Duration, Endpoint, Media, Options, Trust};
use std::error::Error;

const MOVE: u8 = 0;
const WORLD: u8 = 1;
const CHAT: u8 = 2;

/// Returns a state, which expires after two intervals.
const fn state(payload: &[u8], every_ms: u64) -> Media<'_> {
    Media { priority: 1, expires: Some(Duration::from_millis(2 * every_ms)), ..Media::new(payload) }
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let options = Options::server()?.with_controller("tfrc-sp")?;
    let server = Endpoint::server("127.0.0.1:0".parse()?, &options)?;
    let trust = Trust::Fingerprints(vec![options.fingerprint().ok_or("no DTLS")?]);
    let client = Endpoint::client(&Options::client(trust)?.with_controller("tfrc-sp")?)?;
    let player = client.connect(server.local_addr())?;
    let world = std::thread::Builder::new().spawn(move || server.accept().map(|connection| run_world(&connection)))?;

    let (mut datagram, mut seen, mut messages) = (Vec::new(), 0, 0);
    let clock = Clock::new();
    let mut due = clock.now();
    for tick in 0..100u8 {
        player.send(state(&[MOVE, tick, 3, 4], 20))?;
        if tick % 50 == 10 {
            player.send(Media::new(b"\x02hello"))?;
        }
        // Receives until the next move is due.
        due += Duration::from_millis(20);
        while let Some(received) = player.recv_timeout(&mut datagram, due.since(clock.now())) {
            received?;
            seen += u32::from(datagram.first() == Some(&WORLD));
            messages += u32::from(datagram.first() == Some(&CHAT));
        }
    }
    println!("the player saw the world {seen} times and received {messages} messages; over: {}", player.close());
    let moves = world.join().map_err(|_| "the world panicked")?.ok_or("no player connected")?;
    println!("the server saw {moves} of 100 moves");
    Ok(())
}

/// Sends the state of the world each 50 ms and echoes chat until the player leaves. Returns the number of moves
/// received.
fn run_world(connection: &Connection) -> u32 {
    let (mut datagram, mut moves) = (Vec::new(), 0);
    let clock = Clock::new();
    let mut due = clock.now();
    loop {
        // After the player has left, the next receive reports it.
        drop(connection.send(state(&[WORLD; 42], 50)));
        due += Duration::from_millis(50);
        while let Some(received) = connection.recv_timeout(&mut datagram, due.since(clock.now())) {
            match (received, datagram.first()) {
                (Ok(()), Some(&MOVE)) => moves += 1,
                (Ok(()), _) => drop(connection.send(Media::new(&datagram))),
                (Err(_), _) => return moves,
            }
        }
    }
}
