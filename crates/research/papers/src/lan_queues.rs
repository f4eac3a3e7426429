//! Metrics of "Performance Measurement of TCP and UDP Using Different Queuing Algorithm in High Speed Local Area
//! Network" (Sarma 2013): a star of clients that send to one server through one router.
//!
//! `router->server` is the bottleneck; every other link to the router is a client's. Waits are means over the packets
//! that leave a queue: `mean waiting packets x time / packets`.

use crate::metric::{Metric, Outcome, mean};
use headway_record::{LinkSummary, metric as series};
use headway_scenario::Link;

pub(crate) const METRICS: &[Metric] = &[
    Metric { name: "throughput_kbps", unit: "kb/s", decimals: 2, of: |run| mean(&throughputs(run)) },
    Metric { name: "throughput_min_kbps", unit: "kb/s", decimals: 2, of: |run| fold(&throughputs(run), f64::min) },
    Metric { name: "throughput_max_kbps", unit: "kb/s", decimals: 2, of: |run| fold(&throughputs(run), f64::max) },
    Metric { name: "delay_a_ms", unit: "ms", decimals: 3, of: delay_a },
    Metric { name: "delay_b_ms", unit: "ms", decimals: 3, of: |run| Some(delay_c(run)? + access_transmission(run)?) },
    Metric { name: "delay_c_ms", unit: "ms", decimals: 3, of: delay_c },
    Metric { name: "delay_d_ms", unit: "ms", decimals: 3, of: delay_d },
    Metric { name: "delay_floor_ms", unit: "ms", decimals: 3, of: delay_floor },
    Metric { name: "loss_pct", unit: "%", decimals: 4, of: loss },
    Metric { name: "loss_all_pct", unit: "%", decimals: 4, of: loss_all },
    Metric { name: "utilisation_pct", unit: "%", decimals: 2, of: |run| Some(100.0 * uplink(run)?.utilisation) },
    Metric { name: "loss_correlation", unit: "", decimals: 3, of: loss_correlation },
    Metric { name: "clients", unit: "", decimals: 0, of: |run| Some(run.scenario.flows.len() as f64) },
    Metric { name: "access_rate_mbps", unit: "Mb/s", decimals: 0, of: |run| Some(access_link(run)?.rate_mbps()) },
    Metric { name: "access_delay_ms", unit: "ms", decimals: 0, of: |run| Some(access_link(run)?.delay_ms()) },
    Metric { name: "uplink_rate_mbps", unit: "Mb/s", decimals: 0, of: |run| Some(uplink_link(run)?.rate_mbps()) },
    Metric { name: "uplink_delay_ms", unit: "ms", decimals: 0, of: |run| Some(uplink_link(run)?.delay_ms()) },
    Metric { name: "packet_bytes", unit: "B", decimals: 0, of: packet_bytes },
    Metric { name: "fair_share_kbps", unit: "kb/s", decimals: 2, of: fair_share },
    Metric { name: "bdp_bits", unit: "bit", decimals: 0, of: bdp_bits },
    Metric { name: "bdp_kbytes", unit: "kB", decimals: 1, of: |run| Some(bdp_bits(run)? / 8e3) },
    Metric { name: "rtt_ms", unit: "ms", decimals: 1, of: rtt },
    Metric { name: "rtt_of_the_papers_bdp_ms", unit: "ms", decimals: 1, of: rtt_of_the_papers_bdp },
];

/// IV.F: "BDP for router to server link is 4x10^6 bits".
const PAPERS_BDP_BITS: f64 = 4e6;
/// Size of an acknowledgement in ns-2, 40 B.
const ACK_BITS: f64 = 320.0;

trait Figures {
    fn rate_mbps(&self) -> f64;
    fn delay_ms(&self) -> f64;
    fn transmission_ms(&self, bits: f64) -> f64;
}

impl Figures for Link {
    fn rate_mbps(&self) -> f64 {
        self.rate.bits_per_second() as f64 / 1e6
    }

    fn delay_ms(&self) -> f64 {
        self.delay.as_secs_f64() * 1e3
    }

    fn transmission_ms(&self, bits: f64) -> f64 {
        bits / self.rate.bits_per_second() as f64 * 1e3
    }
}

fn fold(values: &[f64], better: fn(f64, f64) -> f64) -> Option<f64> {
    values.iter().copied().reduce(better)
}

