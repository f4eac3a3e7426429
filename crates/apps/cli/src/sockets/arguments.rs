//! Options of `headway send`, `recv` and `relay`.

use clap::{ArgGroup, Args, ValueEnum};
use headway_net::{Duration, Fec, Fingerprint, MediaKind, QueueMethod, Rate};
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
    /// Rate controller of the connection, for the data in both directions. tfrc-filtered: smooth rate of the TCP
    /// throughput equation; losses count only if the loss filter of the receiver attributes them to congestion (see
    /// --loss-filter). tfrc: this rate, and all losses count. tcp-like: congestion window as in TCP with SACK. tfrc-sp:
    /// tfrc for small packets. Experimental controllers, which both endpoints must set: scream2, nada, gcc and prague
    /// (SCReAM v2, NADA of RFC 8698, Google Congestion Control and Prague, for live media), udpm (the receiver chooses
    /// one of several rates), rap (additive increase and multiplicative decrease of the rate), spacing, spacing-fixed
    /// and spacing-equation (see --spacing), and none (no rate control). KEY=VALUE sets a key that the controller has
    /// in a scenario, such as `udpm,levels=5` for five rates [default: the first of tfrc-filtered, tfrc, tcp-like and
    /// tfrc-sp that the peer accepts].
    #[arg(long, value_name = "KIND[,KEY=VALUE...]")]
    pub(crate) controller: Option<String>,
    /// Transmission rate of the network interface of this host, such as 100Mbps. With the controllers spacing and
    /// spacing-fixed both endpoints must set it, because either can send. Only the gaps between the packets that this
    /// endpoint sends depend on it: a gap begins at the end of a packet's transmission. Requires --controller or
    /// --spacing.
    #[arg(long, value_name = "RATE", requires = "controlled", value_parser = line_rate, allow_hyphen_values = true)]
    pub(crate) line_rate: Option<Rate>,
    /// Loss filter for the data that this endpoint receives: only losses that the filter attributes to congestion
    /// reduce the rate. uddj: losses while the jitter of one-way delays shows a busy bottleneck. guarded: losses in
    /// excess of their share at short queues and low sending rates. zigzag: losses after which the one-way delay is not
    /// short. mbiaz: losses that the time between arrivals does not explain. spike: losses while one-way delays are
    /// long. This option selects the controller tfrc-filtered, which a peer without --controller and --spacing accepts
    /// [default: guarded].
    #[arg(long, value_name = "KIND[,KEY=VALUE...]", conflicts_with_all = ["controller", "spacing"])]
    pub(crate) loss_filter: Option<String>,
    /// Gap between the packets that this endpoint sends. fixed: a constant gap, 1ms unless the key `spacing` sets
    /// another. ad-hoc: the gap doubles after a loss and becomes shorter without one. damped: as ad-hoc, but a loss due
    /// to a shorter gap restores the previous gap instead of doubling the gap. equation: even gaps at the rate of tfrc.
    /// This option selects the controller spacing-fixed (fixed), spacing (ad-hoc, damped) or spacing-equation
    /// (equation). The peer must select the same controller, with --controller or --spacing [default: the controller
    /// decides when to send].
    #[arg(long, value_name = "SCHEME[,KEY=VALUE...]", conflicts_with = "controller")]
    pub(crate) spacing: Option<String>,
    /// Write a qlog file for each connection to this folder, with its packets, losses and metrics, and for a sender
    /// with the datagrams that its send queue dropped. qvis (https://qvis.quictools.info) shows it. An endpoint that
    /// listens creates the file of a connection only when the handshake is complete; the file also contains the packets
    /// of the handshake.
    #[allow(rustdoc::bare_urls, reason = "the help shows the text as it is")]
    #[arg(long, value_name = "DIR")]
    pub(crate) qlog: Option<PathBuf>,
    /// Print a line of JSON each second and one at the end, instead of text. Other lines report the addresses of a
    /// server, of --view and of --metrics, and failed handshakes. All lines are on standard output, or on standard
    /// error for `headway recv --out -`.
    #[arg(long)]
    pub(crate) json: bool,
    /// Print only warnings, errors and the address of --view, and the lines of --json if it is set.
    #[arg(long)]
    pub(crate) quiet: bool,
}

