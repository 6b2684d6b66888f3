//! Takes a simulation's results as they come: each goes to its table, and to what the record will say. The first error
//! ends the run.

use super::figures::Figures;
use super::results::{RunResults, Work};
use super::sockets::SocketSamples;
use super::{Question, RunError, flows, pings, wire};
use crate::rows::{Captured, DatagramRow, FailureRow, FlowRow, IntervalRow, PingRow};
use crate::seat::{Seat, Side};
use crate::simulation::{Simulation, Summary};
use crate::sink::Sink;
use crate::spec::SimSpec;
use crate::split;
use crate::workload::WorkloadSpec;
use crate::world::Sample;
use bentpipe_path::Bin;
use bentpipe_path::time::Time;
use bentpipe_tables::{Flow, Link, Ping, Socket, Table, csv, parquet, pcapng};
use core::ops::ControlFlow;
use std::io::{self, BufWriter, Write};
use std::rc::Rc;

/// Runs `spec`, whose workloads have these names. `create` is asked for something to write each file to: link.parquet,
/// sockets.parquet, flows.parquet, pings.parquet, the captures asked for, and raw/link.csv of a run that is watched. `go_on` is
/// told the run's time every few ten milliseconds of CPU. Returns what the run amounted to and the tables by their names.
#[expect(clippy::type_complexity, reason = "a list of names and what they name")]
pub fn run<W: Write + Send>(
    spec: &SimSpec,
    names: &[String],
    question: &Question,
    create: impl FnMut(&str) -> io::Result<W>,
    go_on: &mut dyn FnMut(Time) -> ControlFlow<()>,
) -> Result<(RunResults, Vec<(&'static str, W)>), RunError> {
    let simulation =
        Simulation::new(spec.clone()).map_err(|error| RunError::Spec(error.to_string()))?;
    let figures = Figures::new(Rc::clone(simulation.spec()), question.clone());
    let mut recorder = Recorder::create(spec, names, figures, create, go_on)?;
    let summary = simulation.run(&mut recorder);
    recorder.finish(&summary)
}

/// A pipe is named after the side that it leads to.
fn pipe_name(to: Side) -> &'static str {
    to.direction().name()
}

/// A simulated run has no date: its time zero is the start of the year 2000 (UTC) in a capture.
const ZERO_NS: i64 = 946_684_800_000_000_000;

/// The bins of a run that is watched, while it runs.
const WATCHED: &str = "raw/link.csv";

struct Recorder<'a, W: Write + Send> {
    specs: &'a [WorkloadSpec],
    names: &'a [String],
    go_on: &'a mut dyn FnMut(Time) -> ControlFlow<()>,
    link: parquet::Writer<W>,
    /// The same as CSV, for whoever watches.
    watched: Option<BufWriter<W>>,
    sockets: SocketSamples<'a, W>,
    flows: parquet::Writer<W>,
    pings: parquet::Writer<W>,
    /// By host.
    captures: [Option<pcapng::Writer<BufWriter<W>>>; Seat::ALL.len()],
    bytes: Vec<u8>,
    parties: flows::Parties,
    works: Vec<Work>,
    figures: Figures,
    stopped: bool,
    failed: Option<io::Error>,
}

impl<'a, W: Write + Send> Recorder<'a, W> {
    fn create(
        spec: &'a SimSpec,
        names: &'a [String],
        figures: Figures,
        mut create: impl FnMut(&str) -> io::Result<W>,
        go_on: &'a mut dyn FnMut(Time) -> ControlFlow<()>,
    ) -> Result<Self, RunError> {
        if names.len() != spec.workloads.len() {
            return Err(RunError::Spec(format!(
                "{} names for {} workloads",
                names.len(),
                spec.workloads.len()
            )));
        }
        let mut table = |table: &Table| {
            parquet::Writer::create(create(&format!("{}.parquet", table.name))?, table)
        };
        let [link, flows, pings] = [
            table(&Link::TABLE)?,
            table(&Flow::TABLE)?,
            table(&Ping::TABLE)?,
        ];
        let ends = if spec.split.is_some() {
            split::ENDS.len()
        } else {
            Side::BOTH.len()
        };
        let sockets = SocketSamples::create(names, ends, create("sockets.parquet")?)?;
        let mut captures = [None, None, None, None];
        for &host in &spec.capture {
            let name = host.name();
            let out = BufWriter::new(create(&format!("{name}.pcapng"))?);
            let about = "a simulated host's end of the path";
            captures[host as usize] = Some(pcapng::Writer::new(out, name, about)?);
        }
        let watched = if spec.watched {
            let mut out = BufWriter::new(create(WATCHED)?);
            csv::line(&mut out, Link::COLUMNS.map(|column| column.name))?;
            Some(out)
        } else {
            None
        };
        Ok(Self {
            specs: &spec.workloads,
            names,
            go_on,
            link,
            watched,
            sockets,
            flows,
            pings,
            captures,
            bytes: Vec::new(),
            parties: flows::Parties::default(),
            works: vec![Work::default(); names.len()],
            figures,
            stopped: false,
            failed: None,
        })
    }