/// Returns the throughput of each client at the server, headers included, in kb/s (Table III).
fn throughputs(run: &Outcome<'_>) -> Vec<f64> {
    run.summary.flows.iter().map(|flow| flow.throughput_bps / 1e3).collect()
}

fn link_between<'a>(run: &Outcome<'a>, from: impl Fn(&str) -> bool, to: impl Fn(&str) -> bool) -> Option<&'a Link> {
    let name = |node: usize| run.scenario.nodes[node].as_str();
    run.scenario.links.iter().find(|link| from(name(link.from)) && to(name(link.to)))
}

fn access_link<'a>(run: &Outcome<'a>) -> Option<&'a Link> {
    link_between(run, |from| from != "server", |to| to == "router")
}

fn uplink_link<'a>(run: &Outcome<'a>) -> Option<&'a Link> {
    link_between(run, |from| from == "router", |to| to == "server")
}

fn uplink<'a>(run: &Outcome<'a>) -> Option<&'a LinkSummary> {
    run.summary.links.iter().find(|link| link.from == "router" && link.to == "server")
}

/// Returns the packets that left these links, and the sum of their waits, in ms.
fn waits<'a>(run: &Outcome<'_>, links: impl Iterator<Item = &'a LinkSummary>) -> (f64, f64) {
    let left = |link: &LinkSummary| (link.arrived_packets - link.dropped_packets.total()) as f64;
    let seconds = run.summary.interval.to - run.summary.interval.from;
    let waited = |link: &LinkSummary| link.mean_queue_packets * seconds * 1e3;
    links.fold((0.0, 0.0), |(packets, ms), link| (packets + left(link), ms + waited(link)))
}

/// Returns the transmission time of 1500 B on the client's link, in ms.
fn access_transmission(run: &Outcome<'_>) -> Option<f64> {
    Some(access_link(run)?.transmission_ms(packet_bytes(run)? * 8.0))
}

/// Returns the minimum delay of a full packet: propagation and transmission on both links, in ms.
fn delay_floor(run: &Outcome<'_>) -> Option<f64> {
    let (access, uplink) = (access_link(run)?, uplink_link(run)?);
    let transmission = access_transmission(run)? + uplink.transmission_ms(packet_bytes(run)? * 8.0);
    Some(access.delay_ms() + uplink.delay_ms() + transmission)
}

/// Returns delay A: mean time from the client's queue to the server over the data packets that arrive, in ms.
fn delay_a(run: &Outcome<'_>) -> Option<f64> {
    let (packets, ms) = arrived(run);
    (packets > 0.0).then(|| ms / packets)
}

/// Returns the data packets that arrive, and the sum of their delays, in ms.
fn arrived(run: &Outcome<'_>) -> (f64, f64) {
    run.summary.flows.iter().fold((0.0, 0.0), |(packets, ms), flow| {
        let received = flow.received_packets as f64;
        (packets + received, ms + flow.one_way_delay_s.map_or(0.0, |delay| delay.mean * received * 1e3))
    })
}

/// Returns delay C: mean delay without the queue and the transmission of the client's link, in ms. It is the only
/// reading under which Table II is possible: the table has 13.246 ms, but the full delay of an idle network is 14.44
/// ms.
fn delay_c(run: &Outcome<'_>) -> Option<f64> {
    let (packets, ms) = waits(run, uplink(run).into_iter());
    (packets > 0.0).then_some(delay_floor(run)? - access_transmission(run)? + ms / packets)
}

/// Returns delay D: like A, over data packets and acknowledgements, in ms. The delay of acknowledgements is propagation
/// and transmission on both links and the mean waits in their queues.
fn delay_d(run: &Outcome<'_>) -> Option<f64> {
    let (access, uplink) = (access_link(run)?, uplink_link(run)?);
    let down: Vec<&LinkSummary> = run.summary.links.iter().filter(|link| link.from == "server").collect();
    let last: Vec<&LinkSummary> =
        run.summary.links.iter().filter(|link| link.from == "router" && link.to != "server").collect();
    let (acks, waited_first) = waits(run, down.into_iter());
    let (_, waited_then) = waits(run, last.into_iter());
    let (data, ms) = arrived(run);
    let ack_ms = [access, uplink].map(|link| link.delay_ms() + link.transmission_ms(ACK_BITS)).iter().sum::<f64>();
    (data > 0.0).then(|| (ms + ack_ms * acks + waited_first + waited_then) / (data + acks))
}

