use bentpipe_path::Nanos;
use bentpipe_workloads::{Gaps, MessageTimes};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// When the workload `interactive` writes its messages (`bentpipe_workloads::MessageTimes`).
#[pyfunction]
pub fn message_times(
    seed: u64,
    name: &str,
    interval_ns: i64,
    gaps: &str,
    count: usize,
    before_ns: i64,
) -> PyResult<Vec<i64>> {
    let gaps: Gaps = gaps
        .parse()
        .map_err(|error| PyValueError::new_err(format!("{error}")))?;
    let times = MessageTimes::new(seed, name, Nanos(interval_ns), gaps);
    let times = times.take_while(|at| at.0 < before_ns).take(count);
    Ok(times.map(|at| at.0).collect())
}
