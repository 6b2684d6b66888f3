//! The Python module `bentpipe._core`: converts and releases the GIL; the logic is elsewhere.

use pyo3::prelude::*;

#[pymodule]
mod _core {
    use super::{PyModule, PyModuleMethods, PyResult};
    use pyo3::Bound;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
