//! Addresses of flows: each flow has two private addresses, so that a packet belongs to one flow.

use std::net::Ipv4Addr;

/// First address: the shared address space of RFC 6598, 100.64.0.0/10.
const FIRST_ADDRESS: u32 = u32::from_be_bytes([100, 64, 0, 0]);
/// Addresses per flow: network, sender, receiver and broadcast address of a /30.
const ADDRESSES: u32 = 4;
/// Maximum number of flows.
pub(super) const MAX_FLOWS: usize = (1 << 22) / ADDRESSES as usize;

/// End of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// Sending node.
    From,
    /// Receiving node.
    To,
}

impl End {
    pub(super) const fn other(self) -> Self {
        match self {
            Self::From => Self::To,
            Self::To => Self::From,
        }
    }
}

/// Returns the address of an end of the external flow with this number.
pub(super) fn address(number: usize, end: End) -> Ipv4Addr {
    let host = match end {
        End::From => 1,
        End::To => 2,
    };
    Ipv4Addr::from_bits(FIRST_ADDRESS + ADDRESSES * number as u32 + host)
}

/// Returns the number of the external flow that has this address, and its end.
fn flow(address: u32) -> Option<(usize, End)> {
    let distance = address.checked_sub(FIRST_ADDRESS)?;
    let end = match distance % ADDRESSES {
        1 => End::From,
        2 => End::To,
        _ => return None,
    };
    let number = (distance / ADDRESSES) as usize;
    (number < MAX_FLOWS).then_some((number, end))
}

/// Returns the number of the external flow of an IPv4 packet and the end that sent it. `None` for other packets.
pub(super) fn sender(packet: &[u8]) -> Option<(usize, End)> {
    let header = packet.get(..20).filter(|header| header[0] >> 4 == 4)?;
    let address = |at: usize| u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let (number, end) = flow(address(12))?;
    (flow(address(16)) == Some((number, end.other()))).then_some((number, end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(source: Ipv4Addr, destination: Ipv4Addr) -> Vec<u8> {
        let mut packet = vec![0; 28];
        packet[0] = 0x45;
        packet[12..16].copy_from_slice(&source.octets());
        packet[16..20].copy_from_slice(&destination.octets());
        packet
    }

    #[test]
    fn a_packet_between_both_addresses_of_a_flow_belongs_to_it() {
        assert_eq!(address(0, End::From), Ipv4Addr::new(100, 64, 0, 1));
        for number in [0, 1, 63, 64, 70_000, MAX_FLOWS - 1] {
            for end in [End::From, End::To] {
                let packet = packet(address(number, end), address(number, end.other()));
                assert_eq!(sender(&packet), Some((number, end)));
            }
        }
    }

    #[test]
    fn other_packets_belong_to_no_flow() {
        let [from, to] = [End::From, End::To].map(|end| address(5, end));
        let others = [address(6, End::To), from, Ipv4Addr::new(224, 0, 0, 22), Ipv4Addr::new(100, 64, 0, 20)];
        assert!(others.into_iter().all(|other| sender(&packet(from, other)).is_none()));
        assert_eq!(sender(&packet(Ipv4Addr::new(10, 0, 0, 1), to)), None);
        assert_eq!(sender(&packet(from, to)[..19]), None);
        let mut version_6 = packet(from, to);
        version_6[0] = 0x60;
        assert_eq!(sender(&version_6), None);
    }
}
