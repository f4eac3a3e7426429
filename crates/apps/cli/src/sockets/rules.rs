//! Ports and classification rules of `headway relay`.

use super::arguments::MediaOptions;
use super::mpeg_ts::is_mpeg_ts;
use crate::error::Failure;
use headway_media::RtpHeader;
use headway_net::{Duration, Media, MediaKind, QueueMethod};
use headway_run::ScenarioText;
use serde::Deserialize;
use std::path::Path;

#[derive(Debug, Default, Deserialize)]
#[serde(try_from = "RulesTable")]
pub(super) struct Rules {
    pub(super) ports: Vec<Port>,
    rules: Vec<Rule>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RulesTable {
    port: Vec<Port>,
    #[serde(default)]
    rule: Vec<Rule>,
}

/// Port of a program. Both relays identify it by its number.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "PortTable")]
pub(super) struct Port {
    pub(super) number: u8,
    pub(super) place: Place,
}

/// Address of a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Local address to which the program sends. Datagrams to the program are sent to the source of its last datagram.
    Listen(String),
    /// Address of the program, which answers to the source of a datagram.
    To(String),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PortTable {
    number: u8,
    listen: Option<String>,
    to: Option<String>,
}

impl TryFrom<PortTable> for Port {
    type Error = &'static str;

    fn try_from(table: PortTable) -> Result<Self, Self::Error> {
        let place = match (table.listen, table.to) {
            (Some(listen), None) => Place::Listen(listen),
            (None, Some(to)) => Place::To(to),
            _ => {
                return Err(
                    "a port has either listen (local address to which a program sends) or to (address of a program)",
                );
            }
        };
        Ok(Self { number: table.number, place })
    }
}

impl TryFrom<RulesTable> for Rules {
    type Error = String;

    fn try_from(table: RulesTable) -> Result<Self, Self::Error> {
        let RulesTable { port: ports, rule: rules } = table;
        for (index, port) in ports.iter().enumerate() {
            if ports[..index].iter().any(|other| other.number == port.number) {
                return Err(format!("port[{index}]: duplicate port number {}", port.number));
            }
        }
        if ports.is_empty() {
            return Err("there are no ports; expected at least one [[port]] with number, and listen or to".to_owned());
        }
        for (index, rule) in rules.iter().enumerate() {
            if let Some(number) = rule.port
                && !ports.iter().any(|port| port.number == number)
            {
                return Err(format!("rule[{index}].port: there is no port with the number {number}"));
            }
            if rule.expires.is_some_and(Duration::is_zero) {
                return Err(format!(
                    "rule[{index}].expires: a lifetime of 0s is not allowed; expected a duration such as 150ms"
                ));
            }
            if let Some(first) = rules[..index].iter().position(|first| first.covers(rule)) {
                return Err(format!(
                    "rule[{index}] has no effect: rule[{first}] matches all of its datagrams, and the first matching rule applies; move rule[{index}] up"
                ));
            }
            let kinds = [
                rule.payload_type.is_some() || rule.ssrc.is_some(),
                rule.rtcp == Some(true),
                rule.mpeg_ts == Some(true),
            ];
            if kinds.into_iter().filter(|is_set| *is_set).count() > 1 {
                return Err(format!(
                    "rule[{index}]: a datagram is only one of RTP (payload_type, ssrc), RTCP and MPEG-TS; use a separate rule for each"
                ));
            }
        }
        Ok(Self { ports, rules })
    }
}

/// Classification rule. All conditions that are set must match.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    /// Number of the port.
    port: Option<u8>,
    /// Payload type of RTP (RFC 3550).
    payload_type: Option<PayloadType>,
    /// Synchronization source of RTP.
    ssrc: Option<u32>,
    /// Whether the datagram is RTCP.
    rtcp: Option<bool>,
    /// Whether the datagram holds packets of an MPEG transport stream.
    mpeg_ts: Option<bool>,
    /// Kind of media.
    #[serde(default)]
    kind: MediaKind,
    /// Priority, from 0 (highest) to 255.
    #[serde(default)]
    priority: u8,
    /// Lifetime.
    expires: Option<Duration>,
    /// Queueing method.
    method: Option<QueueMethod>,
}

/// Payload type of RTP, from 0 to 127.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "u8")]
struct PayloadType(u8);

impl TryFrom<u8> for PayloadType {
    type Error = String;

