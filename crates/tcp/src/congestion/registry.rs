//! The congestion controls that a simulation knows, by name, and the choice of one with its parameters.
//!
//! A [`Registry`] maps a name to a constructor. The constructor takes its parameters from [`Parameters`], which checks
//! each one and knows them all afterwards: a parameter that no one asked for is an error that names the known ones.

use super::{CONTROLS, CongestionControl};
use bentpipe_base::words::{joined, quoted};
use bentpipe_reading::{Entries, Fault, Read, in_words};
use serde::Serialize;
use std::fmt;
use std::ops::RangeInclusive;

/// A congestion control for one connection, or why it cannot be made.
pub type Made = Result<Box<dyn CongestionControl>, ControlError>;

/// Makes a congestion control for one connection.
pub type Constructor = fn(&mut Parameters) -> Made;

/// The value of a parameter.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Value {
    Number(f64),
    Text(String),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => f.write_str(&in_words(*number)),
            Self::Text(text) => f.write_str(&quoted(text)),
        }
    }
}

/// Why a choice of a congestion control cannot be made.
#[derive(Clone, Debug, PartialEq)]
pub enum ControlError {
    UnknownName {
        name: String,
        known: Vec<&'static str>,
    },
    UnknownParameter {
        control: String,
        parameter: String,
        known: Vec<&'static str>,
    },
    WrongValue {
        control: String,
        parameter: &'static str,
        found: String,
        expected: String,
    },
}

impl fmt::Display for ControlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownName { name, known } => write!(
                f,
                "unknown congestion control {}; known are {}",
                quoted(name),
                joined(known, ", ")
            ),
            Self::UnknownParameter {
                control,
                parameter,
                known,
            } if known.is_empty() => write!(
                f,
                "congestion control {}: unknown parameter {}; it takes none",
                quoted(control),
                quoted(parameter)
            ),
            Self::UnknownParameter {
                control,
                parameter,
                known,
            } => write!(
                f,
                "congestion control {}: unknown parameter {}; known are {}",
                quoted(control),
                quoted(parameter),
                joined(known, ", ")
            ),
            Self::WrongValue {
                control,
                parameter,
                found,
                expected,
            } => write!(
                f,
                "congestion control {}: {parameter} is {found}; expected {expected}",
                quoted(control)
            ),
        }
    }
}

impl std::error::Error for ControlError {}

/// The parameters that a constructor asks for, one by one.
#[derive(Debug)]
pub struct Parameters<'a> {
    choice: &'a Choice,
    known: Vec<&'static str>,
}

impl<'a> Parameters<'a> {
    /// A number within `range`, or `default` where it is not given.
    ///
    /// # Errors
    /// If the value given is not a number or out of range.
    pub fn number(
        &mut self,
        name: &'static str,
        range: RangeInclusive<f64>,
        default: f64,
    ) -> Result<f64, ControlError> {
        let given = self.take(name);
        given.map_or(Ok(default), |value| self.within(name, value, &range))
    }

    fn within(
        &self,
        name: &'static str,
        value: &Value,
        range: &RangeInclusive<f64>,
    ) -> Result<f64, ControlError> {
        match value {
            Value::Number(number) if range.contains(number) => Ok(*number),
            other => Err(self.wrong(name, other.to_string(), expected_within(range))),
        }
    }

    /// A number within `range` that has to be given.
    ///
    /// # Errors
    /// If it is not given, no number, or out of range.
    pub fn required(
        &mut self,
        name: &'static str,
        range: RangeInclusive<f64>,
    ) -> Result<f64, ControlError> {
        match self.take(name) {
            Some(value) => self.within(name, value, &range),
            None => Err(self.wrong(name, "not given".into(), expected_within(&range))),
        }
    }

