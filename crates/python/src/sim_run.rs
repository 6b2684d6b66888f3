use bentpipe_sim::record::{RunError, RunResults};
use core::ops::ControlFlow;
use pyo3::exceptions::{PyKeyboardInterrupt, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

type Tables = Vec<(&'static str, Py<PyBytes>)>;

/// Runs a simulation and returns what it amounted to, as JSON (`bentpipe_sim::record::run`), and its tables as Parquet unless
/// they are in `folder`. A panic is a `RuntimeError`: `PanicException` is no `Exception`, so nobody would catch it.
#[pyfunction]
#[expect(
    clippy::needless_pass_by_value,
    reason = "what Python gives comes as values of our own"
)]
#[pyo3(signature = (spec_json, names, question_json, folder=None, on_progress=None))]
pub fn sim_run(
    py: Python<'_>,
    spec_json: &str,
    names: Vec<String>,
    question_json: &str,
    folder: Option<PathBuf>,
    on_progress: Option<Py<PyAny>>,
) -> PyResult<(String, Tables)> {
    let spec = parsed(spec_json, "the specification")?;
    let question = parsed(question_json, "the question")?;
    if let Some(folder) = folder {
        let (results, _) = watched(py, on_progress.as_ref(), |go_on| {
            let create = |name: &str| File::create(folder.join(name));
            bentpipe_sim::record::run(&spec, &names, &question, create, go_on)
        })?;
        return Ok((json(&results)?, Vec::new()));
    }
    let (results, tables) = watched(py, on_progress.as_ref(), |go_on| {
        bentpipe_sim::record::run(&spec, &names, &question, |_| Ok(Vec::new()), go_on)
    })?;
    let as_bytes =
        |(name, parquet): (&'static str, Vec<u8>)| (name, PyBytes::new(py, &parquet).unbind());
    Ok((json(&results)?, tables.into_iter().map(as_bytes).collect()))
}

fn parsed<T: DeserializeOwned>(text: &str, what: &str) -> PyResult<T> {
    serde_json::from_str(text).map_err(|error| PyValueError::new_err(format!("{what}: {error}")))
}

fn json(results: &RunResults) -> PyResult<String> {
    serde_json::to_string(results).map_err(|error| PyValueError::new_err(error.to_string()))
}

/// Without the GIL, looking at signals and telling how far the run is.
fn watched<W: Write + Send>(
    py: Python<'_>,
    on_progress: Option<&Py<PyAny>>,
    run: impl Send
    + FnOnce(
        &mut dyn FnMut(bentpipe_path::Time) -> ControlFlow<()>,
    ) -> Result<(RunResults, Vec<(&'static str, W)>), RunError>,
) -> PyResult<(RunResults, Vec<(&'static str, W)>)> {
    let mut raised = None;
    let simulate = || {
        run(&mut |now| {
            let answer = Python::attach(|py| {
                py.check_signals()?;
                if let Some(tell) = on_progress {
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
    let ended = py
        .detach(|| catch_unwind(AssertUnwindSafe(simulate)))
        .map_err(|panic| PyRuntimeError::new_err(said(&*panic)))?;
    ended.map_err(|error| match error {
        RunError::Stopped => raised.unwrap_or_else(|| PyKeyboardInterrupt::new_err("stopped")),
        RunError::Write(error) => error.into(),
        error @ RunError::Spec(_) => PyValueError::new_err(error.to_string()),
    })
}

/// What a panic said.
fn said(panic: &(dyn core::any::Any + Send)) -> String {
    panic
        .downcast_ref::<String>()
        .cloned()
        .or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string))
        .unwrap_or_else(|| "a panic".to_owned())
}
