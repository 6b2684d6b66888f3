//! The datapath of a link: what one host's TUN device sends crosses a [`bentpipe_path`] pipe and leaves at the other's.
//!
//! One thread per pipe ([`pump`]). A device hands over super-packets of up to 64 kB ([`bentpipe_wire::super_packet`]); the model is
//! given one entry per wire segment ([`packet`]), and what leaves within a short window leaves as one super-packet
//! again ([`egress`]). The model's departure times are authoritative: a late wake-up is reported ([`lateness`]) and
//! changes no departure. Files are written by threads of their own.

mod absence;
mod arrival;
mod capture;
mod clock;
mod decoded;
mod egress;
pub mod lateness;
mod link_csv;
mod packet;
pub mod pool;
pub(crate) mod priority;
mod pump;
mod report;
mod tap;
mod terrestrial;
mod tunnel;

pub use decoded::Decoded;
pub use lateness::UnintendedLoss;
pub use priority::Priority;
pub use report::{DatapathReport, EngineError, PipeError, PipeReport};
pub use tunnel::{Beside, TunnelSetup};

use crate::pcapng;
use bentpipe_base::Direction;
use bentpipe_base::topology::Link;
use bentpipe_path::config::PipeConfig;
use bentpipe_path::time::Nanos;
use bentpipe_path::{Bin, Pipe};
use bentpipe_workloads::ServersSpec;
use clock::RunClock;
use egress::Egress;
use lateness::RateCheck;
use priority::Urgency;
use pump::{Pump, StopFlag};
use std::fs::File;
use std::io::{self, BufWriter};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{Builder, JoinHandle};
use tap::{Backlog, Tap};
use terrestrial::ServerLines;
use tunnel::mail::{self, Mail};
use tunnel::{Around, Coder};

/// What to run between two devices.
#[derive(Debug)]
pub struct DatapathSpec {
    pub link: Link,
    /// The end on the client's side and the one on the server's: a nonblocking TUN device (`IFF_NO_PI`, `IFF_VNET_HDR`, offloads on).
    pub client: OwnedFd,
    pub server: OwnedFd,
    /// As set by `TUNSETVNETHDRSZ` on both devices: 10 or 12.
    pub vnet_header_bytes: usize,
    pub down: PipeConfig,
    pub up: PipeConfig,
    /// Packets cross coded.
    pub tunnel: Option<TunnelSetup>,
    /// What gateways beyond the link's ends give to their hosts, of what goes down and of what goes up.
    pub decoded: Option<[Decoded; 2]>,
    /// Beyond the far end, numbered through.
    pub servers: Vec<ServersSpec>,
    pub mtu: u32,
    pub seed: u64,
    /// The meter's bin.
    pub bin: Nanos,
    /// The run's time zero on `CLOCK_MONOTONIC`; may lie ahead.
    pub zero_monotonic_ns: i64,
    /// Where the meter's bins go, both pipes in one file, if anywhere.
    pub link_csv: Option<PathBuf>,
    /// Where what the host at each end sends and receives is recorded, if anywhere.
    pub client_pcap: Option<Capture>,
    pub server_pcap: Option<Capture>,
}

/// A pcapng file of what one host sends and receives.
#[derive(Clone, Debug)]
pub struct Capture {
    pub host: &'static str,
    pub file: PathBuf,
}

/// Both pipes of a link, running.
#[derive(Debug)]
pub struct Datapath {
    link: Link,
    stop: Arc<StopFlag>,
    trouble: Arc<Mutex<Option<String>>>,
    down: JoinHandle<PipeReport>,
    up: JoinHandle<PipeReport>,
    writers: Vec<JoinHandle<io::Result<()>>>,
}

