//! Sorts rows by link.

use super::row::Row;

/// A stable counting sort with reusable memory.
#[derive(Debug)]
pub(super) struct ByLink {
    /// Index of the next row of each link.
    positions: Vec<u32>,
    sorted: Vec<Row>,
}

impl ByLink {
    pub(super) fn new(links: usize) -> Self {
        Self { positions: vec![0; links], sorted: Vec::new() }
    }

    /// Returns the rows sorted by link; rows of a link keep their order.
    pub(super) fn sort(&mut self, rows: &[Row]) -> &[Row] {
        let Self { positions, sorted } = self;
        positions.fill(0);
        for row in rows {
            if let Some(position) = positions.get_mut(row.link as usize) {
                *position += 1;
            }
        }
        let mut before = 0;
        for position in positions.iter_mut() {
            before += std::mem::replace(position, before);
        }
        sorted.clear();
        sorted.extend_from_slice(rows);
        for row in rows {
            let Some(position) = positions.get_mut(row.link as usize) else { continue };
            if let Some(sorted) = sorted.get_mut(*position as usize) {
                *sorted = *row;
            }
            *position += 1;
        }
        sorted
    }
}
