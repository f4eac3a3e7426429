//! Options of `headway send`, `recv` and `relay`.

use clap::{ArgGroup, Args, ValueEnum};
use headway_net::{Duration, Fingerprint, MediaKind, QueueMethod, Rate};
use headway_units::{ParseError, Probability};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;

/// Options of either endpoint of a connection.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("controlled").multiple(true).args(["controller", "spacing"]))]
pub(crate) struct EndpointOptions {
    /// PEM file with the certificate and private key of this endpoint. If the file is missing, it is created with a new
    /// certificate. With the same file the fingerprint is the same in each run [default: a new certificate for each
    /// run].
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    pub(crate) identity: Option<PathBuf>,
    /// Disable DTLS. On-path attackers can then read and forge packets. Both endpoints must set this option.
    #[arg(long)]
    pub(crate) insecure: bool,
    /// Rate controller of the connection. tfrc-filtered: smooth rate of the TCP throughput equation; losses count only
    /// if the loss filter of the receiver attributes them to congestion (see --loss-filter). tfrc: the same, and all
    /// losses count. tcp-like: congestion window as in TCP with SACK. tfrc-sp: tfrc for small packets. Experimental
    /// controllers, which both endpoints must set: scream2, nada, gcc and prague (SCReAM v2, NADA of RFC 8698, Google
    /// Congestion Control and Prague, for live media), udpm (the receiver chooses one of several rates), rap (additive
    /// increase and multiplicative decrease of the rate), spacing, spacing-fixed and spacing-equation (see --spacing),
    /// and none (no rate control). KEY=VALUE sets a key that the controller has in a scenario, such as `udpm,levels=5`
    /// for five rates [default: the first of tfrc-filtered, tfrc, tcp-like and tfrc-sp that the peer accepts].
    #[arg(long, value_name = "KIND[,KEY=VALUE...]")]
    pub(crate) controller: Option<String>,
    /// Transmission rate of the network interface of this host, such as 100Mbps. The controllers spacing and
    /// spacing-fixed require it at both ends, because they apply to both directions of a connection. Only the gaps
    /// between packets that this endpoint sends depend on it: a gap begins at the end of a packet's transmission.
    #[arg(long, value_name = "RATE", requires = "controlled", value_parser = line_rate, allow_hyphen_values = true)]
    pub(crate) line_rate: Option<Rate>,
    /// Loss filter for the data that this endpoint receives: only losses that the filter attributes to congestion
    /// reduce the rate. uddj: losses while the jitter of one-way delays shows a busy bottleneck. guarded: the part of
    /// the losses that longer queues or higher sending rates explain. zigzag: losses after which the one-way delay is
    /// not short. mbiaz: losses that the time between arrivals does not explain. spike: losses while one-way delays are
    /// long. This option selects the controller tfrc-filtered, which the peer accepts unless it has another
    /// --controller [default: guarded].
    #[arg(long, value_name = "KIND[,KEY=VALUE...]", conflicts_with_all = ["controller", "spacing"])]
    pub(crate) loss_filter: Option<String>,
    /// Gap between the packets that this endpoint sends. fixed: a constant gap, 1ms unless the key `spacing` sets
    /// another. ad-hoc: the gap doubles after a loss and becomes shorter without one. damped: as ad-hoc, but a loss
    /// attributed to a shortening of the gap only restores the previous gap. equation: even gaps at the rate of tfrc.
    /// This option selects the controller spacing-fixed (fixed), spacing (ad-hoc, damped) or spacing-equation
    /// (equation). The peer must select the same controller, with --controller or --spacing [default: the controller
    /// decides when to send].
    #[arg(long, value_name = "SCHEME[,KEY=VALUE...]", conflicts_with = "controller")]
    pub(crate) spacing: Option<String>,
    /// Write a qlog file for each connection to this folder, with its packets, losses, metrics and dropped datagrams.
    /// qvis (https://qvis.quictools.info) shows it. The file of a receiver begins when the handshake is complete.
    #[allow(rustdoc::bare_urls, reason = "the help shows the text as it is")]
    #[arg(long, value_name = "DIR")]
    pub(crate) qlog: Option<PathBuf>,
    /// Print a line of JSON each second and one at the end.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print only warnings and errors.
    #[arg(long)]
    pub(crate) quiet: bool,
}

