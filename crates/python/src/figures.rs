use bentpipe_path::DropCause;
use bentpipe_tables::figures::{self, Bins, QueueQuestion, Retransmitting, Span};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Serialize;

/// By linear interpolation; `None`: too few values for one to lie beyond it (`bentpipe_tables::figures::percentile`).
#[pyfunction]
pub fn percentile(values: Vec<f64>, percent: f64) -> Option<f64> {
    figures::percentile(values, percent)
}

/// What a queue did, as JSON (`bentpipe_tables::figures::queue_behaviour`). Columns are of one pipe's rows of `link`.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the columns of a table")]
pub fn queue_behaviour(
    start_s: Vec<f64>,
    throughput_bytes: Vec<u64>,
    throughput_packets: Vec<u64>,
    queue_bytes_mean: Vec<f64>,
    queue_bytes_end: Vec<u64>,
    queue_delay_s_mean: Vec<Option<f64>>,
    dropped_packets: Vec<u64>,
    under_way: Vec<(f64, f64)>,
    seen: Vec<(f64, u64)>,
    sample_s: f64,
    end_s: f64,
    question_json: &str,
) -> PyResult<String> {
    let count = start_s.len();
    let bins = Bins {
        start_s,
        throughput_bytes,
        throughput_packets,
        queue_bytes_mean,
        queue_bytes_end,
        queue_delay_s_mean,
        dropped_packets,
        ..Bins::default()
    };
    let lengths = [
        bins.throughput_bytes.len(),
        bins.throughput_packets.len(),
        bins.queue_bytes_mean.len(),
        bins.queue_bytes_end.len(),
        bins.queue_delay_s_mean.len(),
        bins.dropped_packets.len(),
    ];
    if lengths.iter().any(|&length| length != count) {
        return Err(PyValueError::new_err("columns of different lengths"));
    }
    let asked: QueueQuestion = serde_json::from_str(question_json)
        .map_err(|error| PyValueError::new_err(format!("the question: {error}")))?;
    let seen = Retransmitting { seen, sample_s };
    json(&figures::queue_behaviour(
        &bins, under_way, &seen, end_s, &asked,
    ))
}

/// How long flows took, as JSON (`bentpipe_tables::figures::flow_times`): those of no size in none by size.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "Python gives lists")]
pub fn flow_times(
    size_bytes: Vec<Option<u64>>,
    start_s: Vec<f64>,
    end_s: Vec<Option<f64>>,
    small_bytes: u64,
) -> PyResult<String> {
    json(&figures::flow_times(
        &spans(&size_bytes, &start_s, &end_s),
        small_bytes,
    ))
}

/// For how much of the duration a channel had no flow under way (`bentpipe_tables::figures::pause_s`).
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "Python gives lists")]
pub fn pause_s(
    start_s: Vec<f64>,
    end_s: Vec<Option<f64>>,
    channels: u64,
    begun_s: f64,
    duration_s: f64,
) -> f64 {
    let sizes = vec![None; start_s.len()];
    figures::pause_s(
        &spans(&sizes, &start_s, &end_s),
        channels,
        begun_s,
        duration_s,
    )
}

fn spans(size_bytes: &[Option<u64>], start_s: &[f64], end_s: &[Option<f64>]) -> Vec<Span> {
    let columns = size_bytes.iter().zip(start_s).zip(end_s);
    let span = |((size_bytes, &start_s), &end_s): ((&Option<u64>, &f64), &Option<f64>)| Span {
        size_bytes: size_bytes.unwrap_or(u64::MAX),
        start_s,
        end_s,
    };
    columns.map(span).collect()
}

/// What a pipe did, as JSON (`bentpipe_tables::figures::Bins::figures`). Columns are of one pipe's rows of `link`; `drops`
/// has the sums of its columns in their order.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the columns of a table")]
pub fn pipe_figures(
    start_s: Vec<f64>,
    throughput_bytes: Vec<u64>,
    goodput_bytes: Vec<u64>,
    queue_bytes_mean: Vec<f64>,
    queue_bytes_max: Vec<u64>,
    drops: [u64; DropCause::COUNT],
    end_s: f64,
    bin_s: f64,
) -> PyResult<String> {
    let count = start_s.len();
    let bins = Bins {
        start_s,
        throughput_bytes,
        goodput_bytes,
        queue_bytes_mean,
        queue_bytes_max,
        drops,
        ..Bins::default()
    };
    let lengths = [
        bins.throughput_bytes.len(),
        bins.goodput_bytes.len(),
        bins.queue_bytes_mean.len(),
        bins.queue_bytes_max.len(),
    ];
    if lengths.iter().any(|&length| length != count) {
        return Err(PyValueError::new_err("columns of different lengths"));
    }
    json(&bins.figures(end_s, bin_s))
}

fn json(found: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(found).map_err(|error| PyValueError::new_err(error.to_string()))
}
