//! Tests of paths that change during a connection.

use crate::nat::Direction;
use crate::world::{LONG, Stream, World, accounted, each, insecure, pause, secure, small, until, with};
use headway_net::{Clock, Closed, Connection, Fate, Media};
use headway_units::Instant;

/// The NAT gives the client new ports, and finally the first one again. Media continues in both directions.
#[test]
fn a_session_survives_nat_rebinding() {
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
        until("media continues in both directions", || {
            for ((stream, next), after) in streams.iter().zip(next).zip(&mut after) {
                if *after == Instant::ZERO && stream.has_received(next) {
                    *after = clock.now();
                }
            }
            after.iter().all(|after| *after > Instant::ZERO)
        });
        println!("rebinding {turn}: media again after {} to the server, {} to the client", after[0], after[1]);
        pause(300);
    }
    for stream in streams {
        stream.reports(Fate::Delivered, 50);
        let sums = accounted(&stream.stop());
        println!("{sums:?}");
        assert!(!sums.contains_key("unknown"), "{sums:?}");
    }
}

/// The same on a path that loses each 20th datagram of a direction: lost probes are repeated.
#[test]
fn a_session_survives_nat_rebinding_with_losses() {
    let world = World::new(&secure());
    let streams = world.streams(small);
    streams.iter().for_each(|stream| stream.reaches(20));
    world.nat.lose(|_, number| number % 20 == 0);
    for _ in 0..8 {
        world.nat.rebind();
        streams.iter().for_each(Stream::continues);
        pause(200);
    }
    for stream in streams {
        println!("{:?}", accounted(&stream.stop()));
    }
}

/// RFC 6773 section 3.8: without DTLS a peer is identified by its address. A peer with a new address gets a Reset at
/// once and connects again.
#[test]
fn without_security_a_connection_ends_with_its_address() {
    let world = World::new(&insecure());
    world.nat.rebind();
    world.ends[0].send(Media::new(b"from elsewhere")).unwrap();
    let why = world.ends[0].recv_timeout(&mut Vec::new(), LONG).expect("a Reset arrives");
    let Err(Closed::Reset(reset)) = why else { panic!("{why:?}") };
    assert_eq!(reset.code, headway_dccp::ResetCode::NO_CONNECTION);
    let later = world.client.connect(world.nat.address()).unwrap();
    assert_eq!(later.connected(), Ok(()));
}

/// Returns a datagram of the largest size.
fn largest(connection: &Connection) -> Vec<u8> {
    vec![0; connection.largest()]
}

/// The path narrows twice without an ICMP error. Datagrams become small enough, and media continues.
#[test]
fn a_path_that_narrows_is_detected() {
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
            streams.iter().for_each(Stream::continues);
            streams.iter().for_each(Stream::continues);
            let now = world.ends[0].largest();
            assert!(now < last && now > 400, "{last} B before, {now} B now");
            last = now;
        }
        for stream in streams {
            // At such a low rate the outcomes of the last datagrams are still open.
            let (_, _, received) = stream.stop();
            assert!(
                received.longest <= before && received.wrong == 0 && received.numbers.values().all(|times| *times == 1)
            );
        }
    });
}

/// A path of 1000 B of IP from the start: the handshake needs small datagrams (RFC 9147 section 4.4), and path MTU
/// discovery does not assume that 1280 B arrive (RFC 8899 section 5.2).
#[test]
fn a_path_that_is_narrow_from_the_start_carries_media() {
    let world = World::through(&secure(), |nat| nat.limit(1000 - 28));
    let largest_now = world.ends.each_ref().map(|end| end.largest());
    assert!(largest_now.iter().all(|now| *now < 1000 - 28), "{largest_now:?}");
    let streams = world.streams(largest);
    streams.iter().for_each(|stream| stream.reaches(20));
    for stream in streams {
        let (.., received) = stream.stop();
        assert!(received.longest < 1000 - 28, "{} B", received.longest);
    }
}

/// On a path that loses each 20th datagram of a direction, every datagram has one outcome, if none is sent again.
#[test]
fn with_losses_each_datagram_has_one_fate() {
    each(|name, both| {
        let both = with(both, |options| options.queue.rules.resend = false);
        let world = World::new(&both);
        world.nat.lose(|_, number| number % 20 == 0);
        let streams = world.streams(small);
        for stream in &streams {
            stream.reports(Fate::Delivered, 500);
            stream.reports(Fate::Lost, 10);
        }
        // Later datagrams settle the outcome of those still on the path.
        for stream in streams {
            let outcome = stream.stop();
            let sums = accounted(&outcome);
            println!("{name}: {} of {} arrived: {sums:?}", outcome.2.numbers.len(), outcome.0);
        }
    });
}

/// Whichever two of the first eight datagrams are lost, a connection is established: a client sends four Requests
/// within 10 s, and with DTLS first attempts up to four handshakes. With random losses of a fifth all four Requests, or
/// the Responses to them, would be lost in one of 60 cases.
#[test]
fn a_handshake_survives_losses() {
    let all =
        [Direction::ToServer, Direction::ToClient].map(|direction| [1, 2, 3, 4].map(|number| (direction, number)));
    let all = all.as_flattened();
    each(|name, both| {
        let connect = |lost: [(Direction, u64); 2]| {
            let clock = Clock::new();
            World::through(&both, |nat| nat.lose(move |direction, number| lost.contains(&(direction, number))));
            println!("{name}: connected after {} without {lost:?}", clock.now());
        };
        // One after another they would take a minute.
        #[expect(clippy::disallowed_methods, reason = "the worlds share nothing")]
        std::thread::scope(|scope| {
            for (index, second) in all.iter().enumerate().skip(1) {
                scope.spawn(move || all[..index].iter().for_each(|first| connect([*first, *second])));
            }
        });
    });
}
