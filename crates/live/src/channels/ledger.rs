//! What the clients' and the servers' threads know together: which connection is for which flow, and what became of it.
//!
//! A flow's row is written when both sides have said what they know: the client its times, the server how often the
//! kernel sent again. What one side never says stays empty.

use super::setup::PORT;
use crate::family::Family;
use bentpipe_base::Direction;
use bentpipe_tables::{Flow as Row, csv};
use bentpipe_workloads::PlannedFlow;
use std::collections::HashMap;
use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Columns that are not written: the flow's number among all of the run's is not known here, and no cache lies between.
const LEFT_OUT: [&str; 3] = ["flow", "object", "cache"];

fn is_written(name: &str) -> bool {
    !LEFT_OUT.contains(&name)
}

/// A flow's number in the order in which they were begun.
pub(super) type Number = u64;

/// How a flow ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FlowOutcome {
    Finished,
    Unfinished,
    Failed(String),
}

/// What the client knows of a flow. Times are nanoseconds on the run's clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Received {
    /// From 0.
    pub channel: u32,
    pub flow: PlannedFlow,
    pub local_port: u16,
    pub start_ns: i64,
    pub connected_ns: Option<i64>,
    pub first_byte_ns: Option<i64>,
    pub last_byte_ns: Option<i64>,
    pub bytes: u64,
    pub outcome: FlowOutcome,
}

/// What one side has said while the other has not.
#[derive(Debug)]
enum Half {
    Client(Received),
    /// Segments sent again, where the kernel said so.
    Server(Option<u32>),
}

#[derive(Debug)]
pub(super) struct Ledger<W> {
    out: W,
    workload: String,
    ip: u8,
    begun: Number,
    /// By server and the client's port.
    expected: HashMap<(u32, u16), (Number, u64)>,
    halves: HashMap<Number, Half>,
    /// The first error of the file.
    written: io::Result<()>,
}

impl<W: Write> Ledger<W> {
    pub fn new(mut out: W, workload: &str, family: Family) -> io::Result<Self> {
        let names = Row::COLUMNS.map(|column| column.name).into_iter();
        csv::line(&mut out, names.filter(|name| is_written(name)))?;
        Ok(Self {
            out,
            workload: workload.into(),
            ip: match family {
                Family::V4 => 4,
                Family::V6 => 6,
            },
            begun: 0,
            expected: HashMap::new(),
            halves: HashMap::new(),
            written: Ok(()),
        })
    }

    /// A connection for this flow is on its way from that port.
    pub fn expect(&mut self, flow: PlannedFlow, local_port: u16) -> Number {
        let number = self.begun;
        self.begun += 1;
        let key = (flow.server, local_port);
        self.expected.insert(key, (number, flow.size_bytes));
        number
    }

    /// A server has accepted a connection from that port: the flow's number and size. `None` where nobody expects it.
    pub fn accepted(&mut self, server: u32, port: u16) -> Option<(Number, u64)> {
        self.expected.remove(&(server, port))
    }

    /// The client is done with a flow.
    pub fn received(&mut self, number: Number, received: Received) {
        let key = (received.flow.server, received.local_port);
        match self.halves.remove(&number) {
            Some(Half::Server(retransmits)) => self.write(&received, retransmits),
            // No server will say anything of what none has accepted.
            _ if self.expected.get(&key).is_some_and(|(of, _)| *of == number) => {
                self.expected.remove(&key);
                self.write(&received, None);
            }
            _ => {
                self.halves.insert(number, Half::Client(received));
            }
        }
    }

    /// The server is done with a flow.
    pub fn sent(&mut self, number: Number, retransmits: Option<u32>) {
        if let Some(Half::Client(received)) = self.halves.remove(&number) {
            self.write(&received, retransmits);
        } else {
            self.halves.insert(number, Half::Server(retransmits));
        }
    }

    /// Writes out what is left. The error is the first that the file gave.
    pub fn finish(&mut self) -> io::Result<()> {
        let mut left: Vec<_> = self.halves.drain().collect();
        left.sort_unstable_by_key(|(number, _)| *number);
        for (_, half) in left {
            if let Half::Client(received) = half {
                self.write(&received, None);
            }
        }
        std::mem::replace(&mut self.written, Ok(()))?;
        self.out.flush()
    }

    /// Writes a flow's row.
    pub fn write(&mut self, row: &Received, retransmits: Option<u32>) {
        if self.written.is_ok() {
            self.written = self.row(row, retransmits);
        }
    }

