//! What happens in a run: the path, its faults, and what the hosts do. All of it follows from a seed; a smaller scenario is made by
//! leaving parts out.

use bentpipe_base::{Nanos, SplitMix64, Time};
use bentpipe_gateway::{Rate, Role};

/// One direction of the path.
#[derive(Clone, Debug)]
pub struct Pipe {
    pub delay: Nanos,
    /// A packet is late by up to so much more: packets overtake each other.
    pub jitter: Nanos,
    pub loss: f64,
    /// A loss is followed by others with this probability.
    pub burst: f64,
    pub duplicates: f64,
    pub corrupt: f64,
    /// Bits per second, and bytes that wait at most.
    pub rate: u64,
    pub queue: u64,
}

impl Pipe {
    /// The share of packets that pass, in the long run: of a Markov chain with two states.
    pub fn passes(&self) -> f64 {
        let stays = self.burst.max(self.loss);
        let lost = self.loss / (self.loss + 1.0 - stays).max(1e-9);
        (1.0 - lost) * (1.0 - self.corrupt)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// Nothing passes, in either direction.
    Blackout(Nanos),
    /// Nothing passes in this direction.
    Mute(Role, Nanos),
    /// Near connects anew: another address, or another carrier.
    Reconnect,
    /// A gateway forgets all it knew, and its hosts' connections are gone.
    Restart(Role),
    /// The path is longer or shorter from now on, by as much in both directions.
    Delay(Nanos),
}

/// What a side of a flow does when it is its turn.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Turn {
    AtOnce,
    /// It writes when it has read the other's end: a request and its answer, with half-close.
    AfterTheOther,
}

#[derive(Clone, Debug)]
pub struct Transfer {
    pub opener: Role,
    pub start: Time,
    /// Bytes from the opener, and from the other side.
    pub bytes: [u64; 2],
    pub answer: Turn,
    /// A side resets when it has read so many bytes.
    pub reset: Option<(Role, u64)>,
    /// A side reads nothing for so long from its first byte on.
    pub stall: Option<(Role, Nanos)>,
    pub user: u64,
}

/// Datagrams of two hosts.
#[derive(Clone, Debug)]
pub struct Stream {
    pub opener: Role,
    pub start: Time,
    /// How many the opener sends, and the other side from when it knows of the first.
    pub count: [u32; 2],
    pub every: Nanos,
    /// Bytes of the longest one, beside its name.
    pub longest: u32,
    /// The opener closes the association when it has sent all. Otherwise it ends when it is idle.
    pub closes: bool,
    pub ip: bool,
    pub user: u64,
}

#[derive(Clone, Debug)]
pub struct Scenario {
    pub seed: u64,
    /// Towards far, towards near.
    pub pipes: [Pipe; 2],
    pub rate: u64,
    pub law: Rate,
    pub repairs: bool,
    pub small_windows: bool,
    pub faults: Vec<(Time, Fault)>,
    pub transfers: Vec<Transfer>,
    pub streams: Vec<Stream>,
}

struct Draw(SplitMix64);

impl Draw {
    fn below(&mut self, below: u32) -> u64 {
        u64::from(self.0.draw_below(below))
    }

    fn chance(&mut self, percent: u32) -> bool {
        self.below(100) < u64::from(percent)
    }

    fn millis(&mut self, below: u32) -> Nanos {
        Nanos(self.below(below) as i64 * 1_000_000 + self.below(1_000_000) as i64)
    }

    fn role(&mut self) -> Role {
        if self.chance(50) {
            Role::Near
        } else {
            Role::Far
        }
    }
}

impl Scenario {
    pub fn of(seed: u64) -> Self {
        let draw = &mut Draw(SplitMix64(seed ^ 0x6761_7465_7761_7921));
        let delay = draw.millis(400);
        let rate = 1_000_000 * (1 + draw.below(40));
        let worst = [0.0, 0.001, 0.02, 0.1, 0.3][draw.below(5) as usize];
        let jitter = [0, 0, 3, 60][draw.below(4) as usize];
        let mut pipe = || Pipe {
            delay,
            jitter: Nanos::from_millis(jitter),
            loss: worst * draw.below(100) as f64 / 100.0,
            burst: [0.0, 0.5, 0.9][draw.below(3) as usize],
            duplicates: [0.0, 0.0, 0.01, 0.2][draw.below(4) as usize],
            corrupt: [0.0, 0.0, 0.001, 0.02][draw.below(4) as usize],
            // Now and then the line is slower than the gateways were told.
            rate: rate * [120, 105, 100, 60][draw.below(4) as usize] / 100,
            queue: 3000 + draw.below(400_000),
        };
        let pipes = [pipe(), pipe()];
        let mut faults = Vec::new();
        for _ in 0..draw.below(4) {
            let at = Time::ZERO + draw.millis(8000);
            let fault = match draw.below(6) {
                0 => Fault::Blackout(draw.millis(20_000)),
                1 => Fault::Mute(draw.role(), draw.millis(8000)),
                2 => Fault::Reconnect,
                3 => Fault::Restart(draw.role()),
                4 => Fault::Delay(Nanos(draw.millis(300).0 - draw.millis(300).0)),
                _ => Fault::Blackout(draw.millis(900)),
            };
            faults.push((at, fault));
        }
        faults.sort_by_key(|it| it.0);
        let small_windows = draw.chance(30);
        let transfers = (0..=draw.below(12))
            .map(|_| Self::transfer(draw, small_windows))
            .collect();
        let streams = (0..draw.below(4))
            .map(|place| Self::stream(draw, place))
            .collect();
        let repairs = draw.chance(70);
        let law = match draw.below(4) {
            0 => Rate::Capped(rate),
            1 => Rate::Fair,
            _ => Rate::Fixed(rate),
        };
        Self {
            seed,
            pipes,
            rate,
            law,
            repairs,
            small_windows,
            faults,
            transfers,
            streams,
        }
    }

