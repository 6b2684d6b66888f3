use bentpipe_capture::{Analysis, Capture, CaptureError, FlowColumns};
use flate2::bufread::MultiGzDecoder;
use pyo3::exceptions::{PyIndexError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;

/// Bytes that are read at once.
const PIECE_BYTES: usize = 1 << 20;
/// Bytes after which signals are looked at and progress is told.
const TELL_EVERY_BYTES: u64 = 64 << 20;

/// What a capture held.
#[pyclass(frozen, module = "bentpipe._core")]
pub struct CaptureReading {
    capture: Capture,
    cut_off: Option<String>,
}

#[pymethods]
impl CaptureReading {
    /// Where the file is cut off; `None`: it is whole.
    #[getter]
    fn cut_off(&self) -> Option<&str> {
        self.cut_off.as_deref()
    }

    /// `bentpipe_capture::CaptureFacts`, as JSON.
    fn facts(&self) -> PyResult<String> {
        serde_json::to_string(&self.capture.facts())
            .map_err(|error| PyValueError::new_err(error.to_string()))
    }

    fn samples<'py>(
        &self,
        py: Python<'py>,
        connection: usize,
        side: usize,
    ) -> PyResult<Bound<'py, PyDict>> {
        columns(py, self.capture.samples(connection, side))
    }

    fn events<'py>(
        &self,
        py: Python<'py>,
        connection: usize,
        side: usize,
    ) -> PyResult<Bound<'py, PyDict>> {
        columns(py, self.capture.events(connection, side))
    }
}

fn columns(py: Python<'_>, found: FlowColumns) -> PyResult<Bound<'_, PyDict>> {
    if found.floats.is_empty() {
        return Err(PyIndexError::new_err("no such flow"));
    }
    let dict = PyDict::new(py);
    for (name, column) in found.integers {
        dict.set_item(name, column)?;
    }
    for (name, column) in found.floats {
        dict.set_item(name, column)?;
    }
    for (name, column) in found.texts {
        dict.set_item(name, column)?;
    }
    Ok(dict)
}

/// How a gzip file begins (RFC 1952, section 2.3.1).
const GZIP: [u8; 2] = [0x1f, 0x8b];

enum Failure {
    Io(io::Error),
    Format(CaptureError),
    Raised(PyErr),
}

/// Reads a capture, which may be packed by gzip, in one pass. `on_progress` is told how many bytes have been read.
#[pyfunction]
#[expect(
    clippy::needless_pass_by_value,
    reason = "what Python gives comes as values of our own"
)]
#[pyo3(signature = (file, on_progress=None))]
pub fn read_capture(
    py: Python<'_>,
    file: PathBuf,
    on_progress: Option<Py<PyAny>>,
) -> PyResult<CaptureReading> {
    let tell = |bytes: u64| {
        Python::attach(|py| {
            py.check_signals()?;
            if let Some(tell) = &on_progress {
                tell.call1(py, (bytes,))?;
            }
            Ok(())
        })
    };
    let read = || -> Result<CaptureReading, Failure> {
        let mut file = BufReader::new(File::open(file).map_err(Failure::Io)?);
        if file.fill_buf().map_err(Failure::Io)?.starts_with(&GZIP) {
            read_all(MultiGzDecoder::new(file), tell)
        } else {
            read_all(file, tell)
        }
    };
    py.detach(|| catch_unwind(AssertUnwindSafe(read)))
        .map_err(|_| PyRuntimeError::new_err("the reader of captures panicked"))?
        .map_err(|failure| match failure {
            Failure::Io(error) => error.into(),
            Failure::Format(error) => PyValueError::new_err(error.to_string()),
            Failure::Raised(error) => error,
        })
}

fn read_all(
    mut from: impl Read,
    tell: impl Fn(u64) -> PyResult<()>,
) -> Result<CaptureReading, Failure> {
    let mut analysis = Analysis::default();
    let mut bytes = vec![0; 2 * PIECE_BYTES];
    let (mut held, mut total, mut told) = (0, 0, 0);
    let mut was_cut_off = false;
    let cut_off = loop {
        let count = match from.read(&mut bytes[held..]) {
            // A gzip file that was cut off: what can be unpacked is used.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof && total > 0 => {
                was_cut_off = true;
                0
            }
            read => read.map_err(Failure::Io)?,
        };
        if count == 0 {
            break analysis.end(&bytes[..held]).err();
        }
        held += count;
        total += count as u64;
        if total - told >= TELL_EVERY_BYTES {
            told = total;
            tell(total).map_err(Failure::Raised)?;
        }
        let (taken, needed) = analysis.feed(&bytes[..held]).map_err(Failure::Format)?;
        bytes.copy_within(taken..held, 0);
        held -= taken;
        if needed + PIECE_BYTES > bytes.len() {
            bytes.resize(needed + PIECE_BYTES, 0);
        }
    };
    let cut_off = match cut_off {
        Some(error) if !error.cut_off || error.offset == 0 => return Err(Failure::Format(error)),
        None if was_cut_off => Some("The gzip file ends before its end mark".to_owned()),
        other => other.map(|error| error.to_string()),
    };
    Ok(CaptureReading {
        capture: analysis.finish(),
        cut_off,
    })
}
