//! The queue of a flow in a tin. The hash is set-associative, as in a processor's cache: eight queues form a set, so
//! that flows share a queue only if more than eight flows are in one set ("Piece of CAKE", section III.C; Linux
//! `cake_hash`).

use crate::queue::mixed;

/// Number of queues of a tin, and of slots for hosts.
pub(super) const QUEUES: usize = 1024;
const WAYS: usize = 8;

/// Hashes a number; the lowest bits of the hash select the set.
pub(super) fn hash(number: u64, salt: u64) -> u64 {
    let mixed = mixed(number, salt);
    mixed ^ (mixed >> 29)
}

/// Returns the slot of a hash: the slot with this tag, else a free one, else the first of the set, which is then
/// shared. The second value is whether the slot has to be assigned to this hash.
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

    /// Hashes of one set get eight slots, and the ninth shares the first; a hash keeps its slot.
    #[test]
    fn eight_flows_of_a_set_do_not_meet() {
        let (mut tags, mut used) = (vec![0; QUEUES], vec![false; QUEUES]);
        let hashes: Vec<u64> = (1..=9).map(|n| n * QUEUES as u64 + 42).collect();
        let mut places = Vec::new();
        for hash in &hashes {
            let (place, is_new) = place(*hash, &tags, |place| !used[place]);
            assert!(is_new);
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
