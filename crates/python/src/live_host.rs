use pyo3::prelude::*;

/// Serves one run on the control descriptor and returns the exit status (`bentpipe_live::host::run`).
#[pyfunction]
pub fn live_host(py: Python<'_>, fd: i32) -> PyResult<i32> {
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
