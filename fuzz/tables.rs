//! Generates scenarios from any bytes. Most of them are valid.

use arbitrary::{Arbitrary, Result, Unstructured};
use std::fmt::Write;

/// Text of a scenario.
#[derive(Debug)]
pub(crate) struct Tables(String);

impl Tables {
    pub(crate) fn text(&self) -> &str {
        &self.0
    }
}

const RATES: &[&str] =
    &["1bps", "9600bps", "64kbps", "2Mbps", "10Mbps", "999999937bps", "8Gbps", "100Gbps", "1Tbps", "18446744Tbps"];
const DELAYS: &[&str] = &["0s", "1ns", "7ns", "1us", "1ms", "10ms", "0.3s", "1s", "1h", "1000000s"];
const DURATIONS: &[&str] = &["1ns", "10us", "1ms", "100ms", "1s", "5s", "60s", "1h", "1000000s"];
const SIZES: &[&str] = &["1B", "2B", "29B", "40B", "41B", "53B", "576B", "1000B", "1500B", "9kB", "65535B"];
const WRITES: &[&str] = &["1B", "28B", "29B", "160B", "1000B", "1473B", "64kB", "1MB", "16MiB"];
const QUEUES: &[&str] =
    &["1packets", "2packets", "5packets", "50packets", "1000000000packets", "1B", "999B", "30kB", "1000000000B"];
const WINDOWS: &[&str] =
    &["1packets", "2packets", "3packets", "15packets", "1000packets", "1000000packets", "1073741824packets", "64kB"];
const PROBABILITIES: &[&str] = &["0", "0.001", "0.1", "0.5", "0.999", "1"];
const PACKETS: &[&str] = &["0", "1", "2", "20", "999", "9223372036854775807"];
const TCP: &[&str] = &[
    "tcp-tahoe",
    "tcp-reno",
    "tcp-newreno",
    "tcp-sack",
    "tcp-cubic",
    "tcp-westwood",
    "tcp-vegas",
    "tcp-jtcp",
    "tcp-dctcp",
    "tcp-veno",
    "tcp-bic",
];
const BOOLEANS: &[&str] = &["true", "false"];

impl<'a> Arbitrary<'a> for Tables {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let mut all = Writer { u, text: String::new() };
        all.scenario()?;
        Ok(Self(all.text))
    }
}

struct Writer<'u, 'a> {
    u: &'u mut Unstructured<'a>,
    text: String,
}

