//! The datapath: what one host's TUN device sends crosses a [`bentpipe_path`] pipe and leaves at the other's.
//!
//! One thread per pipe. A device hands over super-packets of up to 64 kB; the model is given one entry per wire
//! segment, and what leaves within a short window leaves as one super-packet again. The model's departure times
//! are authoritative: a late wake-up is reported as lateness and changes no departure.

use bentpipe_path::config::PipeConfig;
use bentpipe_path::time::Nanos;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

/// What to run between two devices.
#[derive(Debug)]
pub struct DatapathSpec {
    /// Each host's end of the path: a nonblocking TUN device (IFF_NO_PI, IFF_VNET_HDR, offloads on).
    pub client: OwnedFd,
    pub server: OwnedFd,
    /// As set by TUNSETVNETHDRSZ on both devices: 10 or 12.
    pub vnet_header_bytes: usize,
    pub down: PipeConfig,
    pub up: PipeConfig,
    pub mtu: u32,
    pub seed: u64,
    /// The meter's bin.
    pub bin: Nanos,
    /// The run's time zero on CLOCK_MONOTONIC; may lie ahead.
    pub zero_monotonic_ns: i64,
    /// Where the meter's bins go, both pipes in one file.
    pub link_csv: PathBuf,
    /// Where what each host sends and receives is recorded, if anywhere.
    pub client_pcap: Option<PathBuf>,
    pub server_pcap: Option<PathBuf>,
}

/// Both pipes of a path, running.
#[derive(Debug)]
pub struct Datapath {}

/// What the datapath says of itself at the end.
#[derive(Debug)]
pub struct DatapathReport {}

/// Starts both pipes. Fails at once where a configuration is not valid or a file cannot be made.
pub fn start(spec: DatapathSpec) -> io::Result<Datapath> {
    let _ = spec;
    Ok(Datapath {})
}

impl Datapath {
    /// What went wrong so far, if a device failed; the run is then not to be trusted.
    pub fn trouble(&self) -> Option<String> {
        None
    }

    /// Ends both pipes, closes their meters, and writes out what is still held.
    pub fn stop(self) -> io::Result<DatapathReport> {
        Ok(DatapathReport {})
    }
}
