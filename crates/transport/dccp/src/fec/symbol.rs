//! Symbol of the code for a datagram: its length, its position in its stream, and its bytes.

use crate::DeliveryOrder;

/// Bytes of a symbol before those of the datagram: the length (2), whether there is a position (1), and the position (5).
pub(super) const HEADER: usize = 8;

/// Returns the symbol of a datagram of up to 65,535 bytes.
pub(super) fn of(order: Option<DeliveryOrder>, datagram: &[u8]) -> Vec<u8> {
    let mut symbol = Vec::with_capacity(HEADER + datagram.len() + 1);
    symbol.extend_from_slice(&u16::try_from(datagram.len()).unwrap_or(u16::MAX).to_be_bytes());
    symbol.push(u8::from(order.is_some()));
    symbol.extend_from_slice(&order.map_or([0; 5], DeliveryOrder::to_bytes));
    symbol.extend_from_slice(datagram);
    symbol
}

/// Returns position and bytes of a symbol's datagram. `None` for a symbol that [`of`] does not return.
pub(super) fn read(symbol: &[u8]) -> Option<(Option<DeliveryOrder>, &[u8])> {
    let ([a, b, has_order, order @ ..], rest) = symbol.split_first_chunk::<HEADER>()?;
    let order = if *has_order == 1 { Some(DeliveryOrder::decode(order)?) } else { None };
    Some((order, rest.get(..usize::from(u16::from_be_bytes([*a, *b])))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_symbol_holds_the_datagram_despite_padding() {
        for order in [None, Some(DeliveryOrder { stream: 7, index: 65_535, awaited: 300 })] {
            let mut symbol = of(order, b"frame");
            assert_eq!(symbol.len(), HEADER + 5);
            symbol.resize(40, 0);
            assert_eq!(read(&symbol), Some((order, &b"frame"[..])));
        }
        assert_eq!(read(&[0; HEADER - 1]), None);
        assert_eq!(read(&[0, 1, 0, 0, 0, 0, 0, 0]), None, "shorter than its length");
    }
}
