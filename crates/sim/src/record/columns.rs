//! A run whose tables are kept as columns of numbers, for a reader that draws them: the playground. It goes on in stretches, so
//! that its caller can look up in between, tell how far it is, and drop it.

use super::figures::Figures;
use super::packets::{PacketLog, PacketQuestion};
use super::results::{RunResults, Work};
use super::{Question, RunError, flows, pings, socket_row};
use crate::rows::{Captured, DatagramRow, FailureRow, FlowRow, IntervalRow, PingRow};
use crate::seat::{Seat, Side};
use crate::simulation::{EVENTS_BETWEEN_QUESTIONS, Simulation, Stretch};
use crate::sink::Sink;
use crate::spec::SimSpec;
use crate::world::Sample;
use bentpipe_path::Bin;
use bentpipe_path::time::Time;
use bentpipe_reading::Entries;
use bentpipe_tables::{Cell, Flow, Link, Packet, Ping, Socket, Table};
use std::rc::Rc;

/// What is to be run, and what is to be kept of it.
#[derive(Clone, Debug)]
pub struct Request {
    pub spec: SimSpec,
    /// Of the workloads, in the order of `spec`.
    pub names: Vec<String>,
    pub question: Question,
    /// The columns of each table that are kept; of a table that it does not name none. `None`: all of every table.
    pub columns: Option<Entries<Vec<String>>>,
    /// The packets of the table `packets`, which is there if they are asked for.
    pub packets: Option<PacketQuestion>,
}

bentpipe_reading::read_struct!(Request {
    spec,
    names,
    question,
    columns,
    packets
});

/// The columns of one table that are kept. Numbers are as in the table, null is NaN, a flag is 0 or 1, and a text is its
/// place in [`ColumnRun::texts`].
#[derive(Debug)]
pub struct TableColumns {
    pub table: &'static Table,
    /// Places in the table, and the cells from the first row to the last.
    pub columns: Vec<(usize, Vec<f64>)>,
    pub rows: usize,
}

/// Each text once.
#[derive(Debug, Default)]
struct Texts {
    all: Vec<String>,
    /// Their places in the order of the texts.
    sorted: Vec<usize>,
}

impl Texts {
    fn place(&mut self, text: &str) -> usize {
        let all = &self.all;
        match self
            .sorted
            .binary_search_by(|it| all[*it].as_str().cmp(text))
        {
            Ok(found) => self.sorted[found],
            Err(between) => {
                let place = all.len();
                self.sorted.insert(between, place);
                self.all.push(text.to_owned());
                place
            }
        }
    }
}

impl TableColumns {
    fn row(&mut self, cells: &[Cell<'_>], texts: &mut Texts) {
        for (place, column) in &mut self.columns {
            column.push(match cells[*place] {
                Cell::Null => f64::NAN,
                Cell::Text(text) => texts.place(text) as f64,
                Cell::Integer(number) => number as f64,
                Cell::Float(number) => number,
                Cell::Flag(flag) => f64::from(u8::from(flag)),
            });
        }
        self.rows += 1;
    }
}

static TABLES: [Table; 5] = [
    Link::TABLE,
    Socket::TABLE,
    Flow::TABLE,
    Ping::TABLE,
    Packet::TABLE,
];
const LINK: usize = 0;
const SOCKETS: usize = 1;
const FLOWS: usize = 2;
const PINGS: usize = 3;
const PACKETS: usize = 4;

/// A run under way.
pub struct ColumnRun {
    simulation: Simulation,
    is_over: bool,
    kept: Kept,
}

struct Kept {
    spec: Rc<SimSpec>,
    names: Vec<String>,
    tables: [TableColumns; TABLES.len()],
    packets: Option<PacketLog>,
    texts: Texts,
    parties: flows::Parties,
    works: Vec<Work>,
    figures: Figures,
}

impl ColumnRun {
    pub fn new(request: Request) -> Result<Self, RunError> {
        let Request {
            mut spec,
            names,
            question,
            columns,
            packets,
        } = request;
        if names.len() != spec.workloads.len() {
            let (names, works) = (names.len(), spec.workloads.len());
            return Err(RunError::Spec(format!(
                "{names} names for {works} workloads"
            )));
        }
        spec.capture = packets.iter().map(|asked| asked.at).collect();
        let simulation =
            Simulation::new(spec).map_err(|error| RunError::Spec(error.to_string()))?;
        let spec = Rc::clone(simulation.spec());
        if let Some(wanted) = &columns
            && let Some(unknown) = unknown_column(wanted)
        {
            return Err(RunError::Spec(format!("columns: there is no {unknown}")));
        }
        let kept = |table: &'static Table| TableColumns {
            table,
            columns: (0..table.columns.len())
                .filter(|_| packets.is_some() || table.name != Packet::TABLE.name)
                .filter(|&place| {
                    columns.as_ref().is_none_or(|wanted| {
                        let name = table.columns[place].name;
                        wanted
                            .get(table.name)
                            .is_some_and(|names| names.iter().any(|it| it == name))
                    })
                })
                .map(|place| (place, Vec::new()))
                .collect(),
            rows: 0,
        };
        Ok(Self {
            simulation,
            is_over: false,
            kept: Kept {
                tables: TABLES.each_ref().map(kept),
                packets: packets.map(PacketLog::new),
                texts: Texts::default(),
                parties: flows::Parties::default(),
                works: vec![Work::default(); names.len()],
                figures: Figures::new(Rc::clone(&spec), question),
                spec,
                names,
            },
        })
    }

