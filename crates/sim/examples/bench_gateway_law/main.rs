//! What the gateways' law `fair` leaves of a path to a plain CUBIC flow beside it, and what it reaches alone: `make bench-gateway-law`.
//! `SEEDS=20` takes more seeds; a word as an argument prints only the tables whose title has it.
//!
//! Figures are medians over the seeds, with the least and the greatest. A seed moves the losses, and when the second flow begins.

mod cases;

use bentpipe_base::{Nanos, SplitMix64, Time};
use bentpipe_path::config::{HandoverConfig, JitterConfig, JitterDistribution, LineLimit};
use bentpipe_sim::packet::ConnectionId;
use bentpipe_sim::pair::Pair;
use bentpipe_sim::seat::Side;
use bentpipe_sim::spec::SimSpec;
use cases::{PAYLOAD, Path};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

const MBIT_S: f64 = 16.0;
/// Bytes that no run sends.
const ENDLESS: u64 = 4_000_000_000;
/// Round trip in ms and queue in kB.
const SHARED: [(i64, u64); 13] = [
    (550, 100),
    (550, 150),
    (550, 200),
    (550, 400),
    (550, 700),
    (550, 1100),
    (100, 25),
    (100, 50),
    (100, 100),
    (100, 200),
    (100, 250),
    (30, 60),
    (30, 200),
];
const ALONE: [(i64, u64); 5] = [(550, 200), (550, 1100), (100, 50), (100, 200), (30, 60)];

/// Prints a table over so many seeds.
type Table = fn(u64);

fn main() {
    let mut seeds = 5;
    let mut only = String::new();
    for argument in std::env::args().skip(1) {
        match argument.parse() {
            Ok(number) => seeds = number,
            Err(_) => only = argument,
        }
    }
    let tables: [(&str, Table); 9] = [
        ("Beside one CUBIC flow", beside),
        ("A CUBIC flow that begins earlier or later", order),
        ("Alone", alone),
        ("After little was sent", little),
        ("After the CUBIC flow has left", left),
        ("After a change of the path's rate", changes),
        ("Over a constellation", constellation),
        ("Where the delay varies", varying),
        ("Beside CUBIC where the delay varies", beside_varying),
    ];
    for (title, table) in tables {
        if title.contains(&only) {
            println!("{title}:");
            table(seeds);
            println!();
        }
    }
}

/// Two downloads: through the gateways, or without gateways, and beside them.
struct Downloads {
    pair: Pair,
    has_gateway: bool,
}

impl Downloads {
    fn new(spec: &SimSpec) -> Self {
        Self {
            pair: Pair::new(spec, Vec::new()).expect("a sound specification"),
            has_gateway: spec.gateway.is_some(),
        }
    }

    /// Begins a download at this time; workload 1 crosses beside the gateways.
    fn begin(&mut self, at_s: f64, workload: usize) -> ConnectionId {
        let connection = self.connect(at_s, workload);
        self.pair.write(connection, Side::Server, ENDLESS);
        connection
    }

    fn connect(&mut self, at_s: f64, workload: usize) -> ConnectionId {
        self.pair.run_until(time(at_s));
        let connection = self.pair.connect_as(workload);
        // The server's socket is there when the SYN has come.
        self.pair.run_until(time(at_s + 1.0));
        connection
    }

    /// Mbit/s through the gateways, and beside them, up to this time.
    fn until(&mut self, to_s: f64) -> [f64; 2] {
        let from = self.pair.now();
        let before = self.came();
        self.pair.run_until(time(to_s));
        let after = self.came();
        let span = (self.pair.now() - from).as_secs_f64();
        core::array::from_fn(|it| (after[it] - before[it]) as f64 * 8e-6 / span)
    }

    fn came(&self) -> [u64; 2] {
        let all = self.pair.received(Side::Client);
        let through = self.pair.gateway().map_or(0, |it| it[0].delivered_bytes);
        [through, all - if self.has_gateway { through } else { 0 }]
    }
}

fn time(at_s: f64) -> Time {
    Time((at_s * 1e9) as i64)
}

/// So many seconds by chance, from 0 to 3.
fn chance_s(seed: u64) -> f64 {
    (SplitMix64(seed).draw() >> 11) as f64 / (1_u64 << 53) as f64 * 3.0
}

