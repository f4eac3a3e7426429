//! JSON as `serde_json::to_string_pretty` writes it, in pieces and without a text of all of it in memory.
//!
//! A summary has some hundred keys a flow. Keys are names of fields, which need no escapes, and each is written with its indentation at once.

use serde::ser::{
    Impossible, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeTuple, SerializeTupleStruct,
    Serializer,
};
use serde_json::Error;
use serde_json::ser::{CompactFormatter, Formatter as _};
use std::fmt::Display;
use std::io::Write;

/// Bytes that are gathered before they are written.
const PIECE: usize = 64 << 10;

/// A new line with its indentation, as deep as a summary is.
const LINE: &[u8; 32] = b"\n                               ";
/// Maximum depth of tables and arrays in one another.
const DEEPEST: usize = (LINE.len() - 1) / 2;

/// Writes `value` as indented JSON.
///
/// # Errors
/// `writer` fails, or the value has a type that no record has: an enum with fields, bytes, or tables deeper than [`DEEPEST`].
pub(crate) fn write<T: Serialize>(writer: impl Write, value: &T) -> Result<(), Error> {
    let mut pretty = Pretty { bytes: Vec::with_capacity(PIECE + PIECE / 8), writer, depth: 0 };
    value.serialize(&mut pretty)?;
    pretty.flush()
}

struct Pretty<W> {
    bytes: Vec<u8>,
    writer: W,
    depth: usize,
}

fn unsupported<T>() -> Result<T, Error> {
    Err(serde::ser::Error::custom("no record has values of this type"))
}

impl<W: Write> Pretty<W> {
    #[inline]
    fn put(&mut self, text: &[u8]) {
        self.bytes.extend_from_slice(text);
    }

    /// A copy of fixed length is some instructions, and one of any length is a call.
    #[inline]
    fn line(&mut self) {
        let length = self.bytes.len() + 1 + 2 * self.depth;
        self.put(LINE);
        self.bytes.truncate(length);
    }

    fn flush(&mut self) -> Result<(), Error> {
        self.writer.write_all(&self.bytes).map_err(Error::io)?;
        self.bytes.clear();
        Ok(())
    }

    #[inline]
    fn begin(&mut self, bracket: u8) -> Result<Elements<'_, W>, Error> {
        self.bytes.push(bracket);
        self.depth += 1;
        if self.depth > DEEPEST { unsupported() } else { Ok(Elements { pretty: self, any: false }) }
    }

    #[inline]
    fn quoted(&mut self, text: &str) -> Result<(), Error> {
        if text.bytes().any(|byte| byte < b' ' || byte == b'"' || byte == b'\\') {
            return serde_json::to_writer(&mut self.bytes, text);
        }
        self.bytes.push(b'"');
        self.put(text.as_bytes());
        self.bytes.push(b'"');
        Ok(())
    }
}

/// The elements of an array, or the entries of a table.
struct Elements<'a, W> {
    pretty: &'a mut Pretty<W>,
    any: bool,
}

impl<W: Write> Elements<'_, W> {
    #[inline]
    fn next(&mut self) -> Result<(), Error> {
        if self.pretty.bytes.len() >= PIECE {
            self.pretty.flush()?;
        }
        if std::mem::replace(&mut self.any, true) {
            self.pretty.bytes.push(b',');
        }
        self.pretty.line();
        Ok(())
    }

    #[inline]
    fn entry<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) -> Result<(), Error> {
        self.next()?;
        self.pretty.bytes.push(b'"');
        self.pretty.put(key.as_bytes());
        self.pretty.put(b"\": ");
        value.serialize(&mut *self.pretty)
    }

    #[inline]
    fn close(self, bracket: u8) -> Result<(), Error> {
        self.pretty.depth -= 1;
        if self.any {
            self.pretty.line();
        }
        self.pretty.bytes.push(bracket);
        Ok(())
    }
}

macro_rules! integers {
    ($($serialize:ident $write:ident $Type:ty,)+) => { $(
        #[inline]
        fn $serialize(self, value: $Type) -> Result<(), Error> {
            // Most counts are.
            if value == 0 {
                self.bytes.push(b'0');
                return Ok(());
            }
            CompactFormatter.$write(&mut self.bytes, value).map_err(Error::io)
        }
    )+ };
}

impl<'a, W: Write> Serializer for &'a mut Pretty<W> {
    type Ok = ();
    type Error = Error;
    type SerializeSeq = Elements<'a, W>;
    type SerializeTuple = Elements<'a, W>;
    type SerializeTupleStruct = Elements<'a, W>;
    type SerializeTupleVariant = Impossible<(), Error>;
    type SerializeMap = Elements<'a, W>;
    type SerializeStruct = Elements<'a, W>;
    type SerializeStructVariant = Impossible<(), Error>;

