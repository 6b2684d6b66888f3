//! A table's columns and cells, whichever format they are written in.

/// What the cells of a column are, if not null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Text,
    Integer,
    Float,
    Flag,
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
}

impl<'a> Value<'a> for &'a str {
    const KIND: Kind = Kind::Text;
}

impl Value<'_> for f64 {
    const KIND: Kind = Kind::Float;
}

impl Value<'_> for u64 {
    const KIND: Kind = Kind::Integer;
}

impl Value<'_> for i64 {
    const KIND: Kind = Kind::Integer;
}

impl Value<'_> for bool {
    const KIND: Kind = Kind::Flag;
}

impl<'a, T: Value<'a>> Value<'a> for Option<T> {
    const KIND: Kind = T::KIND;
    const NULLABLE: bool = true;
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
                    doc: concat!($($column_doc),+),
                },)+
            ];

            pub const TABLE: $crate::Table = $crate::Table {
                name: $name,
                doc: concat!($($doc),+),
                columns: &Self::COLUMNS,
            };

            /// In the order of the columns.
            pub fn cells(&self) -> [$crate::Cell<'a>; [$(stringify!($column)),+].len()] {
                [$(self.$column.into(),)+]
            }
        }
    };
}
pub(crate) use table;
