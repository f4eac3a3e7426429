//! Reader of Arrow files by column.
#![allow(clippy::unwrap_used, clippy::panic, clippy::expect_used, reason = "a test fails where it panics")]

use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowDictionaryKeyType, Int8Type, Int16Type, Int32Type};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_ipc::reader::FileReader;
use arrow_schema::DataType;
use std::io::Cursor;

/// Rows and metadata of a file.
pub struct Table {
    pub batches: Vec<RecordBatch>,
    pub metadata: Vec<(String, String)>,
}

impl Table {
    pub fn read(bytes: &[u8]) -> Self {
        let reader = FileReader::try_new(Cursor::new(bytes.to_vec()), None).unwrap();
        let metadata = reader.schema().metadata().clone();
        let metadata = metadata.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
        Self { batches: reader.collect::<Result<_, _>>().unwrap(), metadata }
    }

    pub fn metadata_value(&self, key: &str) -> &str {
        &self.metadata.iter().find(|(known, _)| known == key).unwrap().1
    }

    /// Returns a column of numbers; `None` for empty cells.
    pub fn numbers(&self, name: &str) -> Vec<Option<i64>> {
        self.batches.iter().flat_map(|batch| numbers(batch.column_by_name(name).unwrap())).collect()
    }

    /// Returns a column of numbers without empty cells.
    pub fn all(&self, name: &str) -> Vec<i64> {
        self.numbers(name).into_iter().map(Option::unwrap).collect()
    }

    pub fn names(&self, name: &str) -> Vec<Option<String>> {
        self.batches.iter().flat_map(|batch| names(batch.column_by_name(name).unwrap())).collect()
    }
}

fn numbers(column: &ArrayRef) -> Vec<Option<i64>> {
    use arrow_array::types as t;
    macro_rules! of {
        ($Type:ty) => {
            column.as_primitive::<$Type>().iter().map(|value| value.map(|value| value as i64)).collect()
        };
    }
    match column.data_type() {
        DataType::Int32 => of!(Int32Type),
        DataType::Int64 => of!(t::Int64Type),
        DataType::UInt8 => of!(t::UInt8Type),
        DataType::UInt16 => of!(t::UInt16Type),
        DataType::UInt32 => of!(t::UInt32Type),
        DataType::UInt64 => of!(t::UInt64Type),
        other => panic!("{other}"),
    }
}

fn names(column: &ArrayRef) -> Vec<Option<String>> {
    fn of<K: ArrowDictionaryKeyType>(column: &ArrayRef) -> Vec<Option<String>> {
        let column = column.as_dictionary::<K>();
        let names = column.values().as_string::<i32>();
        (0..column.len()).map(|row| column.key(row).map(|key| names.value(key).to_owned())).collect()
    }
    match column.data_type() {
        DataType::Dictionary(key, _) if **key == DataType::Int8 => of::<Int8Type>(column),
        DataType::Dictionary(key, _) if **key == DataType::Int16 => of::<Int16Type>(column),
        other => panic!("{other}"),
    }
}