/// One-way delays of the datagrams that this endpoint receives.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct DelayOptions {
    /// Measure one-way delays. The sender then adds a Timestamp option to each packet: 6 bytes, 8 with padding.
    #[arg(long)]
    pub(crate) delays: bool,
    /// Deadline of a datagram, counted from the time its packet left the sender, such as 150ms. Reports the share of
    /// datagrams that arrived on time. The clocks need not be synchronized: delays have a stated error of about half of
    /// the shortest round trip. Implies --delays.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) deadline: Option<Duration>,
}

/// Order of the datagrams that this endpoint receives.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct OrderOptions {
    /// Pass each datagram on when it arrives. By default a datagram waits, for at most 1 s, for earlier ones of its
    /// priority that the sender sends again.
    #[arg(long)]
    pub(crate) unordered: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RecvOptions {
    /// Local address to which senders connect. Port 0 selects a free port.
    #[arg(value_name = "ADDRESS:PORT")]
    pub(crate) listen: String,
    #[command(flatten)]
    pub(crate) endpoint: EndpointOptions,
    /// Accept only senders with this fingerprint. May be repeated [default: any sender].
    #[arg(long, value_name = "FINGERPRINT", conflicts_with = "insecure")]
    pub(crate) allow: Vec<Fingerprint>,
    /// Output file for the received datagrams; `-` is standard output. Datagrams of several senders are interleaved
    /// [default: datagrams are counted and discarded].
    #[arg(long, value_name = "FILE|-")]
    pub(crate) out: Option<PathBuf>,
    /// Format of the datagrams in the output.
    #[arg(long, value_name = "FRAMING", default_value = "raw", requires = "out")]
    pub(crate) framing: Framing,
    /// Forward each datagram to this UDP address. Each sender gets a separate source port. Datagrams that arrive at
    /// such a port are discarded.
    #[arg(long, value_name = "HOST:PORT", conflicts_with = "out")]
    pub(crate) to: Option<String>,
    /// Exit when the first connection ends.
    #[arg(long)]
    pub(crate) once: bool,
    /// Maximum number of simultaneous senders, from 1 to 4000. Each uses a thread. Connections of further senders are
    /// refused with a Reset ("Too Busy"). Metrics and records contain the sums over all senders. Not with --once.
    #[arg(long, value_name = "N", default_value = "64", value_parser = senders, conflicts_with = "once", allow_negative_numbers = true)]
    pub(crate) max_senders: NonZeroUsize,
    #[command(flatten)]
    pub(crate) order: OrderOptions,
    #[command(flatten)]
    pub(crate) delays: DelayOptions,
    #[command(flatten)]
    pub(crate) watch: WatchOptions,
}

/// Format of datagrams in a byte stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Framing {
    /// The bytes of all datagrams, without separators.
    Raw,
    /// Each datagram follows its length, a 16-bit integer in network byte order (RFC 4571).
    Length,
}

/// Authentication of the peer. One of these options or `--insecure` is required.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("trust").required(true).args(["fingerprint", "any", "insecure"]))]
pub(crate) struct TrustOptions {
    /// Accept only a peer with this certificate fingerprint, as printed by the peer. May be repeated. One of
    /// --fingerprint, --any and --insecure is required.
    #[arg(long, value_name = "FINGERPRINT", conflicts_with_all = ["any", "insecure"])]
    pub(crate) fingerprint: Vec<Fingerprint>,
    /// Accept any peer. This protects against eavesdropping but not against a man in the middle.
    #[arg(long, conflicts_with = "insecure")]
    pub(crate) any: bool,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("source").required(true).args(["file", "stdin", "udp", "model"]))]
