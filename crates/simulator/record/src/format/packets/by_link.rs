//! Puts rows link by link.

use super::row::Row;

/// A counting sort, with the memory that it takes.
#[derive(Debug)]
pub(super) struct ByLink {
    /// Of each link, where its next row goes.
    places: Vec<u32>,
    sorted: Vec<Row>,
}

impl ByLink {
    pub(super) fn new(links: usize) -> Self {
        Self { places: vec![0; links], sorted: Vec::new() }
    }

    /// The rows in the order of their links, and those of a link in the order that they have.
    pub(super) fn order(&mut self, rows: &[Row]) -> &[Row] {
        let Self { places, sorted } = self;
        places.fill(0);
        for row in rows {
            if let Some(place) = places.get_mut(row.link as usize) {
                *place += 1;
            }
        }
        let mut before = 0;
        for place in places.iter_mut() {
            before += std::mem::replace(place, before);
        }
        sorted.clear();
        sorted.extend_from_slice(rows);
        for row in rows {
            let Some(place) = places.get_mut(row.link as usize) else { continue };
            if let Some(sorted) = sorted.get_mut(*place as usize) {
                *sorted = *row;
            }
            *place += 1;
        }
        sorted
    }
}
