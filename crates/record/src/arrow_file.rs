//! Writes an Arrow IPC file a batch at a time, compressed, and tells where each batch lies.
//!
//! `arrow_ipc`'s own writer takes arrays, and memory for each of them anew; it keeps to itself where batches are, and wants to know the
//! schema's metadata before the first row. Here a column is compressed as soon as it is made of its rows, and what a run has left out is
//! told at its end: in the footer's schema, which readers of files go by.
//!
//! Layout: "Arrow Columnar Format", section "Serialization and Interprocess Communication". A buffer is its length, eight bytes, and an LZ4
//! frame; or -1 and the bytes themselves, where that is shorter.

use arrow_ipc::convert::{IpcSchemaEncoder, metadata_to_fb};
use arrow_ipc::writer::{DictionaryTracker, IpcDataGenerator, IpcWriteOptions, write_message};
use arrow_ipc::{
    Block, BodyCompressionBuilder, BodyCompressionMethod, Buffer, CompressionType, DictionaryBatchBuilder, FieldNode,
    Footer, FooterBuilder, Message, MessageBuilder, MessageHeader, MetadataVersion, RecordBatchBuilder, root_as_footer,
    root_as_message,
};
use arrow_schema::{ArrowError, Schema};
use flatbuffers::FlatBufferBuilder;
use lz4_flex::frame::{BlockSize, FrameEncoder, FrameInfo};
use std::io::Write;
use std::sync::Arc;

/// What begins and ends a file.
const MAGIC: &[u8; 6] = b"ARROW1";
/// What messages, buffers and the first of them are aligned to.
const ALIGNMENT: usize = 8;
/// What begins a message, before its header's length.
const CONTINUATION: [u8; 4] = [0xff; 4];

/// Where a message lies in a file, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Place {
    /// From the beginning of the file on.
    pub(crate) offset: u64,
    /// Header and body.
    pub(crate) length: u64,
}

/// A number of a column.
pub(crate) trait Number: Copy + Default {
    const BYTES: usize;
    fn put(self, bytes: &mut [u8]);
}

macro_rules! numbers {
    ($($Type:ty),+) => { $(
        impl Number for $Type {
            const BYTES: usize = size_of::<Self>();
            #[inline(always)]
            fn put(self, bytes: &mut [u8]) {
                bytes.copy_from_slice(&self.to_le_bytes());
            }
        }
    )+ };
}

numbers!(i8, u8, i16, u16, i32, u32, i64, u64);

/// A file that is being written.
pub(crate) struct ArrowFile {
    schema: Arc<Schema>,
    /// What has not been taken yet.
    ready: Vec<u8>,
    /// How long the file is so far, with that.
    length: usize,
    dictionaries: Vec<Block>,
    batches: Vec<Block>,
    batch: Batch,
}

/// The batch that is being made.
struct Batch {
    /// With the body so far.
    encoder: FrameEncoder<Vec<u8>>,
    rows: usize,
    nodes: Vec<FieldNode>,
    buffers: Vec<Buffer>,
    /// A column as it was, and which of its rows are there.
    values: Vec<u8>,
    validity: Vec<u8>,
    failure: Option<std::io::Error>,
}

impl std::fmt::Debug for ArrowFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ArrowFile").field("length", &self.length).finish_non_exhaustive()
    }
}

impl ArrowFile {
    /// Begins a file of these columns.
    pub(crate) fn new(schema: Arc<Schema>) -> Result<Self, ArrowError> {
        let options = IpcWriteOptions::try_new(ALIGNMENT, false, MetadataVersion::V5)?;
        let mut tracker = DictionaryTracker::new(true);
        let mut ready = MAGIC.to_vec();
        ready.resize(ALIGNMENT, 0);
        let encoded =
            IpcDataGenerator::default().schema_to_bytes_with_dictionary_tracker(&schema, &mut tracker, &options);
        write_message(&mut ready, encoded, &options)?;
        let length = ready.len();
        Ok(Self { schema, ready, length, dictionaries: Vec::new(), batches: Vec::new(), batch: Batch::new() })
    }

    /// Where the schema lies: with it a batch alone is a stream that can be read.
    pub(crate) fn schema_place(&self) -> Place {
        let end = self.dictionaries.iter().chain(&self.batches).map(Block::offset).min();
        let end = end.map_or(self.length as u64, i64::unsigned_abs);
        Place { offset: ALIGNMENT as u64, length: end - ALIGNMENT as u64 }
    }