    /// Goes on for some five milliseconds of a processor: a page that drags a slider asks for 30 at a time.
    pub fn advance(&mut self) -> Stretch {
        let stretch = self
            .simulation
            .advance(EVENTS_BETWEEN_QUESTIONS / 16, &mut self.kept);
        self.is_over = stretch == Stretch::Ended;
        stretch
    }

    /// The time that the run has reached.
    pub fn now(&self) -> Time {
        self.simulation.now()
    }

    /// What the run amounted to, its tables, and the texts in them. A run that is not over ends where it is.
    pub fn finish(self) -> (RunResults, [TableColumns; TABLES.len()], Vec<String>) {
        let Self {
            mut simulation,
            is_over,
            mut kept,
        } = self;
        if !is_over {
            simulation.stop();
        }
        let summary = simulation.finish(&mut kept);
        for (work, spec) in kept.works.iter_mut().zip(&kept.spec.workloads) {
            work.end(spec, summary.ended);
        }
        let results = kept.figures.results(kept.works, &summary);
        (results, kept.tables, kept.texts.all)
    }
}

fn unknown_column(wanted: &Entries<Vec<String>>) -> Option<String> {
    wanted.iter().find_map(|(table, columns)| {
        let Some(known) = TABLES.iter().find(|it| it.name == table) else {
            return Some(format!("table {table}"));
        };
        columns
            .iter()
            .find(|name| known.columns.iter().all(|it| it.name != name.as_str()))
            .map(|name| format!("{table}.{name}"))
    })
}

impl Sink for Kept {
    fn bin(&mut self, to: Side, bin: &Bin) {
        self.figures.bin(to, bin);
        let row = Link::new(to.direction().name(), bin);
        self.tables[LINK].row(&row.cells(), &mut self.texts);
    }

    fn sample(&mut self, sample: Sample<'_>) {
        let mut open = [false; Seat::ALL.len()];
        sample.each(|seen| {
            open[seen.host as usize] = true;
            self.figures.socket(seen);
            let line = seen.row();
            let row = socket_row::row(&self.names[line.workload], &line);
            self.tables[SOCKETS].row(&row.cells(), &mut self.texts);
        });
        for host in Seat::ALL {
            if open[host as usize] {
                self.figures.sampled(host, sample.time());
            }
        }
    }

    fn flow(&mut self, row: &FlowRow) {
        self.works[row.workload].flow(row);
        self.figures.flow(row);
        let row = flows::row(&self.names[row.workload], row, &mut self.parties);
        self.tables[FLOWS].row(&row.cells(), &mut self.texts);
    }

    fn interval(&mut self, row: &IntervalRow) {
        self.works[row.workload].interval(row);
    }

    fn ping(&mut self, row: &PingRow) {
        self.works[row.workload].ping(row);
        let row = pings::row(&self.names[row.workload], row);
        self.tables[PINGS].row(&row.cells(), &mut self.texts);
    }

    fn datagram(&mut self, row: &DatagramRow) {
        self.works[row.workload].datagram(row);
    }

    fn failure(&mut self, row: &FailureRow) {
        self.works[row.workload].why = Some(row.why);
    }

    fn packet(&mut self, captured: &Captured) {
        if let Some(row) = self.packets.as_mut().and_then(|log| log.row(captured)) {
            self.tables[PACKETS].row(&row.cells(), &mut self.texts);
        }
    }
}
