//! Two gateways, the path between them and the hosts behind them, in virtual time.

use crate::gateway::{Gateway, config, target};
use crate::host::Outcome;
use crate::line::Line;
use crate::scenario::{Fault, Scenario};
use crate::talk::Talk;
use bentpipe_base::{Nanos, SplitMix64, Time};
use bentpipe_gateway::{Rate, Role};
use std::collections::BTreeMap;

/// From the last fault on, everything has to be over after this and the time that the bytes take.
const PATIENCE: Nanos = Nanos::from_secs(120);
/// A law that is not told the rate cannot tell what the channel loses from a full queue where it is more than this share. It may then stay
/// at its least rate, in bit/s.
const MOST_TOLD: f64 = 0.2;
const LEAST_RATE: f64 = 100e3;

enum Happening {
    Packet(Role, Vec<u8>),
    Fault(usize),
    Open(usize),
    Wake,
}

pub struct World {
    scenario: Scenario,
    now: Time,
    gateways: [Gateway; 2],
    lines: [Line; 2],
    queue: BTreeMap<(Time, u64), Happening>,
    order: u64,
    random: SplitMix64,
    trace: Option<Vec<String>>,
    next_wake: Time,
    /// A session may have been lost: a gateway was started anew, or near connected anew before it knew of the session.
    may_lose: bool,
    /// Of all that the run has sent and received, for comparing two runs.
    digest: u64,
    pub packets: u64,
}

impl World {
    pub fn new(scenario: &Scenario, traced: bool) -> Self {
        let mut world = Self {
            now: Time::ZERO,
            gateways: [Role::Near, Role::Far].map(|role| Gateway::new(scenario, role, 0)),
            lines: [&scenario.pipes[0], &scenario.pipes[1]].map(Line::new),
            queue: BTreeMap::new(),
            order: 0,
            random: SplitMix64(scenario.seed ^ 0x1234_5678_9abc_def0),
            trace: traced.then(Vec::new),
            next_wake: Time::NEVER,
            may_lose: false,
            digest: 0,
            packets: 0,
            scenario: scenario.clone(),
        };
        for (place, (at, _)) in scenario.faults.iter().enumerate() {
            world.put(*at, Happening::Fault(place));
        }
        for (place, transfer) in scenario.transfers.iter().enumerate() {
            world.put(transfer.start, Happening::Open(place));
        }
        world.put(Time::ZERO, Happening::Wake);
        world
    }

    fn put(&mut self, at: Time, what: Happening) {
        self.order += 1;
        self.queue.insert((at, self.order), what);
    }

    fn say(&mut self, text: impl FnOnce() -> String) {
        if let Some(trace) = &mut self.trace {
            trace.push(format!("{:12.6} {}", self.now.as_secs_f64(), text()));
        }
    }

    fn note(&mut self, what: u64) {
        self.digest = (self.digest ^ what)
            .wrapping_mul(0x0000_0100_0000_01b3)
            .rotate_left(17);
    }

    /// Runs to the end, and says what was wrong.
    pub fn run(mut self) -> (Result<u64, String>, Vec<String>, u64) {
        let bytes: u64 = self.scenario.transfers.iter().flat_map(|it| it.bytes).sum();
        let slowest = self.lines.iter().map(|it| it.pipe.rate).min().unwrap_or(1);
        // What passes, in the long run, and of a question with its answer.
        let passes = self.lines.each_ref().map(|it| it.pipe.passes());
        let both = passes[0] * passes[1];
        // Where the line is slower than the gateways send, most of what is sent is lost.
        let share = (slowest as f64 / self.scenario.rate as f64).min(1.0);
        let mut time = bytes as f64 * 8.0 / (slowest as f64 * share * both * 0.2);
        let is_told = matches!(self.scenario.law, Rate::Fixed(_))
            || passes.iter().all(|it| 1.0 - it <= MOST_TOLD);
        if !is_told {
            // Half of what is sent again is sent twice, or has come.
            time = time.max(bytes as f64 * 8.0 / (LEAST_RATE * both * 0.5));
        }
        let patience = Nanos((PATIENCE.0 as f64 / both) as i64);
        let end = self.scenario.calm() + patience + Nanos((time * 1e9) as i64);
        let result = self.run_until(end);
        let result = result.and_then(|()| self.check_end(end));
        (
            result.map(|()| self.digest),
            self.trace.take().unwrap_or_default(),
            self.packets,
        )
    }

