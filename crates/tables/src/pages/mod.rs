//! Columns as Parquet's pages (<https://parquet.apache.org/docs/file-format/data-pages/>): of each column of a group one data
//! page of version 2, before it a dictionary if it is of texts. Numbers are LZ4 blocks that refer to what they repeat.

pub(crate) mod column;
mod header;
mod lz4;
pub(crate) mod masks;

use ::parquet::basic::{Compression, Encoding, PageType};
use ::parquet::column::writer::ColumnCloseResult;
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::ColumnChunkMetaData;
use ::parquet::file::reader::{ChunkReader, Length};
use ::parquet::file::writer::SerializedRowGroupWriter;
use ::parquet::schema::types::ColumnDescPtr;
use bytes::Bytes;
use header::{Header, varint};
use std::io::{self, Read, Write};

/// A column chunk, encoded, but for a block at its end that lies elsewhere.
pub(crate) struct Chunk {
    rows: u32,
    nulls: u32,
    /// Which rows have a value.
    levels: Vec<u8>,
    head: Vec<u8>,
    /// How long its pages would be uncompressed, with their headers.
    uncompressed_bytes: usize,
    dictionary_bytes: Option<usize>,
    encodings: Vec<Encoding>,
}

impl Chunk {
    /// `valid` has a bit for each row, lowest first: whether it has a value. It is asked for where some have one and some
    /// have none.
    pub fn new(rows: u32, nulls: u32, valid: impl FnOnce() -> Vec<u8>) -> Self {
        let mut levels = Vec::new();
        match nulls {
            0 => one_run(&mut levels, rows, &[1]),
            _ if nulls == rows => one_run(&mut levels, rows, &[0]),
            _ => packed_run(&mut levels, &valid(), rows),
        }
        Self {
            rows,
            nulls,
            levels,
            head: Vec::new(),
            uncompressed_bytes: 0,
            dictionary_bytes: None,
            encodings: vec![Encoding::RLE],
        }
    }

    fn values(&self) -> u32 {
        self.rows - self.nulls
    }

    /// The header of a data page of version 2, and its levels. Its values follow, which take so many bytes.
    fn data_page(&mut self, encoding: Encoding, bytes: usize, uncompressed: Option<usize>) {
        let levels = self.levels.len();
        let lengths = [uncompressed.unwrap_or(bytes), bytes].map(|it| (it + levels) as i32);
        let header = Header::new(PageType::DATA_PAGE_V2, lengths, 8)
            .structure(&[
                self.rows as i32,
                self.nulls as i32,
                self.rows as i32,
                encoding as i32,
                levels as i32,
                0,
            ])
            .flag(uncompressed.is_some())
            .end();
        self.uncompressed_bytes += header.len() + lengths[0] as usize;
        self.head.extend_from_slice(&header);
        self.head.extend_from_slice(&self.levels);
        self.encodings.push(encoding);
    }

    /// Whose block is to follow.
    pub fn numbers(&mut self, block: &[u8], values: usize) {
        let uncompressed = (values > 0).then_some(8 * values);
        self.data_page(Encoding::PLAIN, block.len(), uncompressed);
    }

    /// Of a bit each.
    pub fn flags(&mut self, packed: &[u8]) {
        let values = &packed[..self.values().div_ceil(8) as usize];
        self.data_page(Encoding::PLAIN, values.len(), None);
        self.head.extend_from_slice(values);
    }

    /// `packed` makes the numbers of the rows' texts, in so many bits each.
    pub fn texts(&mut self, texts: &[Box<str>], packed: impl FnOnce(usize) -> Vec<u8>) {
        self.dictionary(texts);
        let width = masks::width(texts.len());
        let mut values = vec![width as u8];
        packed_run(&mut values, &packed(width), self.values());
        self.indices(&values);
    }

    /// The same text in every row that has one.
    pub fn one_text(&mut self, texts: &[Box<str>], code: usize) {
        self.dictionary(texts);
        let width = masks::width(texts.len());
        let mut values = vec![width as u8];
        let code = (code as u32).to_le_bytes();
        one_run(&mut values, self.values(), &code[..width.div_ceil(8)]);
        self.indices(&values);
    }

    fn indices(&mut self, values: &[u8]) {
        self.data_page(Encoding::RLE_DICTIONARY, values.len(), None);
        self.head.extend_from_slice(values);
    }

    fn dictionary(&mut self, texts: &[Box<str>]) {
        let mut dictionary = Vec::new();
        for text in texts {
            dictionary.extend((text.len() as u32).to_le_bytes());
            dictionary.extend(text.as_bytes());
        }
        let block = lz4::literals_only(&dictionary);
        let lengths = [dictionary.len() as i32, block.len() as i32];
        let plain = Encoding::PLAIN;
        let header = Header::new(PageType::DICTIONARY_PAGE, lengths, 7)
            .structure(&[texts.len() as i32, plain as i32])
            .end();
        self.uncompressed_bytes += header.len() + dictionary.len();
        self.head.extend_from_slice(&header);
        self.head.extend_from_slice(&block);
        self.encodings.push(plain);
        self.dictionary_bytes = Some(self.head.len());
    }

    pub fn append_to<W: Write + Send>(
        self,
        group: &mut SerializedRowGroupWriter<'_, W>,
        about: ColumnDescPtr,
        block: &[u8],
    ) -> Result<(), ParquetError> {
        let bytes = Pieces([&self.head, block]);
        let metadata = ColumnChunkMetaData::builder(about)
            .set_compression(Compression::LZ4_RAW)
            .set_encodings(self.encodings)
            .set_num_values(i64::from(self.rows))
            .set_total_compressed_size(bytes.len() as i64)
            .set_total_uncompressed_size(self.uncompressed_bytes as i64)
            .set_data_page_offset(self.dictionary_bytes.unwrap_or(0) as i64)
            .set_dictionary_page_offset(self.dictionary_bytes.map(|_| 0))
            .build()?;
        let close = ColumnCloseResult {
            bytes_written: bytes.len(),
            rows_written: u64::from(self.rows),
            metadata,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        group.append_column(&bytes, close)
    }
}

/// What is to be one after the other in the file.
struct Pieces<'a>([&'a [u8]; 2]);

impl Length for Pieces<'_> {
    fn len(&self) -> u64 {
        self.0.iter().map(|piece| piece.len() as u64).sum()
    }
}

impl<'a> ChunkReader for Pieces<'a> {
    type T = io::Chain<&'a [u8], &'a [u8]>;

    fn get_read(&self, start: u64) -> Result<Self::T, ParquetError> {
        let [first, second] = self.0;
        let start = start as usize;
        let rest = |piece: &'a [u8], start: usize| &piece[start.min(piece.len())..];
        Ok(rest(first, start).chain(rest(second, start.saturating_sub(first.len()))))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        let mut bytes = Vec::with_capacity(length);
        self.get_read(start)?
            .take(length as u64)
            .read_to_end(&mut bytes)?;
        Ok(bytes.into())
    }
}

// Runs of Parquet's hybrid of run lengths and packed bits.

fn one_run(out: &mut Vec<u8>, count: u32, value: &[u8]) {
    varint(out, count << 1);
    out.extend_from_slice(value);
}

fn packed_run(out: &mut Vec<u8>, packed: &[u8], count: u32) {
    varint(out, count.div_ceil(8) << 1 | 1);
    out.extend_from_slice(packed);
}