/// One-way delays of the datagrams that this endpoint receives.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct DelayOptions {
    /// Measure the one-way delays of received datagrams. The peer then adds a Timestamp option to each packet with data
    /// that it sends: 6 bytes, 8 with padding.
    #[arg(long)]
    pub(crate) delays: bool,
    /// Deadline of a received datagram, counted from the time at which its packet left the sender, such as 150ms. The
    /// reports then include the share of datagrams that arrived on time; lost ones count as not on time. The clocks
    /// need not be synchronized: delays have a stated error of about half of the shortest round trip. Implies --delays.
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
    /// Accept only senders with this certificate fingerprint, which a sender with --identity prints. May be repeated
    /// [default: any sender].
    #[arg(long, value_name = "FINGERPRINT", conflicts_with = "insecure")]
    pub(crate) allow: Vec<Fingerprint>,
    /// Output file for the received datagrams; `-` is standard output. A file keeps its contents until the first
    /// datagram arrives. Datagrams of several senders are interleaved [default: datagrams are counted and discarded].
    #[arg(long, value_name = "FILE|-")]
    pub(crate) out: Option<PathBuf>,
    /// Format of the datagrams in the output of --out.
    #[arg(long, value_name = "FRAMING", default_value = "raw", requires = "out")]
    pub(crate) framing: Framing,
    /// Forward each received datagram to this UDP address. The datagrams of each sender have a separate local source
    /// port. Datagrams that arrive at such a port are discarded.
    #[arg(long, value_name = "HOST:PORT", conflicts_with = "out")]
    pub(crate) to: Option<String>,
    /// Accept one connection, and exit when it ends.
    #[arg(long)]
    pub(crate) once: bool,
    /// Maximum number of simultaneous senders, from 1 to 4000. Each uses a thread of this command. Connections of
    /// further senders are refused with a Reset ("Too Busy"). Metrics and records contain the sums over all senders.
    /// Not with --once.
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
    /// Accept only a peer with this certificate fingerprint, as `headway recv` or `headway relay` prints it at the
    /// peer. May be repeated. Exactly one of --fingerprint, --any and --insecure is required.
    #[arg(long, value_name = "FINGERPRINT", conflicts_with_all = ["any", "insecure"])]
    pub(crate) fingerprint: Vec<Fingerprint>,
    /// Accept a peer with any certificate. This protects against eavesdropping but not against a man in the middle.
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
    /// Send a file as fast as the rate controller allows. A live encoder writes to --stdin or --udp instead. A file of
    /// MPEG-TS is sent in datagrams of up to 7 whole packets of 188 bytes, unless --chunk is set. Lost datagrams are
    /// sent again: see --queue.
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Send datagrams from standard input. Each follows its length, a 16-bit integer in network byte order (RFC 4571).
    /// With --chunk, the input has no lengths. While the send queue has no room, this command does not read, which
    /// blocks the program that writes; with --expires and without --chunk, the queue drops datagrams instead.
    #[arg(long)]
    pub(crate) stdin: bool,
    /// Send the UDP datagrams that a program sends to this local address.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) udp: Option<String>,
    /// Send synthetic media. SOURCE has the keys of a source in a scenario, such as 'kind = "conference"'. Not with
    /// --kind, --priority, --method or --chunk. --expires is the lifetime of the datagrams for which SOURCE sets none.
    #[arg(long, value_name = "SOURCE", conflicts_with_all = ["kind", "priority", "method"])]
    pub(crate) model: Option<String>,
    /// Size of the datagrams into which a file or standard input is divided, in bytes [default: with --file the largest
    /// that fits in a packet, or up to 7 whole packets of MPEG-TS; with --stdin each datagram has the length before
    /// it].
    #[arg(long, value_name = "BYTES", value_parser = bytes, conflicts_with_all = ["udp", "model"], allow_negative_numbers = true)]
    pub(crate) chunk: Option<NonZeroUsize>,
    /// Minimum share of the datagrams of the source that must be delivered for exit status 0, such as 99% [default: all
    /// datagrams without a lifetime (see --expires), and no minimum for those with one]. After --duration or a signal,
    /// datagrams whose delivery is still unknown do not count.
    #[arg(long, value_name = "SHARE", allow_hyphen_values = true)]
    pub(crate) min_delivered: Option<Probability>,
    /// Connect again if an established connection is lost and the receiver returns, until the source ends. Meanwhile
    /// datagrams wait in the send queue, within its limit and their lifetimes. Those in flight when the connection was
    /// lost are not sent again [default: the command ends when the connection is lost].
    #[arg(long)]
    pub(crate) reconnect: bool,
    #[command(flatten)]
    pub(crate) rate: RateOptions,
    /// Stop reading the source this long after the start of the command, such as 60s. Queued datagrams are sent for up
    /// to one more second [default: the command ends when all data of the source is sent].
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
    /// TOML file with the ports of this relay and with rules that set the kind, priority, lifetime and method of
    /// datagrams, instead of --from or --to.
    #[arg(value_name = "RULES_FILE")]
    pub(crate) rules: Option<PathBuf>,
    /// Local address at which this relay waits for the other relay, which uses --connect. A new peer replaces the
    /// connected one.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) listen: Option<String>,
    /// Address of the other relay, which uses --listen.
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
    /// Local address to which a program sends datagrams for the peer. May be repeated; datagrams to the n-th --from of
    /// this relay are forwarded to the n-th --to of the peer, and answers back. Only one of RULES_FILE, --from and --to
    /// is allowed.
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with = "rules")]
    pub(crate) from: Vec<String>,
    /// Address of a program that receives datagrams from the peer. May be repeated; the n-th --to of this relay
    /// receives the datagrams of the n-th --from of the peer, and its answers are sent back.
    #[arg(long, value_name = "HOST:PORT", conflicts_with_all = ["rules", "from"])]
    pub(crate) to: Vec<String>,
    /// Exit when the first connection ends [default: a relay with --listen waits for another peer, and one with
    /// --connect connects again].
    #[arg(long)]
    pub(crate) once: bool,
    #[command(flatten)]
    pub(crate) rate: RateOptions,
}

