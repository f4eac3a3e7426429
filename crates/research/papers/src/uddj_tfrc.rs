//! Metrics of the paper on UDDJ-TFRC (see `papers/uddj-tfrc`): the flows `main..` over a wireless link with random
//! loss, next to constant or bursty cross traffic, or next to the TCP flows `tcp..`.
//!
//! Rates count received packets of 1000 B with headers, as constant rates are counted: then "the optimal throughput is
//! 4Mbps".

use crate::metric::{Metric, Outcome, flows, mean};
use headway_record::{FlowSummary, LinkSummary, LossClassificationSummary, jain_index};
use headway_units::DropCause;

const MAIN: &str = "main";
const TCP: &str = "tcp";
const PACKET_BITS: f64 = 8000.0;
/// Section 3: residual bandwidth of 10 Mb/s with 6 Mb/s of constant rates.
const OPTIMAL_MBPS: f64 = 4.0;

pub(crate) const METRICS: &[Metric] = &[
    mbps("main_mbps", |run| mean(&rates(run, MAIN))),
    // Throughput divided by 4 Mb/s x (1 - p_w): the rate sent on the wireless link, including channel losses, relative
    // to the optimum.
    percent("filled_pct", |run| Some(100.0 * mean(&rates(run, MAIN))? / (1.0 - channel_loss(run)?) / OPTIMAL_MBPS)),
    // Relative to the rate of equation (12) with k = sqrt(3/2) and only the channel's losses.
    percent("equation_pct", equation),
    percent("used_pct", |run| Some(100.0 * bottleneck(run)?.utilisation)),
    percent("wireless_used_pct", |run| Some(100.0 * wireless(run)?.utilisation)),
    Metric { name: "queue_packets", unit: "packets", decimals: 1, of: |run| Some(bottleneck(run)?.mean_queue_packets) },
    // Share of sent packets that queues drop.
    percent("queue_loss_pct", |run| {
        let sent = sum(run, MAIN, |flow| flow.sent_packets);
        let lost = sum(run, MAIN, |flow| flow.lost_packets.total() - flow.lost_packets.of(DropCause::Channel));
        (sent > 0.0).then(|| 100.0 * lost / sent)
    }),
    // Classification of losses.
    percent("false_pct", |run| false_alarms(&judged(run)?)),
    percent("missed_pct", |run| Some(missed(&judged(run)?))),
    Metric {
        name: "early_per_min",
        unit: "1/min",
        decimals: 1,
        of: |run| Some(judged(run)?.early as f64 / (run.summary.interval.to - run.summary.interval.from) * 60.0),
    },
    // Fairness among the flows of one kind.
    Metric { name: "main_jain", unit: "", decimals: 4, of: |run| jain_index(&rates(run, MAIN)) },
    mbps("main_low_mbps", |run| rates(run, MAIN).into_iter().reduce(f64::min)),
    mbps("main_high_mbps", |run| rates(run, MAIN).into_iter().reduce(f64::max)),
    Metric {
        name: "main_cov",
        unit: "",
        decimals: 3,
        of: |run| mean(&flows(run, MAIN).map(|flow| flow.rate_cov).collect::<Option<Vec<_>>>()?),
    },
    Metric {
        name: "delay_ms",
        unit: "ms",
        decimals: 1,
        of: |run| {
            let delays = flows(run, MAIN).map(|flow| Some(flow.one_way_delay_s.as_ref()?.mean * 1e3));
            mean(&delays.collect::<Option<Vec<_>>>()?)
        },
    },
    // Competition with TCP.
    mbps("tcp_mbps", |run| mean(&rates(run, TCP))),
    mbps("sum_mbps", |run| Some(rates(run, MAIN).iter().chain(&rates(run, TCP)).sum())),
    Metric {
        name: "main_over_tcp",
        unit: "",
        decimals: 3,
        of: |run| Some(mean(&rates(run, MAIN))? / mean(&rates(run, TCP))?),
    },
    percent("channel_loss_pct", |run| Some(100.0 * channel_loss(run)?)),
];

