use pyo3::prelude::*;
use pyo3::types::PyDict;

#[cfg(target_os = "linux")]
use bentpipe_live::own_sockets::{OwnSockets, Watched};

/// This host's TCP sockets, sampled on a thread of their own from here on (`bentpipe_live::own_sockets`).
#[pyclass(module = "bentpipe._core")]
pub struct SocketWatch {
    #[cfg(target_os = "linux")]
    sockets: OwnSockets,
}

#[cfg(target_os = "linux")]
#[pymethods]
impl SocketWatch {
    #[new]
    #[pyo3(signature = (interval_s, *, addresses, ports, processes, loopback, most_share = None))]
    fn new(
        interval_s: f64,
        addresses: Vec<std::net::IpAddr>,
        ports: Vec<u16>,
        processes: Vec<u32>,
        loopback: bool,
        most_share: Option<f64>,
    ) -> PyResult<Self> {
        let watched = Watched {
            addresses,
            ports,
            processes,
            loopback,
        };
        let sockets = OwnSockets::start(interval_s, most_share, watched)?;
        Ok(Self { sockets })
    }

    /// Ends the sampling, after a last look.
    fn stop(&mut self, py: Python<'_>) {
        py.detach(|| self.sockets.stop());
    }

    /// `bentpipe_live::own_sockets::OwnSocketsReport`, as JSON.
    fn report(&self, py: Python<'_>) -> PyResult<String> {
        json(&py.detach(|| self.sockets.report()))
    }

    /// `bentpipe_live::own_sockets::ConnectionFacts` of each, as JSON.
    fn connections(&self, py: Python<'_>) -> PyResult<String> {
        json(&py.detach(|| self.sockets.connections()))
    }

    fn samples<'py>(&self, py: Python<'py>, place: usize) -> PyResult<Bound<'py, PyDict>> {
        let found = py
            .detach(|| self.sockets.samples(place))
            .ok_or_else(|| pyo3::exceptions::PyIndexError::new_err("no such connection"))?;
        let dict = PyDict::new(py);
        for (name, values) in found.numbers {
            let bytes: Vec<u8> = values.into_iter().flat_map(f64::to_ne_bytes).collect();
            dict.set_item(name, pyo3::types::PyBytes::new(py, &bytes))?;
        }
        dict.set_item("ca_state", found.ca_state)?;
        Ok(dict)
    }
}

#[cfg(target_os = "linux")]
fn json(of: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(of)
        .map_err(|error| pyo3::exceptions::PyValueError::new_err(error.to_string()))
}

#[cfg(not(target_os = "linux"))]
#[pymethods]
impl SocketWatch {
    #[new]
    #[pyo3(signature = (*_arguments, **_named))]
    fn new(
        _arguments: &Bound<'_, pyo3::types::PyTuple>,
        _named: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        Err(pyo3::exceptions::PyOSError::new_err(
            "watching sockets needs Linux",
        ))
    }
}