pub(crate) struct SendOptions {
    /// Address of the receiver.
    #[arg(value_name = "HOST:PORT")]
    pub(crate) server: String,
    #[command(flatten)]
    pub(crate) trust: TrustOptions,
    #[command(flatten)]
    pub(crate) endpoint: EndpointOptions,
    #[command(flatten)]
    pub(crate) queue: QueueOptions,
    #[command(flatten)]
    pub(crate) media: MediaOptions,
    #[command(flatten)]
    pub(crate) watch: WatchOptions,
    /// Send a file as fast as the controller allows. A live encoder writes to --stdin or --udp instead. A file of
    /// MPEG-TS is sent in datagrams of up to 7 whole packets of 188 bytes. Lost datagrams are sent again: see --queue.
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Send datagrams from standard input. Each follows its length, a 16-bit integer in network byte order (RFC 4571).
    /// With --chunk, there are no lengths. A full send queue blocks the program that writes to standard input; with
    /// --expires and without --chunk, the queue drops datagrams instead.
    #[arg(long)]
    pub(crate) stdin: bool,
    /// Send the UDP datagrams that arrive at this local address.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) udp: Option<String>,
    /// Send synthetic media. SOURCE has the keys of a source in a scenario, such as 'kind = "conference"'. Not with
    /// --kind, --priority, --method or --chunk. --expires sets the lifetime of the datagrams for which SOURCE sets none.
    #[arg(long, value_name = "SOURCE", conflicts_with_all = ["kind", "priority", "method"])]
    pub(crate) model: Option<String>,
    /// Size of the datagrams of a file or of standard input, in bytes [default: with --file the largest that fits in a
    /// packet, or whole packets of MPEG-TS; with --stdin the length before each datagram].
    #[arg(long, value_name = "BYTES", value_parser = bytes, conflicts_with_all = ["udp", "model"], allow_negative_numbers = true)]
    pub(crate) chunk: Option<NonZeroUsize>,
    /// Minimum share of the datagrams that must be delivered for exit status 0, such as 99% [default: all datagrams
    /// without a lifetime (see --expires), and no minimum for those with one].
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true)]
    pub(crate) min_delivered: Option<Probability>,
    /// Connect again if the receiver is gone and returns, until the source ends. Datagrams wait in the send queue, within
    /// its limit and their lifetimes. Those in flight at the loss are not sent again [default: a lost connection is the
    /// end].
    #[arg(long)]
    pub(crate) reconnect: bool,
    #[command(flatten)]
    pub(crate) rate: RateOptions,
    /// Stop this long after the start of the command, such as 60s. Queued datagrams are sent for up to one more second
    /// [default: when all data of the source is sent].
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) duration: Option<Duration>,
    /// Seed of the random number generator of --model.
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with_all = ["file", "stdin", "udp"], value_parser = crate::arguments::seed, allow_negative_numbers = true)]
    pub(crate) seed: u64,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("end").required(true).args(["listen", "connect"]))]
#[command(group = ArgGroup::new("ports").required(true).multiple(true).args(["rules", "from", "to"]))]
pub(crate) struct RelayOptions {
    /// TOML file with ports and classification rules, instead of --from or --to.
    #[arg(value_name = "RULES_FILE")]
    pub(crate) rules: Option<PathBuf>,
    /// Local address at which this relay waits for the peer, which uses --connect. A new peer replaces the connected
    /// one.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) listen: Option<String>,
    /// Address of the relay to connect to.
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) connect: Option<String>,
    #[command(flatten)]
    pub(crate) trust: TrustOptions,
    #[command(flatten)]
    pub(crate) endpoint: EndpointOptions,
    #[command(flatten)]
    pub(crate) queue: QueueOptions,
    #[command(flatten)]
    pub(crate) media: MediaOptions,
    #[command(flatten)]
    pub(crate) order: OrderOptions,
    #[command(flatten)]
    pub(crate) delays: DelayOptions,
    #[command(flatten)]
    pub(crate) watch: WatchOptions,
    /// Local address that accepts datagrams from a program. May be repeated; the n-th --from is forwarded to the n-th
    /// --to of the peer. Only one of RULES_FILE, --from and --to is allowed.
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with = "rules")]
    pub(crate) from: Vec<String>,
    /// Address of a program that receives datagrams. May be repeated; the n-th --to receives from the n-th --from of
    /// the peer.
    #[arg(long, value_name = "HOST:PORT", conflicts_with_all = ["rules", "from"])]
    pub(crate) to: Vec<String>,
    /// Exit when the first connection ends [default: --listen waits for another peer, and --connect connects again].
    #[arg(long)]
    pub(crate) once: bool,
    #[command(flatten)]
    pub(crate) rate: RateOptions,
}

