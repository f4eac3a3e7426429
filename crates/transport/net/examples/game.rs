//! A game: `cargo run --package headway-net --example game`
//!
//! The player tells its moves 50 times a second, the server the world 20 times: small datagrams both ways over one connection, for which
//! there is TFRC for small packets (RFC 4828). Only the newest state counts, so that an old one expires; what somebody says does not, and goes
//! first. After two seconds the player leaves.

use headway_net::{Clock, Connection, Duration, Endpoint, Media, Options, Trust};
use std::error::Error;

const MOVE: u8 = 0;
const WORLD: u8 = 1;
const WORDS: u8 = 2;

/// State: of use until the next one comes.
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

    let (mut datagram, mut seen, mut said) = (Vec::new(), 0, 0);
    let clock = Clock::new();
    let mut due = clock.now();
    for tick in 0..100u8 {
        player.send(state(&[MOVE, tick, 3, 4], 20))?;
        if tick % 50 == 10 {
            player.send(Media::new(b"\x02hello"))?;
        }
        // What comes until the next move is due.
        due += Duration::from_millis(20);
        while let Some(came) = player.recv_timeout(&mut datagram, due.since(clock.now())) {
            came?;
            seen += u32::from(datagram.first() == Some(&WORLD));
            said += u32::from(datagram.first() == Some(&WORDS));
        }
    }
    println!("the player saw the world {seen} times and heard {said} words; over: {}", player.close());
    let moves = world.join().map_err(|_| "the world panicked")?.ok_or("nobody came")?;
    println!("the server saw {moves} of 100 moves");
    Ok(())
}

/// Tells the world each 50 ms, and all that is said to who is there, until the player leaves. How many moves came.
fn run_world(connection: &Connection) -> u32 {
    let (mut datagram, mut moves) = (Vec::new(), 0);
    let clock = Clock::new();
    let mut due = clock.now();
    loop {
        // When the player has left it is not sent, and the next call tells.
        drop(connection.send(state(&[WORLD; 42], 50)));
        due += Duration::from_millis(50);
        while let Some(came) = connection.recv_timeout(&mut datagram, due.since(clock.now())) {
            match (came, datagram.first()) {
                (Ok(()), Some(&MOVE)) => moves += 1,
                (Ok(()), _) => drop(connection.send(Media::new(&datagram))),
                (Err(_), _) => return moves,
            }
        }
    }
}
