//! Writes and reads the metadata of Arrow IPC files: schemas, footers, and the headers of batches and dictionaries.
//!
//! Layout: "Arrow Columnar Format", section "Serialization and Interprocess Communication". Metadata are flatbuffers. A
//! file is `ARROW1`, messages, a footer, the footer's length and `ARROW1`. The footer lists the location of each
//! message. A message is a header and a body of buffers.
//!
//! Files are untrusted. Each access to a flatbuffer is checked, and lists are read in place, so that overlapping parts
//! of a file cannot need more memory than the file has bytes.

use polars_arrow_format::ipc as format;
use polars_arrow_format::ipc::planus::{Builder, ReadAsRoot};
use std::collections::BTreeMap;
use std::fmt;

pub(crate) use format::{Block, Buffer, FieldNode};

/// First and last bytes of a file.
pub(crate) const MAGIC: &[u8; 6] = b"ARROW1";
/// First bytes of a message, before the length of its header.
pub(crate) const CONTINUATION: [u8; 4] = [0xff; 4];
/// Alignment of messages and buffers, in bytes.
pub(crate) const ALIGNMENT: usize = 8;
/// Maximum number of columns and of metadata entries that are read. Files of a record have at most 15 columns.
const MAX_ENTRIES: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnType {
    /// Signed integers of this many bits.
    Int(i32),
    /// Unsigned integers of this many bits.
    Uint(i32),
    /// Floating-point numbers of 64 bits.
    Float64,
    /// Strings, as signed indices of this many bits into a dictionary.
    Names(i32),
}

impl ColumnType {
    pub(crate) const fn width(self) -> usize {
        match self {
            Self::Int(bits) | Self::Uint(bits) | Self::Names(bits) => bits as usize / 8,
            Self::Float64 => size_of::<f64>(),
        }
    }
}

impl fmt::Display for ColumnType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(bits) => write!(f, "int{bits}"),
            Self::Uint(bits) => write!(f, "uint{bits}"),
            Self::Float64 => f.write_str("float64"),
            Self::Names(bits) => write!(f, "Utf8 by int{bits}"),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) name: &'static str,
    pub(crate) holds: ColumnType,
    pub(crate) nullable: bool,
}

impl Column {
    pub(crate) const fn new(name: &'static str, holds: ColumnType) -> Self {
        Self { name, holds, nullable: false }
    }

    pub(crate) const fn nullable(name: &'static str, holds: ColumnType) -> Self {
        Self { name, holds, nullable: true }
    }

    /// Returns the column's entry in a schema. `dictionary` is the number of its dictionary.
    fn field(&self, dictionary: i64) -> format::Field {
        let int = |bit_width, is_signed| Box::new(format::Int { bit_width, is_signed });
        let (type_, index) = match self.holds {
            ColumnType::Int(bits) => (format::Type::Int(int(bits, true)), None),
            ColumnType::Uint(bits) => (format::Type::Int(int(bits, false)), None),
            ColumnType::Float64 => {
                let double = format::FloatingPoint { precision: format::Precision::Double };
                (format::Type::FloatingPoint(Box::new(double)), None)
            }
            ColumnType::Names(bits) => (format::Type::Utf8(Box::new(format::Utf8 {})), Some(int(bits, true))),
        };
        let encoding = index.map(|index| {
            let dictionary_kind = format::DictionaryKind::DenseArray;
            let index_type = Some(index);
            Box::new(format::DictionaryEncoding { id: dictionary, index_type, is_ordered: false, dictionary_kind })
        });
        format::Field {
            name: Some(self.name.to_owned()),
            nullable: self.nullable,
            type_: Some(type_),
            dictionary: encoding,
            children: Some(Vec::new()),
            custom_metadata: None,
        }
    }
}

/// Columns and metadata of a file. Dictionaries are numbered from 0 in the order of the columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Schema {
    pub(crate) columns: Vec<Column>,
    pub(crate) metadata: BTreeMap<String, String>,
}

impl Schema {
    fn encoded(&self) -> format::Schema {
        let mut dictionary = 0;
        let fields = self.columns.iter().map(|column| {
            let field = column.field(dictionary);
            dictionary += i64::from(field.dictionary.is_some());
            field
        });
        format::Schema {
            endianness: format::Endianness::Little,
            fields: Some(fields.collect()),
            custom_metadata: pairs(&self.metadata),
            features: None,
        }
    }

    pub(crate) fn message(&self) -> Vec<u8> {
        message(format::MessageHeader::Schema(Box::new(self.encoded())), 0)
    }

    pub(crate) fn footer(
        &self,
        dictionaries: &[Block],
        batches: &[Block],
        metadata: &BTreeMap<String, String>,
    ) -> Vec<u8> {
        let footer = format::Footer {
            version: format::MetadataVersion::V5,
            schema: Some(Box::new(self.encoded())),
            dictionaries: Some(dictionaries.to_vec()),
            record_batches: Some(batches.to_vec()),
            custom_metadata: pairs(metadata),
        };
        Builder::new().finish(&footer, None).to_vec()
    }
}