/// Encoder rate for another program.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct RateOptions {
    /// Write the rate for an encoder to this file descriptor, which is a pipe or a file: a line of JSON such as
    /// {"encoder_rate_bps":1200000} for each change. A slow reader misses changes, but not the last one.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) rate_fd: Option<u32>,
}

/// Metrics, records and the live view.
#[derive(Debug, Args)]
pub(crate) struct WatchOptions {
    /// Serve metrics for Prometheus at this local address, under /metrics, and the rate for an encoder under /rate.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) metrics: Option<String>,
    /// Write a record to this folder, with one sample per second. `headway plot` and `headway view` read it. For
    /// `headway relay --listen` it requires --once.
    #[arg(long, value_name = "DIR")]
    pub(crate) record: Option<PathBuf>,
    /// Show the connection in the browser while it runs. PORT is a TCP port of the loopback address [default: a free
    /// port]. Without --record, the data are deleted at the end. For `headway relay --listen` it requires --once.
    #[arg(long, value_name = "PORT", num_args = 0..=1, require_equals = true, default_missing_value = "0")]
    pub(crate) view: Option<u16>,
    /// Print the address of --view without opening a browser.
    #[arg(long, requires = "view")]
    pub(crate) no_open: bool,
}

/// Send queue.
#[derive(Debug, Args)]
pub(crate) struct QueueOptions {
    /// Send queue: its kind, and keys of `send_queue` in a scenario, such as `sure-first,limit=64packets`. The default
    /// sends by priority, then by expiry, and drops datagrams that would arrive too late. In overload it can send
    /// datagrams of one priority out of order. Lost datagrams are sent again if they can still arrive within their
    /// lifetime, unless the queue has `resend=false` [default: sure-first].
    #[arg(long, value_name = "KIND[,KEY=VALUE...]")]
    pub(crate) queue: Option<String>,
}

/// Properties of datagrams to which no rule applies.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct MediaOptions {
    /// Kind of media in the datagrams: data, audio, video, video-i, video-p or video-b. In `headway relay` a matching
    /// rule has precedence.
    #[arg(long, value_name = "KIND", value_parser = kind, default_value = "data")]
    pub(crate) kind: MediaKind,
    /// Priority of the datagrams, from 0 (highest) to 255. In `headway relay` a matching rule has precedence.
    #[arg(long, value_name = "N", value_parser = priority, default_value_t = 0, allow_negative_numbers = true)]
    pub(crate) priority: u8,
    /// Lifetime of a datagram, such as 150ms. The default send queue (see --queue) drops datagrams that would arrive
    /// later, except one if all are late. In `headway relay` a matching rule has precedence [default: unlimited].
    #[arg(long, value_name = "TIME", value_parser = lifetime, allow_hyphen_values = true)]
    pub(crate) expires: Option<Duration>,
    /// Queueing method of the datagrams, instead of that of --queue: fifo, prio, sfdps1, sfdps2, ring, ring-sfdps2,
    /// score, patient, priority or edf. It orders and drops datagrams as the `send_queue` of this kind in a scenario.
    /// In `headway relay` a matching rule has precedence [default: the method of --queue].
    #[arg(long, value_name = "METHOD", value_parser = method)]
    pub(crate) method: Option<QueueMethod>,
}

