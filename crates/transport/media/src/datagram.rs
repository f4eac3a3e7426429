//! Splits a write into UDP datagrams.
//!
//! All datagrams but the last have the maximum size; the last carries the rest (ns-2.35 `apps/udp.cc`, `sendmsg`: n =
//! nbytes / size_ full packets, then nbytes % size_). Each has separate headers.

use crate::WriteSize;
#[cfg(feature = "schema")]
use crate::schema::{Deserialize, JsonSchema, Serialize};
use headway_units::{Bytes, Dialect, OptionError};

/// Options of the transport `udp`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "schema", derive(Serialize, Deserialize, JsonSchema), serde(deny_unknown_fields))]
pub struct UdpOptions {
    /// Maximum size of a datagram as an IP packet with headers, at most 65535B; larger writes are split.
    pub datagram: Bytes,
    /// Size of the headers of a datagram: 28B for IPv4 and UDP, or 0B if sizes exclude headers (ns-2).
    pub header: Bytes,
}

/// The largest IPv4 packet (RFC 791 section 3.1, Total Length).
const LARGEST_DATAGRAM: u64 = 65_535;

impl headway_units::Options for UdpOptions {
    /// An Ethernet packet with real headers. In ns-2, `packetSize_` of `Agent/UDP`, 1000 B without headers.
    fn preset(dialect: Dialect) -> Self {
        match dialect {
            Dialect::Headway1 | Dialect::Rfc | Dialect::Ns3 | Dialect::Linux => {
                Self { datagram: Bytes::new(1500), header: Bytes::new(28) }
            }
            Dialect::Ns2 => Self { datagram: Bytes::new(1000), header: Bytes::new(0) },
        }
    }

    fn check(&self) -> Result<(), OptionError> {
        if self.datagram <= self.header {
            let (datagram, header) = (self.datagram, self.header);
            let message = format!("{datagram} leaves no payload after a header of {header}: datagram is above header");
            return Err(OptionError::new("datagram", message));
        }
        if self.datagram.count() > LARGEST_DATAGRAM {
            let message = format!("{} is out of range: at most 65535B, the largest IP packet", self.datagram);
            return Err(OptionError::new("datagram", message));
        }
        Ok(())
    }
}

/// UDP datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Size of the IP packet, including headers.
    pub wire: Bytes,
    /// Size of the application's data.
    pub payload: Bytes,
}

/// Iterator over the datagrams into which a write is split, in sending order. Created by [`datagrams`].
#[derive(Clone, Debug)]
pub struct Datagrams {
    left: u64,
    /// Payload of a full datagram in bytes, at least 1.
    full: u64,
    header: u64,
}

/// Splits a write into datagrams. For a size with headers ([`WriteSize::Wire`]), the headers of one datagram are
/// subtracted to get the payload. If the payload needs several datagrams, each has headers, so that together they are
/// larger than that size. A write without payload gives no datagram, as in ns-2.
#[must_use]
#[inline]
pub fn datagrams(size: WriteSize, options: &UdpOptions) -> Datagrams {
    let header = options.header.count();
    Datagrams {
        left: size.payload(options.header).count(),
        full: options.datagram.count().saturating_sub(header).max(1),
        header,
    }
}

impl Datagrams {
    /// Returns whether no datagram is left. Cheaper than `len`, which needs a division.
    #[must_use]
    pub const fn is_exhausted(&self) -> bool {
        self.left == 0
    }
}

impl Iterator for Datagrams {
    type Item = Datagram;

    #[inline]
    fn next(&mut self) -> Option<Datagram> {
        let payload = self.left.min(self.full);
        if payload == 0 {
            return None;
        }
        self.left -= payload;
        Some(Datagram { wire: Bytes::new(payload.saturating_add(self.header)), payload: Bytes::new(payload) })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let count = usize::try_from(self.left.div_ceil(self.full)).unwrap_or(usize::MAX);
        (count, Some(count))
    }
}

impl ExactSizeIterator for Datagrams {}

#[cfg(test)]
mod tests {
    use super::*;
    use headway_units::Options as _;
    use proptest::prelude::*;

    fn wires(size: WriteSize, options: &UdpOptions) -> Vec<u64> {
        datagrams(size, options).map(|datagram| datagram.wire.count()).collect()
    }
    fn wire(bytes: u64) -> WriteSize {
        WriteSize::Wire(Bytes::new(bytes))
    }
    fn payload(bytes: u64) -> WriteSize {
        WriteSize::Payload(Bytes::new(bytes))
    }

    /// Packets of ns-2.35 for a write with `packetSize_` 1000 (measured).
    #[test]
    fn ns2_fragments() {
        let ns2 = UdpOptions::preset(Dialect::Ns2);
        for (write, packets) in [
            (999, &[999][..]),
            (1000, &[1000]),
            (1001, &[1000, 1]),
            (1500, &[1000, 500]),
            (2500, &[1000, 1000, 500]),
            (3000, &[1000, 1000, 1000]),
        ] {
            assert_eq!(wires(wire(write), &ns2), packets);
            assert_eq!(wires(payload(write), &ns2), packets);
        }
        assert_eq!(datagrams(wire(0), &ns2).len(), 0);
    }

    /// RFC 768 and RFC 791: 28 B of headers before each payload.
    #[test]
    fn datagrams_include_headers() {
        let rfc = UdpOptions::preset(Dialect::Rfc);
        assert_eq!(wires(wire(1500), &rfc), [1500]);
        assert_eq!(wires(payload(1472), &rfc), [1500]);
        assert_eq!(wires(payload(1473), &rfc), [1500, 29]);
        assert_eq!(wires(payload(160), &rfc), [188]);
        // 3000 B in one packet are 2972 B of payload, which need three datagrams of 1472, 1472 and 28 B.
        assert_eq!(wires(wire(3000), &rfc), [1500, 1500, 56]);
        assert_eq!(datagrams(wire(28), &rfc).len(), 0);
    }

    #[test]
    fn options_without_payload_are_rejected() {
        let check = |datagram, header| {
            UdpOptions { datagram: Bytes::new(datagram), header: Bytes::new(header) }.check().map_err(|error| error.key)
        };
        assert_eq!(check(28, 28), Err("datagram"));
        assert_eq!(check(0, 0), Err("datagram"));
        assert_eq!(check(65_536, 28), Err("datagram"));
        assert_eq!(check(65_535, 28), Ok(()));
        assert_eq!(check(29, 28), Ok(()));
    }

    proptest! {
        #[test]
        fn every_byte_is_in_one_datagram(bytes in 0u64..300_000, datagram in 1u64..65_536, header in 0u64..100) {
            let options = UdpOptions { datagram: Bytes::new(datagram), header: Bytes::new(header) };
            prop_assume!(options.check().is_ok());
            let all: Vec<Datagram> = datagrams(payload(bytes), &options).collect();
            prop_assert_eq!(all.len(), datagrams(payload(bytes), &options).len());
            prop_assert_eq!(all.iter().map(|d| d.payload.count()).sum::<u64>(), bytes);
            for (index, one) in all.iter().enumerate() {
                prop_assert_eq!(one.wire.count(), one.payload.count() + header);
                prop_assert!(one.payload.count() > 0 && one.wire <= options.datagram);
                prop_assert!(index + 1 == all.len() || one.wire == options.datagram);
            }
        }
    }
}
