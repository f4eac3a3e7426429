//! Loss filters and packet spacing between two ends, with a virtual clock.

use super::*;
use crate::{LossFilterKind, Spacing};
use headway_rate::{ControllerOptions, TfrcFilteredOptions, TfrcOptions};
use headway_units::Options as _;

/// Runs both ends until `until` over a path of 5 ms in each direction that drops the client's datagrams whose number
/// `loses` accepts. The client always has data. Returns the arrival times of the datagrams.
fn arrivals(options: [&Options; 2], until: Instant, loses: impl Fn(u64) -> bool) -> Vec<Instant> {
    let delay = Duration::from_millis(5);
    let (mut client, mut server) = (End::new(2, options[0]), End::server(options[1]));
    let (key, mailbox) = client.connect(at(0), &server);
    let (mut now, mut sent, mut accepted, mut arrivals) = (at(0), 0, None, Vec::new());
    let mut on_path: VecDeque<(Instant, bool, Vec<u8>)> = VecDeque::new();
    while now < until {
        while on_path.front().is_some_and(|(at, ..)| *at <= now) {
            let Some((_, to_server, mut datagram)) = on_path.pop_front() else { break };
            let (to, from) = if to_server { (&mut server, &client) } else { (&mut client, &server) };
            let path = Path::Udp { local: to.wire.address, remote: from.wire.address };
            to.driver.handle_datagram(now, Arrived { path, ecn: Ecn::NotEct }, &mut datagram);
        }
        while mailbox.backlog.with(|backlog| backlog.poll_below(20)).is_some() {
            client.driver.send_all(now, key, &[Media::new(&[7; 1000])]);
        }
        for (end, to_server) in [(&mut client, true), (&mut server, false)] {
            end.turn(now);
            for datagram in std::mem::take(&mut *lock(&end.wire.sent)) {
                sent += u64::from(to_server);
                if !to_server || !loses(sent) {
                    on_path.push_back((now + delay, to_server, datagram));
                }
            }
        }
        accepted = accepted.or_else(|| server.driver.accepts.with(|accepts| accepts.waiting.pop_front()));
        if let Some((_, _, mailbox)) = &accepted {
            let mut datagram = Vec::new();
            while mailbox.incoming.with(|incoming| incoming.receive(&mut datagram)).is_some_and(|read| read.is_ok()) {
                arrivals.push(now);
            }
        }
        let deadlines = [client.driver.deadline(), server.driver.deadline(), on_path.front().map(|(at, ..)| *at)];
        now = deadlines.into_iter().flatten().min().map_or(until, |at| at.max(now + Duration::from_nanos(1)));
    }
    arrivals
}

/// Returns the mean gap between arrivals in the second half, in seconds.
fn mean_gap(arrivals: &[Instant]) -> f64 {
    let half = &arrivals[arrivals.len() / 2..];
    half[half.len() - 1].since(half[0]).as_secs_f64() / (half.len() - 1) as f64
}

/// Selects each 25th datagram of the client.
fn each_25th(number: u64) -> bool {
    number.is_multiple_of(25)
}

/// "Packet spacing", figure 3: rate = 8 s / (tx + ts). A packet of 1044 B (16 B of DCCP, 8 B of UDP, 20 B of IPv4)
/// takes 0.8352 ms at 10 Mb/s.
#[test]
fn packet_spacing_figure_3_gaps_of_a_connection() {
    for (gap, period_s) in [(Duration::ZERO, 0.000_835_2), (Duration::from_millis(10), 0.010_835_2)] {
        let options = spaced(Spacing::fixed(gap));
        let found = mean_gap(&arrivals([&options, &options], at(3000), |_| false));
        assert!((found / period_s - 1.0).abs() < 1e-6, "{gap}: {found}");
    }
}

fn spaced(scheme: Spacing) -> Options {
    let mut options = Options::insecure();
    options.connection.line_rate = Some(Rate::from_bits_per_second(10_000_000));
    options.with_spacing(scheme).unwrap()
}

/// "Packet spacing", sections 2.1 and 2.2: after a loss that follows a deliberate shortening, the ad-hoc protocol
/// doubles the gap and the damped one reverts the shortening. The rules are the sender's: those of the receiver
/// change nothing.
#[test]
fn packet_spacing_2_2_damping_is_the_senders() {
    let [ad_hoc, damped, equation] = [Spacing::ad_hoc(), Spacing::damped(), Spacing::equation()].map(spaced);
    let sent = |client: &Options, server: &Options| arrivals([client, server], at(5000), each_25th).len();
    let found = sent(&damped, &ad_hoc);
    assert_eq!(found, sent(&damped, &damped));
    assert_eq!(sent(&ad_hoc, &damped), sent(&ad_hoc, &ad_hoc));
    assert_ne!(found, sent(&ad_hoc, &damped));
    assert!(sent(&equation, &equation) > 100);
}

/// A filter is the receiver's: the sender's own filter applies to the data that it receives. On a path without a
/// queue the guarded filter equals TFRC (docs/src/rate/guarded.md), and so does mBiaz if the sender leaves gaps;
/// ZigZag and Spike accept losses as channel losses.
#[test]
fn uddj_future_work_the_receiver_filters() {
    // The rules of `tfrc`, without pairs.
    let options = |filter| {
        let tfrc = TfrcOptions { loss_filter: Some(filter), ..TfrcOptions::preset(Dialect::default()) };
        let filtered = ControllerOptions::TfrcFiltered(TfrcFilteredOptions(tfrc));
        Options::insecure().with_controller_options(filtered).unwrap()
    };
    let sent = |client: &Options, server: &Options| arrivals([client, server], at(5000), each_25th).len();
    let tfrc = Options::insecure().with_controller("tfrc").unwrap();
    let all_count = sent(&tfrc, &tfrc);
    let guarded = options(LossFilterKind::Guarded);
    for (filter, range) in [
        (LossFilterKind::Guarded, 0.98..1.02),
        (LossFilterKind::Mbiaz, 0.98..1.02),
        (LossFilterKind::Zigzag, 1.1..2.0),
        (LossFilterKind::Spike, 1.1..2.0),
    ] {
        let filtered = options(filter);
        let ratio = sent(&guarded, &filtered) as f64 / all_count as f64;
        assert!(range.contains(&ratio), "{filter:?}: {ratio}");
        let ratio = sent(&filtered, &guarded) as f64 / all_count as f64;
        assert!((0.98..1.02).contains(&ratio), "{filter:?} of the sender: {ratio}");
    }
    // A Timestamp counts 10 us: UDDJ as published takes the rounding for jitter (docs/src/rate/loss-filters.md).
    assert!(sent(&guarded, &options(LossFilterKind::Uddj)) * 3 < all_count);
}
