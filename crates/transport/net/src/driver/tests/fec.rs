//! Forward error correction between two drivers.

use super::*;
use headway_units::MediaKind;

/// Outcome of a call over a path of 100 ms each way.
#[derive(Debug, Default)]
struct Call {
    /// Numbers of the datagrams in the order in which the program reads them.
    received: Vec<u16>,
    /// Outcomes reported to the sender.
    delivered: usize,
    lost: usize,
    sender: FecCounters,
    receiver: FecCounters,
}

/// Sends 2000 datagrams of 200 B, one each 10 ms, with this lifetime. Each packet with data from the sender is lost with
/// probability 3 %.
fn call(fec: Fec, lifetime: Option<Duration>) -> Call {
    // Without rate control: each loss is one of the path.
    let options = Options { fec, ..Options::insecure().with_controller("none").unwrap() };
    let (mut server, mut client) = (End::server(&options), End::new(2, &options));
    let (key, mailbox) = client.connect(at(0), &server);
    let mut loss = Random::new(5, "loss");
    let (mut accepted, mut outcome) = (None, Call::default());
    // Packets on the path, with the times of their arrival.
    let (mut there, mut back) = (VecDeque::new(), VecDeque::new());
    let path = |from: &End, to: &End| Path::Udp { local: to.wire.address, remote: from.wire.address };
    for ms in 0..24_000 {
        let (first, now) = (1000, at(ms));
        if ms >= first && (ms - first) % 10 == 0 && (ms - first) / 10 < 2000 {
            let number = u16::try_from((ms - first) / 10).unwrap();
            let payload = [&number.to_be_bytes()[..], &[7; 198]].concat();
            client.driver.send_all(
                now,
                key,
                &[Media { expires: lifetime, kind: MediaKind::Audio, ..Media::new(&payload) }],
            );
        }
        client.turn(now);
        server.turn(now);
        let sent = std::mem::take(&mut *lock(&client.wire.sent));
        let survives = |datagram: &Vec<u8>| datagram.len() < 200 || loss.uniform() >= 0.03;
        there.extend(sent.into_iter().filter(survives).map(|datagram| (ms + 100, datagram)));
        back.extend(std::mem::take(&mut *lock(&server.wire.sent)).into_iter().map(|datagram| (ms + 100, datagram)));
        while let Some((_, mut datagram)) = there.pop_front_if(|(arrives, _)| *arrives <= ms) {
            let arrived = Arrived { path: path(&client, &server), ecn: Ecn::NotEct };
            server.driver.handle_datagram(now, arrived, &mut datagram);
        }
        while let Some((_, mut datagram)) = back.pop_front_if(|(arrives, _)| *arrives <= ms) {
            let arrived = Arrived { path: path(&server, &client), ecn: Ecn::NotEct };
            client.driver.handle_datagram(now, arrived, &mut datagram);
        }
        accepted = server.driver.accepts.with(|accepts| accepts.waiting.pop_front()).or(accepted);
        if let Some((key, _, mailbox)) = &accepted {
            let mut datagram = Vec::new();
            while let Some(Ok(())) = mailbox.incoming.with(|incoming| incoming.receive(&mut datagram)) {
                assert_eq!(datagram.len(), 200);
                outcome.received.push(u16::from_be_bytes([datagram[0], datagram[1]]));
            }
            outcome.receiver = server.driver.fec_counters(*key).unwrap_or(outcome.receiver);
        }
        while let Some(event) = mailbox.events.with(Unread::next).flatten() {
            match event {
                Event::Media(_, Fate::Delivered) => outcome.delivered += 1,
                Event::Media(_, Fate::Lost) => outcome.lost += 1,
                _ => {}
            }
        }
        outcome.sender = client.driver.fec_counters(key).unwrap_or(outcome.sender);
    }
    outcome
}

/// With 250 ms a loss on a path of 200 ms cannot be repaired by a retransmission. Without forward error correction 3 % are
/// lost; with it nearly none after the loss is measured. The sender knows from the reports which datagrams the receiver
/// has restored.
#[test]
fn datagrams_too_urgent_for_a_retransmission_are_restored() {
    let lifetime = Some(Duration::from_millis(250));
    let without = call(Fec::Off, lifetime);
    assert_eq!((without.sender, without.receiver), (FecCounters::default(), FecCounters::default()));
    let share = without.received.len() as f64 / 2000.0;
    assert!((0.96..0.98).contains(&share), "{share}");
    let with = call(Fec::Auto, lifetime);
    let mut received = with.received.clone();
    received.sort_unstable();
    received.dedup();
    assert_eq!(received.len(), with.received.len(), "nothing is delivered twice");
    // The loss is first measured after 32 packets.
    let after = received.iter().filter(|number| **number >= 200).count();
    assert!(after as f64 / 1800.0 > 0.995, "{after} of 1800");
    assert_eq!(with.delivered, received.len());
    assert_eq!(with.delivered + with.lost, 2000);
    assert!(with.receiver.restored >= 30 && with.receiver.restored == with.sender.restored_by_peer, "{with:?}");
    let overhead = with.sender.repair_packets as f64 / 2000.0;
    assert!(overhead < 0.4, "{overhead}");
}

/// Datagrams without a lifetime are sent again: `auto` adds no packets. A constant share protects them, too.
#[test]
fn auto_adds_nothing_where_a_retransmission_suffices() {
    let auto = call(Fec::Auto, None);
    assert_eq!((auto.sender.repair_packets, auto.delivered), (0, 2000));
    let constant = call(Fec::Share(0.2), None);
    assert!(constant.sender.repair_packets >= 400 && constant.receiver.restored > 30, "{:?}", constant.sender);
    assert_eq!(constant.delivered, 2000);
    assert_eq!(constant.received, (0..2000).collect::<Vec<_>>(), "in order, each once");
}

/// The rate for the encoder leaves room for the repair packets.
#[test]
fn the_encoder_gets_the_rate_without_repair_packets() {
    let options = Options { fec: Fec::Share(0.5), ..Options::insecure() };
    let (mut server, mut client) = (End::server(&options), End::new(2, &options));
    let (key, mailbox) = client.connect(at(0), &server);
    for ms in (0..6000).step_by(10) {
        client.carry(at(ms), &mut server, true);
        server.turn(at(ms));
        server.carry(at(ms), &mut client, true);
        client.turn(at(ms));
        client.driver.send_all(at(ms), key, &[Media::new(&[0; 500])]);
    }
    let allowed = client.driver.status(key).and_then(|status| status.sender?.target_rate).unwrap();
    let (encoder, headroom) = (mailbox.rate().unwrap(), EncoderOptions::default().headroom);
    let share = encoder.bits_per_second() as f64 / allowed.bits_per_second() as f64;
    assert!(share < 0.75 * (1.0 - headroom), "{share}: two of three packets are media");
}