    fn run_until(&mut self, end: Time) -> Result<(), String> {
        let mut events = 0_u64;
        while let Some(((at, _), what)) = self.queue.pop_first() {
            if at > end {
                break;
            }
            events += 1;
            if events > 20_000_000 {
                return Err(format!("no end of events at {} s", self.now.as_secs_f64()));
            }
            self.now = self.now.max(at);
            match what {
                Happening::Packet(to, packet) => self.on_packet(to, &packet),
                Happening::Fault(place) => self.on_fault(place),
                Happening::Open(place) => self.on_open(place),
                Happening::Wake => self.next_wake = Time::NEVER,
            }
            self.settle()?;
        }
        Ok(())
    }

    fn on_packet(&mut self, to: Role, packet: &[u8]) {
        let now = self.now;
        self.note(packet.len() as u64 ^ now.0 as u64);
        let gateway = &mut self.gateways[to as usize];
        if let Some(datagram) = gateway.carrier.handle(packet) {
            if gateway.session.is_up() {
                gateway.watch.on_datagram(datagram);
            }
            gateway.session.handle_datagram(now, datagram);
        }
    }

    fn on_fault(&mut self, place: usize) {
        let (_, fault) = self.scenario.faults[place];
        self.say(|| format!("fault: {fault:?}"));
        let until = |span| self.now + span;
        match fault {
            Fault::Blackout(span) => {
                let until = until(span);
                for line in &mut self.lines {
                    line.closed_until = line.closed_until.max(until);
                }
            }
            Fault::Mute(role, span) => {
                let until = until(span);
                let line = &mut self.lines[role as usize];
                line.closed_until = line.closed_until.max(until);
            }
            Fault::Reconnect => self.gateways[0].connect_at = Some(self.now),
            Fault::Restart(role) => {
                self.may_lose = true;
                let starts = self.gateways[role as usize].starts + 1;
                let mut old = core::mem::replace(
                    &mut self.gateways[role as usize],
                    Gateway::new(&self.scenario, role, starts),
                );
                // Its hosts' connections have died with it.
                for side in &mut old.sides {
                    if side.outcome == Outcome::Open {
                        side.outcome = Outcome::Reset;
                    }
                }
                let new = &mut self.gateways[role as usize];
                new.sides = old.sides;
                old.talks.iter_mut().for_each(Talk::end);
                new.talks = old.talks;
                if role == Role::Near {
                    new.connect_at = Some(self.now);
                }
            }
            Fault::Delay(change) => {
                for line in &mut self.lines {
                    let delay = (line.pipe.delay.0 + change.0).max(1_000_000);
                    line.pipe.delay = Nanos(delay);
                }
            }
        }
    }

    fn on_open(&mut self, place: usize) {
        let transfer = self.scenario.transfers[place].clone();
        let gateway = &mut self.gateways[transfer.opener as usize];
        if gateway.sides[place].outcome != Outcome::Waiting {
            return;
        }
        if let Ok(flow) = gateway.session.open(transfer.user, &target(place)) {
            gateway.sides[place].begin(flow);
        } else {
            // A host tries again.
            let again = self.now + Nanos::from_millis(500);
            self.put(again, Happening::Open(place));
        }
    }

    /// Asks both gateways until they have nothing more to do now.
    fn settle(&mut self) -> Result<(), String> {
        let mut wake = Time::NEVER;
        for role in [Role::Near, Role::Far] {
            let mut rounds = 0;
            while self.turn(role, &mut wake)? {
                rounds += 1;
                if rounds > 100_000 {
                    let at = self.now.as_secs_f64();
                    return Err(format!("{role:?} never comes to rest at {at} s"));
                }
            }
        }
        for gateway in &self.gateways {
            let datagrams = gateway.session.waiting_datagram_bytes();
            if datagrams > 3 * config(&self.scenario).datagram_buffer {
                return Err(format!(
                    "{:?}: {datagrams} bytes of datagrams wait",
                    gateway.role
                ));
            }
            let waiting = gateway.session.waiting_bytes();
            if waiting > config(&self.scenario).session_window {
                return Err(format!("{:?}: {waiting} bytes wait", gateway.role));
            }
            let times = [
                gateway.session.poll_timeout(),
                gateway.carrier.poll_timeout(),
                gateway.connect_at,
            ];
            wake = times.into_iter().flatten().fold(wake, Time::min);
        }
        let wake = wake.max(Time(self.now.0 + 1));
        if wake < self.next_wake && wake < Time::NEVER {
            self.next_wake = wake;
            self.put(wake, Happening::Wake);
        }
        Ok(())
    }

