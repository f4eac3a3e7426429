//! Slots for connections, and unique handles to them.

/// Handle of a connection of an [`Endpoint`](crate::Endpoint). The handle of a removed connection is never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionHandle {
    index: u32,
    generation: u32,
}

/// Entries by index. The slot of a removed entry is reused.
#[derive(Debug)]
pub(super) struct Slots<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Slot<T> {
    generation: u32,
    entry: Option<T>,
}

impl<T> Slots<T> {
    pub(super) const fn new() -> Self {
        Self { slots: Vec::new(), free: Vec::new() }
    }
    pub(super) const fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }
    pub(super) fn insert(&mut self, entry: T) -> u32 {
        let reused = self.free.pop();
        if let Some(index) = reused
            && let Some(slot) = self.slots.get_mut(index as usize)
        {
            slot.entry = Some(entry);
            return index;
        }
        self.slots.push(Slot { generation: 0, entry: Some(entry) });
        self.slots.len() as u32 - 1
    }
    pub(super) fn remove(&mut self, index: u32) -> Option<T> {
        let slot = self.slots.get_mut(index as usize)?;
        let entry = slot.entry.take()?;
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(index);
        Some(entry)
    }
    pub(super) fn get(&self, index: u32) -> Option<&T> {
        self.slots.get(index as usize)?.entry.as_ref()
    }
    pub(super) fn get_mut(&mut self, index: u32) -> Option<&mut T> {
        self.slots.get_mut(index as usize)?.entry.as_mut()
    }
    pub(super) fn handle(&self, index: u32) -> ConnectionHandle {
        ConnectionHandle { index, generation: self.slots.get(index as usize).map_or(0, |slot| slot.generation) }
    }
    pub(super) fn index(&self, handle: ConnectionHandle) -> Option<u32> {
        let slot = self.slots.get(handle.index as usize)?;
        (slot.generation == handle.generation && slot.entry.is_some()).then_some(handle.index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handles_are_not_reused() {
        let mut slots = Slots::new();
        let [a, b] = ['a', 'b'].map(|entry| slots.insert(entry));
        let [first, second] = [a, b].map(|index| slots.handle(index));
        assert_eq!((slots.index(first), slots.remove(a), slots.index(first)), (Some(a), Some('a'), None));
        let c = slots.insert('c');
        assert_eq!((c, slots.len()), (a, 2), "the slot is reused");
        assert_eq!(
            (slots.index(first), slots.get(c).copied(), slots.get_mut(b).copied()),
            (None, Some('c'), Some('b'))
        );
        assert_eq!((slots.index(slots.handle(c)), slots.index(second)), (Some(c), Some(b)));
        assert_eq!((slots.remove(a), slots.remove(a), slots.len()), (Some('c'), None, 1));
    }
}
