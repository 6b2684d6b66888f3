//! Every socket of every host at a fixed interval, on a thread of its own. Near and far of a run whose connections are split
//! have several namespaces.
//!
//! Samples are due at multiples of the interval on the run's clock. One that is late moves none after it; one whose
//! turn has passed by when the one before ends is left out and counted.

use crate::clock::monotonic_ns;
use crate::closings::ClosingsWatch;
use crate::per_host::PerHost;
use crate::sock_diag::SockDiag;
use crate::sockets_csv;
use serde::Serialize;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

#[derive(Debug)]
pub(crate) struct Sampler {
    /// Dropped to end the thread.
    until: Sender<()>,
    thread: JoinHandle<io::Result<SamplerReport>>,
    closings: ClosingsWatch,
}

/// What the sampler says of itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct SamplerReport {
    pub interval_s: f64,
    pub samples: u64,
    pub rows: u64,
    /// Samples whose time passed while one before was still being taken.
    pub missed: u64,
    /// The latest that one began after it was due.
    pub late_us_max: f64,
    /// Samples that the kernel answered with an error, and the first such error.
    pub errors: u64,
    pub first_error: Option<String>,
}

impl Sampler {
    pub(crate) fn start(
        mut hosts: PerHost<Vec<SockDiag>>,
        interval_ns: u64,
        zero_monotonic_ns: i64,
        csv: &Path,
        closed_csv: &Path,
    ) -> io::Result<Self> {
        let closings = hosts
            .each_mut()
            .flat_map(|(host, each)| each.iter_mut().map(move |sockets| (host, sockets)))
            .filter_map(|(host, sockets)| Some((host, sockets.closings()?)))
            .collect();
        let closings = ClosingsWatch::start(closings, zero_monotonic_ns, closed_csv)?;
        let named =
            |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", csv.display()));
        let mut out = BufWriter::new(File::create(csv).map_err(named)?);
        sockets_csv::header(&mut out)?;
        let (until, stopped) = channel();
        let interval_ns = interval_ns.clamp(1_000_000, 3_600_000_000_000) as i64;
        let thread = Builder::new()
            .name("sampler".into())
            .spawn(move || sample(hosts, interval_ns, zero_monotonic_ns, out, &stopped))?;
        Ok(Self {
            until,
            thread,
            closings,
        })
    }

    /// Ends the sampling and closes the files.
    pub(crate) fn stop(self) -> io::Result<SamplerReport> {
        self.closings.stop()?;
        drop(self.until);
        self.thread
            .join()
            .map_err(|_| io::Error::other("the sampler ended in a panic"))?
    }
}

/// How often the samples are written to the file, for whoever watches the run.
const SHOWN_EACH_NS: i64 = 200_000_000;

fn sample(
    mut hosts: PerHost<Vec<SockDiag>>,
    interval_ns: i64,
    zero_ns: i64,
    mut out: BufWriter<File>,
    stopped: &Receiver<()>,
) -> io::Result<SamplerReport> {
    let mut report = SamplerReport {
        interval_s: interval_ns as f64 / 1e9,
        ..SamplerReport::default()
    };
    let mut due_ns = next_due(monotonic_ns() - zero_ns, interval_ns);
    let mut shown_ns = due_ns;
    loop {
        let wait_ns = (zero_ns + due_ns - monotonic_ns()).max(0) as u64;
        match stopped.recv_timeout(Duration::from_nanos(wait_ns)) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => break,
        }
        let late_ns = monotonic_ns() - zero_ns - due_ns;
        report.samples += 1;
        report.late_us_max = report.late_us_max.max(late_ns as f64 / 1e3);
        let each = hosts.each_mut();
        for (host, sockets) in
            each.flat_map(|(host, each)| each.iter_mut().map(move |it| (host, it)))
        {
            // When, as near as can be: the kernel walks its table right after this.
            let time_s = (monotonic_ns() - zero_ns) as f64 / 1e9;
            let mut written = Ok(());
            let listed = sockets.tcp_sockets(|socket| {
                report.rows += 1;
                if written.is_ok() {
                    written = sockets_csv::row(&mut out, time_s, host, socket);
                }
            });
            written?;
            if let Err(error) = listed {
                report.errors += 1;
                report.first_error.get_or_insert_with(|| {
                    format!("listing the sockets of the host {}: {error}", host.name())
                });
            }
        }
        if due_ns >= shown_ns + SHOWN_EACH_NS {
            shown_ns = due_ns;
            out.flush()?;
        }
        let next = next_due(monotonic_ns() - zero_ns, interval_ns);
        report.missed += ((next - due_ns) / interval_ns - 1) as u64;
        due_ns = next;
    }
    out.flush()?;
    Ok(report)
}

/// The first multiple of the interval after `now_ns`.
fn next_due(now_ns: i64, interval_ns: i64) -> i64 {
    (now_ns.div_euclid(interval_ns) + 1) * interval_ns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_due_at_multiples_of_the_interval_before_time_zero_too() {
        for (now, due) in [
            (0, 100),
            (1, 100),
            (99, 100),
            (100, 200),
            (-1, 0),
            (-100, 0),
            (-101, -100),
        ] {
            assert_eq!(next_due(now, 100), due, "{now}");
        }
    }
}