    /// Writes the names of the dictionary with this number, counted over the schema's columns from 0: before the first batch, and once.
    pub(crate) fn dictionary<'n>(
        &mut self,
        number: usize,
        names: impl Iterator<Item = &'n str> + Clone,
    ) -> Result<(), ArrowError> {
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

    /// Begins a batch of so many rows, whose columns come next, in the order of the schema.
    pub(crate) fn begin(&mut self, rows: usize) {
        self.batch.begin(rows);
    }

    /// A column without gaps.
    pub(crate) fn column<R, N: Number>(&mut self, rows: &[R], of: impl Fn(&R) -> N) {
        let batch = &mut self.batch;
        batch.values.clear();
        batch.values.resize(rows.len() * N::BYTES, 0);
        for (bytes, row) in batch.values.chunks_exact_mut(N::BYTES).zip(rows) {
            of(row).put(bytes);
        }
        batch.node(0);
        batch.buffer();
    }

    /// A column with gaps.
    pub(crate) fn column_with_gaps<R, N: Number>(&mut self, rows: &[R], of: impl Fn(&R) -> Option<N>) {
        let batch = &mut self.batch;
        batch.values.clear();
        batch.values.resize(rows.len() * N::BYTES, 0);
        batch.validity.clear();
        batch.validity.resize(rows.len().div_ceil(8), 0);
        let mut gaps = 0;
        for ((number, row), bytes) in rows.iter().enumerate().zip(batch.values.chunks_exact_mut(N::BYTES)) {
            match of(row) {
                Some(value) => {
                    value.put(bytes);
                    batch.validity[number / 8] |= 1 << (number % 8);
                }
                None => gaps += 1,
            }
        }
        batch.node(gaps);
        batch.buffer();
    }

    /// Appends the batch.
    pub(crate) fn end(&mut self) -> Result<Place, ArrowError> {
        let block = self.append(None)?;
        self.batches.push(block);
        let length = block.bodyLength() + i64::from(block.metaDataLength());
        Ok(Place { offset: block.offset().unsigned_abs(), length: length.unsigned_abs() })
    }

    fn append(&mut self, dictionary: Option<i64>) -> Result<Block, ArrowError> {
        if let Some(failure) = self.batch.failure.take() {
            return Err(failure.into());
        }
        let message = self.batch.message(dictionary);
        let padded = message.len().next_multiple_of(ALIGNMENT);
        let body = self.batch.encoder.get_ref();
        self.ready.extend_from_slice(&CONTINUATION);
        self.ready.extend_from_slice(&(padded as u32).to_le_bytes());
        self.ready.extend_from_slice(&message);
        self.ready.resize(self.ready.len() + padded - message.len(), 0);
        self.ready.extend_from_slice(body);
        let header = CONTINUATION.len() + size_of::<u32>() + padded;
        let block = Block::new(self.length as i64, header as i32, body.len() as i64);
        self.length += header + body.len();
        Ok(block)
    }

    /// Ends the file. `more` is added to the schema's metadata, in the footer only; `apart` is metadata of the footer's own.
    pub(crate) fn finish(&mut self, more: impl IntoIterator<Item = (String, String)>, apart: Option<(&str, &str)>) {
        let mut metadata = self.schema.metadata().clone();
        for (key, value) in more {
            metadata.insert(key, value);
        }
        let schema = self.schema.as_ref().clone().with_metadata(metadata);
        let mut buffer = FlatBufferBuilder::new();
        let dictionaries = buffer.create_vector(&self.dictionaries);
        let batches = buffer.create_vector(&self.batches);
        // It numbers the dictionaries as the schema at the beginning has them.
        let mut tracker = DictionaryTracker::new(true);
        let schema =
            IpcSchemaEncoder::new().with_dictionary_tracker(&mut tracker).schema_to_fb_offset(&mut buffer, &schema);
        let apart = apart.map(|apart| metadata_to_fb(&mut buffer, &[apart].into()));
        let mut footer = FooterBuilder::new(&mut buffer);
        footer.add_version(MetadataVersion::V5);
        footer.add_schema(schema);
        footer.add_dictionaries(dictionaries);
        footer.add_recordBatches(batches);
        if let Some(apart) = apart {
            footer.add_custom_metadata(apart);
        }
        let root = footer.finish();
        buffer.finish(root, None);
        let footer = buffer.finished_data();
        // A message without a header ends them all.
        self.ready.extend_from_slice(&CONTINUATION);
        self.ready.extend_from_slice(&[0; 4]);
        self.ready.extend_from_slice(footer);
        self.ready.extend_from_slice(&(footer.len() as u32).to_le_bytes());
        self.ready.extend_from_slice(MAGIC);
    }

    /// What is ready of the file, behind what was taken before.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.ready)
    }
}

