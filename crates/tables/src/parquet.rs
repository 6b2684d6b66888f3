//! A table as Parquet, written while its rows come: memory holds one group of rows, however long the run.
//!
//! Texts are a dictionary of each group's. Numbers are LZ4 blocks in which only the bytes stand that differ from two rows
//! before: of a counter that is one or two, and rows of the two pipes take turns. Statistics of chunks are left out: nothing
//! here selects by value.

use crate::column::{Cell, Column, Kind, Table};
use crate::pages::{Chunk, column::Column as Numbers, masks};
use parquet::basic::{LogicalType, Repetition, Type as Physical};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::Type;
use std::collections::HashMap;
use std::io::{self, BufWriter, Write};
use std::sync::Arc;

/// Rows of a group.
const GROUP_ROWS: usize = 1 << 15;
/// What goes to the file at once: many small writes cost more.
const BUFFER_BYTES: usize = 1 << 18;
/// Rows come one by one and go to their columns so many at once: each column is then found in the processor's cache.
const ROWS_AT_ONCE: usize = 64;

pub struct Writer<W: Write + Send> {
    pub(crate) out: SerializedFileWriter<BufWriter<W>>,
    columns: Vec<Gathered>,
    kinds: Vec<Kind>,
    /// Cells of the latest rows, which are not in the columns yet: of a text its number.
    latest: Vec<u64>,
    /// Of each row of the group, which of its cells are null.
    nulls: Vec<u64>,
}

/// A column's part of the group that is being gathered.
struct Gathered {
    nulls: u32,
    values: Values,
}

enum Values {
    Texts {
        codes: Vec<u32>,
        texts: Vec<Box<str>>,
        known: HashMap<Box<str>, u32>,
        /// The number of the latest one.
        latest: u32,
    },
    Numbers {
        column: Numbers,
        count: usize,
        /// The last but one and the last.
        latest: [u64; 2],
    },
    Flags(Vec<bool>),
}

impl<W: Write + Send> Writer<W> {
    pub fn create(out: W, table: &Table) -> io::Result<Self> {
        assert!(
            table.columns.len() <= 64,
            "a word has a bit for each column"
        );
        let properties = WriterProperties::builder().build();
        let schema = schema(table.columns).map_err(plain)?;
        let out = BufWriter::with_capacity(BUFFER_BYTES, out);
        Ok(Self {
            out: SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties))
                .map_err(plain)?,
            columns: table
                .columns
                .iter()
                .map(|column| Gathered::new(column.kind))
                .collect(),
            kinds: table.columns.iter().map(|column| column.kind).collect(),
            latest: Vec::new(),
            nulls: Vec::new(),
        })
    }

    /// The cells stand in the order of the columns and are of their kinds.
    pub fn row(&mut self, cells: &[Cell<'_>]) -> io::Result<()> {
        assert_eq!(cells.len(), self.columns.len(), "a cell for each column");
        let mut nulls = 0;
        for (place, (kind, cell)) in self.kinds.iter().zip(cells).enumerate() {
            let bits = match (kind, *cell) {
                (_, Cell::Null) => {
                    nulls |= 1 << place;
                    0
                }
                (Kind::Text, Cell::Text(text)) => self.columns[place].code(text).into(),
                (Kind::Integer, Cell::Integer(number)) => number as u64,
                (Kind::Float, Cell::Float(number)) => number.to_bits(),
                (Kind::Flag, Cell::Flag(flag)) => flag.into(),
                (_, cell) => unreachable!("{cell:?} in a column of another kind"),
            };
            self.latest.push(bits);
        }
        self.nulls.push(nulls);
        if self.latest.len() == ROWS_AT_ONCE * self.columns.len() {
            self.take_latest();
        }
        if self.nulls.len() == GROUP_ROWS {
            self.write_group()?;
        }
        Ok(())
    }

    /// The latest rows go to their columns.
    fn take_latest(&mut self) {
        let columns = self.columns.len();
        let first = self.nulls.len() - self.latest.len() / columns;
        for (place, column) in self.columns.iter_mut().enumerate() {
            let cells = self.latest.iter().skip(place).step_by(columns);
            for (bits, nulls) in cells.zip(&self.nulls[first..]) {
                if nulls >> place & 1 == 1 {
                    column.nulls += 1;
                } else {
                    column.push(*bits);
                }
            }
        }
        self.latest.clear();
    }

    /// Ends the table, and gives back what it was written to.
    pub fn finish(mut self) -> io::Result<W> {
        if !self.nulls.is_empty() {
            self.write_group()?;
        }
        let out = self.out.into_inner().map_err(plain)?;
        out.into_inner().map_err(io::IntoInnerError::into_error)
    }

    fn write_group(&mut self) -> io::Result<()> {
        self.take_latest();
        let rows = self.nulls.len() as u32;
        let schema = self.out.schema_descr();
        let about: Vec<_> = (0..self.columns.len())
            .map(|place| schema.column(place))
            .collect();
        let some_null = |place: &usize| (1..rows).contains(&self.columns[*place].nulls);
        let partly: Vec<usize> = (0..self.columns.len()).filter(some_null).collect();
        let mut valid = masks::valid(&self.nulls, |nulls| *nulls, &partly).into_iter();
        let write = || -> Result<(), ParquetError> {
            let mut group = self.out.next_row_group()?;
            for (column, about) in self.columns.iter_mut().zip(about) {
                let valid = || valid.next().unwrap_or_default();
                let mut chunk = Chunk::new(rows, column.nulls, valid);
                let block = column.write(&mut chunk);
                chunk.append_to(&mut group, about, block)?;
                column.clear();
            }
            group.close().map(drop)
        };
        write().map_err(plain)?;
        self.nulls.clear();
        Ok(())
    }
}