/// Starts both pipes. Fails at once where a configuration is not valid or a file cannot be made.
pub fn start(spec: DatapathSpec) -> io::Result<Datapath> {
    let clock = RunClock {
        zero_monotonic_ns: spec.zero_monotonic_ns,
    };
    let mut writers = Vec::new();
    let (bins, binned) = channel();
    // Without a file nobody receives, and the pipes' bins come to nothing.
    if let Some(file) = &spec.link_csv {
        let link = BufWriter::new(create(file)?);
        writers.push(
            Builder::new()
                .name("link.csv".into())
                .spawn(move || link_csv::write(link, &binned))?,
        );
    }
    let client_tap = tap(&spec, spec.client_pcap.as_ref(), &mut writers)?;
    let server_tap = tap(&spec, spec.server_pcap.as_ref(), &mut writers)?;

    let stop = Arc::new(StopFlag::new()?);
    let trouble = Arc::new(Mutex::new(None));
    let client = Arc::new(spec.client);
    let server = Arc::new(spec.server);
    let mails = spec.tunnel.as_ref().map(|_| mail::pair()).transpose()?;
    let [mail_of_down, mail_of_up] = mails.map_or([None, None], |mails| mails.map(Some));
    let [decoded_down, decoded_up] = spec.decoded.map_or([None, None], |both| both.map(Some));
    let shared = Shared {
        clock,
        vnet_bytes: spec.vnet_header_bytes,
        tunnel: spec.tunnel,
        servers: spec.servers,
        mtu: spec.mtu,
        seed: spec.seed,
        bin: spec.bin,
        bins,
        stop: Arc::clone(&stop),
        trouble: Arc::clone(&trouble),
    };
    let down = shared.start(Ends {
        link: spec.link,
        direction: Direction::Down,
        config: spec.down,
        input: Arc::clone(&server),
        output: Arc::clone(&client),
        input_tap: server_tap.clone(),
        output_tap: client_tap.clone(),
        mail: mail_of_down,
        decoded: decoded_down,
    })?;
    let up = shared.start(Ends {
        link: spec.link,
        direction: Direction::Up,
        config: spec.up,
        input: client,
        output: server,
        input_tap: client_tap,
        output_tap: server_tap,
        mail: mail_of_up,
        decoded: decoded_up,
    });
    let up = match up {
        Ok(up) => up,
        Err(error) => {
            stop.raise()?;
            let _ = down.join();
            return Err(error);
        }
    };
    Ok(Datapath {
        link: spec.link,
        stop,
        trouble,
        down,
        up,
        writers,
    })
}

fn create(path: &Path) -> io::Result<File> {
    File::create(path)
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))
}

/// Starts the thread that writes one host's capture, where one is wanted.
fn tap(
    spec: &DatapathSpec,
    capture: Option<&Capture>,
    writers: &mut Vec<JoinHandle<io::Result<()>>>,
) -> io::Result<Option<Tap>> {
    let Some(Capture { host, file }) = capture else {
        return Ok(None);
    };
    let description = format!("the {host}'s end of the {}", spec.link.name());
    let writer = pcapng::Writer::new(BufWriter::new(create(file)?), host, &description)?;
    let backlog = Arc::new(Backlog::default());
    let (queue, records) = channel();
    let tap = Tap {
        queue,
        backlog: Arc::clone(&backlog),
    };
    let vnet_bytes = spec.vnet_header_bytes;
    let zero = spec.zero_monotonic_ns + clock::realtime_offset_ns();
    let thread = Builder::new().name(format!("{host} pcap"));
    writers
        .push(thread.spawn(move || capture::write(writer, &records, &backlog, vnet_bytes, zero))?);
    Ok(Some(tap))
}

