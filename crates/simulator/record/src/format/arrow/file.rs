//! Writes an Arrow IPC file batch by batch, compressed or not, and returns the location of each batch.
//!
//! The writer of `arrow_ipc` needs newly allocated arrays and the schema's metadata before the first row, and does not
//! return the locations of batches. This writer compresses each column directly from the rows. Metadata known only at
//! the end of a run, such as the number of omitted events, is in the footer's schema, which readers of files use.
//!
//! Layout: "Arrow Columnar Format", section "Serialization and Interprocess Communication". A compressed buffer is its
//! length, eight bytes, and an LZ4 frame; or -1 and the uncompressed bytes if they are shorter.

use super::metadata::{ALIGNMENT, BatchHeader, Block, Buffer, CONTINUATION, FieldNode, MAGIC, Schema};
use lz4_flex::frame::{BlockSize, FrameEncoder, FrameInfo};
use std::collections::BTreeMap;
use std::io::{self, Write};

/// Location of a message in a file, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Place {
    pub(crate) offset: u64,
    /// Length of header and body.
    pub(crate) length: u64,
}

pub(crate) trait Number: Copy + Default {
    const BYTES: usize;
    fn write_to(self, bytes: &mut [u8]);
}

macro_rules! numbers {
    ($($Type:ty),+) => { $(
        impl Number for $Type {
            const BYTES: usize = size_of::<Self>();
            #[inline(always)]
            fn write_to(self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&self.to_le_bytes());
            }
        }
    )+ };
}

numbers!(i8, u8, i16, u16, i32, u32, i64, u64, f64);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    None,
    Lz4,
}

pub(crate) struct ArrowFile {
    schema: Schema,
    ready: Vec<u8>,
    length: usize,
    dictionaries: Vec<Block>,
    batches: Vec<Block>,
    batch: Batch,
}

/// Maximum sizes of buffers, in bytes, and their LZ4 block sizes. A buffer is one block, so that matches may span all
/// of it. Small buffers have small blocks, because readers allocate a whole block.
const BLOCKS: [(usize, BlockSize); 3] =
    [(64 << 10, BlockSize::Max64KB), (256 << 10, BlockSize::Max256KB), (1 << 20, BlockSize::Max1MB)];

struct Batch {
    body: Vec<u8>,
    /// An encoder for each of [`BLOCKS`]; `None` without compression. An encoder owns the body while it writes a
    /// buffer.
    encoders: Option<[FrameEncoder<Vec<u8>>; BLOCKS.len()]>,
    rows: usize,
    nodes: Vec<FieldNode>,
    buffers: Vec<Buffer>,
    /// Uncompressed values of a column, and the validity bits of its rows.
    values: Vec<u8>,
    validity: Vec<u8>,
    failure: Option<io::Error>,
}

impl std::fmt::Debug for ArrowFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ArrowFile").field("length", &self.length).finish_non_exhaustive()
    }
}

impl ArrowFile {
    pub(crate) fn new(schema: Schema, compression: Compression) -> Self {
        let mut ready = MAGIC.to_vec();
        ready.resize(ALIGNMENT, 0);
        append_header(&mut ready, &schema.message());
        let length = ready.len();
        let batch = Batch::new(compression);
        Self { schema, ready, length, dictionaries: Vec::new(), batches: Vec::new(), batch }
    }

    /// Returns the location of the schema. The schema followed by a batch is a readable stream.
    pub(crate) fn schema_place(&self) -> Place {
        let end = self.dictionaries.iter().chain(&self.batches).map(|block| block.offset).min();
        let end = end.map_or(self.length as u64, i64::unsigned_abs);
        Place { offset: ALIGNMENT as u64, length: end - ALIGNMENT as u64 }
    }