impl Gathered {
    fn new(kind: Kind) -> Self {
        let values = match kind {
            Kind::Text => Values::Texts {
                codes: Vec::new(),
                texts: Vec::new(),
                known: HashMap::new(),
                latest: 0,
            },
            Kind::Integer | Kind::Float => Values::Numbers {
                column: Numbers::default(),
                count: 0,
                latest: [0; 2],
            },
            Kind::Flag => Values::Flags(Vec::new()),
        };
        Self { nulls: 0, values }
    }

    /// The number of a text of this column.
    fn code(&mut self, text: &str) -> u32 {
        let Values::Texts {
            latest,
            texts,
            known,
            ..
        } = &mut self.values
        else {
            unreachable!("a column of texts");
        };
        let is_latest = texts.get(*latest as usize).is_some_and(|it| **it == *text);
        if !is_latest {
            *latest = known.get(text).copied().unwrap_or_else(|| {
                let code = texts.len() as u32;
                texts.push(text.into());
                known.insert(text.into(), code);
                code
            });
        }
        *latest
    }

    #[inline]
    fn push(&mut self, bits: u64) {
        match &mut self.values {
            Values::Texts { codes, .. } => codes.push(bits as u32),
            Values::Flags(values) => values.push(bits == 1),
            Values::Numbers {
                column,
                count,
                latest,
            } => {
                if *count < 2 {
                    column.gain(*count, bits);
                } else if bits != latest[0] {
                    column.change(*count, bits, latest[0]);
                }
                *count += 1;
                *latest = [latest[1], bits];
            }
        }
    }

    /// The chunk, but for the block at its end.
    fn write(&mut self, chunk: &mut Chunk) -> &[u8] {
        match &mut self.values {
            Values::Texts { codes, texts, .. } => {
                match texts.len() {
                    0 => chunk.numbers(&[], 0),
                    1 => chunk.one_text(texts, 0),
                    _ => chunk.texts(texts, |width| masks::packed(codes, |code| *code, width)),
                }
                &[]
            }
            Values::Numbers {
                column,
                count,
                latest,
            } => {
                let block = column.finish(*count, (*count > 0).then_some(latest[1]));
                chunk.numbers(block, *count);
                block
            }
            Values::Flags(values) => {
                chunk.flags(&masks::packed(values, |flag| u32::from(*flag), 1));
                &[]
            }
        }
    }

    fn clear(&mut self) {
        self.nulls = 0;
        match &mut self.values {
            Values::Texts {
                codes,
                texts,
                known,
                ..
            } => {
                codes.clear();
                texts.clear();
                known.clear();
            }
            Values::Numbers { column, count, .. } => {
                column.clear();
                *count = 0;
            }
            Values::Flags(values) => values.clear(),
        }
    }
}

