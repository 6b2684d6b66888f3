use bentpipe_simrun::RunError;
use core::ops::ControlFlow;
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

/// Runs a simulation into a folder and returns what it amounted to, as JSON (`bentpipe_simrun::run`). A panic is a
/// `RuntimeError`: the `PanicException` that it would be else is no `Exception`, so nobody catches it.
#[pyfunction]
#[expect(
    clippy::needless_pass_by_value,
    reason = "what Python gives comes as values of our own"
)]
#[pyo3(signature = (spec_json, names, folder, on_progress=None))]
pub fn sim_run(
    py: Python<'_>,
    spec_json: &str,
    names: Vec<String>,
    folder: PathBuf,
    on_progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let spec = serde_json::from_str(spec_json)
        .map_err(|error| PyValueError::new_err(format!("the specification: {error}")))?;
    let mut raised = None;
    let simulate = || {
        bentpipe_simrun::run(&spec, &names, &folder, &mut |now| {
            let answer = Python::attach(|py| {
                py.check_signals()?;
                if let Some(tell) = &on_progress {
                    tell.call1(py, (now.as_secs_f64(),))?;
                }
                Ok(())
            });
            match answer {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => {
                    raised = Some(error);
                    ControlFlow::Break(())
                }
            }
        })
    };
    let outcome = py
        .detach(|| catch_unwind(AssertUnwindSafe(simulate)))
        .map_err(|panic| PyRuntimeError::new_err(said(&*panic)))?;
    match outcome {
        Ok(outcome) => serde_json::to_string(&outcome)
            .map_err(|error| PyValueError::new_err(error.to_string())),
        Err(RunError::Stopped) => {
            Err(raised.unwrap_or_else(|| PyKeyboardInterrupt::new_err("stopped")))
        }
        Err(RunError::Spool(error)) => Err(error.into()),
        Err(error @ RunError::Spec(_)) => Err(PyValueError::new_err(error.to_string())),
    }
}

/// What a panic said.
fn said(panic: &(dyn core::any::Any + Send)) -> String {
    panic
        .downcast_ref::<String>()
        .cloned()
        .or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string))
        .unwrap_or_else(|| "a panic".to_owned())
}
