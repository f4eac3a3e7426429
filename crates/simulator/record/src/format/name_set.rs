//! A set of names in one text. A record has three names for each flow, and a separate allocation for each would be slow.

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use std::hash::BuildHasher;

/// Names in the order in which they were first inserted.
#[derive(Clone, Debug, Default)]
pub(crate) struct NameSet {
    names: Names,
    places: HashTable<u32>,
    hasher: RandomState,
}

#[derive(Clone, Debug, Default)]
struct Names {
    text: String,
    /// Where each name ends.
    ends: Vec<usize>,
}

impl Names {
    fn get(&self, place: usize) -> &str {
        let begin = place.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[begin..self.ends[place]]
    }
}

impl NameSet {
    pub(crate) fn reserve(&mut self, more: usize) {
        let Self { names, places, hasher } = self;
        names.ends.reserve(more);
        places.reserve(more, |place| hasher.hash_one(names.get(*place as usize)));
    }

    /// The place of a name, which is new or known.
    pub(crate) fn insert(&mut self, name: &str) -> usize {
        let Self { names, places, hasher } = self;
        let is_name = |place: &u32| names.get(*place as usize) == name;
        match places.entry(hasher.hash_one(name), is_name, |place| hasher.hash_one(names.get(*place as usize))) {
            Entry::Occupied(known) => *known.get() as usize,
            Entry::Vacant(new) => {
                let place = names.ends.len();
                // 2^32 names would not fit in memory.
                new.insert(place as u32);
                names.text.push_str(name);
                names.ends.push(names.text.len());
                place
            }
        }
    }

    pub(crate) fn place(&self, name: &str) -> Option<usize> {
        let is_name = |place: &u32| self.names.get(*place as usize) == name;
        self.places.find(self.hasher.hash_one(name), is_name).map(|place| *place as usize)
    }

    pub(crate) fn get(&self, place: usize) -> &str {
        self.names.get(place)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> + Clone {
        (0..self.names.ends.len()).map(|place| self.names.get(place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// A list of names, each looked for among those before it, does the same.
        #[test]
        fn each_name_has_one_place(inserted in prop::collection::vec("[ab]{0,3}", 0..60), reserved in 0usize..100) {
            let (mut set, mut list) = (NameSet::default(), Vec::<&str>::new());
            set.reserve(reserved);
            for name in &inserted {
                let known = list.iter().position(|known| known == name);
                prop_assert_eq!(set.place(name), known);
                let place = known.unwrap_or(list.len());
                if known.is_none() {
                    list.push(name);
                }
                prop_assert_eq!(set.insert(name), place);
                prop_assert_eq!(set.get(place), name);
            }
            prop_assert!(set.iter().eq(list));
        }
    }
}