    /// Whether anything happened.
    fn turn(&mut self, role: Role, wake: &mut Time) -> Result<bool, String> {
        let gateway = &mut self.gateways[role as usize];
        let (moved, turn) = gateway.turn(self.now, &self.scenario, &mut self.may_lose, wake)?;
        for text in turn.said {
            self.say(|| text);
        }
        for (packet, kind) in turn.packets {
            self.send(role, packet, &kind);
        }
        Ok(moved)
    }

    fn send(&mut self, from: Role, packet: Vec<u8>, kind: &str) {
        self.packets += 1;
        let bytes = packet.len() as u64 + 28;
        let mut draw = || (self.random.draw() >> 11) as f64 / (1_u64 << 53) as f64;
        let draws: [f64; 6] = core::array::from_fn(|_| draw());
        let line = &mut self.lines[from as usize];
        let fate = line.fate(self.now, bytes, draws[0]);
        let place = if from == Role::Near { "near" } else { "far" };
        let (free_at, pipe) = (line.free_at, line.pipe.clone());
        self.say(|| format!("{place} {kind}, {bytes} bytes: {fate}"));
        if fate != "sent" {
            return;
        }
        let to = if from == Role::Near {
            Role::Far
        } else {
            Role::Near
        };
        let late = |draw: f64| Nanos((pipe.jitter.0 as f64 * draw) as i64);
        let at = free_at + pipe.delay + late(draws[1]);
        if draws[2] < pipe.duplicates {
            let again = at + late(draws[3]) + Nanos(1);
            self.put(again, Happening::Packet(to, packet.clone()));
        }
        let mut packet = packet;
        if draws[4] < pipe.corrupt {
            let bit = (draws[5] * packet.len() as f64 * 8.0) as usize;
            packet[bit / 8] ^= 1 << (bit % 8);
        }
        self.put(at, Happening::Packet(to, packet));
    }

    fn check_end(&self, end: Time) -> Result<(), String> {
        let after = end.as_secs_f64();
        for place in 0..self.scenario.transfers.len() {
            let outcomes = [0, 1].map(|at: usize| self.gateways[at].sides[place].outcome);
            let over = |it: Outcome| matches!(it, Outcome::Done | Outcome::Reset);
            // A session may be lost before the flow is known to the other gateway.
            let never_known =
                outcomes.contains(&Outcome::Reset) && outcomes.contains(&Outcome::Waiting);
            let is_right = outcomes.into_iter().all(over) || never_known;
            if !is_right {
                return Err(format!(
                    "transfer {place} is {outcomes:?} (near, far) after {after} s"
                ));
            }
            let resets = self.scenario.transfers[place].reset.is_some();
            if !self.may_lose && !resets && outcomes != [Outcome::Done; 2] {
                return Err(format!(
                    "transfer {place} was reset without cause: {outcomes:?}"
                ));
            }
        }
        for gateway in &self.gateways {
            let figures = gateway.session.figures();
            let got = gateway.talks.iter().flat_map(|it| &it.got).copied();
            let lost_with_it = self.may_lose || figures.sessions > 1;
            if !lost_with_it {
                gateway.watch.check(&got.collect(), &figures.datagrams)?;
            }
            let waiting =
                gateway.session.waiting_bytes() + gateway.session.waiting_datagram_bytes();
            if figures.flows > 0 || figures.outstanding > 0 || waiting > 0 {
                return Err(format!("{:?} keeps something: {figures:?}", gateway.role));
            }
        }
        if !self.may_lose {
            // Bytes of flows that were reset count as taken.
            let [near, far] = self.gateways.each_ref().map(|it| it.session.figures());
            for (from, to) in [(near, far), (far, near)] {
                let (sent, taken) = (from.sent_bytes, to.delivered_bytes);
                if sent != taken {
                    return Err(format!("{sent} bytes were sent and {taken} were taken"));
                }
            }
        }
        Ok(())
    }
}
