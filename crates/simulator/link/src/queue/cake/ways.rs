//! Which of the queues of a tin a flow has: as in a processor's cache, eight places for those whose hashes fall into the same set, so that two flows share a
//! queue only if more than eight do ("Piece of CAKE", section III.C; Linux `cake_hash`).

use crate::queue::mixed;

/// Queues of a tin, and places for hosts.
pub(super) const QUEUES: usize = 1024;
const WAYS: usize = 8;

/// Of which the lowest bits choose the set.
pub(super) fn hash(number: u64, salt: u64) -> u64 {
    let mixed = mixed(number, salt);
    mixed ^ (mixed >> 29)
}

/// The place of a hash, given whose each place is and which are in use: its own, else a free one, else the first, which it shares.
/// The second tells whether it has to be taken for this hash anew.
pub(super) fn place(hash: u64, tags: &[u64], is_free: impl Fn(usize) -> bool) -> (usize, bool) {
    let first = hash as usize % QUEUES;
    let set = first - first % WAYS;
    let ways = (0..WAYS).map(|way| set + (first + way) % WAYS);
    if let Some(own) = ways.clone().find(|place| tags[*place] == hash) {
        return (own, is_free(own));
    }
    (ways.clone().find(|place| is_free(*place)).unwrap_or(first), true)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Hashes of one set get eight places, the ninth shares its first; whoever is there keeps its place.
    #[test]
    fn eight_flows_of_a_set_do_not_meet() {
        let (mut tags, mut used) = (vec![0; QUEUES], vec![false; QUEUES]);
        let hashes: Vec<u64> = (1..=9).map(|n| n * QUEUES as u64 + 42).collect();
        let mut places = Vec::new();
        for hash in &hashes {
            let (place, anew) = place(*hash, &tags, |place| !used[place]);
            assert!(anew);
            (tags[place], used[place]) = (*hash, true);
            places.push(place);
        }
        assert_eq!(places, [42, 43, 44, 45, 46, 47, 40, 41, 42]);
        assert_eq!(place(hashes[3], &tags, |place| !used[place]), (45, false));
        used[45] = false;
        assert_eq!(
            place(hashes[3], &tags, |place| !used[place]),
            (45, true),
            "kept for it, and its hosts are to be found again"
        );
    }
}