    fn try_from(number: u8) -> Result<Self, Self::Error> {
        if number < 128 {
            Ok(Self(number))
        } else {
            Err(format!("{number} is not a payload type of RTP; expected 0 to 127"))
        }
    }
}

impl Rules {
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let ScenarioText { file, text, .. } = ScenarioText::read(path, [])?;
        Ok(headway_scenario::table(&file, &text)?)
    }

    /// Returns rules with these ports only.
    pub(super) const fn of_ports(ports: Vec<Port>) -> Self {
        Self { ports, rules: Vec::new() }
    }

    /// Returns whether a rule sets a queueing method.
    pub(super) fn have_methods(&self) -> bool {
        self.rules.iter().any(|rule| rule.method.is_some())
    }

    /// Returns the properties of a datagram from this port: those of the first matching rule, or `defaults`. It is sent
    /// as `payload`.
    pub(super) fn media<'a>(&self, port: u8, datagram: &[u8], defaults: MediaOptions, payload: &'a [u8]) -> Media<'a> {
        let packet = Packet::new(datagram);
        match self.rules.iter().find(|rule| rule.fits(port, &packet)) {
            Some(&Rule { kind, priority, expires, method, .. }) => Media { payload, kind, priority, expires, method },
            None => defaults.of(payload),
        }
    }
}

impl Rule {
    /// Returns whether this rule matches all datagrams that the other rule matches.
    fn covers(&self, other: &Self) -> bool {
        fn covers<T: PartialEq>(this: Option<T>, other: Option<T>) -> bool {
            this.is_none() || this == other
        }
        covers(self.port, other.port)
            && covers(self.payload_type, other.payload_type)
            && covers(self.ssrc, other.ssrc)
            && covers(self.rtcp, other.rtcp)
            && covers(self.mpeg_ts, other.mpeg_ts)
    }

    fn fits(&self, port: u8, packet: &Packet) -> bool {
        self.port.is_none_or(|number| number == port)
            && self.payload_type.is_none_or(|payload_type| packet.rtp.is_some_and(|(found, _)| found == payload_type))
            && self.ssrc.is_none_or(|ssrc| packet.rtp.is_some_and(|(_, found)| found == ssrc))
            && self.rtcp.is_none_or(|rtcp| rtcp == packet.rtcp)
            && self.mpeg_ts.is_none_or(|mpeg_ts| mpeg_ts == packet.mpeg_ts)
    }
}

/// Detected format of a datagram.
struct Packet {
    rtp: Option<(PayloadType, u32)>,
    rtcp: bool,
    mpeg_ts: bool,
}

