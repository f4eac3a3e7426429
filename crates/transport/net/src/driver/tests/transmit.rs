//! Batches of datagrams, and the timer of the circuit breakers.

use super::*;
use headway_dccp::Transmit;

/// Wire that carries only some batches, and records the size of each.
#[derive(Debug)]
struct Limited {
    /// Maximum number of datagrams of a batch, and maximum size of a datagram.
    most: usize,
    largest: usize,
    calls: Mutex<Vec<usize>>,
}

impl Wire for Limited {
    fn local_addr(&self) -> SocketAddr {
        ([192, 0, 2, 1], 2).into()
    }
    fn send(&self, _: SocketAddr, _: Ecn, datagrams: &[u8], segment: usize) -> io::Result<()> {
        lock(&self.calls).push(datagrams.len());
        let fits = datagrams.len().div_ceil(segment) <= self.most && segment.min(datagrams.len()) <= self.largest;
        if fits { Ok(()) } else { Err(io::ErrorKind::InvalidInput.into()) }
    }
}

fn limited(options: &Options, secure: Option<Box<dyn Secure>>, most: usize, largest: usize) -> (Driver, Arc<Limited>) {
    let wire = Arc::new(Limited { most, largest, calls: Mutex::default() });
    let carrier = Arc::new(Carrier::Wire(Arc::<Limited>::clone(&wire)));
    (Driver::new(options.common().unwrap(), options.endpoint, carrier, secure, Random::new(1, "driver")), wire)
}

fn path() -> Path {
    Path::Udp { local: ([192, 0, 2, 1], 2).into(), remote: ([192, 0, 2, 1], 1).into() }
}

/// A batch that the system refuses, as one without GSO does, is sent one by one. Each datagram is counted.
#[test]
fn refused_batches_are_sent_one_by_one() {
    for (bytes, [most, largest], calls, sent, unsendable) in [
        (250, [9, 1000], &[250][..], 3, 0),
        (100, [9, 1000], &[100], 1, 0),
        (250, [1, 1000], &[250, 100, 100, 50], 3, 0),
        (250, [9, 99], &[250, 100, 100, 50], 1, 2),
        (100, [9, 99], &[100], 0, 1),
    ] {
        let (mut driver, wire) = limited(&Options::insecure(), None, most, largest);
        driver.send_batch(path(), Ecn::NotEct, 100, &vec![7; bytes]);
        let counters = driver.counters();
        assert_eq!(
            (counters.sent_datagrams, counters.unsendable_datagrams),
            (sent, unsendable),
            "{bytes} {most} {largest}"
        );
        assert_eq!(*lock(&wire.calls), calls);
        assert!(!driver.is_blocked());
    }
}

/// Datagrams of one size are sent together, up to 65 487 bytes: the payload of an IPv6 packet, 65 535 bytes, less its
/// header and the UDP header.
#[test]
fn sealed_datagrams_are_sent_in_batches_of_one_ipv6_packet() {
    let options = Options::server().unwrap();
    let (mut server, mut client) =
        (End::secure(1, &options), End::secure(2, &Options::client(Trust::AnyPeer).unwrap()));
    client.connect(at(0), &server);
    exchange(1, &mut client, &mut server);
    let (mut driver, wire) = limited(&options, client.driver.secure.take(), usize::MAX, usize::MAX);
    let mut seal = |segment: usize, len: usize| {
        let ecn = Ecn::NotEct;
        let out = Transmit { path: path(), ecn, len, segment_size: segment, dont_fragment: true, probe: None };
        driver.seal(at(200), &out, &vec![7; len]);
        std::mem::take(&mut *lock(&wire.calls))
    };
    let overhead = seal(100, 100)[0] - 100;
    // 65 487 is 249 times 263.
    let segment = 263 - overhead;
    assert_eq!(seal(segment, 249 * segment), [65_487]);
    assert_eq!(seal(segment, 250 * segment), [65_487, 263]);
    assert_eq!(seal(segment, 2 * segment + 1), [2 * 263 + 1 + overhead]);
    assert_eq!(seal(segment, 0), [0; 0]);
    assert_eq!(driver.counters().sent_datagrams, 1 + 249 + 250 + 3);
}

/// The breakers are updated each second while datagrams are queued, or were sent in the present period.
#[test]
fn breakers_are_updated_while_data_is_sent() {
    let options = Options::insecure();
    let (mut server, mut client) = (End::server(&options), End::new(2, &options));
    let (key, _) = client.connect(at(0), &server);
    exchange(1, &mut client, &mut server);
    assert_eq!(client.driver.breakers_due, None);
    client.driver.send_all(at(200), key, &[Media::new(&[7; 100])]);
    client.turn(at(200));
    assert!(client.driver.has_sent_all(match client.driver.entries[&key].stage {
        Stage::Running(handle) => handle,
        Stage::AwaitingSession(_) => unreachable!(),
    }));
    for (now, due) in [(200, Some(1200)), (1199, Some(1200)), (1200, Some(2200)), (2200, None)] {
        client.driver.update_breakers(at(now));
        assert_eq!(client.driver.breakers_due, due.map(at), "{now} ms");
    }
    // The server does not answer: the first datagram is in the Request, and the second waits.
    let (key, _) = client.connect(at(3000), &End::new(3, &options));
    for _ in 0..2 {
        client.driver.send_all(at(3000), key, &[Media::new(&[7; 100])]);
    }
    client.turn(at(3000));
    for second in 4..8 {
        client.driver.update_breakers(at(1000 * second));
        assert_eq!(client.driver.breakers_due, Some(at(1000 * (second + 1))), "{second} s");
    }
}