fn sent_and_lost(run: &Outcome<'_>) -> (f64, f64) {
    run.summary.flows.iter().fold((0.0, 0.0), |(sent, lost), flow| {
        (sent + flow.sent_packets as f64, lost + flow.lost_packets.total() as f64)
    })
}

/// Returns dropped data packets in % of sent data packets, retransmissions included (Table IV).
fn loss(run: &Outcome<'_>) -> Option<f64> {
    let (sent, lost) = sent_and_lost(run);
    (sent > 0.0).then(|| 100.0 * lost / sent)
}

/// Returns dropped packets in % of sent packets, acknowledgements included.
fn loss_all(run: &Outcome<'_>) -> Option<f64> {
    let (sent, lost) = sent_and_lost(run);
    let is_reverse = |link: &&LinkSummary| link.from == "server" || (link.from == "router" && link.to != "server");
    let acks = |link: &&LinkSummary| link.from == "server";
    let links = &run.summary.links;
    let acks_sent: u64 = links.iter().filter(acks).map(|link| link.arrived_packets).sum();
    let acks_lost: u64 = links.iter().filter(is_reverse).map(|link| link.dropped_packets.total()).sum();
    (sent > 0.0).then(|| 100.0 * (lost + acks_lost as f64) / (sent + acks_sent as f64))
}

fn packet_bytes(run: &Outcome<'_>) -> Option<f64> {
    let bytes = run.scenario.flows.first()?.transport.full_packet();
    Some(bytes.count() as f64)
}

/// Returns the largest throughput of each client: its share of the bottleneck, or the rate of its link, in kb/s.
fn fair_share(run: &Outcome<'_>) -> Option<f64> {
    let share = uplink_link(run)?.rate_mbps() / run.scenario.flows.len() as f64;
    Some(1e3 * share.min(access_link(run)?.rate_mbps()))
}

/// Returns the round-trip propagation delay over both links, in ms.
fn rtt(run: &Outcome<'_>) -> Option<f64> {
    Some(2.0 * (access_link(run)?.delay_ms() + uplink_link(run)?.delay_ms()))
}

/// Returns the bandwidth-delay product of equation (3) for the router's link.
fn bdp_bits(run: &Outcome<'_>) -> Option<f64> {
    Some(uplink_link(run)?.rate_mbps() * 1e3 * rtt(run)?)
}

/// Returns the round-trip time for which equation (3) gives the paper's product, in ms.
fn rtt_of_the_papers_bdp(run: &Outcome<'_>) -> Option<f64> {
    Some(PAPERS_BDP_BITS / uplink_link(run)?.rate_mbps() / 1e3)
}

/// Returns the synchronization of losses: Pearson's correlation of "lost a packet in this bin" between two clients, as
/// a mean over all pairs of clients. The bins are those of the series (two round trips each). Clients that lose in
/// every bin or in none are skipped. The correlation is 0 for independent losses and 1 if clients always lose together.
fn loss_correlation(run: &Outcome<'_>) -> Option<f64> {
    let table = run.series?;
    let from = run.summary.interval.from;
    let indicators: Vec<Vec<f64>> = run
        .summary
        .flows
        .iter()
        .filter_map(|flow| {
            let samples = table.samples(&flow.name, series::LOSS);
            let lost: Vec<f64> = samples
                .windows(2)
                .filter(|pair| pair[0].0.as_secs_f64() >= from)
                .map(|pair| f64::from(u8::from(pair[1].1 > pair[0].1)))
                .collect();
            standardised(&lost)
        })
        .collect();
    let clients = indicators.len() as f64;
    let bins = indicators.first()?.len();
    if indicators.len() < 2 || indicators.iter().any(|client| client.len() != bins) {
        return None;
    }
    // (sum z)^2 = sum z^2 + 2 (sum over pairs) gives the sum over all pairs.
    let squares: f64 =
        (0..bins).map(|bin| indicators.iter().map(|client| client[bin]).sum::<f64>()).map(|sum| sum * sum).sum();
    Some((squares / bins as f64 - clients) / (clients * (clients - 1.0)))
}

/// Scales the values to mean 0 and variance 1; none if all are equal.
fn standardised(values: &[f64]) -> Option<Vec<f64>> {
    let mean = mean(values)?;
    let variance = values.iter().map(|value| (value - mean) * (value - mean)).sum::<f64>() / values.len() as f64;
    (variance > 0.0).then(|| values.iter().map(|value| (value - mean) / variance.sqrt()).collect())
}
