//! What may stand behind `headway send`, `recv` and `relay`.

use clap::{ArgGroup, Args, ValueEnum};
use headway_net::{Duration, Fingerprint, MediaKind, QueueMethod, Rate};
use headway_units::ParseError;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;

/// What an end of a connection is told, whichever end it is.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("controlled").multiple(true).args(["controller", "spacing"]))]
pub(crate) struct EndOptions {
    /// The file with this end's certificate and private key (PEM), made if it is missing, so that its fingerprint lasts [default: new ones,
    /// which nobody keeps].
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    pub(crate) identity: Option<PathBuf>,
    /// No DTLS: whoever sees a packet can read it and forge the next. Both ends must say so.
    #[arg(long)]
    pub(crate) insecure: bool,
    /// The rate controller: tfrc, tcp-like, tfrc-sp, or an experiment, which both ends must name, with keys of a scenario such as
    /// `udpm,levels=5` [default: the first of tfrc, tcp-like and tfrc-sp that the peer accepts].
    #[arg(long, value_name = "KIND[,KEY=VALUE...]")]
    pub(crate) controller: Option<String>,
    /// How fast this host's interface takes packets, such as 100Mbps: the controllers spacing and spacing-fixed have to know.
    #[arg(long, value_name = "RATE", requires = "controlled", value_parser = line_rate, allow_hyphen_values = true)]
    pub(crate) line_rate: Option<Rate>,
    /// Which losses of arriving data count: uddj, guarded, zigzag, mbiaz or spike. The peer writes --controller tfrc-filtered, or a filter of the data
    /// that it receives [default: all losses count].
    #[arg(long, value_name = "KIND[,KEY=VALUE...]", conflicts_with_all = ["controller", "spacing"])]
    pub(crate) loss_filter: Option<String>,
    /// How packets of sent data are spaced: fixed, ad-hoc, damped or equation. The peer writes --controller spacing-fixed, spacing or
    /// spacing-equation, or the scheme of the data that it sends [default: by the controller].
    #[arg(long, value_name = "SCHEME[,KEY=VALUE...]", conflicts_with = "controller")]
    pub(crate) spacing: Option<String>,
    /// Print JSON, a line each second and one at the end.
    #[arg(long)]
    pub(crate) json: bool,
    /// Say nothing but what went wrong.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// One-way delays of the datagrams that this end receives.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct DelayOptions {
    /// Measure one-way delays. The sender then puts a Timestamp of 6 bytes on each packet, rounded up to 8.
    #[arg(long)]
    pub(crate) delays: bool,
    /// How long a datagram is of use after its packet was sent, such as 150ms: report how many were on time. Measures one-way delays.
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) deadline: Option<Duration>,
}

#[derive(Debug, Args)]
pub(crate) struct RecvOptions {
    /// Where senders connect to; port 0 is any that is free.
    #[arg(value_name = "ADDRESS:PORT")]
    pub(crate) listen: String,
    #[command(flatten)]
    pub(crate) end: EndOptions,
    /// Only senders with this fingerprint. May be repeated [default: whoever comes].
    #[arg(long, value_name = "FINGERPRINT", conflicts_with = "insecure")]
    pub(crate) allow: Vec<Fingerprint>,
    /// Write what comes to this file, or with - to standard output. The datagrams of several senders mix [default: it is only counted].
    #[arg(long, value_name = "FILE|-")]
    pub(crate) out: Option<PathBuf>,
    /// How datagrams stand in the file.
    #[arg(long, value_name = "FRAMING", default_value = "raw", requires = "out")]
    pub(crate) framing: Framing,
    /// Send each datagram on to this UDP port, each sender's from a port of its own.
    #[arg(long, value_name = "HOST:PORT", conflicts_with = "out")]
    pub(crate) to: Option<String>,
    /// End when the first connection does.
    #[arg(long)]
    pub(crate) once: bool,
    /// Accept this many senders at a time, 1 to 4000. Each has a thread; the receiver refuses more ("Too Busy").
    #[arg(long, value_name = "N", default_value = "64", value_parser = senders, conflicts_with = "once", allow_negative_numbers = true)]
    pub(crate) max_senders: NonZeroUsize,
    #[command(flatten)]
    pub(crate) delays: DelayOptions,
    #[command(flatten)]
    pub(crate) watch: WatchOptions,
}