impl Packet {
    fn new(datagram: &[u8]) -> Self {
        let header = RtpHeader::of(datagram, datagram.len());
        let rtcp = header == Some(RtpHeader::Rtcp);
        let ssrc = || Some(u32::from_be_bytes(*datagram.get(8..)?.first_chunk()?));
        let rtp = match header {
            Some(RtpHeader::Rtp { payload_type }) => Some(PayloadType(payload_type)).zip(ssrc()),
            Some(RtpHeader::Rtcp) | None => None,
        };
        Self { rtp, rtcp, mpeg_ts: is_mpeg_ts(datagram) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rules(text: &str) -> Result<Rules, String> {
        headway_scenario::table("rules.toml", text).map_err(|error| error.to_string())
    }

    const PORT: &str = "[[port]]\nnumber = 1\nlisten = \"127.0.0.1:5004\"\n";

    const DEFAULTS: MediaOptions = MediaOptions { kind: MediaKind::Data, priority: 9, expires: None, method: None };

    /// RFC 3550 section 5.1: version 2, marker and payload type 96, sequence number, timestamp, SSRC 0x01020304.
    const RTP: [u8; 14] = [0x80, 0xe0, 0, 1, 0, 0, 0, 2, 1, 2, 3, 4, 7, 7];
    /// Section 6.4.1: a sender report is packet type 200.
    const RTCP: [u8; 8] = [0x80, 200, 0, 1, 1, 2, 3, 4];

    #[test]
    fn the_rules_of_the_book_are_valid() {
        let page = include_str!("../../../../../docs/src/real.md");
        let (_, block) = page.split_once("```toml\n").unwrap();
        rules(block.split("```").next().unwrap()).unwrap();
    }

    #[test]
    fn the_first_matching_rule_applies() {
        let text = "[[rule]]\nrtcp = true\npriority = 0\n\
            [[rule]]\npayload_type = 96\nssrc = 0x01020304\nkind = \"audio\"\npriority = 1\nexpires = \"150ms\"\nmethod = \"sfdps1\"\n\
            [[rule]]\npayload_type = 96\nkind = \"video\"\npriority = 2\n\
            [[rule]]\nmpeg_ts = true\nkind = \"video-i\"\npriority = 3\n\
            [[rule]]\nport = 2\npriority = 4\n";
        let rules = rules(&format!("{PORT}[[port]]\nnumber = 2\nto = \"[::1]:6004\"\n{text}")).unwrap();
        let mut other = RTP;
        other[11] = 5;
        let ts = [[0x47; 188]; 2].concat();
        for (port, datagram, priority) in [
            (1, &RTCP[..], 0),
            (1, &RTP, 1),
            (1, &other, 2),
            (1, &ts, 3),
            (1, &ts[..187], 9),
            (2, &ts[..187], 4),
            (1, &[], 9),
            (1, &RTP[..11], 9),
        ] {
            assert_eq!(rules.media(port, datagram, DEFAULTS, b"").priority, priority, "{port} {datagram:?}");
        }
        let audio = rules.media(1, &RTP, DEFAULTS, b"");
        assert_eq!((audio.kind, audio.expires), (MediaKind::Audio, Some(Duration::from_millis(150))));
        assert_eq!(audio.method, QueueMethod::named("sfdps1").ok());
        assert!(rules.have_methods());
    }

    #[test]
    fn errors_include_the_line() {
        for (text, expected) in [
            ("", "the key \"port\" is missing"),
            ("port = []", "there are no ports; expected at least one [[port]]"),
            ("[[port]]\nnumber = 1\n", "rules.toml:1:"),
            ("[[port]]\nnumber = 1\n", "a port has either listen"),
            (
                "[[port]]\nnumber = 1\nlsiten = \"a\"\n",
                "rules.toml:3:1: port[0]: unknown key \"lsiten\"; did you mean \"listen\"?",
            ),
            (&format!("{PORT}{PORT}"), "port[1]: duplicate port number 1"),
            (
                &format!("{PORT}[[rule]]\npayload_typ = 3"),
                "rules.toml:5:1: rule[0]: unknown key \"payload_typ\"; did you mean \"payload_type\"?",
            ),
            (
                &format!("{PORT}[[rule]]\npayload_type = 128"),
                "rules.toml:5:16: rule[0].payload_type: 128 is not a payload type of RTP",
            ),
            (
                &format!("{PORT}[[rule]]\nkind = \"vidoe\""),
                "rules.toml:5:8: rule[0].kind: unknown value \"vidoe\"; did you mean \"video\"?",
            ),
            (&format!("{PORT}[[rule]]\nexpires = 150"), "rules.toml:5:11: rule[0].expires: "),
            (
                &format!("{PORT}[[rule]]\nmethod = \"sfdsp\""),
                "rules.toml:5:10: rule[0].method: there is no method \"sfdsp\": expected fifo",
            ),
            (&format!("{PORT}[[rule]]\nport = 2"), "rule[0].port: there is no port with the number 2"),
            (
                &format!("{PORT}[[rule]]\nkind = \"video\"\n[[rule]]\npayload_type = 0\nkind = \"audio\""),
                "rule[1] has no effect: rule[0] matches all of its datagrams",
            ),
            (&format!("{PORT}[[rule]]\nexpires = \"0s\""), "rule[0].expires: a lifetime of 0s is not allowed"),
            (&format!("{PORT}[[rule]]\nssrc = 2\nrtcp = true"), "rule[0]: a datagram is only one of RTP"),
        ] {
            let error = rules(text).unwrap_err();
            assert!(error.contains(expected), "{text}:\n{error}");
        }
    }

    proptest! {
        #[test]
        fn any_datagram_is_classified(datagram in proptest::collection::vec(any::<u8>(), 0..600), port: u8) {
            let rules = rules(&format!("{PORT}[[rule]]\nmpeg_ts = false\nrtcp = false\nssrc = 1\n")).unwrap();
            let media = rules.media(port, &datagram, DEFAULTS, b"");
            prop_assert!(media.priority == 9 || datagram[8..12] == [0, 0, 0, 1]);
        }
    }
}
