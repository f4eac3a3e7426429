//! Writes an Arrow IPC file a batch at a time, compressed, and tells where each batch lies.
//!
//! `arrow_ipc`'s own writer keeps to itself where batches are, and wants to know the schema's metadata before the first row. What a run
//! has left out is known at its end, and stands in the footer's schema, which readers of files go by.

use arrow_array::RecordBatch;
use arrow_ipc::convert::{IpcSchemaEncoder, metadata_to_fb};
use arrow_ipc::writer::{DictionaryTracker, IpcDataGenerator, IpcWriteContext, IpcWriteOptions, write_message};
use arrow_ipc::{Block, CompressionType, Footer, FooterBuilder, MetadataVersion, root_as_footer};
use arrow_schema::{ArrowError, Schema};
use flatbuffers::FlatBufferBuilder;
use std::sync::Arc;

/// What begins and ends a file ("Arrow Columnar Format", section "IPC File Format").
const MAGIC: &[u8; 6] = b"ARROW1";
/// Where the first message begins.
const HEAD: usize = 8;
/// What ends the messages: a marker, and a length of nothing.
const END_OF_MESSAGES: [u8; 8] = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];

/// Where a message lies in a file, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Place {
    /// From the beginning of the file on.
    pub(crate) offset: u64,
    /// Header and body.
    pub(crate) length: u64,
}

/// A file that is being written.
pub(crate) struct ArrowFile {
    schema: Arc<Schema>,
    options: IpcWriteOptions,
    generator: IpcDataGenerator,
    tracker: DictionaryTracker,
    context: IpcWriteContext,
    /// What has not been taken yet.
    ready: Vec<u8>,
    /// How long the file is so far, with that.
    length: usize,
    dictionaries: Vec<Block>,
    batches: Vec<Block>,
}

impl std::fmt::Debug for ArrowFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ArrowFile").field("length", &self.length).finish_non_exhaustive()
    }
}

impl ArrowFile {
    /// Begins a file of these columns.
    pub(crate) fn new(schema: Arc<Schema>) -> Result<Self, ArrowError> {
        let options = IpcWriteOptions::try_new(HEAD, false, MetadataVersion::V5)?
            .try_with_compression(Some(CompressionType::LZ4_FRAME))?;
        let generator = IpcDataGenerator::default();
        let mut tracker = DictionaryTracker::new(true);
        let mut ready = MAGIC.to_vec();
        ready.resize(HEAD, 0);
        let encoded = generator.schema_to_bytes_with_dictionary_tracker(&schema, &mut tracker, &options);
        write_message(&mut ready, encoded, &options)?;
        let length = ready.len();
        let (dictionaries, batches) = (Vec::new(), Vec::new());
        Ok(Self {
            schema,
            options,
            generator,
            tracker,
            context: IpcWriteContext::default(),
            ready,
            length,
            dictionaries,
            batches,
        })
    }

    /// Where the schema lies: with it a batch alone is a stream that can be read.
    pub(crate) fn schema_place(&self) -> Place {
        let end = self.dictionaries.iter().chain(&self.batches).map(Block::offset).min();
        let end = end.map_or(self.length as u64, i64::unsigned_abs);
        Place { offset: HEAD as u64, length: end - HEAD as u64 }
    }

    /// Appends rows. Each dictionary is written once, with the first batch.
    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<Place, ArrowError> {
        let (dictionaries, batch) =
            self.generator.encode(batch, &mut self.tracker, &self.options, &mut self.context)?;
        for dictionary in dictionaries {
            let block = self.append(dictionary)?;
            self.dictionaries.push(block);
        }
        let block = self.append(batch)?;
        self.batches.push(block);
        let length = block.bodyLength() + i64::from(block.metaDataLength());
        Ok(Place { offset: block.offset().unsigned_abs(), length: length.unsigned_abs() })
    }

    fn append(&mut self, encoded: arrow_ipc::writer::EncodedData) -> Result<Block, ArrowError> {
        let (header, body) = write_message(&mut self.ready, encoded, &self.options)?;
        let block = Block::new(self.length as i64, header as i32, body as i64);
        self.length += header + body;
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
        // The numbers of the dictionaries are those that the schema at the beginning has.
        self.tracker.clear();
        let schema = IpcSchemaEncoder::new()
            .with_dictionary_tracker(&mut self.tracker)
            .schema_to_fb_offset(&mut buffer, &schema);
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
        self.ready.extend_from_slice(&END_OF_MESSAGES);
        self.ready.extend_from_slice(footer);
        self.ready.extend_from_slice(&(footer.len() as u32).to_le_bytes());
        self.ready.extend_from_slice(MAGIC);
    }

    /// What is ready of the file, behind what was taken before.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.ready)
    }
}

/// The footer of a whole file.
pub(crate) fn footer(bytes: &[u8]) -> Option<Footer<'_>> {
    let messages = bytes.strip_suffix(MAGIC)?;
    let (rest, length) = messages.split_last_chunk()?;
    let begin = rest.len().checked_sub(u32::from_le_bytes(*length) as usize)?;
    root_as_footer(&rest[begin..]).ok()
}
