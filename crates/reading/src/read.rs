//! The trait of what is read, and the functions that the macros' readers share.

use crate::fault::listed;
use crate::{Fault, Value};
use serde::de::{Deserializer, Error};

/// What can be read from a [`Value`]. It is written in place, so that a struct is read without knowing its fields' types.
pub trait Read {
    /// What a field has before it is read, and after it where it is not given but may be absent.
    fn blank() -> Self
    where
        Self: Sized;

    /// Reads it. What it is after an error has no meaning.
    fn read(&mut self, value: &Value) -> Result<(), Fault>;

    /// Whether a field of this type may be absent in any struct.
    fn may_be_absent(&self) -> bool {
        false
    }

    fn from_value(value: &Value) -> Result<Self, Fault>
    where
        Self: Sized,
    {
        let mut read = Self::blank();
        read.read(value)?;
        Ok(read)
    }
}

/// A struct whose table may have one key more, the tag of the enum that it is a variant of.
pub trait ReadBeside: Read {
    fn read_beside(&mut self, value: &Value, tag: Option<&str>) -> Result<(), Fault>;
}

/// Reads `T` from any format.
pub fn deserialize<'de, T: Read, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error> {
    let value: Value = serde::Deserialize::deserialize(deserializer)?;
    T::from_value(&value).map_err(D::Error::custom)
}

/// A field of a struct: its name, and whether it may be absent.
pub type Field = (&'static str, bool);

/// Reads a table into the places of a struct's fields. Each of its keys but `tag` has to be one of them.
pub fn fields(
    value: &Value,
    tag: Option<&str>,
    known: &[Field],
    places: &mut [&mut dyn Read],
) -> Result<(), Fault> {
    let Value::Table(entries) = value else {
        return Err(Fault::expected("a table", value));
    };
    debug_assert!(known.len() <= u64::BITS as usize, "a bit for each field");
    let mut given = 0_u64;
    for (name, value) in entries {
        if tag == Some(name) {
            continue;
        }
        let Some(place) = known.iter().position(|field| field.0 == name) else {
            return Err(unknown(name, known));
        };
        if given & (1 << place) != 0 {
            return Err(Fault::new(["duplicate field `", name, "`"].concat()));
        }
        given |= 1 << place;
        places[place]
            .read(value)
            .map_err(|fault| fault.within(name))?;
    }
    for (place, (name, may_be_absent)) in known.iter().enumerate() {
        if given & (1 << place) == 0 && !may_be_absent && !places[place].may_be_absent() {
            return Err(Fault::new(["missing field `", name, "`"].concat()));
        }
    }
    Ok(())
}

fn unknown(name: &str, known: &[Field]) -> Fault {
    let names: Vec<_> = known.iter().map(|field| field.0).collect();
    let expected = if names.is_empty() {
        "there are no fields".to_owned()
    } else {
        ["expected one of ", &listed(&names)].concat()
    };
    Fault::new(["unknown field `", name, "`, ", &expected].concat())
}

/// The place of a word among those that are known.
pub fn word(value: &Value, known: &[&str]) -> Result<usize, Fault> {
    let found = match value {
        Value::Text(text) => known.iter().position(|word| word == text),
        _ => None,
    };
    found.ok_or_else(|| Fault::expected_word(known, value))
}

/// The place of a table's variant, named under the key `tag`, among those that are known.
pub fn tag(value: &Value, tag: &str, known: &[&str]) -> Result<usize, Fault> {
    let Value::Table(entries) = value else {
        return Err(Fault::expected("a table", value));
    };
    let Some((_, name)) = entries.iter().find(|(name, _)| name == tag) else {
        return Err(Fault::new(["missing field `", tag, "`"].concat()));
    };
    word(name, known).map_err(|fault| fault.within(tag))
}

/// The place among those that are known of a variant that is a word, or a table of one word and the variant's content.
pub fn variant<'a>(value: &'a Value, known: &[&str]) -> Result<(usize, &'a Value), Fault> {
    let (name, content) = match value {
        Value::Table(entries) if entries.len() == 1 => (entries[0].0.as_str(), &entries[0].1),
        Value::Text(name) => (name.as_str(), &Value::Null),
        _ => return Err(Fault::expected_word(known, value)),
    };
    let place = known.iter().position(|word| *word == name);
    let place = place.ok_or_else(|| Fault::expected_word(known, &Value::Text(name.to_owned())))?;
    Ok((place, content))
}