fn pairs(metadata: &BTreeMap<String, String>) -> Option<Vec<format::KeyValue>> {
    let pair =
        |(key, value): (&String, &String)| format::KeyValue { key: Some(key.clone()), value: Some(value.clone()) };
    (!metadata.is_empty()).then(|| metadata.iter().map(pair).collect())
}

fn message(header: format::MessageHeader, body_length: i64) -> Vec<u8> {
    let version = format::MetadataVersion::V5;
    let message = format::Message { version, header: Some(header), body_length, custom_metadata: None };
    Builder::new().finish(&message, None).to_vec()
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct BatchHeader<'a> {
    pub(crate) rows: usize,
    pub(crate) nodes: &'a [FieldNode],
    pub(crate) buffers: &'a [Buffer],
    pub(crate) compressed: bool,
    pub(crate) body_length: usize,
}

impl BatchHeader<'_> {
    /// Returns the header of a record batch message, or of the dictionary with this number.
    pub(crate) fn message(&self, dictionary: Option<i64>) -> Vec<u8> {
        let compression = self.compressed.then(|| {
            let (codec, method) = (format::CompressionType::Lz4Frame, format::BodyCompressionMethod::Buffer);
            Box::new(format::BodyCompression { codec, method })
        });
        let batch = Box::new(format::RecordBatch {
            length: self.rows as i64,
            nodes: Some(self.nodes.to_vec()),
            buffers: Some(self.buffers.to_vec()),
            compression,
            variadic_buffer_counts: None,
        });
        let header = match dictionary {
            None => format::MessageHeader::RecordBatch(batch),
            Some(id) => {
                let dictionary = format::DictionaryBatch { id, data: Some(batch), is_delta: false };
                format::MessageHeader::DictionaryBatch(Box::new(dictionary))
            }
        };
        message(header, self.body_length as i64)
    }
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Footer<'a> {
    bytes: &'a [u8],
    footer: format::FooterRef<'a>,
    schema: format::SchemaRef<'a>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct FoundColumn<'a> {
    pub(crate) name: &'a str,
    /// `None` for a type that files of a record do not have.
    pub(crate) holds: Option<ColumnType>,
    pub(crate) dictionary: Option<i64>,
}

impl fmt::Display for FoundColumn<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.holds {
            Some(holds) => write!(f, "{} ({holds})", self.name),
            None => write!(f, "{} (another type)", self.name),
        }
    }
}

impl<'a> Footer<'a> {
    /// Reads the footer of a complete file. `None` if the bytes do not start and end with [`MAGIC`].
    pub(crate) fn of(bytes: &'a [u8]) -> Option<Self> {
        let (rest, length) = bytes.strip_prefix(MAGIC)?.strip_suffix(MAGIC)?.split_last_chunk()?;
        let begin = rest.len().checked_sub(u32::from_le_bytes(*length) as usize)?;
        let footer = format::FooterRef::read_as_root(&rest[begin..]).ok()?;
        Some(Self { bytes, footer, schema: footer.schema().ok()?? })
    }

    /// Returns the columns, at most [`MAX_ENTRIES`].
    pub(crate) fn columns(&self) -> Option<Vec<FoundColumn<'a>>> {
        let fields = self.schema.fields().ok()??;
        fields.iter().take(MAX_ENTRIES).map(|field| column(&field.ok()?)).collect()
    }

    pub(crate) fn metadata(&self) -> Option<BTreeMap<&'a str, &'a str>> {
        read_pairs(self.schema.custom_metadata().ok()?)
    }

    pub(crate) fn own_metadata(&self) -> Option<BTreeMap<&'a str, &'a str>> {
        read_pairs(self.footer.custom_metadata().ok()?)
    }

    /// Returns the dictionaries in the order of the file. An item is `None` if its message is damaged.
    pub(crate) fn dictionaries(&self) -> Option<impl Iterator<Item = Option<Dictionary<'a>>>> {
        let (bytes, blocks) = (self.bytes, self.footer.dictionaries().ok()?);
        Some(blocks.into_iter().flatten().map(move |block| Dictionary::of(bytes, block)))
    }

    /// Returns the record batches in the order of the file. An item is `None` if its message is damaged.
    pub(crate) fn batches(&self) -> Option<impl Iterator<Item = Option<Batch<'a>>> + use<'a>> {
        let (bytes, blocks) = (self.bytes, self.footer.record_batches().ok()?);
        Some(blocks.into_iter().flatten().map(move |block| match body_of(bytes, block)? {
            (format::MessageHeaderRef::RecordBatch(header), body) => Batch::of(header, body),
            _ => None,
        }))
    }
}

