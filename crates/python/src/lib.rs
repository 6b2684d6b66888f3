//! The Python module `bentpipe._core`: converts and releases the GIL; the logic is elsewhere. One file per
//! operation, with the stub of the same name in python/bentpipe.

mod capture;
mod congestion_controls;
mod figures;
mod live_host;
mod message_times;
mod own_sockets;
mod popularity;
mod sim_run;
mod tables;

use pyo3::prelude::*;

#[pymodule]
mod _core {
    use super::{Bound, PyModule, PyModuleMethods, PyResult};

    #[pymodule_export]
    use super::capture::{CaptureReading, read_capture};
    #[pymodule_export]
    use super::congestion_controls::{congestion_controls, wrong_parameter};
    #[pymodule_export]
    use super::figures::{flow_times, pause_s, percentile, pipe_figures, queue_behaviour};
    #[pymodule_export]
    use super::live_host::live_host;
    #[pymodule_export]
    use super::message_times::message_times;
    #[pymodule_export]
    use super::own_sockets::SocketWatch;
    #[pymodule_export]
    use super::popularity::popularity;
    #[pymodule_export]
    use super::sim_run::sim_run;
    #[pymodule_export]
    use super::tables::tables;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
