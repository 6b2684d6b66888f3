//! A group of rows as Parquet's pages (<https://parquet.apache.org/docs/file-format/data-pages/>): of each column one data
//! page of version 2, before it a dictionary if it is of texts.

use super::column::Column;
use super::lz4;
use super::{COLUMNS, TIME};
use crate::column::{Cell, Kind, Raw};
use crate::{Socket, parquet};
use ::parquet::basic::{Compression, Encoding};
use ::parquet::column::page::{CompressedPage, Page, PageWriter as _};
use ::parquet::column::writer::ColumnCloseResult;
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::ColumnChunkMetaData;
use ::parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use ::parquet::schema::types::ColumnDescPtr;
use bytes::Bytes;
use std::io::{self, Write};

/// Bits of a text's or a flag's number.
const CODE_BITS: usize = 8;

/// The columns of texts and flags: a number for each different value, all of a row's in one word.
#[derive(Debug)]
pub(super) struct Codes {
    /// The columns that have none, but for the time.
    pub values: u64,
    pub rows: Vec<u64>,
    /// Of each column that has: its place, the texts that were seen, and where they lay.
    columns: Vec<Coded>,
}

#[derive(Debug)]
struct Coded {
    place: usize,
    texts: Vec<Box<str>>,
    known: Vec<(u64, u8)>,
}

impl Default for Codes {
    fn default() -> Self {
        let coded = |place: &usize| matches!(Socket::COLUMNS[*place].kind, Kind::Text | Kind::Flag);
        let places: Vec<usize> = (0..COLUMNS).filter(coded).collect();
        assert!(places.len() * CODE_BITS <= 64, "a word holds a row's codes");
        let all = ((1 << COLUMNS) - 1) & !(1 << TIME);
        Self {
            values: places.iter().fold(all, |mask, place| mask & !(1 << place)),
            rows: Vec::new(),
            columns: places
                .into_iter()
                .map(|place| Coded {
                    place,
                    texts: Vec::new(),
                    known: Vec::new(),
                })
                .collect(),
        }
    }
}

impl Codes {
    /// Of a row, which has a value in each of these columns.
    pub fn of(&mut self, raw: &Raw<COLUMNS>, row: &Socket<'_>) -> u64 {
        let mut codes = 0;
        for (number, column) in self.columns.iter_mut().enumerate() {
            let bits = raw.bits[column.place];
            let known = column.known.iter().find(|(at, _)| *at == bits);
            let code = match known {
                Some((_, code)) => *code,
                None => column.learn(bits, row),
            };
            codes |= u64::from(code) << (number * CODE_BITS);
        }
        codes
    }
}

impl Coded {
    #[cold]
    fn learn(&mut self, bits: u64, row: &Socket<'_>) -> u8 {
        let code = match row.cells()[self.place] {
            Cell::Text(text) => {
                let seen = self.texts.iter().position(|it| **it == *text);
                seen.unwrap_or_else(|| {
                    self.texts.push(text.into());
                    self.texts.len() - 1
                })
            }
            Cell::Flag(flag) => usize::from(flag),
            cell => unreachable!("{cell:?} in a column of texts or flags"),
        };
        let code = u8::try_from(code).expect("a socket's texts are few");
        self.known.push((bits, code));
        code
    }
}

pub(super) fn write_group<W: Write + Send>(
    file: &mut parquet::Writer<W>,
    columns: &mut [Column],
    codes: &mut Codes,
    rows: u32,
    last_two: impl Fn(usize) -> Option<[u64; 2]>,
) -> io::Result<()> {
    let schema = file.out.schema_descr();
    let describe: Vec<ColumnDescPtr> = (0..COLUMNS).map(|place| schema.column(place)).collect();
    let first = codes.rows.first().copied().unwrap_or_default();
    let varies = codes.rows.iter().fold(0, |mask, row| mask | (row ^ first));
    let write = || -> Result<(), ParquetError> {
        let mut group = file.out.next_row_group()?;
        for (place, about) in describe.into_iter().enumerate() {
            let mut chunk = Chunk::new(rows);
            if let Some(number) = codes.columns.iter().position(|it| it.place == place) {
                let coded = &codes.columns[number];
                let of = |row: &u64| (row >> (number * CODE_BITS)) as u8;
                let is_same = of(&varies) == 0;
                if Socket::COLUMNS[place].kind == Kind::Flag {
                    let levels = levels(rows, &[]);
                    chunk.data(
                        Encoding::PLAIN,
                        &levels,
                        &packed(codes.rows.iter().map(of), 1),
                    )?;
                } else if is_same {
                    chunk.one_text(&coded.texts, of(&first))?;
                } else {
                    chunk.texts(&coded.texts, codes.rows.iter().map(of))?;
                }
            } else {
                let levels = levels(rows, &columns[place].nulls);
                chunk.nulls = columns[place].nulls.len() as u32;
                let (block, values) = columns[place].finish(rows, last_two(place));
                chunk.compressed(&levels, block, values * 8)?;
                columns[place].clear();
            }
            let (bytes, close) = chunk.close(about)?;
            group.append_column(&bytes, close)?;
        }
        group.close().map(drop)
    };
    write().map_err(parquet::plain)?;
    codes.rows.clear();
    Ok(())
}

/// A column chunk, encoded.
struct Chunk {
    out: TrackedWrite<Vec<u8>>,
    rows: u32,
    nulls: u32,
    dictionary_bytes: Option<usize>,
    encodings: Vec<Encoding>,
    compressed_bytes: usize,
    uncompressed_bytes: usize,
}

