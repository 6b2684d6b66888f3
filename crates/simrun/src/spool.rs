//! Takes a simulation's results and writes each to its file. The first error ends the run.

use crate::outcome::{Outcome, Pipe, Work};
use crate::{RunError, flows, pings, sockets, wire};
use bentpipe_path::Bin;
use bentpipe_path::time::Time;
use bentpipe_sim::seat::{Seat, Side};
use bentpipe_sim::simulation::{SimSpec, Summary};
use bentpipe_sim::sink::{Captured, FlowRow, IntervalRow, PingRow, Sink, SocketRow};
use bentpipe_sim::workload::WorkloadSpec;
use bentpipe_tables::{Flow, Link, Ping, Socket, Table, parquet, pcapng};
use core::ops::ControlFlow;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;

/// A pipe is named after the side that it leads to.
fn pipe_name(to: Side) -> &'static str {
    match to {
        Side::Client => "down",
        Side::Server => "up",
    }
}

/// A simulated run has no date: its time zero is the start of the year 2000 (UTC) in a capture.
const ZERO_NS: i64 = 946_684_800_000_000_000;

pub(crate) struct Spool<'a> {
    specs: &'a [WorkloadSpec],
    names: &'a [String],
    go_on: &'a mut dyn FnMut(Time) -> ControlFlow<()>,
    link: parquet::Writer<File>,
    sockets: parquet::Writer<File>,
    flows: parquet::Writer<File>,
    pings: parquet::Writer<File>,
    /// By host.
    captures: [Option<pcapng::Writer<BufWriter<File>>>; Seat::ALL.len()],
    bytes: Vec<u8>,
    works: Vec<Work>,
    stopped: bool,
    failed: Option<io::Error>,
}

impl<'a> Spool<'a> {
    pub fn create(
        folder: &Path,
        spec: &'a SimSpec,
        names: &'a [String],
        go_on: &'a mut dyn FnMut(Time) -> ControlFlow<()>,
    ) -> Result<Self, RunError> {
        if names.len() != spec.workloads.len() {
            return Err(RunError::Spec(format!(
                "{} names for {} workloads",
                names.len(),
                spec.workloads.len()
            )));
        }
        let create = |table: &Table| {
            let name = format!("{}.parquet", table.name);
            parquet::Writer::create(File::create(folder.join(name))?, table)
        };
        let capture = |host: Seat| -> io::Result<_> {
            if !spec.capture.contains(&host) {
                return Ok(None);
            }
            let name = host.name();
            let out = File::create(folder.join(format!("{name}.pcapng")))?;
            pcapng::Writer::new(
                BufWriter::new(out),
                name,
                "a simulated host's end of the path",
            )
            .map(Some)
        };
        Ok(Self {
            specs: &spec.workloads,
            names,
            go_on,
            link: create(&Link::TABLE)?,
            sockets: create(&Socket::TABLE)?,
            flows: create(&Flow::TABLE)?,
            pings: create(&Ping::TABLE)?,
            captures: [
                capture(Seat::Client)?,
                capture(Seat::Near)?,
                capture(Seat::Far)?,
                capture(Seat::Server)?,
            ],
            bytes: Vec::new(),
            works: vec![Work::default(); names.len()],
            stopped: false,
            failed: None,
        })
    }

    pub fn finish(mut self, summary: &Summary) -> Result<Outcome, RunError> {
        if let Some(error) = self.failed {
            return Err(error.into());
        }
        if self.stopped {
            return Err(RunError::Stopped);
        }
        for table in [self.link, self.sockets, self.flows, self.pings] {
            table.finish()?;
        }
        for writer in self.captures.into_iter().flatten() {
            writer.finish((ZERO_NS + summary.ended.0) as u64, 0)?;
        }
        for (work, spec) in self.works.iter_mut().zip(self.specs) {
            work.end(spec, summary.ended);
        }
        let [down, up] = &summary.totals;
        Ok(Outcome {
            ended_ns: summary.ended,
            events: summary.events,
            workloads: self.works,
            pipes: [("down", Pipe::from(down)), ("up", Pipe::from(up))].into(),
        })
    }

    fn note(&mut self, written: io::Result<()>) {
        if let Err(error) = written {
            self.failed.get_or_insert(error);
        }
    }
}

impl Sink for Spool<'_> {
    fn bin(&mut self, to: Side, bin: &Bin) {
        let written = self.link.row(&Link::new(pipe_name(to), bin).cells());
        self.note(written);
    }

    fn socket(&mut self, row: &SocketRow) {
        let written = self
            .sockets
            .row(&sockets::row(&self.names[row.workload], row).cells());
        self.note(written);
    }

    fn flow(&mut self, row: &FlowRow) {
        self.works[row.workload].flow(row);
        let written = flows::with_row(&self.names[row.workload], row, |row| {
            self.flows.row(&row.cells())
        });
        self.note(written);
    }

    fn interval(&mut self, row: &IntervalRow) {
        self.works[row.workload].interval(row);
    }

    fn ping(&mut self, row: &PingRow) {
        self.works[row.workload].ping(row);
        let written = self
            .pings
            .row(&pings::row(&self.names[row.workload], row).cells());
        self.note(written);
    }

    fn packet(&mut self, captured: &Captured) {
        if let Some(writer) = &mut self.captures[captured.at as usize] {
            wire::write(captured, &mut self.bytes);
            let direction = if captured.outgoing {
                pcapng::Direction::Out
            } else {
                pcapng::Direction::In
            };
            let at_ns = (ZERO_NS + captured.time.0) as u64;
            let written = writer.packet(at_ns, direction, &self.bytes);
            self.note(written);
        }
    }

    fn go_on(&mut self, now: Time) -> ControlFlow<()> {
        if self.failed.is_some() {
            return ControlFlow::Break(());
        }
        let answer = (self.go_on)(now);
        self.stopped |= answer.is_break();
        answer
    }
}
