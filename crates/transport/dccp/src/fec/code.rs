//! Reed-Solomon code over the symbols of a block: that of the crate `reed-solomon-simd`, over GF(2^16).

/// Pads the symbols of a block to one even length and returns `repairs` repair symbols of this length.
pub(super) fn encode(symbols: &mut [Vec<u8>], repairs: usize) -> Vec<Vec<u8>> {
    let longest = symbols.iter().map(Vec::len).max().unwrap_or(0).next_multiple_of(2);
    symbols.iter_mut().for_each(|symbol| symbol.resize(longest, 0));
    // Fails only for no symbols, or more than 32,768.
    reed_solomon_simd::encode(symbols.len(), repairs, &*symbols).unwrap_or_default()
}

/// Restores the missing symbols of a block. `symbols` has one entry for each, `None` for a missing one; `repairs` are
/// pairs of index and symbol, `of` the number of repair symbols of the block. All have one length. Returns the index of
/// each missing symbol, and the symbol; nothing without enough symbols.
pub(super) fn decode(symbols: &[Option<Vec<u8>>], repairs: &[(u8, Vec<u8>)], of: u8) -> Vec<(usize, Vec<u8>)> {
    let known = symbols.iter().enumerate().filter_map(|(index, symbol)| Some((index, symbol.as_ref()?)));
    let repairs = repairs.iter().map(|(index, symbol)| (usize::from(*index), symbol));
    let Ok(mut restored) = reed_solomon_simd::decode(symbols.len(), usize::from(of), known, repairs) else {
        return Vec::new();
    };
    (0..symbols.len()).filter_map(|index| Some((index, restored.remove(&index)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// A Reed-Solomon code is maximum distance separable: any n symbols restore a block of n symbols.
        #[test]
        fn any_symbols_restore_the_block(
            lens in prop::collection::vec(1_usize..60, 1..40), repairs in 1_u8..12, choice: u64,
        ) {
            let mut symbols: Vec<_> = lens.iter().zip(1..).map(|(len, fill)| vec![fill; *len]).collect();
            let repaired = encode(&mut symbols, usize::from(repairs));
            // For a block of n symbols, keeps n of its symbols and repair symbols.
            let mut order: Vec<usize> = (0..symbols.len() + repaired.len()).collect();
            order.sort_by_key(|place| (*place as u64 + 1).wrapping_mul(choice | 1).rotate_left(17) % 1009);
            order.truncate(symbols.len());
            let known: Vec<_> = symbols.iter().enumerate().map(|(place, symbol)| order.contains(&place).then(|| symbol.clone())).collect();
            let kept: Vec<_> = (0..repairs).zip(&repaired).filter(|(index, _)| order.contains(&(symbols.len() + usize::from(*index))))
                .map(|(index, symbol)| (index, symbol.clone())).collect();
            let missing: Vec<_> = known.iter().enumerate().filter(|(_, symbol)| symbol.is_none()).map(|(place, _)| place).collect();
            let restored = decode(&known, &kept, repairs);
            if !missing.is_empty() {
                prop_assert_eq!(restored, missing.into_iter().map(|place| (place, symbols[place].clone())).collect::<Vec<_>>());
            }
        }
    }

    /// One symbol too few restores nothing, and symbols of another length are no error for the program.
    #[test]
    fn too_few_symbols_restore_nothing() {
        let mut symbols = vec![vec![1; 4], vec![2; 4], vec![3; 4]];
        let repairs = encode(&mut symbols, 2);
        let known = [Some(symbols[0].clone()), None, None];
        assert_eq!(decode(&known, &[(0, repairs[0].clone())], 2), []);
        assert_eq!(decode(&known, &[(0, vec![0; 6]), (1, vec![0; 6])], 2), []);
    }
}