    /// One of named alternatives, or `default`, which names one of them, where it is not given.
    ///
    /// # Errors
    /// If the value given is not one of them.
    pub fn one_of<T: Copy>(
        &mut self,
        name: &'static str,
        alternatives: &[(&'static str, T)],
        default: &'static str,
    ) -> Result<T, ControlError> {
        let default = Value::Text(default.into());
        let value = self.take(name).unwrap_or(&default);
        let found = alternatives
            .iter()
            .find(|(word, _)| matches!(value, Value::Text(text) if text == word));
        found.map(|(_, meant)| *meant).ok_or_else(|| {
            let words: Vec<_> = alternatives.iter().map(|(word, _)| quoted(word)).collect();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            self.wrong(name, value.to_string(), joined(&words, " or "))
        })
    }

    fn take(&mut self, name: &'static str) -> Option<&'a Value> {
        self.known.push(name);
        self.choice.parameters.get(name)
    }

    fn wrong(&self, parameter: &'static str, found: String, expected: String) -> ControlError {
        ControlError::WrongValue {
            control: self.choice.name.clone(),
            parameter,
            found,
            expected,
        }
    }
}

fn expected_within(range: &RangeInclusive<f64>) -> String {
    format!(
        "a number from {} to {}",
        in_words(*range.start()),
        in_words(*range.end())
    )
}

/// A congestion control by name, with its parameters; written as a name alone or as a table.
#[derive(Clone, Debug, Serialize)]
#[serde(into = "Written")]
pub struct Choice {
    name: String,
    parameters: Entries<Value>,
    /// Known once a registry has resolved the choice.
    constructor: Option<Constructor>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Written {
    Name(String),
    Table {
        name: String,
        #[serde(flatten)]
        parameters: Entries<Value>,
    },
}

impl From<Written> for Choice {
    fn from(written: Written) -> Self {
        let (name, parameters) = match written {
            Written::Name(name) => (name, Entries::new()),
            Written::Table { name, parameters } => (name, parameters),
        };
        Self {
            name,
            parameters,
            constructor: None,
        }
    }
}

impl Read for Value {
    fn blank() -> Self {
        Self::Number(0.0)
    }

    fn read(&mut self, value: &bentpipe_reading::Value) -> Result<(), Fault> {
        *self = match value {
            bentpipe_reading::Value::Text(text) => Self::Text(text.clone()),
            number => Self::Number(Read::from_value(number)?),
        };
        Ok(())
    }
}

impl Read for Choice {
    fn blank() -> Self {
        Written::Name(String::new()).into()
    }

    fn read(&mut self, value: &bentpipe_reading::Value) -> Result<(), Fault> {
        let written = match value {
            bentpipe_reading::Value::Table(_) => {
                let mut parameters: Entries<Value> = Read::from_value(value)?;
                match parameters.remove("name") {
                    Some(Value::Text(name)) => Written::Table { name, parameters },
                    _ => return Err(Fault::new("expected a text under `name`".into())),
                }
            }
            name => Written::Name(Read::from_value(name)?),
        };
        *self = written.into();
        Ok(())
    }
}

bentpipe_reading::read_struct!(@serde Choice);

impl From<Choice> for Written {
    fn from(choice: Choice) -> Self {
        let Choice {
            name, parameters, ..
        } = choice;
        if parameters.is_empty() {
            Self::Name(name)
        } else {
            Self::Table { name, parameters }
        }
    }
}

impl From<&str> for Choice {
    fn from(name: &str) -> Self {
        Written::Name(name.into()).into()
    }
}

impl PartialEq for Choice {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && self.parameters == other.parameters
    }
}

impl Choice {
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The same with a parameter set.
    #[must_use]
    pub fn with(mut self, parameter: &str, value: Value) -> Self {
        self.parameters.insert(parameter.into(), value);
        self
    }

    /// Makes the congestion control of one connection. A choice that no registry has resolved is looked up among those
    /// that come with this crate.
    ///
    /// # Errors
    /// If the name or a parameter is not known, or a value will not do.
    pub fn make(&self) -> Made {
        let constructor = match self.constructor {
            Some(constructor) => constructor,
            None => Registry::default().constructor(&self.name)?,
        };
        self.with_parameters(constructor)
    }

    /// Gives the parameters to a constructor and checks that it asked for all.
    pub(super) fn with_parameters<T>(
        &self,
        constructor: impl FnOnce(&mut Parameters) -> Result<T, ControlError>,
    ) -> Result<T, ControlError> {
        let mut parameters = Parameters {
            choice: self,
            known: Vec::new(),
        };
        let control = constructor(&mut parameters)?;
        let known = parameters.known;
        let unknown = self.parameters.keys().find(|given| !known.contains(given));
        match unknown {
            None => Ok(control),
            Some(parameter) => Err(ControlError::UnknownParameter {
                control: self.name.clone(),
                parameter: parameter.to_owned(),
                known,
            }),
        }
    }
}

/// Congestion controls by name.
#[derive(Clone, Debug)]
pub struct Registry {
    entries: Vec<(&'static str, Constructor)>,
}

impl Default for Registry {
    /// Those that come with this crate: the names are Linux's, and `slow-start` for the plain reference of RFC 5681.
    fn default() -> Self {
        Self {
            entries: CONTROLS.to_vec(),
        }
    }
}

impl Registry {
    /// The same with one more, which replaces one of the same name.
    #[must_use]
    pub fn with(mut self, name: &'static str, constructor: Constructor) -> Self {
        self.entries.retain(|(known, _)| *known != name);
        self.entries.push((name, constructor));
        self
    }

    pub fn names(&self) -> Vec<&'static str> {
        self.entries.iter().map(|(name, _)| *name).collect()
    }

    /// Checks the choice and ties it to this registry.
    ///
    /// # Errors
    /// If the name or a parameter is not known, or a value will not do.
    pub fn resolve(&self, choice: &mut Choice) -> Result<(), ControlError> {
        choice.constructor = Some(self.constructor(&choice.name)?);
        choice.make().map(drop)
    }

    fn constructor(&self, name: &str) -> Result<Constructor, ControlError> {
        let entry = self.entries.iter().find(|(known, _)| *known == name);
        entry
            .map(|(_, constructor)| *constructor)
            .ok_or_else(|| ControlError::UnknownName {
                name: name.into(),
                known: self.names(),
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(choice: &Choice) -> String {
        choice
            .make()
            .err()
            .map_or_else(String::new, |e| e.to_string())
    }

    fn text(word: &str) -> Value {
        Value::Text(word.into())
    }

    #[test]
    fn every_name_makes_the_control_of_that_name() {
        for name in Registry::default().names() {
            let choice = match name {
                "fixed-rate" => Choice::from(name).with("rate", Value::Number(1e6)),
                _ => Choice::from(name),
            };
            let control = choice.make();
            assert_eq!(control.map(|control| control.name()), Ok(name));
        }
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_known_ones() {
        let known = Registry::default().names().join(", ");
        assert_eq!(
            refusal(&"no-such-control".into()),
            format!("unknown congestion control \"no-such-control\"; known are {known}")
        );
    }

    #[test]
    fn an_unknown_parameter_is_refused_with_the_known_ones() {
        let number = Value::Number(1.0);
        assert_eq!(
            refusal(&Choice::from("cubic").with("betta", number.clone())),
            "congestion control \"cubic\": unknown parameter \"betta\"; known are slow_start, beta"
        );
        assert_eq!(
            refusal(&Choice::from("bbr").with("beta", number)),
            "congestion control \"bbr\": unknown parameter \"beta\"; it takes none"
        );
    }

    #[test]
    fn a_value_out_of_range_or_of_another_kind_is_refused_with_what_would_do() {
        for value in [Value::Number(1.0), Value::Number(f64::NAN), text("much")] {
            let refused = refusal(&Choice::from("cubic").with("beta", value));
            assert!(
                refused.contains("expected a number from 0.1 to 0.95"),
                "{refused}"
            );
        }
        let refused = refusal(&Choice::from("reno").with("slow_start", text("fast")));
        assert!(
            refused.contains("expected \"standard\" or \"hystart\" or \"hystart++\" or"),
            "{refused}"
        );
    }

    #[test]
    fn a_parameter_that_has_to_be_given_is_asked_for_by_name() {
        let resume = Choice::from("cubic").with("slow_start", text("careful-resume"));
        assert_eq!(
            refusal(&resume),
            "congestion control \"cubic\": saved_cwnd is not given; expected a number from 1000 to 1000000000000"
        );
        let resume = resume.with("saved_cwnd", Value::Number(1e6));
        assert_eq!(refusal(&resume.with("saved_rtt", Value::Number(5e8))), "");
        let useless = Choice::from("cubic").with("saved_rtt", Value::Number(5e8));
        assert!(refusal(&useless).contains("unknown parameter \"saved_rtt\""));
    }

    #[test]
    fn a_control_from_outside_is_found_by_its_name() {
        let registry = Registry::default().with("mine", super::super::slow_start::make);
        let mut mine = Choice::from("mine");
        assert!(mine.make().is_err());
        assert_eq!(registry.resolve(&mut mine), Ok(()));
        assert!(mine.make().is_ok());
    }
}