    /// What the run amounted to, and its tables, by their names.
    #[expect(clippy::type_complexity, reason = "a list of names and what they name")]
    fn finish(
        mut self,
        summary: &Summary,
    ) -> Result<(RunResults, Vec<(&'static str, W)>), RunError> {
        if let Some(error) = self.failed {
            return Err(error.into());
        }
        if self.stopped {
            return Err(RunError::Stopped);
        }
        let tables = vec![
            (Link::TABLE.name, self.link.finish()?),
            (Socket::TABLE.name, self.sockets.finish()?),
            (Flow::TABLE.name, self.flows.finish()?),
            (Ping::TABLE.name, self.pings.finish()?),
        ];
        for writer in self.captures.into_iter().flatten() {
            writer.finish((ZERO_NS + summary.ended.0) as u64, 0)?;
        }
        for (work, spec) in self.works.iter_mut().zip(self.specs) {
            work.end(spec, summary.ended);
        }
        let results = self.figures.results(self.works, summary);
        Ok((results, tables))
    }

    fn note(&mut self, written: io::Result<()>) {
        if let Err(error) = written {
            self.failed.get_or_insert(error);
        }
    }
}

impl<W: Write + Send> Sink for Recorder<'_, W> {
    fn bin(&mut self, to: Side, bin: &Bin) {
        self.figures.bin(to, bin);
        let cells = Link::new(pipe_name(to), bin).cells();
        let written = self.link.row(&cells);
        self.note(written);
        if let Some(out) = &mut self.watched {
            let written = csv::line(out, cells);
            self.note(written);
        }
    }

    fn sample(&mut self, sample: Sample<'_>) {
        let written = self.sockets.sample(sample, &mut self.figures);
        self.note(written);
    }

    fn flow(&mut self, row: &FlowRow) {
        self.works[row.workload].flow(row);
        self.figures.flow(row);
        let row = flows::row(&self.names[row.workload], row, &mut self.parties);
        let written = self.flows.row(&row.cells());
        self.note(written);
    }

    fn interval(&mut self, row: &IntervalRow) {
        self.works[row.workload].interval(row);
    }

    fn ping(&mut self, row: &PingRow) {
        self.works[row.workload].ping(row);
        let ping = pings::row(&self.names[row.workload], row);
        let written = self.pings.row(&ping.cells());
        self.note(written);
    }

    fn datagram(&mut self, row: &DatagramRow) {
        self.works[row.workload].datagram(row);
    }

    fn failure(&mut self, row: &FailureRow) {
        self.works[row.workload].why = Some(row.why);
    }

    fn packet(&mut self, captured: &Captured) {
        if let Some(writer) = &mut self.captures[captured.at as usize] {
            let bytes = wire::write(captured, &mut self.bytes).map_err(io::Error::other);
            let at_ns = (ZERO_NS + captured.time.0) as u64;
            let written =
                bytes.and_then(|()| writer.packet(at_ns, captured.direction, &self.bytes));
            self.note(written);
        }
    }

    fn go_on(&mut self, now: Time) -> ControlFlow<()> {
        if let Some(out) = &mut self.watched {
            let written = out.flush();
            self.note(written);
        }
        if self.failed.is_some() {
            return ControlFlow::Break(());
        }
        let answer = (self.go_on)(now);
        self.stopped |= answer.is_break();
        answer
    }
}