impl Batch {
    fn new() -> Self {
        // A column of a batch is one block, so that each match may reach as far back as matches can.
        let blocks = FrameInfo::new().block_size(BlockSize::Max1MB);
        Self {
            encoder: FrameEncoder::with_frame_info(blocks, Vec::new()),
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
        self.encoder.get_mut().clear();
        self.nodes.clear();
        self.buffers.clear();
    }

    /// A column begins: which rows are there comes first, and may be left out if all are.
    fn node(&mut self, gaps: usize) {
        self.nodes.push(FieldNode::new(self.rows as i64, gaps as i64));
        if gaps == 0 {
            self.buffers.push(Buffer::new(self.encoder.get_ref().len() as i64, 0));
        } else {
            let validity = std::mem::take(&mut self.validity);
            self.compress(&validity);
            self.validity = validity;
        }
    }

    fn buffer(&mut self) {
        let values = std::mem::take(&mut self.values);
        self.compress(&values);
        self.values = values;
    }

    fn compress(&mut self, bytes: &[u8]) {
        let begin = self.encoder.get_ref().len();
        if !bytes.is_empty() {
            self.encoder.get_mut().extend_from_slice(&(bytes.len() as i64).to_le_bytes());
            let done = self.encoder.write_all(bytes).and_then(|()| Ok(self.encoder.try_finish()?));
            if let Err(error) = done {
                self.failure.get_or_insert(error);
            }
            let body = self.encoder.get_mut();
            if body.len() - begin >= bytes.len() + size_of::<i64>() {
                body.truncate(begin);
                body.extend_from_slice(&(-1_i64).to_le_bytes());
                body.extend_from_slice(bytes);
            }
        }
        let body = self.encoder.get_mut();
        self.buffers.push(Buffer::new(begin as i64, (body.len() - begin) as i64));
        body.resize(body.len().next_multiple_of(ALIGNMENT), 0);
    }

    /// The header of what has been gathered.
    fn message(&self, dictionary: Option<i64>) -> Vec<u8> {
        let mut buffer = FlatBufferBuilder::new();
        let nodes = buffer.create_vector(&self.nodes);
        let buffers = buffer.create_vector(&self.buffers);
        let mut compression = BodyCompressionBuilder::new(&mut buffer);
        compression.add_codec(CompressionType::LZ4_FRAME);
        compression.add_method(BodyCompressionMethod::BUFFER);
        let compression = compression.finish();
        let mut batch = RecordBatchBuilder::new(&mut buffer);
        batch.add_length(self.rows as i64);
        batch.add_nodes(nodes);
        batch.add_buffers(buffers);
        batch.add_compression(compression);
        let batch = batch.finish();
        let (kind, header) = match dictionary {
            None => (MessageHeader::RecordBatch, batch.as_union_value()),
            Some(number) => {
                let mut dictionary = DictionaryBatchBuilder::new(&mut buffer);
                dictionary.add_id(number);
                dictionary.add_data(batch);
                (MessageHeader::DictionaryBatch, dictionary.finish().as_union_value())
            }
        };
        let mut message = MessageBuilder::new(&mut buffer);
        message.add_version(MetadataVersion::V5);
        message.add_header_type(kind);
        message.add_bodyLength(self.encoder.get_ref().len() as i64);
        message.add_header(header);
        let root = message.finish();
        buffer.finish(root, None);
        buffer.finished_data().to_vec()
    }
}

/// The message that a block of the footer points to, and its body.
pub(crate) fn body_of<'a>(bytes: &'a [u8], block: &Block) -> Option<(Message<'a>, &'a [u8])> {
    let part = |from: i64, length: i64| {
        let from = usize::try_from(from).ok()?;
        bytes.get(from..from.checked_add(usize::try_from(length).ok()?)?)
    };
    let header_length = i64::from(block.metaDataLength());
    let header = part(block.offset(), header_length)?.strip_prefix(&CONTINUATION)?;
    let body = part(block.offset().checked_add(header_length)?, block.bodyLength())?;
    let (length, header) = header.split_first_chunk()?;
    let message = header.get(..u32::from_le_bytes(*length) as usize)?;
    Some((root_as_message(message).ok()?, body))
}

/// The footer of a whole file.
pub(crate) fn footer(bytes: &[u8]) -> Option<Footer<'_>> {
    let messages = bytes.strip_suffix(MAGIC)?;
    let (rest, length) = messages.split_last_chunk()?;
    let begin = rest.len().checked_sub(u32::from_le_bytes(*length) as usize)?;
    root_as_footer(&rest[begin..]).ok()
}
