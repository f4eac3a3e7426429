//! A path that changes under a connection.

use crate::world::{LONG, Stream, World, accounted, each, insecure, pause, secure, small, until};
use headway_net::{Clock, Closed, Connection, Media};
use headway_units::Instant;

/// The NAT forgets the client, and gives it another port; then another; then the first again. Media goes on, both ways.
#[test]
fn a_session_goes_on_behind_a_nat_that_forgets() {
    let world = World::new(&secure());
    let streams = world.streams(small);
    streams.iter().for_each(|stream| stream.reaches(50));
    for turn in 0..4 {
        let next = streams.each_ref().map(Stream::sent);
        let clock = Clock::new();
        if turn < 3 {
            world.nat.rebind();
        } else {
            world.nat.rebind_to_first();
        }
        let mut after = [Instant::ZERO; 2];
        until("media goes on both ways", || {
            for ((stream, next), after) in streams.iter().zip(next).zip(&mut after) {
                if *after == Instant::ZERO && stream.has_come(next) {
                    *after = clock.now();
                }
            }
            after.iter().all(|after| *after > Instant::ZERO)
        });
        println!("rebinding {turn}: media again after {} to the server, {} to the client", after[0], after[1]);
        pause(300);
    }
    for stream in streams {
        let sums = accounted(&stream.stop());
        println!("{sums:?}");
        assert!(sums["delivered"] > 50 && !sums.contains_key("unknown"), "{sums:?}");
    }
}

/// The same while a twentieth of all packets is lost: a question that is lost is asked again.
#[test]
fn a_session_is_followed_on_a_bad_path() {
    let world = World::new(&secure());
    let streams = world.streams(small);
    streams.iter().for_each(|stream| stream.reaches(20));
    world.nat.lose(50);
    for _ in 0..8 {
        world.nat.rebind();
        streams.iter().for_each(Stream::goes_on);
        pause(200);
    }
    for stream in streams {
        println!("{:?}", accounted(&stream.stop()));
    }
}

/// Without DTLS nobody but an address says who a peer is (RFC 6773 section 3.8): one that has another is told so at once, and connects again.
#[test]
fn without_security_a_connection_ends_with_its_address() {
    let world = World::new(&insecure());
    world.nat.rebind();
    world.ends[0].send(Media::new(b"from elsewhere")).unwrap();
    let why = world.ends[0].recv_timeout(&mut Vec::new(), LONG).expect("it is told");
    let Err(Closed::Reset(reset)) = why else { panic!("{why:?}") };
    assert_eq!(reset.code, headway_dccp::ResetCode::NO_CONNECTION);
    let later = world.client.connect(world.nat.address()).unwrap();
    assert_eq!(later.connected(), Ok(()));
}

/// As large as goes.
fn largest(connection: &Connection) -> Vec<u8> {
    vec![0; connection.largest()]
}

/// The path narrows, and nobody says so; then more. Datagrams become as small as goes through, and media goes on.
#[test]
fn a_path_that_narrows_is_found_out() {
    each(|name, both| {
        let world = World::new(&both);
        until("the path's MTU is found", || world.ends.iter().all(|end| end.largest() > 1300));
        let before = world.ends[0].largest();
        let streams = world.streams(largest);
        streams.iter().for_each(|stream| stream.reaches(20));
        let mut last = before;
        for limit in [1300, 700] {
            let clock = Clock::new();
            world.nat.limit(limit);
            until("the largest datagram fits", || world.ends.iter().all(|end| end.largest() < limit));
            println!("{name}: after {} no datagram is longer than {limit} B: {}", clock.now(), world.ends[0].largest());
            streams.iter().for_each(Stream::goes_on);
            streams.iter().for_each(Stream::goes_on);
            let now = world.ends[0].largest();
            assert!(now < last && now > 400, "{last} B before, {now} B now");
            last = now;
        }
        for stream in streams {
            // What waits for its turn at so low a rate is not told of yet.
            let (_, _, came) = stream.stop();
            assert!(came.longest <= before && came.wrong == 0 && came.numbers.values().all(|times| *times == 1));
        }
    });
}

/// A path of 1000 B of IP from the start: the handshake needs small datagrams (RFC 9147 section 4.4), and no connection believes that 1280 B get
/// through (RFC 8899 section 5.2).
#[test]
fn a_path_that_is_narrow_from_the_start_carries_media() {
    let world = World::through(&secure(), 1000 - 28);
    let largest_now = world.ends.each_ref().map(|end| end.largest());
    assert!(largest_now.iter().all(|now| *now < 1000 - 28), "{largest_now:?}");
    let streams = world.streams(largest);
    streams.iter().for_each(|stream| stream.reaches(20));
    for stream in streams {
        let (.., received) = stream.stop();
        assert!(received.longest < 1000 - 28, "{} B", received.longest);
    }
}

/// A twentieth is lost each way: each datagram has one fate, and all but those that were lost come.
#[test]
fn with_losses_each_datagram_has_one_fate() {
    each(|name, both| {
        let world = World::new(&both);
        world.nat.lose(50);
        let streams = world.streams(small);
        streams.iter().for_each(|stream| stream.reaches(1000));
        assert!(world.nat.lost() > 20);
        // What is still on its way is told of by what comes behind it.
        for stream in streams {
            let told = stream.stop();
            let sums = accounted(&told);
            println!("{name}: {} of {} came: {sums:?}", told.2.numbers.len(), told.0);
            assert!(sums["delivered"] > 500 && sums.contains_key("lost"), "{sums:?}");
        }
    });
}

/// A connection begins on a path that loses a fifth of all packets.
#[test]
fn a_handshake_survives_losses() {
    each(|name, both| {
        let world = World::new(&both);
        world.nat.lose(200);
        for _ in 0..5 {
            let clock = Clock::new();
            let later = world.client.connect(world.nat.address()).unwrap();
            assert_eq!(later.connected(), Ok(()), "{name}");
            println!("{name}: connected after {}", clock.now());
            later.close();
        }
    });
}