/// How datagrams stand one behind the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Framing {
    /// Bytes, one datagram's behind another's.
    Raw,
    /// Before each datagram its length in two bytes, the first of which counts 256.
    Length,
}

/// Whom an end believes: one of these has to be said.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("trust").required(true).args(["fingerprint", "any", "insecure"]))]
pub(crate) struct TrustOptions {
    /// The other end's fingerprint, as it prints it. May be repeated.
    #[arg(long, value_name = "FINGERPRINT", conflicts_with_all = ["any", "insecure"])]
    pub(crate) fingerprint: Vec<Fingerprint>,
    /// Believe whoever answers, or comes: nobody can listen who only listens, but who stands between both ends can be both of them.
    #[arg(long, conflicts_with = "insecure")]
    pub(crate) any: bool,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("source").required(true).args(["file", "stdin", "udp", "model"]))]
pub(crate) struct SendOptions {
    /// The server.
    #[arg(value_name = "HOST:PORT")]
    pub(crate) server: String,
    #[command(flatten)]
    pub(crate) trust: TrustOptions,
    #[command(flatten)]
    pub(crate) end: EndOptions,
    #[command(flatten)]
    pub(crate) queue: QueueOptions,
    #[command(flatten)]
    pub(crate) media: MediaOptions,
    #[command(flatten)]
    pub(crate) watch: WatchOptions,
    /// Send a file, as fast as the controller allows. Lost datagrams are not retransmitted, unless the queue has `resend=true`.
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Send what comes on standard input: before each datagram its length in two bytes, the first of which counts 256; or see --chunk. Whoever
    /// writes there has to wait, unless datagrams expire.
    #[arg(long)]
    pub(crate) stdin: bool,
    /// Send the datagrams that come to this address from a program, one for one.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) udp: Option<String>,
    /// Send what a media model makes, in the words of a scenario's source, such as 'kind = "conference"'.
    #[arg(long, value_name = "SOURCE", conflicts_with_all = ["kind", "priority", "expires", "method"])]
    pub(crate) model: Option<String>,
    /// Bytes a datagram, of a file [default: as many as go] or of standard input.
    #[arg(long, value_name = "BYTES", value_parser = bytes, conflicts_with_all = ["udp", "model"], allow_negative_numbers = true)]
    pub(crate) chunk: Option<NonZeroUsize>,
    /// Stop after this time, as Ctrl-C does: what waits may still go for a second [default: when the source ends, and all has gone].
    #[arg(long, value_name = "TIME", allow_hyphen_values = true)]
    pub(crate) duration: Option<Duration>,
    /// Seed of what a model draws.
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with_all = ["file", "stdin", "udp"], value_parser = crate::arguments::seed, allow_negative_numbers = true)]
    pub(crate) seed: u64,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("end").required(true).args(["listen", "connect"]))]
#[command(group = ArgGroup::new("ports").required(true).multiple(true).args(["rules", "from", "to"]))]
pub(crate) struct RelayOptions {
    /// A file with the ports, and with what their datagrams are.
    #[arg(value_name = "RULES")]
    pub(crate) rules: Option<PathBuf>,
    /// Wait here for the other end; of several the newest counts.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) listen: Option<String>,
    /// The other end, which waits there.
    #[arg(long, value_name = "HOST:PORT")]
    pub(crate) connect: Option<String>,
    #[command(flatten)]
    pub(crate) trust: TrustOptions,
    #[command(flatten)]
    pub(crate) end: EndOptions,
    #[command(flatten)]
    pub(crate) queue: QueueOptions,
    #[command(flatten)]
    pub(crate) media: MediaOptions,
    #[command(flatten)]
    pub(crate) delays: DelayOptions,
    #[command(flatten)]
    pub(crate) watch: WatchOptions,
    /// A program here sends to this address. Of several the other end has as many --to, in the same order.
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with = "rules")]
    pub(crate) from: Vec<String>,
    /// A program is at this address. Of several the other end has as many --from, in the same order.
    #[arg(long, value_name = "HOST:PORT", conflicts_with_all = ["rules", "from"])]
    pub(crate) to: Vec<String>,
    /// End when the first connection does.
    #[arg(long, requires = "listen")]
    pub(crate) once: bool,
}

