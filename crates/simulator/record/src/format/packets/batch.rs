//! Converts rows to the columns of a batch of `packets.arrow`.

use super::row::Row;
use crate::format::arrow::file::{ArrowFile, Place};
use crate::format::arrow::metadata::{Column, ColumnType};
use std::io;

/// Width of the numbers of links and flows: two bytes up to 65536 of them, otherwise four.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    wide_links: bool,
    wide_flows: bool,
}

impl Shape {
    pub(super) const ALL: [Self; 4] = [
        Self { wide_links: false, wide_flows: false },
        Self { wide_links: false, wide_flows: true },
        Self { wide_links: true, wide_flows: false },
        Self { wide_links: true, wide_flows: true },
    ];

    pub(super) fn of(links: usize, flows: usize) -> Self {
        let [wide_links, wide_flows] = [links, flows].map(|count| count > 1 << 16);
        Self { wide_links, wide_flows }
    }
}

pub(super) fn columns(shape: Shape) -> Vec<Column> {
    let number = |is_wide: bool| if is_wide { ColumnType::Uint(32) } else { ColumnType::Uint(16) };
    vec![
        Column::new("base_ns", ColumnType::Int(64)),
        Column::new("tick_ns", ColumnType::Uint(32)),
        Column::new("offered", ColumnType::Uint(32)),
        Column::new("wait", ColumnType::Uint(32)),
        Column::new("transmission", ColumnType::Uint(32)),
        Column::new("propagation", ColumnType::Uint(32)),
        Column::new("link", number(shape.wide_links)),
        Column::new("flow", number(shape.wide_flows)),
        Column::new("kind", ColumnType::Uint(8)),
        Column::new("fate", ColumnType::Uint(8)),
        Column::new("bytes", ColumnType::Uint(32)),
        Column::new("sequence", ColumnType::Uint(32)),
        Column::new("queue", ColumnType::Uint(16)),
        Column::new("mark", ColumnType::Uint(8)),
        Column::nullable("deadline", ColumnType::Int(32)),
    ]
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Times {
    pub(super) base_ns: u64,
    pub(super) until_ns: u64,
    pub(super) tick_ns: u32,
}

impl Times {
    /// Selects the smallest power of ten of 1 ns as the tick with which all times of the rows fit into 32 bits.
    pub(super) fn of(rows: &[Row]) -> Self {
        let base_ns = rows.iter().map(|row| row.offered).min().unwrap_or(0);
        let until_ns = rows.iter().map(|row| row.end.max(row.offered) + row.propagation()).max().unwrap_or(base_ns);
        let longest = until_ns - base_ns;
        let mut tick_ns = 1;
        while longest / u64::from(tick_ns) > u64::from(u32::MAX) && tick_ns < 1_000_000_000 {
            tick_ns *= 10;
        }
        Self { base_ns, until_ns, tick_ns }
    }

    /// Returns the ticks from the base to a time, rounded down; sums of differences are then rounded-down times, too.
    fn ticks(self, at: u64) -> u32 {
        ((at - self.base_ns) / u64::from(self.tick_ns)).try_into().unwrap_or(u32::MAX)
    }
}

/// Appends a batch of rows, all of which are complete, in the given order.
pub(super) fn write(file: &mut ArrowFile, shape: Shape, rows: &[Row], times: Times) -> io::Result<Place> {
    file.begin(rows.len());
    file.column(rows, |_| times.base_ns as i64);
    file.column(rows, |_| times.tick_ns);
    file.column(rows, |row| times.ticks(row.offered));
    file.column(rows, |row| times.ticks(row.start) - times.ticks(row.offered));
    file.column(rows, |row| times.ticks(row.end) - times.ticks(row.start));
    file.column(rows, |row| times.ticks(row.end + row.propagation()) - times.ticks(row.end));
    let mut number = |is_wide: bool, of: fn(&Row) -> u32| {
        if is_wide { file.column(rows, of) } else { file.column(rows, |row| of(row) as u16) }
    };
    number(shape.wide_links, |row| row.link);
    number(shape.wide_flows, |row| row.flow);
    file.column(rows, |row| row.kind);
    file.column(rows, |row| row.fate);
    file.column(rows, |row| row.bytes);
    file.column(rows, |row| row.sequence);
    file.column(rows, |row| row.queue);
    file.column(rows, |row| u8::from(row.mark));
    file.nullable_column(rows, |row| (row.deadline != Row::NO_DEADLINE).then_some(row.deadline));
    file.end()
}