impl Read for bool {
    fn blank() -> Self {
        false
    }

    fn read(&mut self, value: &Value) -> Result<(), Fault> {
        let Value::Flag(flag) = value else {
            return Err(Fault::expected("true or false", value));
        };
        *self = *flag;
        Ok(())
    }
}

impl Read for f64 {
    fn blank() -> Self {
        0.0
    }

    fn read(&mut self, value: &Value) -> Result<(), Fault> {
        *self = match value {
            Value::Whole(number) => *number as f64,
            Value::Negative(number) => *number as f64,
            Value::Number(number) => *number,
            _ => return Err(Fault::expected("a number", value)),
        };
        Ok(())
    }
}

impl Read for i64 {
    fn blank() -> Self {
        0
    }

    fn read(&mut self, value: &Value) -> Result<(), Fault> {
        let number = match value {
            Value::Whole(number) => i64::try_from(*number).ok(),
            Value::Negative(number) => Some(*number),
            _ => None,
        };
        *self = number.ok_or_else(|| Fault::expected("a whole number of 64 bits", value))?;
        Ok(())
    }
}

/// A whole number from 0 to `most`.
fn whole(value: &Value, most: u64) -> Result<u64, Fault> {
    match value {
        Value::Whole(number) if *number <= most => Ok(*number),
        _ => {
            let range = ["a whole number from 0 to ", &most.to_string()].concat();
            Err(Fault::expected(&range, value))
        }
    }
}

macro_rules! read_whole {
    ($($number:ident),*) => {
        $(impl Read for $number {
            fn blank() -> Self {
                0
            }

            #[allow(clippy::cast_lossless, reason = "there is no `From` for usize")]
            fn read(&mut self, value: &Value) -> Result<(), Fault> {
                *self = whole(value, $number::MAX as u64)? as $number;
                Ok(())
            }
        })*
    };
}

read_whole!(u8, u16, u32, u64, usize);

impl Read for String {
    fn blank() -> Self {
        Self::new()
    }

    fn read(&mut self, value: &Value) -> Result<(), Fault> {
        let Value::Text(text) = value else {
            return Err(Fault::expected("a text", value));
        };
        self.clone_from(text);
        Ok(())
    }
}

impl<T: Read> Read for Option<T> {
    fn blank() -> Self {
        None
    }

    fn read(&mut self, value: &Value) -> Result<(), Fault> {
        *self = None;
        if *value == Value::Null {
            return Ok(());
        }
        self.insert(T::blank()).read(value)
    }

    fn may_be_absent(&self) -> bool {
        true
    }
}

fn elements(value: &Value) -> Result<&[Value], Fault> {
    match value {
        Value::List(list) => Ok(list),
        _ => Err(Fault::expected("a list", value)),
    }
}

fn so_many(value: &Value, count: usize) -> Result<&[Value], Fault> {
    let elements = elements(value)?;
    if elements.len() != count {
        let wanted = ["a list of ", &count.to_string()].concat();
        return Err(Fault::expected(&wanted, value));
    }
    Ok(elements)
}

/// Reads each element by `one`.
fn each(
    elements: &[Value],
    one: &mut dyn FnMut(usize, &Value) -> Result<(), Fault>,
) -> Result<(), Fault> {
    for (number, value) in elements.iter().enumerate() {
        one(number, value).map_err(|fault| fault.within(&number.to_string()))?;
    }
    Ok(())
}

impl<T: Read> Read for Vec<T> {
    fn blank() -> Self {
        Self::new()
    }

    fn read(&mut self, value: &Value) -> Result<(), Fault> {
        self.clear();
        each(elements(value)?, &mut |_, value| {
            let place = self.len();
            self.push(T::blank());
            self[place].read(value)
        })
    }
}

impl<T: Read, const N: usize> Read for [T; N] {
    fn blank() -> Self {
        [(); N].map(|()| T::blank())
    }

    fn read(&mut self, value: &Value) -> Result<(), Fault> {
        each(so_many(value, N)?, &mut |number, value| {
            self[number].read(value)
        })
    }
}