    integers! {
        serialize_i8 write_i8 i8,
        serialize_i16 write_i16 i16,
        serialize_i32 write_i32 i32,
        serialize_i64 write_i64 i64,
        serialize_u8 write_u8 u8,
        serialize_u16 write_u16 u16,
        serialize_u32 write_u32 u32,
        serialize_u64 write_u64 u64,
    }

    #[inline]
    fn serialize_bool(self, value: bool) -> Result<(), Error> {
        self.put(if value { b"true" } else { b"false" });
        Ok(())
    }

    fn serialize_f32(self, value: f32) -> Result<(), Error> {
        if value.is_finite() {
            CompactFormatter.write_f32(&mut self.bytes, value).map_err(Error::io)
        } else {
            self.serialize_unit()
        }
    }

    #[inline]
    fn serialize_f64(self, value: f64) -> Result<(), Error> {
        if value.to_bits() == 0 {
            self.put(b"0.0");
            Ok(())
        } else if value.is_finite() {
            CompactFormatter.write_f64(&mut self.bytes, value).map_err(Error::io)
        } else {
            self.serialize_unit()
        }
    }

    fn serialize_char(self, value: char) -> Result<(), Error> {
        self.quoted(value.encode_utf8(&mut [0; 4]))
    }

    #[inline]
    fn serialize_str(self, value: &str) -> Result<(), Error> {
        self.quoted(value)
    }

    fn serialize_bytes(self, _: &[u8]) -> Result<(), Error> {
        unsupported()
    }

    #[inline]
    fn serialize_none(self) -> Result<(), Error> {
        self.serialize_unit()
    }

    #[inline]
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    #[inline]
    fn serialize_unit(self) -> Result<(), Error> {
        self.put(b"null");
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Result<(), Error> {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<(), Error> {
        self.quoted(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<(), Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<(), Error> {
        unsupported()
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Elements<'a, W>, Error> {
        self.begin(b'[')
    }

    fn serialize_tuple(self, _: usize) -> Result<Elements<'a, W>, Error> {
        self.begin(b'[')
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Elements<'a, W>, Error> {
        self.begin(b'[')
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Impossible<(), Error>, Error> {
        unsupported()
    }

    #[inline]
    fn serialize_map(self, _: Option<usize>) -> Result<Elements<'a, W>, Error> {
        self.begin(b'{')
    }

    #[inline]
    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Elements<'a, W>, Error> {
        self.begin(b'{')
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Impossible<(), Error>, Error> {
        unsupported()
    }

    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Result<(), Error> {
        self.quoted(&value.to_string())
    }
}

macro_rules! elements {
    ($($Trait:ident $add:ident,)+) => { $(
        impl<W: Write> $Trait for Elements<'_, W> {
            type Ok = ();
            type Error = Error;

            fn $add<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
                self.next()?;
                value.serialize(&mut *self.pretty)
            }

            fn end(self) -> Result<(), Error> {
                self.close(b']')
            }
        }
    )+ };
}

elements! { SerializeSeq serialize_element, SerializeTuple serialize_element, SerializeTupleStruct serialize_field, }

impl<W: Write> SerializeStruct for Elements<'_, W> {
    type Ok = ();
    type Error = Error;

    #[inline]
    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Result<(), Error> {
        self.entry(key, value)
    }

    #[inline]
    fn end(self) -> Result<(), Error> {
        self.close(b'}')
    }
}

impl<W: Write> SerializeMap for Elements<'_, W> {
    type Ok = ();
    type Error = Error;

    #[inline]
    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Error> {
        self.next()?;
        // Keys of records are names.
        key.serialize(&mut *self.pretty)
    }

    #[inline]
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Error> {
        self.pretty.put(b": ");
        value.serialize(&mut *self.pretty)
    }

    #[inline]
    fn end(self) -> Result<(), Error> {
        self.close(b'}')
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
            any::<bool>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<f64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
            "[ -~]{0,20}".prop_map(Value::from),
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
        fn the_text_is_that_of_serde_json(value in values()) {
            prop_assert_eq!(pretty(&value), serde_json::to_string_pretty(&value).unwrap());
        }
    }

    /// Pieces join without a gap.
    #[test]
    fn long_texts_are_whole() {
        let value: Value =
            (0..20_000).map(|number| json!({ "number": number, "half": f64::from(number) / 2.0 })).collect();
        assert_eq!(pretty(&value), serde_json::to_string_pretty(&value).unwrap());
    }

    #[test]
    fn numbers_that_json_has_not_are_null() {
        for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let mut bytes = Vec::new();
            super::write(&mut bytes, &number).unwrap();
            assert_eq!(bytes, b"null");
        }
    }

    /// A writer that fails is an error, also in the middle.
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