    fn stream(draw: &mut Draw, place: u64) -> Stream {
        let opener = if draw.chance(85) {
            Role::Near
        } else {
            Role::Far
        };
        let most = if draw.chance(20) { 2000 } else { 200 };
        Stream {
            opener,
            start: Time::ZERO + draw.millis(9000),
            count: [draw.below(most) as u32 + 1, draw.below(most) as u32],
            // Now and then more than the path carries.
            every: [
                Nanos::from_millis(20),
                Nanos::from_millis(3),
                Nanos::from_micros(200),
            ][draw.below(3) as usize],
            longest: [100, 1300, 1300, 9000, 65_000][draw.below(5) as usize],
            closes: draw.chance(50),
            ip: place == 0 && draw.chance(20),
            user: draw.below(3),
        }
    }

    fn transfer(draw: &mut Draw, small: bool) -> Transfer {
        let largest = if small { 60_000 } else { 400_000 };
        let mut bytes = || match draw.below(4) {
            0 => 0,
            1 => draw.below(100),
            2 => draw.below(20_000),
            _ => draw.below(largest),
        };
        let bytes = [bytes(), bytes()];
        let longest = bytes[0].max(bytes[1]).max(1) as u32;
        Transfer {
            opener: if draw.chance(85) {
                Role::Near
            } else {
                Role::Far
            },
            start: Time::ZERO + draw.millis(9000),
            bytes,
            answer: if draw.chance(40) {
                Turn::AfterTheOther
            } else {
                Turn::AtOnce
            },
            reset: draw.chance(12).then(|| (draw.role(), draw.below(longest))),
            stall: draw.chance(20).then(|| (draw.role(), draw.millis(6000))),
            user: draw.below(3),
        }
    }

    /// Scenarios that leave a part of this one out.
    pub fn smaller(&self) -> Vec<Self> {
        let mut all = Vec::new();
        for place in 0..self.transfers.len() {
            let mut less = self.clone();
            less.transfers.remove(place);
            all.push(less);
        }
        for place in 0..self.streams.len() {
            let mut less = self.clone();
            less.streams.remove(place);
            all.push(less);
        }
        for place in 0..self.faults.len() {
            let mut less = self.clone();
            less.faults.remove(place);
            all.push(less);
        }
        let with = |change: &dyn Fn(&mut Self)| {
            let mut less = self.clone();
            change(&mut less);
            less
        };
        for pipe in 0..2 {
            let kinds: [fn(&mut Pipe); 5] = [
                |it| it.loss = 0.0,
                |it| it.burst = 0.0,
                |it| it.duplicates = 0.0,
                |it| it.corrupt = 0.0,
                |it| it.jitter = Nanos::ZERO,
            ];
            for kind in kinds {
                all.push(with(&|it| kind(&mut it.pipes[pipe])));
            }
        }
        all.push(with(&|it| it.repairs = false));
        all.push(with(&|it| it.law = Rate::Fixed(it.rate)));
        for place in 0..self.transfers.len() {
            all.push(with(&|it| it.transfers[place].reset = None));
            all.push(with(&|it| it.transfers[place].stall = None));
            all.push(with(&|it| it.transfers[place].bytes[0] /= 2));
            all.push(with(&|it| it.transfers[place].bytes[1] /= 2));
        }
        for place in 0..self.streams.len() {
            all.push(with(&|it| it.streams[place].count[0] /= 2));
            all.push(with(&|it| it.streams[place].count[1] /= 2));
        }
        let own = format!("{self:?}");
        all.retain(|it| format!("{it:?}") != own);
        all
    }

    /// After the last fault, and when all transfers have begun.
    pub fn calm(&self) -> Time {
        let ends = self.faults.iter().map(|(at, fault)| match fault {
            Fault::Blackout(span) | Fault::Mute(_, span) => *at + *span,
            _ => *at,
        });
        let starts = self.transfers.iter().map(|it| {
            let stall = it.stall.map_or(Nanos::ZERO, |(_, span)| span);
            it.start + stall
        });
        let streams = self.streams.iter().map(|it| {
            // The other side begins later, perhaps after the faults.
            let count = it.count[0].max(it.count[1]);
            it.start + Nanos(it.every.0 * i64::from(count))
        });
        let all = ends.chain(starts).chain(streams);
        all.max().unwrap_or(Time::ZERO)
    }
}
