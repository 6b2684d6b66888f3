//! A table as Parquet, written while its rows come: memory holds one group of rows, however long the run.
//!
//! Most columns of a table take few values over and over, so each group's chunk of a column is a dictionary and run
//! lengths (Parquet's default), compressed by Snappy. Statistics of chunks are left out: nothing here selects by value.

use crate::column::{Cell, Column, Kind, Table};
use parquet::basic::{Compression, LogicalType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::types::Type;
use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::Arc;

/// Rows of a group: some 13 MB of the widest table.
const GROUP_ROWS: usize = 1 << 15;

pub struct Writer<W: Write + Send> {
    pub(crate) out: SerializedFileWriter<W>,
    columns: Vec<Chunk>,
    rows: usize,
}

/// A column's part of the group that is being gathered.
struct Chunk {
    values: Values,
    /// 1 where there is a value, 0 where there is none; empty as long as every row has one.
    levels: Vec<i16>,
}

enum Values {
    Text {
        values: Vec<ByteArray>,
        /// The group's texts: a handful, each many times.
        known: HashMap<Box<str>, ByteArray>,
    },
    Integer(Vec<i64>),
    Float(Vec<f64>),
    Flag(Vec<bool>),
}

impl<W: Write + Send> Writer<W> {
    pub fn create(out: W, table: &Table) -> io::Result<Self> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_statistics_enabled(EnabledStatistics::None)
            .set_offset_index_disabled(true)
            .build();
        let schema = schema(table.columns).map_err(plain)?;
        Ok(Self {
            out: SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties))
                .map_err(plain)?,
            columns: table
                .columns
                .iter()
                .map(|column| Chunk::new(column.kind))
                .collect(),
            rows: 0,
        })
    }

    /// The cells stand in the order of the columns and are of their kinds.
    pub fn row(&mut self, cells: &[Cell<'_>]) -> io::Result<()> {
        assert_eq!(cells.len(), self.columns.len(), "a cell for each column");
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            column.push(*cell, self.rows);
        }
        self.rows += 1;
        if self.rows == GROUP_ROWS {
            self.write_group()?;
        }
        Ok(())
    }

    /// Ends the table, and gives back what it was written to.
    pub fn finish(mut self) -> io::Result<W> {
        if self.rows > 0 {
            self.write_group()?;
        }
        self.out.into_inner().map_err(plain)
    }

    fn write_group(&mut self) -> io::Result<()> {
        let mut write = || -> Result<(), ParquetError> {
            let mut group = self.out.next_row_group()?;
            for column in &mut self.columns {
                let Some(mut out) = group.next_column()? else {
                    break;
                };
                column.write(&mut out, self.rows)?;
                out.close()?;
                column.clear();
            }
            group.close().map(drop)
        };
        write().map_err(plain)?;
        self.rows = 0;
        Ok(())
    }
}

impl Chunk {
    fn new(kind: Kind) -> Self {
        Self {
            values: match kind {
                Kind::Text => Values::Text {
                    values: Vec::new(),
                    known: HashMap::new(),
                },
                Kind::Integer => Values::Integer(Vec::new()),
                Kind::Float => Values::Float(Vec::new()),
                Kind::Flag => Values::Flag(Vec::new()),
            },
            levels: Vec::new(),
        }
    }

    /// Adds the cell of the group's row number `row`.
    fn push(&mut self, cell: Cell<'_>, row: usize) {
        match (&mut self.values, cell) {
            (_, Cell::Null) => {
                self.levels.resize(row, 1);
                self.levels.push(0);
                return;
            }
            (Values::Text { values, known }, Cell::Text(text)) => {
                if let Some(before) = values.last()
                    && before.data() == text.as_bytes()
                {
                    values.push(before.clone());
                } else if let Some(before) = known.get(text) {
                    values.push(before.clone());
                } else {
                    let value = ByteArray::from(text);
                    known.insert(text.into(), value.clone());
                    values.push(value);
                }
            }
            (Values::Integer(values), Cell::Integer(number)) => values.push(number),
            (Values::Float(values), Cell::Float(number)) => values.push(number),
            (Values::Flag(values), Cell::Flag(flag)) => values.push(flag),
            (_, cell) => unreachable!("{cell:?} in a column of another kind"),
        }
        if !self.levels.is_empty() {
            self.levels.push(1);
        }
    }

    fn write(
        &mut self,
        out: &mut SerializedColumnWriter<'_>,
        rows: usize,
    ) -> Result<(), ParquetError> {
        self.levels.resize(rows, 1);
        let levels = Some(self.levels.as_slice());
        match &self.values {
            Values::Text { values, .. } => out
                .typed::<ByteArrayType>()
                .write_batch(values, levels, None),
            Values::Integer(values) => out.typed::<Int64Type>().write_batch(values, levels, None),
            Values::Float(values) => out.typed::<DoubleType>().write_batch(values, levels, None),
            Values::Flag(values) => out.typed::<BoolType>().write_batch(values, levels, None),
        }
        .map(drop)
    }

    fn clear(&mut self) {
        self.levels.clear();
        match &mut self.values {
            Values::Text { values, known } => {
                values.clear();
                known.clear();
            }
            Values::Integer(values) => values.clear(),
            Values::Float(values) => values.clear(),
            Values::Flag(values) => values.clear(),
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
            let expected = cells(row).map(|cell| match cell {
                Cell::Null => Field::Null,
                Cell::Text(text) => Field::Str(text.into()),
                Cell::Integer(number) => Field::Long(number),
                Cell::Float(number) => Field::Double(number),
                Cell::Flag(flag) => Field::Bool(flag),
            });
            assert!(values.eq(expected), "{row}: {found}");
            rows += 1;
        }
        assert_eq!(rows, ROWS);
    }
}
