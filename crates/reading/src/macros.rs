//! Macros that implement [`crate::Read`] and `serde::Deserialize` for a type from a list of what it has.

/// A struct. All its fields have to be listed. `default` behind its name: each field that is absent is as in the struct's
/// default. `= default` behind a field: it may be absent, and is then blank. An `Option` may always be absent.
///
/// ```
/// # #[derive(Debug, Default, PartialEq)]
/// pub struct Policer {
///     pub rate_bit_s: u64,
///     pub burst_bytes: Option<u64>,
///     pub ecn: bool,
/// }
/// bentpipe_reading::read_struct!(Policer { rate_bit_s, burst_bytes, ecn = default });
/// let policer: Policer = serde_json::from_str(r#"{ "rate_bit_s": 8000 }"#).unwrap();
/// assert_eq!(policer.rate_bit_s, 8000);
/// ```
#[macro_export]
macro_rules! read_struct {
    ($type:ident default { $($field:ident),* $(,)? }) => {
        $crate::read_struct!(@read $type, <Self as Default>::default(), { $($field true,)* });
    };
    ($type:ident { $($field:ident $(= $default:ident)?),* $(,)? }) => {
        $crate::read_struct!(
            @read $type,
            Self { $($field: $crate::Read::blank()),* },
            { $($field $crate::read_struct!(@absent $($default)?),)* }
        );
    };
    (@absent) => { false };
    (@absent default) => { true };
    (@read $type:ident, $blank:expr, { $($field:ident $absent:expr,)* }) => {
        impl $crate::Read for $type {
            fn blank() -> Self {
                $blank
            }

            fn read(&mut self, value: &$crate::Value) -> Result<(), $crate::Fault> {
                $crate::ReadBeside::read_beside(self, value, None)
            }
        }

        impl $crate::ReadBeside for $type {
            fn read_beside(&mut self, value: &$crate::Value, tag: Option<&str>) -> Result<(), $crate::Fault> {
                const KNOWN: &[$crate::Field] = &[$((stringify!($field), $absent)),*];
                let Self { $($field),* } = self;
                $crate::fields(value, tag, KNOWN, &mut [$($field),*])
            }
        }

        $crate::read_struct!(@serde $type);
    };
    (@serde $type:ident) => {
        impl<'de> $crate::serde::Deserialize<'de> for $type {
            fn deserialize<D: $crate::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                $crate::deserialize(deserializer)
            }
        }
    };
}

/// An enum whose variant is named under a key of its table: `Type, "key", blank, { "name" => Variant { fields } }`. A variant that
/// is a struct of its own is `Variant(Struct)`.
#[macro_export]
macro_rules! read_tagged {
    ($type:ident, $tag:literal, $blank:expr, { $($name:literal => $variant:ident $content:tt),* $(,)? }) => {
        impl $crate::Read for $type {
            fn blank() -> Self {
                $blank
            }

            fn read(&mut self, value: &$crate::Value) -> Result<(), $crate::Fault> {
                let place = $crate::tag(value, $tag, &[$($name),*])?;
                let mut places = 0..;
                $(if places.next() == Some(place) {
                    $crate::read_tagged!(@variant self, value, $tag, $variant $content);
                })*
                Ok(())
            }
        }

        $crate::read_struct!(@serde $type);
    };
    (@variant $self:ident, $value:ident, $tag:literal, $variant:ident { $($field:ident),* }) => {
        const FIELDS: &[$crate::Field] = &[$((stringify!($field), false)),*];
        $(let mut $field = $crate::Read::blank();)*
        $crate::fields($value, Some($tag), FIELDS, &mut [$(&mut $field),*])?;
        *$self = Self::$variant { $($field),* };
    };
    (@variant $self:ident, $value:ident, $tag:literal, $variant:ident ($struct:ident)) => {
        let mut read = <$struct as $crate::Read>::blank();
        $crate::ReadBeside::read_beside(&mut read, $value, Some($tag))?;
        *$self = Self::$variant(read);
    };
}

/// An enum whose variants are words, or tables of one word and one value: `Type { "word" => Variant, "word" => Variant(value) }`. It is
/// blank as the first one, which is a word.
#[macro_export]
macro_rules! read_variants {
    ($type:ident { $first:literal => $blank:ident, $($name:literal => $variant:ident($content:ident)),* $(,)? }) => {
        impl $crate::Read for $type {
            fn blank() -> Self {
                Self::$blank
            }

            fn read(&mut self, value: &$crate::Value) -> Result<(), $crate::Fault> {
                let (place, content) = $crate::variant(value, &[$first, $($name),*])?;
                let mut places = 1..;
                *self = Self::$blank;
                $(if places.next() == Some(place) {
                    let mut $content = $crate::Read::blank();
                    $crate::Read::read(&mut $content, content).map_err(|fault| fault.within($name))?;
                    *self = Self::$variant($content);
                })*
                Ok(())
            }
        }

        $crate::read_struct!(@serde $type);
    };
}

/// An enum of words. It is blank as the first one.
#[macro_export]
macro_rules! read_words {
    ($type:ident { $($name:literal => $variant:ident),* $(,)? }) => {
        impl $crate::Read for $type {
            fn blank() -> Self {
                [$(Self::$variant),*][0]
            }

            fn read(&mut self, value: &$crate::Value) -> Result<(), $crate::Fault> {
                *self = [$(Self::$variant),*][$crate::word(value, &[$($name),*])?];
                Ok(())
            }
        }

        $crate::read_struct!(@serde $type);
    };
}

/// A struct around one value, which is read as that value.
#[macro_export]
macro_rules! read_as {
    ($type:ident($inner:ty)) => {
        impl $crate::Read for $type {
            fn blank() -> Self {
                Self($crate::Read::blank())
            }

            fn read(&mut self, value: &$crate::Value) -> Result<(), $crate::Fault> {
                $crate::Read::read(&mut self.0, value)
            }
        }

        $crate::read_struct!(@serde $type);
    };
}
