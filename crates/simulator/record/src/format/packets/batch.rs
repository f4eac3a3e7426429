//! Rows as columns.

use super::row::Row;
use crate::format::arrow::file::{ArrowFile, Place};
use crate::format::arrow::metadata::{Column, ColumnType};
use std::io;

/// Numbers of links and flows have two bytes where that is enough, else four.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    many_links: bool,
    many_flows: bool,
}

impl Shape {
    pub(super) fn of(links: usize, flows: usize) -> Self {
        let [many_links, many_flows] = [links, flows].map(|count| count > 1 << 16);
        Self { many_links, many_flows }
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
        Column::new("link", number(shape.many_links)),
        Column::new("flow", number(shape.many_flows)),
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
    /// Ticks of 1 ns if all times of these rows fit into 32 bits then, else of as few powers of ten as it takes.
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

    /// An instant, from the base on; rounded down, so that sums are instants that were rounded down.
    fn ticks(self, at: u64) -> u32 {
        ((at - self.base_ns) / u64::from(self.tick_ns)).try_into().unwrap_or(u32::MAX)
    }
}

/// Appends these rows, all of which are settled, as they stand.
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
    number(shape.many_links, |row| row.link);
    number(shape.many_flows, |row| row.flow);
    file.column(rows, |row| row.kind);
    file.column(rows, |row| row.fate);
    file.column(rows, |row| row.bytes);
    file.column(rows, |row| row.sequence);
    file.column(rows, |row| row.queue);
    file.column(rows, |row| u8::from(row.mark));
    file.column_with_gaps(rows, |row| (row.deadline != Row::NO_DEADLINE).then_some(row.deadline));
    file.end()
}