    fn row(&mut self, row: &Received, retransmits: Option<u32>) -> io::Result<()> {
        let seconds = |nanos: i64| nanos as f64 / 1e9;
        let end_ns = row
            .last_byte_ns
            .filter(|_| row.outcome == FlowOutcome::Finished);
        let goodput = end_ns
            .map(|end| seconds(end - row.start_ns))
            .filter(|&taken| taken > 0.0)
            .map(|taken| row.bytes as f64 * 8.0 / taken);
        let client = format!("client-{}", row.channel + 1);
        let server = format!("server-{}", row.flow.server + 1);
        let (outcome, why) = match &row.outcome {
            FlowOutcome::Finished => ("finished", None),
            FlowOutcome::Unfinished => ("unfinished", Some("the run ended")),
            FlowOutcome::Failed(why) => ("failed", Some(why.as_str())),
        };
        let row = Row {
            flow: 0,
            workload: &self.workload,
            client: &client,
            server: &server,
            direction: Direction::Down.name(),
            ip: self.ip.into(),
            local_port: row.local_port.into(),
            remote_port: PORT.into(),
            size_bytes: Some(row.flow.size_bytes),
            start_s: seconds(row.start_ns),
            connected_s: row.connected_ns.map(seconds),
            first_byte_s: row.first_byte_ns.map(seconds),
            end_s: end_ns.map(seconds),
            bytes: row.bytes,
            goodput_bit_s: goodput,
            retransmits: retransmits.map(u64::from),
            outcome,
            why,
            object: None,
            cache: None,
        };
        let cells = Row::COLUMNS.iter().zip(row.cells());
        let cells = cells.filter(|(column, _)| is_written(column.name));
        csv::line(&mut self.out, cells.map(|(_, cell)| cell))
    }
}

/// A thread that panicked while it held the ledger has left it whole: nothing in it panics half-way.
pub(super) fn lock<W>(ledger: &Mutex<Ledger<W>>) -> MutexGuard<'_, Ledger<W>> {
    ledger.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FLOW: PlannedFlow = PlannedFlow {
        server: 6,
        size_bytes: 3_000,
    };

    fn received(channel: u32, outcome: FlowOutcome) -> Received {
        Received {
            channel,
            flow: FLOW,
            local_port: 40_000,
            start_ns: 1_000_000_000,
            connected_ns: Some(1_500_000_000),
            first_byte_ns: None,
            last_byte_ns: Some(3_000_000_000),
            bytes: 3_000,
            outcome,
        }
    }

    fn ledger() -> Ledger<Vec<u8>> {
        Ledger::new(Vec::new(), "island", Family::V4).expect("a Vec takes all")
    }

    fn rows(mut ledger: Ledger<Vec<u8>>) -> Vec<String> {
        ledger.finish().expect("a Vec takes all");
        let text = String::from_utf8(ledger.out).expect("it is text");
        text.lines().skip(1).map(str::to_owned).collect()
    }

    #[test]
    fn a_server_learns_a_flows_size_by_its_port_and_once() {
        let mut ledger = ledger();
        let number = ledger.expect(FLOW, 40_000);
        assert_eq!(ledger.accepted(5, 40_000), None);
        assert_eq!(ledger.accepted(6, 40_000), Some((number, 3_000)));
        assert_eq!(ledger.accepted(6, 40_000), None);
    }

    #[test]
    fn a_flow_is_one_row_whichever_side_ends_first() {
        for server_first in [true, false] {
            let mut ledger = ledger();
            let number = ledger.expect(FLOW, 40_000);
            ledger.accepted(6, 40_000);
            if server_first {
                ledger.sent(number, Some(2));
            }
            ledger.received(number, received(2, FlowOutcome::Finished));
            if !server_first {
                ledger.sent(number, Some(2));
            }
            assert_eq!(
                rows(ledger),
                ["island,client-3,server-7,down,4,40000,5001,3000,1,1.5,,3,3000,12000,2,finished,"]
            );
        }
    }

    #[test]
    fn what_no_server_accepted_has_no_retransmits_and_frees_its_port() {
        let mut ledger = ledger();
        let first = ledger.expect(FLOW, 40_000);
        ledger.received(first, received(0, FlowOutcome::Failed("timed out".into())));
        assert_eq!(ledger.accepted(6, 40_000), None);
        let rows = rows(ledger);
        assert!(rows[0].ends_with(",3000,,,failed,timed out"), "{}", rows[0]);
    }

    #[test]
    fn a_port_that_is_used_again_stands_for_its_new_flow() {
        let mut ledger = ledger();
        let first = ledger.expect(FLOW, 40_000);
        ledger.accepted(6, 40_000);
        let second = ledger.expect(FLOW, 40_000);
        ledger.received(first, received(0, FlowOutcome::Finished));
        assert_eq!(ledger.accepted(6, 40_000), Some((second, 3_000)));
    }

    #[test]
    fn what_the_server_never_spoke_of_is_written_in_the_end() {
        let mut ledger = ledger();
        let number = ledger.expect(FLOW, 40_000);
        ledger.accepted(6, 40_000);
        ledger.received(number, received(0, FlowOutcome::Unfinished));
        let rows = rows(ledger);
        assert!(
            rows[0].ends_with(",,unfinished,the run ended"),
            "{}",
            rows[0]
        );
    }
}