type Of = fn(&Outcome<'_>) -> Option<f64>;

const fn mbps(name: &'static str, of: Of) -> Metric {
    Metric { name, unit: "Mb/s", decimals: 3, of }
}

const fn percent(name: &'static str, of: Of) -> Metric {
    Metric { name, unit: "%", decimals: 2, of }
}

fn sum(run: &Outcome<'_>, prefix: &'static str, of: fn(&FlowSummary) -> u64) -> f64 {
    flows(run, prefix).map(of).sum::<u64>() as f64
}

fn rates(run: &Outcome<'_>, prefix: &'static str) -> Vec<f64> {
    flows(run, prefix).map(|flow| flow.throughput_bps / 1e6).collect()
}

/// Returns the measured p_w: the share of packets on the wireless link that the channel loses.
fn channel_loss(run: &Outcome<'_>) -> Option<f64> {
    let lost = sum(run, MAIN, |flow| flow.lost_packets.of(DropCause::Channel));
    let over = lost + sum(run, MAIN, |flow| flow.received_packets);
    (over > 0.0).then(|| lost / over)
}

/// Returns the rate of equation (12), k / (rtt sqrt(1 - (1 - p_w)(1 - p_c))), in packets per second; none without
/// losses.
fn allowed_packets(k: f64, rtt_s: f64, p_w: f64, p_c: f64) -> Option<f64> {
    let p = 1.0 - (1.0 - p_w) * (1.0 - p_c);
    (p > 0.0).then(|| k / (rtt_s * p.sqrt()))
}

/// Returns the throughput in % of equation (12). The paper does not state k; sqrt(3/2) is that of Mathis et al. (1997).
fn equation(run: &Outcome<'_>) -> Option<f64> {
    let rtt_s = mean(&flows(run, MAIN).map(|flow| Some(flow.rtt_s.as_ref()?.mean)).collect::<Option<Vec<_>>>()?)?;
    let allowed = allowed_packets(1.5_f64.sqrt(), rtt_s, channel_loss(run)?, 0.0)?;
    Some(100.0 * mean(&rates(run, MAIN))? * 1e6 / PACKET_BITS / allowed)
}

fn wireless<'a>(run: &Outcome<'a>) -> Option<&'a LinkSummary> {
    run.summary.links.iter().find(|link| link.to == "mobile")
}

/// Returns the link between the third pair of routers, or the wireless link if there are no pairs.
fn bottleneck<'a>(run: &Outcome<'a>) -> Option<&'a LinkSummary> {
    let third = run.summary.links.iter().find(|link| link.from == "r3" && link.to == "r4");
    third.or_else(|| wireless(run))
}

/// Returns the loss classifications of all receivers together.
fn judged(run: &Outcome<'_>) -> Option<LossClassificationSummary> {
    let mut all_judged = LossClassificationSummary::default();
    for judged in flows(run, MAIN).map(|flow| flow.losses_judged) {
        let judged = judged?;
        all_judged.channel_counted += judged.channel_counted;
        all_judged.channel_filtered += judged.channel_filtered;
        all_judged.queue_counted += judged.queue_counted;
        all_judged.queue_filtered += judged.queue_filtered;
        all_judged.early += judged.early;
    }
    Some(all_judged)
}

/// Returns the share of channel losses that are counted as congestion, in %; none without channel losses.
fn false_alarms(judged: &LossClassificationSummary) -> Option<f64> {
    let all = judged.channel_counted + judged.channel_filtered;
    (all > 0).then(|| 100.0 * judged.channel_counted as f64 / all as f64)
}

/// Returns the share of queue losses that are filtered out, in %; 0 without queue losses.
fn missed(judged: &LossClassificationSummary) -> f64 {
    let all = judged.queue_counted + judged.queue_filtered;
    if all == 0 { 0.0 } else { 100.0 * judged.queue_filtered as f64 / all as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Vector `uddj.eq12`, by hand: p = 1 - (1 - p_w)(1 - p_c); packets per round trip for k = 1 and k = sqrt(3/2) at
    /// some losses of Figure 4.
    #[test]
    fn equation_12_combines_two_losses() {
        for (p_w, p_c, one, mathis) in [
            (0.0, 0.001, 31.622_776_6, 38.729_833_5),
            (0.005, 0.0, 14.142_135_6, 17.320_508_1),
            (0.005, 0.01, 8.178_608_2, 10.016_708_4),
            (0.01, 0.001, 9.538_962_77, 11.682_795_7),
        ] {
            let found = |k| allowed_packets(k, 1.0, p_w, p_c).unwrap();
            assert!((found(1.0) - one).abs() < 1e-6, "{p_w} {p_c}");
            assert!((found(1.5_f64.sqrt()) - mathis).abs() < 1e-6, "{p_w} {p_c}");
        }
        assert_eq!(allowed_packets(1.0, 0.05, 0.0, 0.0), None);
    }

    /// 3 of 30 and 2 of 8. Without queue losses the missed share is 0; without channel losses there are no false alarms
    /// to compute.
    #[test]
    fn false_and_missed_shares_of_losses() {
        let judged = LossClassificationSummary {
            channel_counted: 3,
            channel_filtered: 27,
            queue_counted: 6,
            queue_filtered: 2,
            early: 0,
        };
        assert_eq!((false_alarms(&judged), missed(&judged)), (Some(10.0), 25.0));
        assert_eq!(
            (false_alarms(&LossClassificationSummary::default()), missed(&LossClassificationSummary::default())),
            (None, 0.0)
        );
    }
}