/// Runs each seed, on as many processors as there are, and gives the results in the order of the seeds.
fn each_seed<const N: usize>(seeds: u64, run: impl Fn(u64) -> [f64; N] + Sync) -> [Vec<f64>; N] {
    let next = AtomicU64::new(1);
    let results = Mutex::new(vec![[0.0; N]; seeds as usize]);
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed > seeds {
                        return;
                    }
                    let result = run(seed);
                    results.lock().expect("no seed panics")[seed as usize - 1] = result;
                }
            });
        }
    });
    let results = results.into_inner().expect("no seed panics");
    core::array::from_fn(|it| results.iter().map(|result| result[it]).collect())
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 {
        sorted[middle]
    } else {
        f64::midpoint(sorted[middle - 1], sorted[middle])
    }
}

/// `6.08 (5.90 to 6.31)`
fn spread(values: &[f64], digits: usize) -> String {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let middle = median(values);
    format!("{middle:.digits$} ({least:.digits$} to {most:.digits$})")
}

fn shares(values: &[f64], of: f64) -> Vec<f64> {
    values.iter().map(|it| 100.0 * it / of).collect()
}

/// Two minutes from 10 s on, of two downloads that begin within 4 s.
fn beside(seeds: u64) {
    let equal = MBIT_S * PAYLOAD / 2.0;
    println!(
        "What it keeps, in % of an equal share ({equal:.2} Mbit/s): beside another CUBIC flow, and beside `fair`; and what `fair` has"
    );
    println!("| round trip | queue | loss | beside CUBIC | beside fair | fair |");
    println!("|---|---|---|---|---|---|");
    for loss in [0.0, 0.001] {
        for (round_trip_ms, queue_kb) in SHARED {
            let path = Path::new(round_trip_ms, queue_kb, loss);
            let [plain, kept, through] = two_minutes(seeds, path, equal);
            println!(
                "| {round_trip_ms} ms | {queue_kb} kB | {} % | {:.0} | {} | {:.0} |",
                100.0 * loss,
                median(&plain),
                spread(&kept, 0),
                median(&through),
            );
        }
    }
}

/// In % of an equal share: each of two CUBIC flows, one beside `fair`, and `fair`.
fn two_minutes(seeds: u64, path: Path, equal: f64) -> [Vec<f64>; 3] {
    let of = |has_gateway: bool| {
        each_seed(seeds, |seed| {
            let mut downloads = Downloads::new(&path.spec(seed, has_gateway));
            downloads.begin(1.0, 0);
            downloads.begin(2.0 + chance_s(seed), 1);
            downloads.until(10.0);
            if has_gateway {
                return downloads.until(130.0);
            }
            // Both are beside gateways that are not there.
            let [_, both] = downloads.until(130.0);
            [both / 2.0; 2]
        })
    };
    let [[_, plain], [through, kept]] = [of(false), of(true)];
    [plain, kept, through].map(|it| shares(&it, equal))
}

/// The one begins at 1 s, the other from 20 to 23 s; two minutes from 35 s on.
fn order(seeds: u64) {
    let equal = MBIT_S * PAYLOAD / 2.0;
    println!("What each has, in % of an equal share");
    println!("| round trip | queue | CUBIC first: CUBIC | fair | fair first: CUBIC | fair |");
    println!("|---|---|---|---|---|---|");
    for (round_trip_ms, queue_kb) in [(550, 200), (550, 1100), (100, 50), (100, 200), (30, 60)] {
        let of = |first: usize| {
            each_seed(seeds, |seed| {
                let path = Path::new(round_trip_ms, queue_kb, 0.0);
                let mut downloads = Downloads::new(&path.spec(seed, true));
                downloads.begin(1.0, first);
                downloads.begin(20.0 + chance_s(seed), 1 - first);
                downloads.until(35.0);
                downloads.until(155.0)
            })
        };
        let cells = [1, 0].map(|first| {
            let [through, kept] = of(first);
            let through = median(&shares(&through, equal));
            format!("{} | {through:.0}", spread(&shares(&kept, equal), 0))
        });
        println!(
            "| {round_trip_ms} ms | {queue_kb} kB | {} | {} |",
            cells[0], cells[1]
        );
    }
}

