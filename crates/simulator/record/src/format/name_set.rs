//! A set of names in one string. A record has three names per flow; separate allocations would be slow.

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use std::hash::BuildHasher;

/// Names in the order in which they were first inserted.
#[derive(Clone, Debug, Default)]
pub(crate) struct NameSet {
    names: Names,
    indices: HashTable<u32>,
    hasher: RandomState,
}

#[derive(Clone, Debug, Default)]
struct Names {
    text: String,
    /// End of each name in `text`.
    ends: Vec<usize>,
}

impl Names {
    fn get(&self, index: usize) -> &str {
        let begin = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[begin..self.ends[index]]
    }
}

impl NameSet {
    pub(crate) fn reserve(&mut self, more: usize) {
        let Self { names, indices, hasher } = self;
        names.ends.reserve(more);
        indices.reserve(more, |index| hasher.hash_one(names.get(*index as usize)));
    }

    /// Returns the index of a name, which is added if it is new.
    pub(crate) fn insert(&mut self, name: &str) -> usize {
        let Self { names, indices, hasher } = self;
        let is_name = |index: &u32| names.get(*index as usize) == name;
        match indices.entry(hasher.hash_one(name), is_name, |index| hasher.hash_one(names.get(*index as usize))) {
            Entry::Occupied(known) => *known.get() as usize,
            Entry::Vacant(new) => {
                let index = names.ends.len();
                // 2^32 names would not fit in memory.
                new.insert(index as u32);
                names.text.push_str(name);
                names.ends.push(names.text.len());
                index
            }
        }
    }

    pub(crate) fn index_of(&self, name: &str) -> Option<usize> {
        let is_name = |index: &u32| self.names.get(*index as usize) == name;
        self.indices.find(self.hasher.hash_one(name), is_name).map(|index| *index as usize)
    }

    pub(crate) fn get(&self, index: usize) -> &str {
        self.names.get(index)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> + Clone {
        (0..self.names.ends.len()).map(|index| self.names.get(index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Compares with a linear search in a list.
        #[test]
        fn each_name_has_one_index(inserted in prop::collection::vec("[ab]{0,3}", 0..60), reserved in 0usize..100) {
            let (mut set, mut list) = (NameSet::default(), Vec::<&str>::new());
            set.reserve(reserved);
            for name in &inserted {
                let known = list.iter().position(|known| known == name);
                prop_assert_eq!(set.index_of(name), known);
                let index = known.unwrap_or(list.len());
                if known.is_none() {
                    list.push(name);
                }
                prop_assert_eq!(set.insert(name), index);
                prop_assert_eq!(set.get(index), name);
            }
            prop_assert!(set.iter().eq(list));
        }
    }
}