/// Who looks on.
#[derive(Debug, Args)]
pub(crate) struct WatchOptions {
    /// Answer Prometheus here, at /metrics.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) metrics: Option<String>,
    /// Leave a record in this folder, with a sample each second, as `headway run` does: `headway plot` draws it.
    #[arg(long, value_name = "DIR")]
    pub(crate) record: Option<PathBuf>,
    /// Show it in a browser as it goes on, as `headway view` does, served at this port of the loopback address or at any that is free; without
    /// --record what is shown is gone with the end.
    #[arg(long, value_name = "PORT", num_args = 0..=1, require_equals = true, default_missing_value = "0")]
    pub(crate) view: Option<u16>,
    /// With --view, only print the address, and open no browser.
    #[arg(long, requires = "view")]
    pub(crate) no_open: bool,
}

/// What waits to be sent.
#[derive(Debug, Args)]
pub(crate) struct QueueOptions {
    /// The send queue, such as `sure-first,limit=64packets` [default: sfdps2].
    #[arg(long, value_name = "KIND[,KEY=VALUE...]")]
    pub(crate) queue: Option<String>,
}

/// What datagrams are of which nothing else is known.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct MediaOptions {
    /// What the datagrams carry: data, audio, video, video-i, video-p or video-b.
    #[arg(long, value_name = "KIND", value_parser = kind, default_value = "data")]
    pub(crate) kind: MediaKind,
    /// Which go first: 0 before 1 before 2.
    #[arg(long, value_name = "N", value_parser = priority, default_value_t = 0, allow_negative_numbers = true)]
    pub(crate) priority: u8,
    /// How long a datagram is of use to the receiver, such as 150ms; later it is not sent [default: for ever].
    #[arg(long, value_name = "TIME", value_parser = lifetime, allow_hyphen_values = true)]
    pub(crate) expires: Option<Duration>,
    /// The queueing method of each datagram: fifo, prio, sfdps1, sfdps2, ring, ring-sfdps2, score, patient, priority or edf [default: that of --queue].
    #[arg(long, value_name = "METHOD", value_parser = method)]
    pub(crate) method: Option<QueueMethod>,
}

/// An endpoint holds 4096 connections, those that begin or end included.
fn senders(text: &str) -> Result<NonZeroUsize, String> {
    let senders = text.parse().ok().filter(|senders: &NonZeroUsize| senders.get() <= 4000);
    senders.ok_or_else(|| "expected a number of senders, 1 to 4000".to_owned())
}

fn bytes(text: &str) -> Result<NonZeroUsize, String> {
    text.parse().map_err(|_| "expected a number of bytes, 1 or more".to_owned())
}

fn priority(text: &str) -> Result<u8, String> {
    text.parse().map_err(|_| "expected a whole number from 0 to 255; 0 goes first".to_owned())
}

/// Reads a time above zero: what is of no use when it is written is never sent.
fn lifetime(text: &str) -> Result<Duration, String> {
    let time: Duration = above_zero(text, "write a time above 0s and at most 18446744073s, such as 150ms")?;
    if time.is_zero() { Err("no datagram is of use for 0s: write a time such as 150ms".to_owned()) } else { Ok(time) }
}

/// Reads a rate above zero.
fn line_rate(text: &str) -> Result<Rate, String> {
    let rate: Rate = above_zero(text, "write a rate above 0bps and at most 18446744Tbps, such as 100Mbps")?;
    if rate.is_zero() {
        Err("an interface takes more than 0bps: write its rate, such as 100Mbps".to_owned())
    } else {
        Ok(rate)
    }
}

/// Reads a quantity. `allowed` is the range of the option, which is smaller than that of the type.
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
    found.ok_or_else(|| format!("there is no such kind{}", headway_scenario::choices(text, names)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    /// `--delay -5ms` was "unexpected argument '-5'": the parser of the command line took the value for an option.
    #[test]
    fn a_value_may_begin_with_a_minus_and_is_refused_with_the_range() {
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
                format!("\"{text}\" is out of range: write a time above 0s and at most 18446744073s, such as 150ms")
            );
        }
        let error = line_rate("-5Mbps").unwrap_err();
        assert!(
            error.ends_with("out of range: write a rate above 0bps and at most 18446744Tbps, such as 100Mbps"),
            "{error}"
        );
        assert!(line_rate("--json").unwrap_err().contains("\"--json\" is not a rate"));
    }
}