/// What both pipes have in common.
struct Shared {
    clock: RunClock,
    vnet_bytes: usize,
    tunnel: Option<TunnelSetup>,
    servers: Vec<ServersSpec>,
    mtu: u32,
    seed: u64,
    bin: Nanos,
    bins: Sender<(&'static str, Bin)>,
    stop: Arc<StopFlag>,
    trouble: Arc<Mutex<Option<String>>>,
}

/// What one pipe joins.
struct Ends {
    link: Link,
    direction: Direction,
    config: PipeConfig,
    input: Arc<OwnedFd>,
    output: Arc<OwnedFd>,
    input_tap: Option<Tap>,
    output_tap: Option<Tap>,
    /// With a tunnel: to the thread of the other pipe.
    mail: Option<Mail>,
    decoded: Option<Decoded>,
}

impl Shared {
    /// Starts one pipe's thread; the pipe itself is made there, since its packets never leave it.
    fn start(&self, ends: Ends) -> io::Result<JoinHandle<PipeReport>> {
        let (mtu, seed, bin) = (self.mtu, self.seed, self.bin);
        let (clock, vnet_bytes) = (self.clock, self.vnet_bytes);
        let bins = self.bins.clone();
        let tunnel = self.tunnel.clone().zip(ends.mail);
        let servers = self.servers.clone();
        let stop = Arc::clone(&self.stop);
        let trouble = Arc::clone(&self.trouble);
        let (ready, made) = channel();
        let thread = Builder::new()
            .name(format!("{} pipe", ends.link.pipe_name(ends.direction)))
            .spawn(move || {
                let place = ends.link.pipe_name(ends.direction);
                let pipe = match Pipe::new(&ends.config, mtu, seed, place, bin) {
                    Ok(pipe) => pipe,
                    Err(error) => {
                        let _ = ready.send(Err(error.to_string()));
                        return PipeReport::default();
                    }
                };
                let lines = match ServerLines::new(&servers, seed, ends.direction) {
                    Ok(lines) => lines,
                    Err(error) => {
                        let _ = ready.send(Err(error));
                        return PipeReport::default();
                    }
                };
                let rate = RateCheck::new(&ends.config);
                let (rate_before_exit, rate) = if tunnel.is_some() {
                    (rate, None)
                } else {
                    (None, rate)
                };
                let tunnel = tunnel.map(|(setup, mail)| {
                    let around = Around {
                        direction: ends.direction,
                        mtu,
                        bin,
                        vnet_bytes,
                        clock,
                    };
                    Coder::new(&setup, around, mail, rate_before_exit)
                });
                let tunnel = match tunnel.transpose() {
                    Ok(tunnel) => tunnel,
                    Err(error) => {
                        let _ = ready.send(Err(format!("tunnel: {error}")));
                        return PipeReport::default();
                    }
                };
                let _ = ready.send(Ok(()));
                drop(ready);
                let (before, after) = match ends.direction {
                    Direction::Down => (lines, None),
                    Direction::Up => (None, lines),
                };
                // The lines to the servers hide when the shaper was busy.
                let rate = rate.filter(|_| after.is_none());
                let joins = tunnel.is_some();
                let mut pump = Pump {
                    input: ends.input,
                    vnet_bytes,
                    clock,
                    pipe,
                    before,
                    after,
                    tunnel,
                    decoded: ends.decoded,
                    egress: Egress::new(
                        ends.output,
                        vnet_bytes,
                        clock,
                        rate,
                        ends.output_tap,
                        joins,
                    ),
                    tap: ends.input_tap,
                    late_reads: lateness::histogram(),
                    bins,
                    place,
                    stop,
                };
                let priority = priority::raise(Urgency::Pipe);
                let began = clock::monotonic_ns();
                if let Err(error) = pump.run(priority)
                    && let Ok(mut first) = trouble.lock()
                {
                    first.get_or_insert(format!("the {place} pipe's device failed: {error}"));
                }
                let wall_ns = clock::monotonic_ns() - began;
                PipeReport {
                    priority,
                    ..PipeReport::of(pump, clock.now(), clock::thread_cpu_ns(), wall_ns)
                }
            })?;
        match made.recv() {
            Ok(Ok(())) => Ok(thread),
            Ok(Err(error)) => Err(io::Error::new(io::ErrorKind::InvalidInput, error)),
            Err(error) => Err(io::Error::other(error)),
        }
    }
}

impl Datapath {
    /// What went wrong so far, if a device failed; the run is then not to be trusted.
    pub fn trouble(&self) -> Option<String> {
        self.trouble.lock().ok().and_then(|trouble| trouble.clone())
    }

    /// Ends both pipes, closes their meters, and writes out what is still held. An error is that of a file.
    pub fn stop(self) -> io::Result<DatapathReport> {
        self.stop.raise()?;
        let down = joined(self.down)?;
        let up = joined(self.up)?;
        for writer in self.writers {
            joined(writer)??;
        }
        Ok(DatapathReport {
            link: self.link,
            down,
            up,
        })
    }
}

fn joined<T>(thread: JoinHandle<T>) -> io::Result<T> {
    thread
        .join()
        .map_err(|_| io::Error::other("a thread of the datapath ended in a panic"))
}

#[cfg(test)]
mod starvation_tests;
#[cfg(test)]
mod tests;