fn schema(columns: &[Column]) -> Result<Type, ParquetError> {
    let field = |column: &Column| {
        let (physical, logical) = match column.kind {
            Kind::Text => (Physical::BYTE_ARRAY, Some(LogicalType::String)),
            Kind::Integer => (Physical::INT64, None),
            Kind::Float => (Physical::DOUBLE, None),
            Kind::Flag => (Physical::BOOLEAN, None),
        };
        Type::primitive_type_builder(column.name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_logical_type(logical)
            .build()
            .map(Arc::new)
    };
    let fields = columns.iter().map(field).collect::<Result<Vec<_>, _>>()?;
    Type::group_type_builder("table")
        .with_fields(fields)
        .build()
}

/// The file's own error where there is one: a full disk is known by its number.
pub(crate) fn plain(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(inner) => match inner.downcast::<io::Error>() {
            Ok(of_file) => *of_file,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column::table;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;
    use proptest::prelude::*;

    table! {
        /// Of all kinds.
        Mixed in "mixed" {
            /// one or other
            name: &'a str,
            /// some
            number: Option<i64>,
            /// at first
            seconds: Option<f64>,
            /// every second
            odd: bool,
        }
    }
    const ROWS: i64 = GROUP_ROWS as i64 + 1000;

    fn cells(row: i64) -> [Cell<'static>; 4] {
        let mixed = Mixed {
            name: ["one", "other"][row as usize % 2],
            number: (row % 3 > 0).then_some(row),
            seconds: (row < ROWS / 2).then_some(row as f64 / 2.0),
            odd: row % 2 == 1,
        };
        mixed.cells()
    }

    /// Of what rows the tables are read back.
    fn read(file: Vec<u8>) -> Vec<Vec<Field>> {
        let reader = SerializedFileReader::new(bytes::Bytes::from(file)).expect("a Parquet file");
        let row = |row: Result<parquet::record::Row, ParquetError>| {
            let row = row.expect("a row");
            row.get_column_iter()
                .map(|(_, value)| value.clone())
                .collect()
        };
        reader.get_row_iter(None).expect("rows").map(row).collect()
    }

    fn field(cell: Cell<'_>) -> Field {
        match cell {
            Cell::Null => Field::Null,
            Cell::Text(text) => Field::Str(text.into()),
            Cell::Integer(number) => Field::Long(number),
            Cell::Float(number) => Field::Double(number),
            Cell::Flag(flag) => Field::Bool(flag),
        }
    }

    proptest! {
        #[test]
        fn any_rows_are_read_back(
            rows in prop::collection::vec(
                (
                    prop_oneof!["[a-c]{0,2}", "[a-z]{3}"],
                    prop::option::of(prop_oneof![any::<i64>(), 0..3_i64]),
                    prop::option::of(-2.0..2.0),
                    any::<bool>(),
                ),
                0..200,
            )
        ) {
            let row = |(name, number, seconds, odd): &'_ (String, Option<i64>, Option<f64>, bool)| {
                let row = Mixed { name, number: *number, seconds: *seconds, odd: *odd };
                row.cells().map(field).to_vec()
            };
            let expected: Vec<Vec<Field>> = rows.iter().map(row).collect();
            let mut table = Writer::create(Vec::new(), &Mixed::TABLE).expect("a Vec takes all");
            for (name, number, seconds, odd) in &rows {
                let row = Mixed { name, number: *number, seconds: *seconds, odd: *odd };
                table.row(&row.cells()).expect("a Vec takes all");
            }
            prop_assert_eq!(read(table.finish().expect("a Vec takes all")), expected);
        }
    }

    #[test]
    fn many_texts_are_read_back() {
        for count in [1, 3, 17, 300, GROUP_ROWS] {
            let mut table = Writer::create(Vec::new(), &Mixed::TABLE).expect("a Vec takes all");
            let names: Vec<String> = (0..count).map(|number| number.to_string()).collect();
            for name in &names {
                let row = Mixed {
                    name,
                    number: None,
                    seconds: None,
                    odd: false,
                };
                table.row(&row.cells()).expect("a Vec takes all");
            }
            let found = read(table.finish().expect("a Vec takes all"));
            assert_eq!(found.len(), count);
            for (found, name) in found.iter().zip(&names) {
                assert_eq!(found[0], Field::Str(name.clone()));
            }
        }
    }

    #[test]
    fn what_is_written_in_groups_is_read_back_row_by_row() {
        let mut file = Vec::new();
        let mut table = Writer::create(&mut file, &Mixed::TABLE).expect("a Vec takes all");
        for row in 0..ROWS {
            table.row(&cells(row)).expect("a Vec takes all");
        }
        table.finish().expect("a Vec takes all");
        let reader = SerializedFileReader::new(bytes::Bytes::from(file)).expect("a Parquet file");
        assert_eq!(reader.metadata().num_row_groups(), 2);
        let mut rows = 0;
        for (found, row) in reader.get_row_iter(None).expect("rows").zip(0..) {
            let found = found.expect("a row");
            let values = found.get_column_iter().map(|(_, value)| value.clone());
            let expected = cells(row).map(field);
            assert!(values.eq(expected), "{row}: {found}");
            rows += 1;
        }
        assert_eq!(rows, ROWS);
    }
}
