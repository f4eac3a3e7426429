//! Forges packets of one endpoint, with guessed or known sequence numbers.

use crate::every::{self, Every};
use crate::{Context, Direction, Fate, SentPacket, packets};
use headway_dccp::{Body, OptionArea, Reset, ResetCode};
use headway_units::{Bytes, Dialect, Duration, Instant, OptionError, Random, Seq48, unused_unless};
use serde::{Deserialize, Serialize};

pub(crate) const ALL_BITS: u32 = 48;
/// Maximum data, in bytes; more than any path carries in one packet.
const MAX_DATA_BYTES: u64 = 9000;

/// Options of an attack of `kind = "forge"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Options {
    /// Type of the forged packets.
    pub packet: Forgery,
    /// Endpoint to which the forged packets are sent. Their source address is that of the other endpoint.
    pub towards: Direction,
    /// Time between two forged packets, at least 1us.
    pub interval: Duration,
    /// Number of bits of the sequence and acknowledgement numbers that the attacker must guess, 0 to 48. With 48, both
    /// numbers are random. With fewer, the attacker must be on the path; it draws each number from a range of
    /// 2^unknown_bits around the expected one, and sends nothing before it has seen a packet in each direction.
    #[schemars(range(max = 48))]
    pub unknown_bits: u32,
    /// Size of the data in forged packets of type `data` and `data-ack`, at most 9000B.
    pub data: Bytes,
}

/// Type of a forged packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Forgery {
    /// DCCP-Request.
    Request,
    /// DCCP-Response.
    Response,
    /// DCCP-Data.
    Data,
    /// DCCP-Ack.
    Ack,
    /// DCCP-DataAck.
    DataAck,
    /// DCCP-CloseReq.
    CloseReq,
    /// DCCP-Close.
    Close,
    /// DCCP-Reset with code 2, Aborted.
    Reset,
    /// DCCP-Sync.
    Sync,
    /// DCCP-SyncAck.
    SyncAck,
}

impl headway_units::Options for Options {
    fn preset(_: Dialect) -> Self {
        Self {
            packet: Forgery::Reset,
            towards: Direction::ToServer,
            interval: Duration::from_millis(1),
            unknown_bits: ALL_BITS,
            data: Bytes::new(100),
        }
    }

    fn check(&self) -> Result<(), OptionError> {
        every::check(self.interval)?;
        if self.unknown_bits > ALL_BITS {
            let message = format!(
                "{} is out of range: expected 0 to {ALL_BITS}, the bits of a sequence number",
                self.unknown_bits
            );
            return Err(OptionError::new("unknown_bits", message));
        }
        if self.data.count() > MAX_DATA_BYTES {
            return Err(OptionError::new("data", format!("{} is out of range: at most {MAX_DATA_BYTES}B", self.data)));
        }
        Ok(())
    }

    fn unused(&self) -> Vec<OptionError> {
        let has_data = matches!(self.packet, Forgery::Data | Forgery::DataAck);
        unused_unless(has_data, "data", "packet = \"data\" or \"data-ack\"").into_iter().collect()
    }
}

/// State of a running attack that forges packets.
#[derive(Debug)]
pub struct Forge {
    options: Options,
    every: Every,
    context: Context,
    /// Greatest sequence number seen in each direction.
    greatest: [Option<Seq48>; 2],
}

impl Forge {
    pub(crate) fn new(options: &Options, context: Context) -> Self {
        let every = Every::new(context.start, context.stop, options.interval);
        Self { options: options.clone(), every, context, greatest: [None; 2] }
    }

    pub(crate) fn handle(&mut self, direction: Direction, bytes: &[u8]) -> Fate {
        if let Some(packet) = packets::decode(&self.context.target, direction, bytes) {
            let greatest = &mut self.greatest[direction.index()];
            if greatest.is_none_or(|greatest| packet.seq.is_after(greatest)) {
                *greatest = Some(packet.seq);
            }
        }
        Fate::Forwarded
    }

    pub(crate) fn poll_transmit(&mut self, now: Instant) -> Option<SentPacket> {
        while self.every.is_due(now) {
            // Observing attackers cannot send before they have seen packets in both directions.
            if let Some(shot) = self.shot() {
                return Some(shot);
            }
        }
        None
    }