impl Chunk {
    fn new(rows: u32) -> Self {
        Self {
            out: TrackedWrite::new(Vec::new()),
            rows,
            nulls: 0,
            dictionary_bytes: None,
            encodings: vec![Encoding::RLE],
            compressed_bytes: 0,
            uncompressed_bytes: 0,
        }
    }

    fn page(&mut self, page: Page, uncompressed: usize) -> Result<(), ParquetError> {
        let mut writer = SerializedPageWriter::new(&mut self.out);
        let written = writer.write_page(CompressedPage::new(page, uncompressed))?;
        self.compressed_bytes += written.compressed_size;
        self.uncompressed_bytes += written.uncompressed_size;
        Ok(())
    }

    fn data_page(
        &mut self,
        encoding: Encoding,
        levels: &[u8],
        values: &[u8],
        is_compressed: bool,
        uncompressed: usize,
    ) -> Result<(), ParquetError> {
        self.encodings.push(encoding);
        let page = Page::DataPageV2 {
            buf: [levels, values].concat().into(),
            num_values: self.rows,
            encoding,
            num_nulls: self.nulls,
            num_rows: self.rows,
            def_levels_byte_len: levels.len() as u32,
            rep_levels_byte_len: 0,
            is_compressed,
            statistics: None,
        };
        self.page(page, levels.len() + uncompressed)
    }

    fn data(
        &mut self,
        encoding: Encoding,
        levels: &[u8],
        values: &[u8],
    ) -> Result<(), ParquetError> {
        self.data_page(encoding, levels, values, false, values.len())
    }

    fn compressed(
        &mut self,
        levels: &[u8],
        block: &[u8],
        uncompressed: usize,
    ) -> Result<(), ParquetError> {
        if uncompressed == 0 {
            return self.data(Encoding::PLAIN, levels, &[]);
        }
        self.data_page(Encoding::PLAIN, levels, block, true, uncompressed)
    }

    fn texts(
        &mut self,
        texts: &[Box<str>],
        codes: impl ExactSizeIterator<Item = u8>,
    ) -> Result<(), ParquetError> {
        self.dictionary(texts)?;
        let width = match texts.len() {
            0..=2 => 1,
            3..=4 => 2,
            5..=16 => 4,
            _ => 8,
        };
        let levels = levels(self.rows, &[]);
        let mut values = vec![width as u8];
        packed_run(&mut values, &packed(codes, width), self.rows);
        self.data(Encoding::RLE_DICTIONARY, &levels, &values)
    }

    /// The same text in every row.
    fn one_text(&mut self, texts: &[Box<str>], code: u8) -> Result<(), ParquetError> {
        self.dictionary(texts)?;
        let mut values = vec![CODE_BITS as u8];
        varint(&mut values, self.rows << 1);
        values.push(code);
        self.data(Encoding::RLE_DICTIONARY, &levels(self.rows, &[]), &values)
    }

    fn dictionary(&mut self, texts: &[Box<str>]) -> Result<(), ParquetError> {
        let mut dictionary = Vec::new();
        for text in texts {
            dictionary.extend((text.len() as u32).to_le_bytes());
            dictionary.extend(text.as_bytes());
        }
        let mut block = Vec::new();
        lz4::last_literals(&mut block, &dictionary);
        let page = Page::DictionaryPage {
            buf: block.into(),
            num_values: texts.len() as u32,
            encoding: Encoding::PLAIN,
            is_sorted: false,
        };
        self.encodings.push(Encoding::PLAIN);
        self.page(page, dictionary.len())?;
        self.dictionary_bytes = Some(self.out.bytes_written());
        Ok(())
    }

    fn close(self, about: ColumnDescPtr) -> Result<(Bytes, ColumnCloseResult), ParquetError> {
        let rows = u64::from(self.rows);
        let metadata = ColumnChunkMetaData::builder(about)
            .set_compression(Compression::LZ4_RAW)
            .set_encodings(self.encodings)
            .set_num_values(i64::from(self.rows))
            .set_total_compressed_size(self.compressed_bytes as i64)
            .set_total_uncompressed_size(self.uncompressed_bytes as i64)
            .set_data_page_offset(self.dictionary_bytes.unwrap_or(0) as i64)
            .set_dictionary_page_offset(self.dictionary_bytes.map(|_| 0))
            .build()?;
        let bytes = self.out.into_inner()?;
        let close = ColumnCloseResult {
            bytes_written: bytes.len() as u64,
            rows_written: rows,
            metadata,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        Ok((bytes.into(), close))
    }
}

/// Whether each row has a value: runs of one bit each (Parquet's hybrid of run lengths and packed bits).
fn levels(rows: u32, nulls: &[u32]) -> Vec<u8> {
    let mut levels = Vec::new();
    if nulls.is_empty() || nulls.len() as u32 == rows {
        varint(&mut levels, rows << 1);
        levels.push(u8::from(nulls.is_empty()));
        return levels;
    }
    let mut bits = vec![0xff; rows.div_ceil(8) as usize];
    for row in nulls {
        bits[*row as usize / 8] &= !(1 << (row % 8));
    }
    packed_run(&mut levels, &bits, rows);
    levels
}

fn packed_run(out: &mut Vec<u8>, packed: &[u8], count: u32) {
    varint(out, count.div_ceil(8) << 1 | 1);
    out.extend_from_slice(packed);
}

/// Codes of 1, 2, 4 or 8 bits, lowest first, to a multiple of eight codes.
fn packed(codes: impl ExactSizeIterator<Item = u8>, width: usize) -> Vec<u8> {
    let per_byte = 8 / width;
    let mut out = vec![0; codes.len().div_ceil(8) * width];
    for (number, code) in codes.enumerate() {
        out[number / per_byte] |= code << (number % per_byte * width);
    }
    out
}

/// ULEB128.
fn varint(out: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}