impl Writer<'_, '_> {
    fn one(&mut self, from: &[&'static str]) -> Result<&'static str> {
        self.u.choose(from).copied()
    }

    fn often(&mut self) -> Result<bool> {
        self.u.ratio(3, 4)
    }

    /// Adds `key = "value"`, or nothing.
    fn maybe(&mut self, key: &str, from: &[&'static str]) -> Result<()> {
        if self.u.ratio(1, 3)? {
            let value = self.one(from)?;
            self.quoted(key, value);
        }
        Ok(())
    }

    /// Adds `key = value`, or nothing.
    fn maybe_bare(&mut self, key: &str, from: &[&'static str]) -> Result<()> {
        if self.u.ratio(1, 3)? {
            let value = self.one(from)?;
            self.bare(key, value);
        }
        Ok(())
    }

    fn quoted(&mut self, key: &str, value: &str) {
        self.bare(key, &format!("\"{value}\""));
    }

    fn bare(&mut self, key: &str, value: &str) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.text, "{key} = {value}");
    }

    fn scenario(&mut self) -> Result<()> {
        let duration = self.one(DURATIONS)?;
        self.quoted("duration", duration);
        self.maybe("dialect", &["rfc", "ns2", "ns3", "linux", "headway-1"])?;
        self.maybe("ties", &["drawn", "scheduled"])?;
        self.maybe("measure_from", &["1ns", "1ms", "50ms", "1s"])?;
        let seed = self.u.int_in_range(0..=3)?;
        self.bare("seed", &format!("{seed}"));
        if self.often()? {
            self.bare("record.series", "false");
        } else {
            self.maybe("record.series", &["1ns", "1us", "1ms", "100ms", "1h"])?;
        }
        let nodes = self.u.int_in_range(2..=5)?;
        // A path through all nodes in both directions, and occasionally a ring.
        for node in 1..nodes {
            self.link(node - 1, node, false)?;
        }
        if nodes > 2 && self.u.ratio(1, 4)? {
            self.link(nodes - 1, 0, true)?;
        }
        for flow in 0..self.u.int_in_range(1..=4)? {
            self.flow(flow, nodes)?;
        }
        Ok(())
    }

    fn link(&mut self, from: u8, to: u8, one_way: bool) -> Result<()> {
        self.text.push_str("[[link]]\n");
        self.bare("between", &format!("[\"n{from}\", \"n{to}\"]"));
        let (rate, delay) = (self.one(RATES)?, self.one(DELAYS)?);
        self.quoted("rate", rate);
        // A link without delay has a minimum transmission time.
        self.quoted("delay", if delay == "0s" && RATES[7..].contains(&rate) { "1ns" } else { delay });
        if one_way {
            self.bare("one_way", "true");
        }
        if self.u.ratio(1, 8)? {
            self.maybe("mtu", SIZES)?;
        }
        self.maybe("overhead", &["0B", "1B", "18B", "64KiB"])?;
        self.maybe("events", &["two"])?;
        if self.u.ratio(1, 3)? {
            let loss = self.loss()?;
            self.bare("loss", &loss);
        }
        if self.u.ratio(1, 8)? {
            let rate = self.one(RATES)?;
            self.bare("policer", &format!("{{ rate = \"{rate}\", burst = \"10kB\" }}"));
        }
        if self.u.ratio(1, 2)? {
            self.text.push_str("[link.queue]\nkind = \"droptail\"\n");
            self.maybe("limit", QUEUES)?;
            self.maybe("counts", &["waiting", "with-transmission", "below-limit"])?;
            self.maybe("drop", &["tail", "front"])?;
        } else if self.u.ratio(1, 8)? {
            self.text.push_str("[link.queue]\nkind = \"early-random-drop\"\n");
            self.maybe("limit", QUEUES)?;
            self.maybe("drop_level", QUEUES)?;
            self.maybe("drop_probability", PROBABILITIES)?;
        } else if self.often()? {
            self.red()?;
        }
        Ok(())
    }

    /// Returns a loss model as an inline table.
    fn loss(&mut self) -> Result<String> {
        let place = self.one(&["before-queue", "after-transmission"])?;
        let keys = match self.u.int_in_range(0..=3)? {
            0 => {
                let (probability, other) = (self.one(PROBABILITIES)?, self.one(PROBABILITIES)?);
                let at = self.one(DELAYS)?;
                let changes = format!(", changes = [{{ at = \"{at}\", probability = {other} }}]");
                format!("\"bernoulli\", probability = {probability}{}", self.perhaps(changes)?)
            }
            1 => {
                let (every, burst, first) = (self.one(PACKETS)?, self.one(&PACKETS[1..])?, self.one(PACKETS)?);
                let (packet, other) = (self.one(PACKETS)?, self.one(PACKETS)?);
                let [burst, first] = [format!(", burst = {burst}"), format!(", first = {first}")];
                let changes = format!(", changes = [{{ packet = {packet}, every = {other} }}]");
                let [burst, first, changes] = [self.perhaps(burst)?, self.perhaps(first)?, self.perhaps(changes)?];
                format!("\"periodic\", every = {every}{burst}{first}{changes}")
            }
            2 => {
                if self.u.arbitrary()? {
                    let (mean, run) = (self.one(PROBABILITIES)?, self.one(&PACKETS[1..])?);
                    format!("\"gilbert-elliott\", mean = {mean}, run = {run}")
                } else {
                    let [to_bad, to_good] = [self.one(PROBABILITIES)?, self.one(PROBABILITIES)?];
                    let [good, bad] = [self.one(PROBABILITIES)?, self.one(PROBABILITIES)?];
                    let [good, bad] = [format!(", loss_good = {good}"), format!(", loss_bad = {bad}")];
                    let [good, bad] = [self.perhaps(good)?, self.perhaps(bad)?];
                    format!("\"gilbert-elliott\", to_bad = {to_bad}, to_good = {to_good}{good}{bad}")
                }
            }
            _ => {
                let (first, more) =
                    (self.u.int_in_range(0..=PACKETS.len() - 1)?, self.u.int_in_range(1..=PACKETS.len())?);
                let packets: Vec<_> = PACKETS.iter().copied().cycle().skip(first).take(more).collect();
                format!("\"list\", packets = [{}]", packets.join(", "))
            }
        };
        Ok(format!("{{ kind = {keys}, place = \"{place}\" }}"))
    }

    /// Returns the text, or an empty one.
    fn perhaps(&mut self, text: String) -> Result<String> {
        Ok(if self.u.ratio(1, 3)? { text } else { String::new() })
    }

    fn red(&mut self) -> Result<()> {
        self.text.push_str("[link.queue]\nkind = \"red\"\n");
        let bytes = self.u.arbitrary()?;
        self.bare("in_bytes", if bytes { "true" } else { "false" });
        self.maybe("limit", if bytes { QUEUES } else { &QUEUES[..5] })?;
        if self.often()? {
            let [low, high] = if bytes { ["1B", "3000B"] } else { ["1packets", "1.5packets"] };
            self.quoted("min_threshold", low);
            self.quoted("max_threshold", high);
        }
        for key in ["weigh_size", "gentle", "wait", "ecn", "ns1_compat"] {
            self.maybe_bare(key, BOOLEANS)?;
        }
        self.maybe("mean_packet", &["1B", "500B", "1GB"])?;
        self.maybe("target_delay", DELAYS)?;
        self.maybe_bare("queue_weight", &["-2.0", "-1.0", "0.0", "1e-300", "0.002", "1.0"])?;
        self.maybe_bare("max_probability", &["1e-300", "0.1", "1.0"])?;
        self.maybe_bare("mark_limit", &["false", "0.0", "0.1", "1.0"])?;
        self.maybe("drop", &["tail", "random", "front"])?;
        self.maybe("adaptive", &["off", "aimd", "feng"])?;
        self.maybe_bare("alpha", &["1e-300", "0.01", "100.0"])?;
        self.maybe_bare("beta", &["1e-300", "0.9", "100.0"])?;
        self.maybe("interval", DELAYS)?;
        self.maybe_bare("top", PROBABILITIES)?;
        self.maybe_bare("bottom", PROBABILITIES)?;
        self.maybe_bare("cautious", &["0", "1", "2", "3"])?;
        self.maybe("idle_packet", &["1B", "1GB"])
    }

    fn flow(&mut self, number: u8, nodes: u8) -> Result<()> {
        let from = self.u.int_in_range(0..=nodes - 1)?;
        let step = self.u.int_in_range(1..=nodes - 1)?;
        self.text.push_str("[[flow]]\n");
        self.quoted("name", &format!("f{number}"));
        self.quoted("from", &format!("n{from}"));
        self.quoted("to", &format!("n{}", (from + step) % nodes));
        self.maybe_bare("count", &["2", "7", "300", "5000"])?;
        self.maybe("start", &["0s", "1ns", "0.5ms", "1h", "18446744073709551614ns"])?;
        self.maybe("stop", &["18446744073709551615ns", "1000000s", "2h"])?;
        if self.u.ratio(1, 3)? {
            self.text.push_str("[flow.transport]\nkind = \"udp\"\n");
            self.maybe("datagram", SIZES)?;
            self.maybe("header", &["0B", "1B", "28B"])?;
            return self.source();
        }
        let kind = self.one(TCP)?;
        self.tcp(kind)?;
        if self.often()? {
            self.text.push_str("[flow.source]\nkind = \"ftp\"\n");
            return self.maybe_bare("segments", &["1", "2", "100", "9223372036854775807"]);
        }
        self.source()
    }

    fn source(&mut self) -> Result<()> {
        let kind = self.one(&["cbr", "cbr", "exponential", "pareto", "telnet"])?;
        self.text.push_str("[flow.source]\n");
        self.quoted("kind", kind);
        match kind {
            "cbr" => self.cbr()?,
            "telnet" => {
                self.maybe("interval", &DELAYS[1..])?;
                return self.maybe("payload", WRITES);
            }
            _ => {
                let rate = self.one(RATES)?;
                self.quoted("rate", rate);
                self.maybe("burst_time", &DELAYS[1..])?;
                self.maybe("idle_time", DELAYS)?;
                if kind == "pareto" {
                    self.maybe_bare("shape", &["1.000001", "1.5", "2.0", "100.0"])?;
                }
            }
        }
        let (key, write) = (self.one(&["size", "payload"])?, self.one(WRITES)?);
        self.quoted(key, write);
        self.maybe("lifetime", DELAYS)?;
        self.maybe_bare("priority", &["0", "255"])
    }

    /// Adds the keys of a constant rate.
    fn cbr(&mut self) -> Result<()> {
        if self.u.arbitrary()? {
            let rate = self.one(RATES)?;
            self.quoted("rate", rate);
            if self.u.ratio(1, 3)? {
                let first = self.u.int_in_range(0..=DELAYS.len() - 1)?;
                let changes: Result<Vec<_>> = DELAYS[first..]
                    .iter()
                    .take(3)
                    .map(|at| Ok(format!("{{ at = \"{at}\", rate = \"{}\" }}", self.one(RATES)?)))
                    .collect();
                self.bare("changes", &format!("[{}]", changes?.join(", ")));
            }
        } else {
            let interval = self.one(&DELAYS[1..])?;
            self.quoted("interval", interval);
        }
        self.maybe_bare("random_start", BOOLEANS)?;
        self.maybe_bare("dither", BOOLEANS)?;
        self.maybe_bare("stop_by_sum", BOOLEANS)?;
        self.maybe_bare("packets", &["1", "3", "1000"])
    }

    fn tcp(&mut self, kind: &str) -> Result<()> {
        self.text.push_str("[flow.transport]\n");
        self.quoted("kind", kind);
        if self.u.ratio(1, 2)? {
            let segment = self.one(SIZES)?;
            self.quoted("segment", segment);
            // A header that leaves space for data.
            self.quoted("header", if SIZES[..5].contains(&segment) { "1B" } else { "40B" });
        }
        self.maybe("syn_size", SIZES)?;
        for key in ["window", "initial_window", "initial_ssthresh", "max_burst"] {
            self.maybe(key, WINDOWS)?;
        }
        self.maybe_bare("initial_window_bytes", &["false"])?;
        self.maybe("min_rto", &["0s", "1ns", "200ms", "1s", "60s"])?;
        self.maybe("rto_floor", &["rto", "variance"])?;
        self.maybe("tick", &["10ms", "1s"])?;
        self.maybe_bare("dupack_threshold", &["1", "2", "3", "100", "4294967295"])?;
        self.maybe("halving", &["window", "flight", "network"])?;
        self.maybe("halved_window", &["ssthresh", "fractional", "whole"])?;
        self.maybe("increase", &["fractional", "whole"])?;
        self.maybe("overhead", &["0s", "1ns", "1us", "1ms", "1h", "18446744073709551615ns"])?;
        self.maybe("delayed_ack", &["1ns", "40ms", "1h", "18446744073709551615ns"])?;
        self.maybe_bare("quick_acks", &["0", "3", "4294967295"])?;
        self.maybe_bare("quick_acks_after_gap", &["0", "16", "4294967295"])?;
        for key in ["timestamps", "limited_transmit", "paced", "ecn", "push"] {
            self.maybe_bare(key, BOOLEANS)?;
        }
        let (newreno, sack) = (
            matches!(kind, "tcp-newreno" | "tcp-jtcp"),
            !matches!(kind, "tcp-tahoe" | "tcp-reno" | "tcp-newreno" | "tcp-jtcp"),
        );
        if newreno {
            self.maybe("partial_ack_timer", &["impatient", "slow-but-steady"])?;
        }
        if sack {
            self.maybe_bare("proportional_rate_reduction", BOOLEANS)?;
            self.maybe_bare("rack", BOOLEANS)?;
        }
        match kind {
            "tcp-cubic" => {
                self.maybe_bare("hystart", BOOLEANS)?;
                self.maybe_bare("beta", &["1e-300", "0.5", "0.999999999999"])?;
            }
            "tcp-vegas" => {
                self.maybe("vegas", &["arizona", "linux"])?;
                self.maybe_bare("vegas_alpha", &["0", "1", "4294967295"])?;
                self.maybe_bare("vegas_beta", &["0", "3", "4294967295"])?;
            }
            "tcp-westwood" => self.maybe("bandwidth_filter", &["plus", "tustin", "linux"])?,
            "tcp-dctcp" => self.maybe_bare("l4s", BOOLEANS)?,
            _ => {}
        }

        self.text.push_str("[flow.transport.expert]\n");
        self.maybe("ack_size", SIZES)?;
        self.maybe("max_rto", &["60s", "1h", "18446744073709551615ns"])?;
        self.maybe("initial_rto", &["1ns", "1us", "1s", "60s"])?;
        self.maybe("syn_loss_rto", &["0s", "1ns", "3s", "18446744073709551615ns"])?;
        self.maybe("ack_counting", &["acks", "segments"])?;
        self.maybe_bare("slow_start_limit", &["1", "2", "4294967295"])?;
        self.maybe("restart_after_idle", &["keep", "one", "initial-window", "decay"])?;
        self.maybe_bare("ecn_least_window", &["1", "2"])?;
        self.maybe("ecn_echo", &["until-cwr", "exact"])?;
        for key in
            ["timestamps_reset_backoff", "grow_when_limited", "ecn_on_retransmission", "answer_fin", "delay_duplicates"]
        {
            self.maybe_bare(key, BOOLEANS)?;
        }
        if kind != "tcp-tahoe" {
            self.maybe_bare("grow_on_exit", BOOLEANS)?;
        }
        if newreno {
            self.maybe_bare("exit_recovery_fix", BOOLEANS)?;
            self.maybe_bare("exit_recovery_least_flight", &["0", "1"])?;
            self.maybe("recovery_burst", WINDOWS)?;
        }
        if sack {
            self.maybe("pipe", &["counted", "scoreboard", "fack"])?;
            self.maybe_bare("sack_blocks", &["0", "1", "2", "3"])?;
            self.maybe_bare("rack_window", BOOLEANS)?;
            self.maybe_bare("keep_sack_after_timeout", BOOLEANS)?;
        }
        if kind == "tcp-cubic" {
            self.maybe_bare("reno_friendly_alpha_rises", BOOLEANS)?;
            self.maybe_bare("grow_without_plateau", BOOLEANS)?;
        }
        Ok(())
    }
}