    fn shot(&mut self) -> Option<SentPacket> {
        let Options { packet, towards, unknown_bits, data, .. } = self.options;
        let Context { target, random, .. } = &mut self.context;
        let (seq, ack) = if unknown_bits == ALL_BITS {
            (Seq48::new(random.bits()), Seq48::new(random.bits()))
        } else {
            let [seen, answered] = [towards, towards.reversed()].map(|direction| self.greatest[direction.index()]);
            // The likeliest valid numbers: the sequence number after the newest, and an acknowledgement of the newest
            // packet.
            (near(random, seen? + 1, unknown_bits), near(random, answered?, unknown_bits))
        };
        let service = target.service;
        let (body, data) = match packet {
            Forgery::Request => (Body::Request { service }, 0),
            Forgery::Response => (Body::Response { ack, service }, 0),
            Forgery::Data => (Body::Data, data.count() as usize),
            Forgery::Ack => (Body::Ack { ack }, 0),
            Forgery::DataAck => (Body::DataAck { ack }, data.count() as usize),
            Forgery::CloseReq => (Body::CloseReq { ack }, 0),
            Forgery::Close => (Body::Close { ack }, 0),
            Forgery::Reset => (Body::Reset { ack, reset: Reset { code: ResetCode::ABORTED, data: [0; 3] } }, 0),
            Forgery::Sync => (Body::Sync { ack }, 0),
            Forgery::SyncAck => (Body::SyncAck { ack }, 0),
        };
        let (source, _) = target.ends(towards);
        Some(packets::shot(target, towards, source, seq, body, OptionArea::EMPTY, data))
    }

    pub(crate) fn poll_timeout(&self) -> Option<Instant> {
        self.every.next()
    }
}

/// Returns a uniformly distributed number within 2^bits around `center`.
fn near(random: &mut Random, center: Seq48, bits: u32) -> Seq48 {
    center + random.below(1 << bits) - (1 << bits) / 2
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{context, data, target};
    use headway_units::Options as _;

    fn forge(packet: Forgery, unknown_bits: u32) -> Forge {
        let options = Options { packet, unknown_bits, ..Options::preset(Dialect::Rfc) };
        Forge::new(&options, context(1))
    }

    /// A blind attacker observes nothing and uses uniform numbers.
    #[test]
    fn blind_forgery_uses_uniform_numbers() {
        let mut attack = forge(Forgery::Reset, ALL_BITS);
        let mut halves = [0; 2];
        for beat in 0..1000 {
            let shot = attack.poll_transmit(Instant::from_millis(beat)).unwrap();
            let packet = packets::decode(&target(), Direction::ToServer, &shot.bytes).unwrap();
            halves[(packet.seq.value() >> 47) as usize] += 1;
        }
        // Five standard deviations of a fair coin.
        assert!(halves[0] > 420 && halves[1] > 420, "{halves:?}");
        assert_eq!(attack.poll_transmit(Instant::from_millis(999)), None);
    }

    /// An on-path attacker uses the next sequence number and acknowledges the newest packet of the other direction.
    #[test]
    fn on_path_forgery_uses_the_next_number() {
        let mut attack = forge(Forgery::DataAck, 0);
        assert_eq!(attack.poll_transmit(Instant::ZERO), None);
        attack.handle(Direction::ToServer, &data(&target(), Direction::ToServer, 70, b""));
        attack.handle(Direction::ToServer, &data(&target(), Direction::ToServer, 69, b""));
        attack.handle(Direction::ToClient, &data(&target(), Direction::ToClient, 900, b""));
        let shot = attack.poll_transmit(Instant::from_millis(1)).unwrap();
        let packet = packets::decode(&target(), Direction::ToServer, &shot.bytes).unwrap();
        assert_eq!((packet.seq.value(), packet.body.ack().map(Seq48::value)), (71, Some(900)));
        assert_eq!(packet.data.len(), 100);
    }

    #[test]
    fn guesses_stay_within_the_unknown_bits() {
        let mut random = Random::new(1, "near");
        let center = Seq48::new(3);
        for _ in 0..1000 {
            assert!(near(&mut random, center, 4).is_within(center - 8, center + 7));
        }
    }
}
