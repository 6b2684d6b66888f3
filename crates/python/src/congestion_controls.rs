use bentpipe_tcp::congestion::{Choice, ControlError, Registry};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The names of the simulator's congestion controls (`bentpipe_tcp::congestion::Registry`).
#[pyfunction]
pub fn congestion_controls() -> Vec<&'static str> {
    Registry::default().names()
}

/// What is wrong with a congestion control's parameters, as the control itself checks them: the parameter, what was found and
/// what is expected. `None` where nothing is wrong. `choice_json`: its name and its parameters, in one table.
#[pyfunction]
pub fn wrong_parameter(choice_json: &str) -> PyResult<Option<(String, String, String)>> {
    let choice: Choice = serde_json::from_str(choice_json)
        .map_err(|error| PyValueError::new_err(error.to_string()))?;
    match choice.make() {
        Ok(_) => Ok(None),
        Err(ControlError::UnknownParameter {
            parameter, known, ..
        }) => {
            let expected = match known.as_slice() {
                [] => "no parameter".into(),
                known => format!("one of {}", known.join(", ")),
            };
            Ok(Some((parameter, "an unknown parameter".into(), expected)))
        }
        Err(ControlError::WrongValue {
            parameter,
            found,
            expected,
            ..
        }) => Ok(Some((parameter.into(), found, expected))),
        Err(error @ ControlError::UnknownName { .. }) => {
            Err(PyValueError::new_err(error.to_string()))
        }
    }
}