    /// Writes a dictionary, once and before the first batch. `number` counts the schema's dictionary columns from 0.
    pub(crate) fn dictionary<'n>(
        &mut self,
        number: usize,
        names: impl Iterator<Item = &'n str> + Clone,
    ) -> io::Result<()> {
        let rows = names.clone().count();
        self.batch.begin(rows);
        self.batch.node(0);
        self.batch.values.clear();
        let mut end = 0_i32;
        self.batch.values.extend_from_slice(&end.to_le_bytes());
        for name in names.clone() {
            end += name.len() as i32;
            self.batch.values.extend_from_slice(&end.to_le_bytes());
        }
        self.batch.buffer();
        self.batch.values.clear();
        names.for_each(|name| self.batch.values.extend_from_slice(name.as_bytes()));
        self.batch.buffer();
        let block = self.append(Some(number as i64))?;
        self.dictionaries.push(block);
        Ok(())
    }

    /// Begins a batch of `rows` rows. Its columns follow in the order of the schema.
    pub(crate) fn begin(&mut self, rows: usize) {
        self.batch.begin(rows);
    }

    pub(crate) fn column<R, N: Number>(&mut self, rows: &[R], of: impl Fn(&R) -> N) {
        let batch = &mut self.batch;
        batch.values.clear();
        batch.values.resize(rows.len() * N::BYTES, 0);
        for (bytes, row) in batch.values.chunks_exact_mut(N::BYTES).zip(rows) {
            of(row).write_to(bytes);
        }
        batch.node(0);
        batch.buffer();
    }

    pub(crate) fn nullable_column<R, N: Number>(&mut self, rows: &[R], of: impl Fn(&R) -> Option<N>) {
        let batch = &mut self.batch;
        batch.values.clear();
        batch.values.resize(rows.len() * N::BYTES, 0);
        batch.validity.clear();
        batch.validity.resize(rows.len().div_ceil(8), 0);
        let mut nulls = 0;
        for ((number, row), bytes) in rows.iter().enumerate().zip(batch.values.chunks_exact_mut(N::BYTES)) {
            match of(row) {
                Some(value) => {
                    value.write_to(bytes);
                    batch.validity[number / 8] |= 1 << (number % 8);
                }
                None => nulls += 1,
            }
        }
        batch.node(nulls);
        batch.buffer();
    }

    pub(crate) fn end(&mut self) -> io::Result<Place> {
        let block = self.append(None)?;
        self.batches.push(block);
        let length = block.body_length + i64::from(block.meta_data_length);
        Ok(Place { offset: block.offset.unsigned_abs(), length: length.unsigned_abs() })
    }

    fn append(&mut self, dictionary: Option<i64>) -> io::Result<Block> {
        if let Some(failure) = self.batch.failure.take() {
            return Err(failure);
        }
        let message = self.batch.header().message(dictionary);
        let header = append_header(&mut self.ready, &message);
        let body = &self.batch.body;
        self.ready.extend_from_slice(body);
        let offset = self.length as i64;
        self.length += header + body.len();
        Ok(Block { offset, meta_data_length: header as i32, body_length: body.len() as i64 })
    }

    /// Ends the file. `schema_metadata` is added to the schema in the footer only; `footer_metadata` is separate
    /// metadata of the footer.
    pub(crate) fn finish(
        &mut self,
        schema_metadata: impl IntoIterator<Item = (String, String)>,
        footer_metadata: Option<(&str, &str)>,
    ) {
        let mut schema = self.schema.clone();
        schema.metadata.extend(schema_metadata);
        let footer_metadata = footer_metadata.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let footer_metadata: BTreeMap<String, String> = footer_metadata.into_iter().collect();
        let footer = schema.footer(&self.dictionaries, &self.batches, &footer_metadata);
        // A message of length 0 ends the stream.
        self.ready.extend_from_slice(&CONTINUATION);
        self.ready.extend_from_slice(&[0; 4]);
        self.ready.extend_from_slice(&footer);
        self.ready.extend_from_slice(&(footer.len() as u32).to_le_bytes());
        self.ready.extend_from_slice(MAGIC);
    }

    /// Returns the bytes of the file that are complete since the last call.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.ready)
    }
}

/// Appends a message without its body and returns the number of bytes.
fn append_header(ready: &mut Vec<u8>, message: &[u8]) -> usize {
    let begin = ready.len();
    let padded = message.len().next_multiple_of(ALIGNMENT);
    ready.extend_from_slice(&CONTINUATION);
    ready.extend_from_slice(&(padded as u32).to_le_bytes());
    ready.extend_from_slice(message);
    ready.resize(begin + CONTINUATION.len() + size_of::<u32>() + padded, 0);
    ready.len() - begin
}

impl Batch {
    fn new(compression: Compression) -> Self {
        let encoder = |(_, size)| FrameEncoder::with_frame_info(FrameInfo::new().block_size(size), Vec::new());
        let encoders = match compression {
            Compression::None => None,
            Compression::Lz4 => Some(BLOCKS.map(encoder)),
        };
        Self {
            body: Vec::new(),
            encoders,
            rows: 0,
            nodes: Vec::new(),
            buffers: Vec::new(),
            values: Vec::new(),
            validity: Vec::new(),
            failure: None,
        }
    }

    fn begin(&mut self, rows: usize) {
        self.rows = rows;
        self.body.clear();
        self.nodes.clear();
        self.buffers.clear();
    }

    /// Begins a column with its validity bits, which are omitted if no row is null.
    fn node(&mut self, nulls: usize) {
        self.nodes.push(FieldNode { length: self.rows as i64, null_count: nulls as i64 });
        if nulls == 0 {
            self.buffers.push(Buffer { offset: self.body.len() as i64, length: 0 });
        } else {
            let validity = std::mem::take(&mut self.validity);
            self.append_buffer(&validity);
            self.validity = validity;
        }
    }

    fn buffer(&mut self) {
        let values = std::mem::take(&mut self.values);
        self.append_buffer(&values);
        self.values = values;
    }

    fn append_buffer(&mut self, bytes: &[u8]) {
        let Self { body, encoders, failure, .. } = self;
        let begin = body.len();
        match encoders {
            None => body.extend_from_slice(bytes),
            Some(encoders) if !bytes.is_empty() => {
                let size = BLOCKS.iter().position(|&(max, _)| bytes.len() <= max).unwrap_or(BLOCKS.len() - 1);
                let encoder = &mut encoders[size];
                body.extend_from_slice(&(bytes.len() as i64).to_le_bytes());
                std::mem::swap(body, encoder.get_mut());
                let result = encoder.write_all(bytes).and_then(|()| Ok(encoder.try_finish()?));
                std::mem::swap(body, encoder.get_mut());
                if let Err(error) = result {
                    failure.get_or_insert(error);
                }
                if body.len() - begin >= bytes.len() + size_of::<i64>() {
                    body.truncate(begin);
                    body.extend_from_slice(&(-1_i64).to_le_bytes());
                    body.extend_from_slice(bytes);
                }
            }
            Some(_) => {}
        }
        self.buffers.push(Buffer { offset: begin as i64, length: (body.len() - begin) as i64 });
        body.resize(body.len().next_multiple_of(ALIGNMENT), 0);
    }

    fn header(&self) -> BatchHeader<'_> {
        BatchHeader {
            rows: self.rows,
            nodes: &self.nodes,
            buffers: &self.buffers,
            compressed: self.encoders.is_some(),
            body_length: self.body.len(),
        }
    }
}
