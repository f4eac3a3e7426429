//! Allocations of an endpoint: none for a packet of an existing connection, and none that persist
//! for packets of strangers.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use crate::counting;
use crate::network;
use crate::pipe;

use headway_dccp::{ConnectionOptions, Endpoint, EndpointOptions, InitCookies, Outbox, Path};
use headway_units::{Dialect, Duration, Ecn, Instant, Options, Random};
use network::{PORT, SERVICE, back, there};
use pipe::options;

#[derive(Debug, Default)]
struct Left(u32);

impl Outbox for Left {
    fn next_len(&mut self, _: Instant) -> Option<usize> {
        (self.0 > 0).then_some(1000)
    }
    fn take(&mut self, _: Instant) -> Option<&[u8]> {
        self.0 = self.0.checked_sub(1)?;
        Some(&[7; 1000])
    }
}

/// Passes all packets that are due to the other endpoint.
fn pass(now: Instant, from: &mut Endpoint<Left>, to: &mut Endpoint<Left>, buffer: &mut Vec<u8>) -> u32 {
    let mut delivered = 0;
    while let Some(out) = from.poll_transmit(now, buffer) {
        for bytes in buffer[..out.len].chunks(out.segment_size) {
            let handled = to.handle_datagram(now, back(out.path), out.ecn, bytes);
            delivered += u32::from(handled.is_ok_and(|datagram| datagram.is_some()));
        }
    }
    while from.poll_event().is_some() {}
    delivered
}

/// Returns the memory of both endpoints of an open connection, in bytes.
fn bytes_of_a_connection(rules: &ConnectionOptions) -> usize {
    let [mut client, mut server] =
        ["client", "server"].map(|name| Endpoint::<Left>::new(EndpointOptions::default(), Random::new(1, name)));
    let (mut now, mut buffer, many) = (Instant::from_secs(1), vec![0; 65_536], 200);
    server.listen(now, PORT, rules, &[SERVICE]).unwrap();
    let before = counting::held();
    for port in 0..many {
        client.connect(now, there(4000 + port), PORT, SERVICE, rules, Left(1)).unwrap();
        for _ in 0..6 {
            pass(now, &mut client, &mut server, &mut buffer);
            now += Duration::from_millis(1);
            pass(now, &mut server, &mut client, &mut buffer);
        }
    }
    assert_eq!(server.connections(), usize::from(many));
    (counting::held() - before) / usize::from(many)
}

/// Packets cause no allocation. A hundred thousand unanswered Requests use no more memory than a thousand.
#[test]
fn packets_cause_no_allocation() {
    let rules = |ccid: u8| {
        let preset = ConnectionOptions::preset(Dialect::Rfc);
        let controllers = [preset.controllers.clone(), options().controllers].concat();
        ConnectionOptions { send_ccids: vec![ccid], receive_ccids: vec![ccid], controllers, ..preset }
    };
    for ccid in [2, 3, 4, 248] {
        let [mut client, mut server] =
            ["client", "server"].map(|name| Endpoint::<Left>::new(EndpointOptions::default(), Random::new(1, name)));
        let (mut now, mut buffer, mut delivered, mut steady) = (Instant::from_secs(1), vec![0; 65_536], 0, 0);
        server.listen(now, PORT, &rules(ccid), &[SERVICE]).unwrap();
        let handle = client.connect(now, there(4000), PORT, SERVICE, &rules(ccid), Left(0)).unwrap();
        for ms in 0..20_000 {
            if ms == 10_000 {
                (steady, delivered) = (counting::taken(), 0);
            }
            client.outbox_mut(handle).unwrap().0 = 2;
            delivered += pass(now, &mut client, &mut server, &mut buffer);
            now += Duration::from_millis(1);
            pass(now, &mut server, &mut client, &mut buffer);
            client.handle_timeout(now);
            server.handle_timeout(now);
        }
        assert!(delivered > 900, "CCID {ccid}: {delivered}");
        // A report of CCID 3 or 4, once per round trip, allocates two lists; here that is one per two datagrams.
        let lists = if [3, 4].contains(&ccid) { 2 * 10_000 } else { 0 };
        let taken = counting::taken() - steady;
        assert!(taken <= lists, "CCID {ccid}: {taken} for {delivered} datagrams");
    }

    for init_cookies in [InitCookies::Always, InitCookies::WhenBusy, InitCookies::Never] {
        let rules = ConnectionOptions { init_cookies, ..rules(2) };
        let mut server = Endpoint::<Left>::new(EndpointOptions::default(), Random::new(1, "server"));
        server.listen(Instant::ZERO, PORT, &rules, &[SERVICE]).unwrap();
        let mut client = Endpoint::<Left>::new(EndpointOptions::default(), Random::new(1, "client"));
        client.connect(Instant::ZERO, there(1), PORT, SERVICE, &rules, Left(0)).unwrap();
        let mut request = vec![0; 65_536];
        let len = client.poll_transmit(Instant::ZERO, &mut request).unwrap().len;
        let (mut buffer, mut held, mut connections) = (vec![0; 65_536], 0, 0);
        for n in 0..100_000u64 {
            if n == 1000 {
                (held, connections) = (counting::held(), server.connections());
            }
            let now = Instant::from_micros(n);
            // Another number, from another host.
            let path = Path::Udp {
                local: ([192, 0, 2, 2], 6511).into(),
                remote: ([198, 51, 100, (n >> 16) as u8], n as u16).into(),
            };
            request[8 + 4..16].copy_from_slice(&(n as u32).to_be_bytes());
            let _ = server.handle_datagram(now, path, Ecn::NotEct, &request[..len]);
            while server.poll_transmit(now, &mut buffer).is_some() {}
            while server.poll_event().is_some() {}
        }
        assert_eq!(connections, if init_cookies == InitCookies::Always { 0 } else { 128 });
        assert_eq!((counting::held(), server.connections()), (held, connections), "{init_cookies:?}");
    }

    // A wide window uses memory for packets in flight only: 65,536 packets would need 1.5 MB.
    for (rules, most) in [(rules(3), 40), (ConnectionOptions::real(), 60), (ConnectionOptions::under_dtls(), 60)] {
        let each = bytes_of_a_connection(&rules);
        println!("a Sequence Window of {}: {each} B for both ends", rules.sequence_window);
        assert!(each < most << 10, "{each}");
    }
}
