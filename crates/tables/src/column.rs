//! A table's columns and cells, whichever format they are written in.

/// What the cells of a column are, if not null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Text,
    Integer,
    Float,
    Flag,
}

impl Kind {
    /// As it is said outside.
    pub fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Integer => "integer",
            Self::Float => "float",
            Self::Flag => "boolean",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// With its unit.
    pub name: &'static str,
    pub kind: Kind,
    pub nullable: bool,
    /// What it means; lines are joined with spaces and have one before them.
    pub doc: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Table {
    pub name: &'static str,
    pub doc: &'static str,
    pub columns: &'static [Column],
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    Null,
    Text(&'a str),
    Integer(i64),
    Float(f64),
    Flag(bool),
}

/// A type that a column's cells can be made of.
pub(crate) trait Value<'a>: Copy + Into<Cell<'a>> {
    const KIND: Kind;
    const NULLABLE: bool = false;

    /// What stands in a page; of a text, what tells it from others. `None`: null.
    fn bits(self) -> Option<u64>;
}

/// A row's cells as words, zero for null, and which are null.
#[derive(Clone, Copy, Debug)]
pub struct Raw<const COLUMNS: usize> {
    pub(crate) bits: [u64; COLUMNS],
    pub(crate) nulls: u64,
}

impl<const COLUMNS: usize> Default for Raw<COLUMNS> {
    fn default() -> Self {
        Self {
            bits: [0; COLUMNS],
            nulls: 0,
        }
    }
}

impl<'a> Value<'a> for &'a str {
    const KIND: Kind = Kind::Text;

    fn bits(self) -> Option<u64> {
        Some(self.as_ptr().addr() as u64 ^ (self.len() as u64) << 48)
    }
}

impl Value<'_> for f64 {
    const KIND: Kind = Kind::Float;

    fn bits(self) -> Option<u64> {
        Some(self.to_bits())
    }
}

impl Value<'_> for u64 {
    const KIND: Kind = Kind::Integer;

    fn bits(self) -> Option<u64> {
        Some(self.min(i64::MAX as u64))
    }
}

impl Value<'_> for i64 {
    const KIND: Kind = Kind::Integer;

    fn bits(self) -> Option<u64> {
        Some(self as u64)
    }
}

impl Value<'_> for bool {
    const KIND: Kind = Kind::Flag;

    fn bits(self) -> Option<u64> {
        Some(self.into())
    }
}

impl<'a, T: Value<'a>> Value<'a> for Option<T> {
    const KIND: Kind = T::KIND;
    const NULLABLE: bool = true;

    fn bits(self) -> Option<u64> {
        self.and_then(T::bits)
    }
}

impl<'a> From<&'a str> for Cell<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl From<f64> for Cell<'_> {
    fn from(number: f64) -> Self {
        Self::Float(number)
    }
}

impl From<i64> for Cell<'_> {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

impl From<bool> for Cell<'_> {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

/// The tables' integers have a sign; what is past them is their largest.
impl From<u64> for Cell<'_> {
    fn from(number: u64) -> Self {
        Self::Integer(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl<'a, T: Into<Cell<'a>>> From<Option<T>> for Cell<'a> {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

/// Who takes columns from memory shows no documentation: a module for browsers is smaller without it.
pub(crate) const fn documented(doc: &'static str) -> &'static str {
    if cfg!(feature = "parquet") { doc } else { "" }
}

pub(crate) const fn index_of(columns: &[Column], name: &str) -> usize {
    let mut place = 0;
    while place < columns.len() {
        if is_same(columns[place].name.as_bytes(), name.as_bytes()) {
            return place;
        }
        place += 1;
    }
    panic!("no column of that name")
}

const fn is_same(one: &[u8], other: &[u8]) -> bool {
    let mut place = 0;
    while place < one.len() && place < other.len() && one[place] == other[place] {
        place += 1;
    }
    place == one.len() && place == other.len()
}

/// Defines a table by its row: the comment is the table's, each field is a column, an `Option` is one that may be null.
macro_rules! table {
    (
        $(#[doc = $doc:literal])+
        $row:ident in $name:literal {
            $($(#[doc = $column_doc:literal])+ $column:ident: $type:ty,)+
        }
    ) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct $row<'a> {
            $($(#[doc = $column_doc])+ pub $column: $type,)+
        }

        impl<'a> $row<'a> {
            pub const COLUMNS: [$crate::Column; [$(stringify!($column)),+].len()] = [
                $($crate::Column {
                    name: stringify!($column),
                    kind: <$type as $crate::column::Value>::KIND,
                    nullable: <$type as $crate::column::Value>::NULLABLE,
                    doc: $crate::column::documented(concat!($($column_doc),+)),
                },)+
            ];

            pub const TABLE: $crate::Table = $crate::Table {
                name: $name,
                doc: $crate::column::documented(concat!($($doc),+)),
                columns: &Self::COLUMNS,
            };

            /// The place of a column, which there is.
            #[allow(dead_code, reason = "not of every table")]
            pub(crate) const fn index_of(name: &str) -> usize {
                $crate::column::index_of(&Self::COLUMNS, name)
            }

            /// Its cells as words. Of a text it is where it lies and how long it is.
            #[inline(always)]
            #[allow(clippy::inline_always, reason = "most of a row is known where it is made")]
            #[allow(dead_code, reason = "not of every table")]
            pub fn raw(&self) -> $crate::Raw<{ [$(stringify!($column)),+].len() }> {
                let mut raw = $crate::Raw::default();
                let mut place = 0;
                $(
                    let cell = $crate::column::Value::bits(self.$column);
                    raw.bits[place] = cell.unwrap_or(0);
                    raw.nulls |= u64::from(cell.is_none()) << place;
                    place += 1;
                )+
                debug_assert_eq!(place, Self::COLUMNS.len());
                raw
            }

            /// In the order of the columns.
            pub fn cells(&self) -> [$crate::Cell<'a>; [$(stringify!($column)),+].len()] {
                [$(self.$column.into(),)+]
            }
        }
    };
}
pub(crate) use table;
