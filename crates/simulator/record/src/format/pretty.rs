//! Indented JSON, equal to that of `serde_json::to_string_pretty`, written without building the whole text in memory.

use serde::Serialize;
use serde_json::ser::Formatter;
use serde_json::{Error, Serializer};
use std::io::{self, BufWriter, Write};

/// A comma and a newline with the indentation of the deepest object of a summary.
const NEXT: &[u8] = b",\n                               ";

/// Writes `value` as indented JSON.
///
/// # Errors
/// `writer` fails.
pub(crate) fn write<T: Serialize>(writer: impl Write, value: &T) -> Result<(), Error> {
    let mut writer = BufWriter::with_capacity(64 << 10, writer);
    value.serialize(&mut Serializer::with_formatter(&mut writer, Pretty::default()))?;
    writer.flush().map_err(Error::io)
}

/// `serde_json`'s `PrettyFormatter`, which writes each space of the indentation separately.
#[derive(Default)]
struct Pretty {
    depth: usize,
    has_value: bool,
}

impl Pretty {
    fn begin<W: ?Sized + Write>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth += 1;
        self.has_value = false;
        writer.write_all(bracket)
    }

    fn end<W: ?Sized + Write>(&mut self, writer: &mut W, bracket: &[u8]) -> io::Result<()> {
        self.depth -= 1;
        if self.has_value {
            self.line(writer, true)?;
        }
        writer.write_all(bracket)
    }

    #[inline]
    fn line<W: ?Sized + Write>(&self, writer: &mut W, first: bool) -> io::Result<()> {
        let (begin, end) = (usize::from(first), 2 + 2 * self.depth);
        writer.write_all(&NEXT[begin..end.min(NEXT.len())])?;
        (NEXT.len()..end).try_for_each(|_| writer.write_all(b" "))
    }
}

impl Formatter for Pretty {
    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.begin(writer, b"[")
    }
    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.end(writer, b"]")
    }
    fn begin_array_value<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.line(writer, first)
    }
    fn end_array_value<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.has_value = true;
        Ok(())
    }
    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.begin(writer, b"{")
    }
    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.end(writer, b"}")
    }
    #[inline]
    fn begin_object_key<W: ?Sized + Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.line(writer, first)
    }
    #[inline]
    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
    #[inline]
    fn end_object_value<W: ?Sized + Write>(&mut self, _: &mut W) -> io::Result<()> {
        self.has_value = true;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn pretty(value: &Value) -> String {
        let mut bytes = Vec::new();
        super::write(&mut bytes, value).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<u64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
        ];
        leaf.prop_recursive(6, 100, 8, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..8).prop_map(Value::from),
                prop::collection::btree_map(any::<String>(), inner, 0..8)
                    .prop_map(|entries| Value::Object(entries.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn the_text_is_that_of_serde_json(value in values(), depth in 0usize..20) {
            let value = (0..depth).fold(value, |inner, _| json!([inner]));
            prop_assert_eq!(pretty(&value), serde_json::to_string_pretty(&value).unwrap());
        }
    }

    /// The error of the writer is returned, also after the first bytes.
    #[test]
    fn a_full_disk_is_an_error() {
        struct Full;
        impl std::io::Write for Full {
            fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
                Err(std::io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        for rows in [1, 100_000] {
            let error = super::write(Full, &vec![1; rows]).unwrap_err();
            assert_eq!(error.io_error_kind(), Some(std::io::ErrorKind::StorageFull));
        }
    }
}
