//! Rows as columns.

use super::row::Row;
use arrow_array::{
    ArrayRef, ArrowPrimitiveType, Int32Array, Int64Array, PrimitiveArray, RecordBatch, UInt8Array, UInt16Array,
    UInt32Array,
};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use std::sync::Arc;

/// The columns of `packets.arrow`. Numbers of links and flows have two bytes where that is enough.
pub(super) fn fields(links: usize, flows: usize) -> Vec<Field> {
    let number = |of: usize| if of <= 1 << 16 { DataType::UInt16 } else { DataType::UInt32 };
    vec![
        Field::new("base_ns", DataType::Int64, false),
        Field::new("tick_ns", DataType::UInt32, false),
        Field::new("offered", DataType::UInt32, false),
        Field::new("wait", DataType::UInt32, false),
        Field::new("transmission", DataType::UInt32, false),
        Field::new("link", number(links), false),
        Field::new("flow", number(flows), false),
        Field::new("kind", DataType::UInt8, false),
        Field::new("fate", DataType::UInt8, false),
        Field::new("bytes", DataType::UInt32, false),
        Field::new("sequence", DataType::UInt32, false),
        Field::new("queue", DataType::UInt16, false),
        Field::new("mark", DataType::UInt8, false),
        Field::new("deadline", DataType::Int32, true),
    ]
}

/// What the times of a batch are counted from and in.
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
        let until_ns = rows.iter().map(|row| row.end.max(row.offered)).max().unwrap_or(base_ns);
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

fn column<T: ArrowPrimitiveType>(rows: &[Row], of: impl FnMut(&Row) -> T::Native) -> PrimitiveArray<T> {
    PrimitiveArray::from_iter_values(rows.iter().map(of))
}

/// These rows, whose transmissions are settled, in their order.
pub(super) fn batch(schema: &Arc<Schema>, rows: &[Row], times: Times) -> Result<RecordBatch, ArrowError> {
    let number = |name: &str, of: fn(&Row) -> u32| -> Result<ArrayRef, ArrowError> {
        Ok(if *schema.field_with_name(name)?.data_type() == DataType::UInt16 {
            Arc::new(UInt16Array::from_iter_values(rows.iter().map(|row| of(row) as u16)))
        } else {
            Arc::new(UInt32Array::from_iter_values(rows.iter().map(of)))
        })
    };
    let ticks = |from: fn(&Row) -> u64, to: fn(&Row) -> u64| -> ArrayRef {
        Arc::new(UInt32Array::from_iter_values(rows.iter().map(|row| times.ticks(to(row)) - times.ticks(from(row)))))
    };
    let byte = |of: fn(&Row) -> u8| -> ArrayRef { Arc::new(UInt8Array::from_iter_values(rows.iter().map(of))) };
    let deadline = |row: &Row| (row.deadline != Row::NO_DEADLINE).then_some(row.deadline);
    let offered: UInt32Array = column(rows, |row| times.ticks(row.offered));
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from_value(times.base_ns as i64, rows.len())),
        Arc::new(UInt32Array::from_value(times.tick_ns, rows.len())),
        Arc::new(offered),
        ticks(|row| row.offered, |row| row.start),
        ticks(|row| row.start, |row| row.end),
        number("link", |row| row.link)?,
        number("flow", |row| row.flow)?,
        byte(|row| row.kind),
        byte(|row| row.fate),
        Arc::new(UInt32Array::from_iter_values(rows.iter().map(|row| row.bytes))),
        Arc::new(UInt32Array::from_iter_values(rows.iter().map(|row| row.sequence))),
        Arc::new(UInt16Array::from_iter_values(rows.iter().map(|row| row.queue))),
        byte(|row| u8::from(row.mark)),
        Arc::new(rows.iter().map(deadline).collect::<Int32Array>()),
    ];
    RecordBatch::try_new(Arc::clone(schema), columns)
}
