use bentpipe_tcp::congestion::Registry;
use pyo3::prelude::*;

/// The names of the simulator's congestion controls (`bentpipe_tcp::congestion::Registry`).
#[pyfunction]
pub fn congestion_controls() -> Vec<&'static str> {
    Registry::default().names()
}