/// A minute from 15 s on.
fn alone(seeds: u64) {
    println!("Goodput in % of the ceiling");
    println!("| round trip | queue | loss | fair |");
    println!("|---|---|---|---|");
    let losses = [0.0, 0.001, 0.01, 0.05];
    let cells = ALONE
        .into_iter()
        .flat_map(|path| losses.map(|loss| (path, loss)));
    let heavy = [0.2, 0.3, 0.4].map(|loss| ((550, 200), loss));
    for ((round_trip_ms, queue_kb), loss) in cells.chain(heavy) {
        let [through] = each_seed(seeds, |seed| {
            let path = Path::new(round_trip_ms, queue_kb, loss);
            let mut downloads = Downloads::new(&path.spec(seed, true));
            downloads.begin(1.0 + chance_s(seed), 0);
            downloads.until(15.0);
            [downloads.until(75.0)[0]]
        });
        println!(
            "| {round_trip_ms} ms | {queue_kb} kB | {} % | {} |",
            100.0 * loss,
            spread(&shares(&through, MBIT_S * (1.0 - loss) * PAYLOAD), 1)
        );
    }
}

/// Every 0.6 s from 2 s on there are 40 kB to send, and from between 14 and 17 s on without end.
fn little(seeds: u64) {
    println!("Goodput of `fair` in % of the ceiling, 20 s from when there is much to send");
    println!("| rate | round trip | queue | loss | fair |");
    println!("|---|---|---|---|---|");
    for (mbit_s, round_trip_ms, queue_kb) in [(16.0, 550, 200), (50.0, 550, 600), (50.0, 100, 200)]
    {
        for loss in [0.0, 0.01, 0.05] {
            let [through] = each_seed(seeds, |seed| {
                let path = Path::new(round_trip_ms, queue_kb, loss).at(mbit_s);
                let mut downloads = Downloads::new(&path.spec(seed, true));
                let connection = downloads.connect(1.0, 0);
                for step in 0..20 {
                    downloads.until(2.0 + 0.6 * f64::from(step));
                    downloads.pair.write(connection, Side::Server, 40_000);
                }
                let at = 14.0 + chance_s(seed);
                downloads.until(at);
                downloads.pair.write(connection, Side::Server, ENDLESS);
                [downloads.until(at + 20.0)[0]]
            });
            println!(
                "| {mbit_s} Mbit/s | {round_trip_ms} ms | {queue_kb} kB | {} % | {} |",
                100.0 * loss,
                spread(&shares(&through, mbit_s * (1.0 - loss) * PAYLOAD), 0)
            );
        }
    }
}

/// It begins between 2 and 5 s, and ends at 60 s.
fn left(seeds: u64) {
    println!(
        "Goodput of `fair` in % of the ceiling, in the minute after it, and in the half minute after that"
    );
    println!("| round trip | queue | loss | first minute | then |");
    println!("|---|---|---|---|---|");
    for loss in [0.0, 0.001] {
        for (round_trip_ms, queue_kb) in ALONE {
            let [first, then] = each_seed(seeds, |seed| {
                let path = Path::new(round_trip_ms, queue_kb, loss);
                let mut downloads = Downloads::new(&path.spec(seed, true));
                downloads.begin(1.0, 0);
                let other = downloads.begin(2.0 + chance_s(seed), 1);
                downloads.until(60.0);
                downloads.pair.abort(other, Side::Server);
                let [first, _] = downloads.until(120.0);
                let [then, _] = downloads.until(150.0);
                [first, then]
            });
            let ceiling = MBIT_S * (1.0 - loss) * PAYLOAD;
            println!(
                "| {round_trip_ms} ms | {queue_kb} kB | {} % | {} | {} |",
                100.0 * loss,
                spread(&shares(&first, ceiling), 1),
                spread(&shares(&then, ceiling), 1)
            );
        }
    }
}

