use bentpipe_workloads::Popularity;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The first requests that a workload draws from a set (`bentpipe_workloads::Popularity`).
#[pyfunction]
pub fn popularity(
    zipf: f64,
    objects: u32,
    seed: u64,
    name: &str,
    requests: usize,
) -> PyResult<Vec<u32>> {
    if objects == 0 {
        return Err(PyValueError::new_err(
            "a set of at least one object is wanted",
        ));
    }
    let mut drawn = Popularity::new(zipf, objects, seed, name);
    Ok((0..requests).map(|_| drawn.draw()).collect())
}
