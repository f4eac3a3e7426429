//! Presets for real paths, on paths with typical impairments (RFC 4340 sections 7.5, 8.3, 9.2 and 11.5).
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails where it panics")]

use crate::call;

use call::{CLIENT, Call, PathDelay, SERVER, lossy, queue};
use headway_dccp::{Ccid, CcidController, ConnectionOptions, Fate, Feature, State};
use headway_rate::{ControllerOptions, NoneOptions};
use headway_units::{Dialect, Duration, Instant, Options};
use std::cell::Cell;
use std::rc::Rc;

/// Returns options with a controller that sends data at once.
fn unpaced(rules: ConnectionOptions) -> ConnectionOptions {
    let none = ControllerOptions::None(NoneOptions {});
    let controllers = vec![CcidController { ccid: Ccid(248), controller: none, ack_vectors: false }];
    ConnectionOptions { send_ccids: vec![248], receive_ccids: vec![248], controllers, ..rules }
}

/// Models a socket buffer that overflows: packets to the server in the last 5 ms of each 25 ms are lost.
fn overflowing(delay: Duration) -> PathDelay {
    Box::new(move |now, to, _| {
        let phase = now.since(Instant::from_secs(2)).as_nanos() % 25_000_000;
        (now < Instant::from_secs(2) || to == CLIENT || phase < 20_000_000).then_some(delay)
    })
}

/// Sends 20,000 packets per second for 2 s. Returns how many arrived, and how many of them were delivered.
fn bursts(rules: &ConnectionOptions, delay: Duration) -> (u64, u64) {
    let mut call = Call::new(rules, rules, &queue("fifo", false), overflowing(delay));
    call.run(Duration::from_secs(2));
    for _ in 0..40_000 {
        call.push(100, Duration::from_secs(1));
        call.run(Duration::from_micros(50));
    }
    call.run(Duration::from_secs(1));
    (call.delivered.len() as u64 + call.dropped, call.delivered.len() as u64)
}

/// A burst of 100 lost packets desynchronizes endpoints with a window of 100 (section 7.5.1: three quarters are ahead).
/// On a short round trip the Sync and its SyncAck repair that, but only eight times per second (section 7.5.4) instead
/// of the forty needed. If 800 packets are in flight, the number in the Sync has left the window, like all later ones.
#[test]
fn bursts_of_loss() {
    for (millis, least, most) in [(0, 3_000, 4_500), (20, 0, 1_000)] {
        let delay = Duration::from_millis(millis) + Duration::from_micros(50);
        let delivered = |rules| {
            let (received, delivered) = bursts(&unpaced(rules), delay);
            assert!(received >= 32_000, "{received}");
            delivered
        };
        let initial = delivered(ConnectionOptions::preset(Dialect::Rfc));
        println!("{delay}: {initial} of 32000 delivered with a window of 100");
        assert!((least..most).contains(&initial), "{initial}");
        for preset in [ConnectionOptions::real(), ConnectionOptions::under_dtls()] {
            assert_eq!(delivered(preset), 32_000);
        }
    }
}

/// Both endpoints use the preset, or the server uses the values of the RFC.
fn pairs(preset: fn() -> ConnectionOptions) -> [[ConnectionOptions; 2]; 2] {
    [[preset(), preset()], [preset(), ConnectionOptions::preset(Dialect::Rfc)]]
}

/// TFRC with the guarded filter is used, each datagram has an outcome, including the last, and the larger path MTU is
/// found, whether or not the peer uses the preset.
#[test]
fn a_call() {
    for preset in [ConnectionOptions::real, ConnectionOptions::under_dtls] {
        for (both, [client, server]) in [true, false].into_iter().zip(pairs(preset)) {
            let mut call = Call::new(&client, &server, &queue("sfdps2", false), lossy(Duration::from_millis(15), 5));
            call.run(Duration::from_secs(2));
            let status = call.client().status();
            // Section 6.3.1: the server's preferred common value.
            let ccid = if both { Ccid::TFRC_FILTERED } else { Ccid::TCP_LIKE };
            assert_eq!((status.send_ccid, status.state), (ccid, State::Open));
            assert_eq!(call.client().feature_values(Feature::SEND_ACK_VECTOR).unwrap()[1], 1);
            for _ in 0..500 {
                call.push(1000, Duration::from_millis(500));
                call.run(Duration::from_millis(20));
            }
            call.run(Duration::from_secs(5));
            let mtu = call.client().status().maximum_packet_size;
            // 1500 B less 20 of IP, 8 of UDP, 24 of a DataAck and 16 for options.
            assert_eq!(mtu, 1432);
            let open = 500 - call.fates.iter().filter(|(.., fate)| fate.is_final()).count();
            let lost = call.fates.iter().filter(|(.., fate)| *fate == Fate::Lost).count();
            println!("{} of 500 delivered, {lost} lost, {open} open", call.delivered.len());
            assert!(open <= if both { 3 } else { 4 } && call.delivered.len() >= 450, "{open}");
        }
    }
}

/// Section 9.2: under DTLS only headers are covered if the peer accepts that, otherwise all.
#[test]
fn coverage_under_dtls() {
    for (wanted, [client, server]) in [1, 0].into_iter().zip(pairs(ConnectionOptions::under_dtls)) {
        let seen = Rc::new(Cell::new(None));
        let note = Rc::clone(&seen);
        let path_delay = move |_, to, bytes: &[u8]| {
            if to == SERVER && bytes.len() > 500 {
                note.set(Some(bytes[5] & 15));
            }
            Some(Duration::from_millis(5))
        };
        let mut call = Call::new(&client, &server, &queue("fifo", false), Box::new(path_delay));
        call.run(Duration::from_secs(1));
        call.push(500, Duration::from_secs(1));
        call.run(Duration::from_secs(1));
        assert_eq!((seen.get(), call.delivered.len()), (Some(wanted), 1));
    }
}

/// Under DTLS both endpoints are removed 4 s after a Close (section 8.3), and a lost first Request
/// is retransmitted after 200 ms.
#[test]
fn time_wait_and_request_timeout_under_dtls() {
    let rules = ConnectionOptions::under_dtls();
    let mut first = true;
    let path_delay = move |_, _, _: &[u8]| (!std::mem::take(&mut first)).then_some(Duration::from_millis(5));
    let mut call = Call::new(&rules, &rules, &queue("fifo", false), Box::new(path_delay));
    call.run(Duration::from_millis(250));
    assert_eq!(call.client().state(), State::Open);
    let now = call.now;
    call.client().close(now);
    call.run(Duration::from_millis(3_900));
    assert_eq!(call.ends[SERVER].connections(), 0);
    assert_eq!(call.client().state(), State::TimeWait);
    call.run(Duration::from_millis(200));
    assert_eq!(call.ends[CLIENT].connections(), 0);
}