/// Encoder rate for another program.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct RateOptions {
    /// Write the rate at which an encoder should produce data to this open file descriptor of the command, a pipe, a
    /// connected socket or a file: a line of JSON such as {"encoder_rate_bps":1200000} for each change. A slow reader
    /// misses changes, but not the last one. Needs Linux.
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(crate) rate_fd: Option<u32>,
}

/// Metrics, records and the live view.
#[derive(Debug, Args)]
pub(crate) struct WatchOptions {
    /// Serve metrics for Prometheus at this local address, under /metrics. `headway send` and `headway relay` also
    /// serve the rate for an encoder, under /rate.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) metrics: Option<String>,
    /// Write a record of the connection to this folder, with one sample per second. `headway plot` and `headway view`
    /// read it. In `headway relay --listen`, --record requires --once.
    #[arg(long, value_name = "DIR")]
    pub(crate) record: Option<PathBuf>,
    /// Show the connection in the browser while it runs. PORT is a TCP port of the loopback address [default: a free
    /// port]. Without --record, the data are deleted at the end. In `headway relay --listen`, --view requires --once.
    #[arg(long, value_name = "PORT", num_args = 0..=1, require_equals = true, default_missing_value = "0")]
    pub(crate) view: Option<u16>,
    /// Print the address of --view without opening a browser.
    #[arg(long, requires = "view")]
    pub(crate) no_open: bool,
}

/// Send queue.
#[derive(Debug, Args)]
pub(crate) struct QueueOptions {
    /// Send queue: its kind, and keys of `send_queue` in a scenario, such as `sure-first,limit=64packets`. The default,
    /// sure-first, sends by priority, then by expiry, and drops datagrams that would arrive too late. In overload it
    /// can send datagrams of one priority out of order. Each queue sends lost datagrams again if they can still arrive
    /// within their lifetime, unless it has `resend=false`. `limit` is 256packets unless set, but 3packets for ring-3
    /// [default: sure-first].
    #[arg(long, value_name = "KIND[,KEY=VALUE...]")]
    pub(crate) queue: Option<String>,
    /// Forward error correction: repair packets from which the receiver restores lost datagrams without a round trip.
    /// auto: as many as the measured loss requires, for datagrams whose lifetime (see --expires) is too short for a
    /// retransmission. off: none. A percentage such as 20%: this share of all datagrams. The rate controller counts
    /// repair packets as data. Datagrams that exceed the size of a repair packet, 32 bytes less than a packet, are not
    /// protected.
    #[arg(long, value_name = "auto|off|N%", default_value = "auto", allow_hyphen_values = true)]
    pub(crate) fec: Fec,
}

/// Properties of datagrams to which no rule applies.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct MediaOptions {
    /// Kind of media in the datagrams: data, audio, video, video-i, video-p or video-b. In `headway relay` it applies
    /// to datagrams that no rule of RULES_FILE matches.
    #[arg(long, value_name = "KIND", value_parser = kind, default_value = "data")]
    pub(crate) kind: MediaKind,
    /// Priority of the datagrams, from 0 (highest) to 255. In `headway relay` it applies to datagrams that no rule of
    /// RULES_FILE matches.
    #[arg(long, value_name = "N", value_parser = priority, default_value_t = 0, allow_negative_numbers = true)]
    pub(crate) priority: u8,
    /// Lifetime of a datagram, such as 150ms: the time from its arrival in the send queue until which it must reach the
    /// peer. The default send queue (see --queue) drops datagrams that would arrive later; if all would, it still sends
    /// the one that expires last. In `headway relay` it applies to datagrams that no rule of RULES_FILE matches
    /// [default: unlimited].
    #[arg(long, value_name = "TIME", value_parser = lifetime, allow_hyphen_values = true)]
    pub(crate) expires: Option<Duration>,
    /// Queueing method of the datagrams: fifo, prio, sfdps1, sfdps2, ring, ring-sfdps2, score, patient, priority or
    /// edf. It orders and drops these datagrams as the `send_queue` of this kind in a scenario; the limit and the other
    /// keys are those of --queue. It requires another --queue than the default, sure-first, which excludes methods. In
    /// `headway relay` it applies to datagrams that no rule of RULES_FILE matches [default: the method of --queue].
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
