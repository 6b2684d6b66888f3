//! The Python module `bentpipe._core`: converts and releases the GIL; the logic is elsewhere.

use pyo3::prelude::*;

#[pymodule]
mod _core {
    use super::{Bound, PyModule, PyModuleMethods, PyResult, Python, pyfunction};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }

    /// Serves one run on the control descriptor and returns the exit status (`bentpipe_live::host::run`).
    #[pyfunction]
    fn live_host(py: Python<'_>, fd: i32) -> PyResult<i32> {
        #[cfg(target_os = "linux")]
        return Ok(py.detach(|| bentpipe_live::host::run(fd))?);
        #[cfg(not(target_os = "linux"))]
        {
            let _ = (py, fd);
            Err(pyo3::exceptions::PyOSError::new_err(
                "the live engine needs Linux",
            ))
        }
    }
}