/// Half of the rate from between 30 and 33 s on, and the whole from 90 s on.
fn changes(seeds: u64) {
    println!(
        "Goodput of `fair` alone in % of the ceiling, in the half minute after the fall to a half, and after the rise"
    );
    println!("| round trip | queue | loss | after the fall | after the rise |");
    println!("|---|---|---|---|---|");
    for loss in [0.0, 0.01] {
        for (round_trip_ms, queue_kb) in ALONE {
            let [fall, rise] = each_seed(seeds, |seed| {
                let path = Path::new(round_trip_ms, queue_kb, loss);
                let at = 30.0 + chance_s(seed);
                let spec = path.with_rates(&[(0.0, 1.0), (at, 0.5), (90.0, 1.0)], seed);
                let mut downloads = Downloads::new(&spec);
                downloads.begin(1.0, 0);
                downloads.until(at);
                let [fall, _] = downloads.until(at + 30.0);
                downloads.until(90.0);
                let [rise, _] = downloads.until(120.0);
                [fall, rise]
            });
            let ceiling = MBIT_S * (1.0 - loss) * PAYLOAD;
            println!(
                "| {round_trip_ms} ms | {queue_kb} kB | {} % | {} | {} |",
                100.0 * loss,
                spread(&shares(&fall, 0.5 * ceiling), 1),
                spread(&shares(&rise, ceiling), 1)
            );
        }
    }
}

/// As in `make bench-gateway`: 90 ms, jitter of 30 ms that reorders, 0.2 % of loss, a handover each 15 s.
fn constellation(seeds: u64) {
    println!("Goodput of `fair` in % of the ceiling, 90 s from 15 s on");
    let [through] = each_seed(seeds, |seed| {
        let mut spec = Path::new(90, 200, 0.002).spec(seed, true);
        for pipe in [&mut spec.down, &mut spec.up] {
            pipe.propagation.jitter = Some(JitterConfig {
                spread_ns: Nanos::from_millis(15),
                distribution: JitterDistribution::Uniform,
                correlation: 0.0,
                reorder: true,
            });
            pipe.propagation.limit = LineLimit::Unlimited;
            pipe.propagation.handover = Some(HandoverConfig {
                every_ns: Nanos::from_secs(15),
                step_ns: Nanos::from_millis(15),
                outage_ns: Nanos::from_millis(60),
            });
        }
        let mut downloads = Downloads::new(&spec);
        downloads.begin(1.0, 0);
        downloads.until(15.0);
        [downloads.until(105.0)[0]]
    });
    println!("{}", spread(&shares(&through, MBIT_S * 0.998 * PAYLOAD), 1));
}

/// 100 Mbit/s, 60 ms and a queue of one bandwidth-delay product; 45 s from 15 s on. No packet overtakes another.
fn varying(seeds: u64) {
    let mbit_s = 100.0;
    println!("Goodput of `fair` in % of the ceiling at {mbit_s} Mbit/s and 60 ms");
    println!("| jitter, each way | without loss | 0.2 % |");
    println!("|---|---|---|");
    for spread_ms in [0, 1, 5, 15] {
        let cells = [0.0, 0.002].map(|loss| {
            let [through] = each_seed(seeds, |seed| {
                let jitter = Nanos::from_millis(spread_ms);
                let path = Path::new(60, 750, loss).at(mbit_s).varying_by(jitter);
                let spec = path.spec(seed, true);
                let mut downloads = Downloads::new(&spec);
                downloads.begin(1.0 + chance_s(seed), 0);
                downloads.until(15.0);
                [downloads.until(60.0)[0]]
            });
            spread(&shares(&through, mbit_s * (1.0 - loss) * PAYLOAD), 0)
        });
        println!("| ±{spread_ms} ms | {} | {} |", cells[0], cells[1]);
    }
}

/// As [`beside`], and over paths whose delay varies.
fn beside_varying(seeds: u64) {
    let equal = MBIT_S * PAYLOAD / 2.0;
    println!("What it keeps without loss, in % of an equal share ({equal:.2} Mbit/s)");
    println!("| round trip | queue | jitter, each way | beside CUBIC | beside fair | fair |");
    println!("|---|---|---|---|---|---|");
    for (round_trip_ms, queue_kb) in [(550, 200), (550, 1100), (100, 100), (100, 200), (60, 120)] {
        for jitter_ms in [1, 5, 15] {
            let path = Path::new(round_trip_ms, queue_kb, 0.0);
            let path = path.varying_by(Nanos::from_millis(jitter_ms));
            let [plain, kept, through] = two_minutes(seeds, path, equal);
            println!(
                "| {round_trip_ms} ms | {queue_kb} kB | ±{jitter_ms} ms | {:.0} | {} | {:.0} |",
                median(&plain),
                spread(&kept, 0),
                median(&through),
            );
        }
    }
}