/// Parses a number of senders. An endpoint holds at most 4096 connections, including those that start or end.
fn senders(text: &str) -> Result<NonZeroUsize, String> {
    let senders = text.parse().ok().filter(|senders: &NonZeroUsize| senders.get() <= 4000);
    senders.ok_or_else(|| "expected a number of senders from 1 to 4000".to_owned())
}

fn bytes(text: &str) -> Result<NonZeroUsize, String> {
    text.parse().map_err(|_| "expected a number of bytes, 1 or more".to_owned())
}

fn priority(text: &str) -> Result<u8, String> {
    text.parse().map_err(|_| "expected a whole number from 0 (highest priority) to 255".to_owned())
}

/// Parses a duration above zero.
fn lifetime(text: &str) -> Result<Duration, String> {
    let time: Duration = above_zero(text, "expected a duration above 0s and at most 18446744073s, such as 150ms")?;
    if time.is_zero() {
        Err("a lifetime of 0s is not allowed; expected a duration such as 150ms".to_owned())
    } else {
        Ok(time)
    }
}

/// Parses a rate above zero.
fn line_rate(text: &str) -> Result<Rate, String> {
    let rate: Rate = above_zero(text, "expected a rate above 0bps and at most 18446744Tbps, such as 100Mbps")?;
    if rate.is_zero() {
        Err("a rate of 0bps is not allowed; expected the rate of the interface, such as 100Mbps".to_owned())
    } else {
        Ok(rate)
    }
}

/// Parses a quantity. `allowed` is the range of the option, which is smaller than that of the type.
fn above_zero<T: FromStr<Err = ParseError>>(text: &str, allowed: &str) -> Result<T, String> {
    text.parse().map_err(|error| match error {
        ParseError::OutOfRange { text, .. } => format!("\"{text}\" is out of range: {allowed}"),
        error => error.to_string(),
    })
}

fn method(text: &str) -> Result<QueueMethod, String> {
    QueueMethod::named(text).map_err(|error| error.message)
}

pub(super) fn kind(text: &str) -> Result<MediaKind, String> {
    let names = MediaKind::ALL.map(MediaKind::name);
    let found = MediaKind::ALL.into_iter().find(|kind| kind.name() == text);
    found.ok_or_else(|| format!("unknown kind{}", headway_scenario::choices(text, names)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn negative_values_are_refused_with_the_allowed_range() {
        let mut found = 0;
        let mut all = vec![crate::arguments::Arguments::command()];
        while let Some(command) = all.pop() {
            for option in command.get_arguments() {
                let names: Vec<&str> =
                    option.get_value_names().into_iter().flatten().map(|name| name.as_str()).collect();
                if let ["TIME" | "RATE" | "SHARE"] = names[..] {
                    assert!(option.is_allow_hyphen_values_set(), "{} {}", command.get_name(), option.get_id());
                    found += 1;
                } else if let ["N" | "BYTES" | "PX"] = names[..] {
                    assert!(option.is_allow_negative_numbers_set(), "{} {}", command.get_name(), option.get_id());
                }
            }
            all.extend(command.get_subcommands().cloned());
        }
        assert!(found > 8, "{found} options");
        for text in ["-5ms", "1e30s"] {
            let error = lifetime(text).unwrap_err();
            assert_eq!(
                error,
                format!(
                    "\"{text}\" is out of range: expected a duration above 0s and at most 18446744073s, such as 150ms"
                )
            );
        }
        let error = line_rate("-5Mbps").unwrap_err();
        assert!(
            error.ends_with("out of range: expected a rate above 0bps and at most 18446744Tbps, such as 100Mbps"),
            "{error}"
        );
        assert!(line_rate("--json").unwrap_err().contains("\"--json\" is not a rate"));
    }
}