fn column<'a>(field: &format::FieldRef<'a>) -> Option<FoundColumn<'a>> {
    let name = field.name().ok()?.unwrap_or_default();
    let encoding = field.dictionary().ok()?;
    // The format's default index type is a signed 32-bit integer.
    let index = match &encoding {
        None => None,
        Some(encoding) => match encoding.index_type().ok()? {
            None => Some((32, true)),
            Some(int) => Some((int.bit_width().ok()?, int.is_signed().ok()?)),
        },
    };
    // The flatbuffer reader returns an error for unknown types.
    let holds = match (field.type_().ok().flatten(), index) {
        (Some(format::TypeRef::Int(int)), None) => {
            let bits = int.bit_width().ok()?;
            Some(if int.is_signed().ok()? { ColumnType::Int(bits) } else { ColumnType::Uint(bits) })
        }
        (Some(format::TypeRef::FloatingPoint(float)), None) => {
            matches!(float.precision().ok()?, format::Precision::Double).then_some(ColumnType::Float64)
        }
        (Some(format::TypeRef::Utf8(_)), Some((bits, true))) => Some(ColumnType::Names(bits)),
        _ => None,
    };
    let dictionary = encoding.map(|encoding| encoding.id()).transpose().ok()?;
    Some(FoundColumn { name, holds, dictionary })
}

type Pairs<'a> = format::planus::Vector<'a, format::planus::Result<format::KeyValueRef<'a>>>;

fn read_pairs(pairs: Option<Pairs<'_>>) -> Option<BTreeMap<&str, &str>> {
    let pairs = pairs.into_iter().flatten().take(MAX_ENTRIES);
    pairs
        .map(|pair| pair.and_then(|pair| Ok((pair.key()?.unwrap_or_default(), pair.value()?.unwrap_or_default()))).ok())
        .collect()
}

#[derive(Clone, Copy)]
pub(crate) struct Batch<'a> {
    pub(crate) rows: usize,
    pub(crate) compressed: bool,
    pub(crate) body: &'a [u8],
    nodes: Option<format::planus::Vector<'a, format::FieldNodeRef<'a>>>,
    buffers: Option<format::planus::Vector<'a, format::BufferRef<'a>>>,
}

#[derive(Clone, Copy)]
pub(crate) struct Dictionary<'a> {
    pub(crate) id: i64,
    /// Whether the entries are appended to those of earlier dictionaries with this identifier.
    pub(crate) is_delta: bool,
    pub(crate) batch: Batch<'a>,
}

impl<'a> Batch<'a> {
    fn of(header: format::RecordBatchRef<'a>, body: &'a [u8]) -> Option<Self> {
        Some(Self {
            rows: usize::try_from(header.length().ok()?).ok()?,
            compressed: header.compression().ok()?.is_some(),
            body,
            nodes: header.nodes().ok()?,
            buffers: header.buffers().ok()?,
        })
    }

    pub(crate) fn node(&self, number: usize) -> Option<(usize, usize)> {
        let node = self.nodes?.get(number)?;
        Some((usize::try_from(node.length()).ok()?, usize::try_from(node.null_count()).ok()?))
    }

    pub(crate) fn buffer(&self, number: usize) -> Option<&'a [u8]> {
        let buffer = self.buffers?.get(number)?;
        part(self.body, buffer.offset(), buffer.length())
    }
}

impl<'a> Dictionary<'a> {
    fn of(bytes: &'a [u8], block: format::BlockRef<'a>) -> Option<Self> {
        let (format::MessageHeaderRef::DictionaryBatch(header), body) = body_of(bytes, block)? else { return None };
        let batch = Batch::of(header.data().ok()??, body)?;
        Some(Self { id: header.id().ok()?, is_delta: header.is_delta().ok()?, batch })
    }
}

fn part(bytes: &[u8], from: i64, length: i64) -> Option<&[u8]> {
    let from = usize::try_from(from).ok()?;
    bytes.get(from..from.checked_add(usize::try_from(length).ok()?)?)
}

fn body_of<'a>(bytes: &'a [u8], block: format::BlockRef<'a>) -> Option<(format::MessageHeaderRef<'a>, &'a [u8])> {
    let header_length = i64::from(block.meta_data_length());
    let header = part(bytes, block.offset(), header_length)?.strip_prefix(&CONTINUATION)?;
    let body = part(bytes, block.offset().checked_add(header_length)?, block.body_length())?;
    let (length, header) = header.split_first_chunk()?;
    let header = header.get(..u32::from_le_bytes(*length) as usize)?;
    Some((format::MessageRef::read_as_root(header).ok()?.header().ok()??, body))
}

/// Returns the body length given by a message header. `None` if the header is damaged.
pub(crate) fn body_length(header: &[u8]) -> Option<u64> {
    u64::try_from(format::MessageRef::read_as_root(header).ok()?.body_length().ok()?).ok()
}
