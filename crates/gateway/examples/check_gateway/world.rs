//! Two gateways, the path between them and the hosts behind them, in virtual time.

use crate::host::{Outcome, Side};
use crate::scenario::{Fault, Pipe, Scenario};
use crate::talk::{Talk, Watch};
use bentpipe_base::{Nanos, SplitMix64, Time};
use bentpipe_fec::Policy;
use bentpipe_gateway::{Config, Event, Role, Session, Target, null};
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// The longest datagram that the carrier takes.
const MAX_DATAGRAM: usize = 1400;
const OUTER: u32 = 28 + null::OVERHEAD_BYTES as u32;
/// From the last fault on, everything has to be over after this and the time that the bytes take.
const PATIENCE: Nanos = Nanos::from_secs(120);

enum Happening {
    Packet(Role, Vec<u8>),
    Fault(usize),
    Open(usize),
    Wake,
}

struct Gateway {
    role: Role,
    session: Session,
    carrier: null::Carrier,
    sides: Vec<Side>,
    talks: Vec<Talk>,
    /// What has come since it was started.
    watch: Watch,
    starts: u64,
    /// When near tries to connect again.
    connect_at: Option<Time>,
}

struct Line {
    pipe: Pipe,
    free_at: Time,
    in_burst: bool,
    closed_until: Time,
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

fn config(scenario: &Scenario) -> Config {
    let mut config = Config::with_rate(scenario.law, OUTER);
    config.takes_udp = true;
    config.takes_ip = true;
    config.association_idle = Nanos::from_secs(20);
    if !scenario.repairs {
        config.redundancy = Policy::Off;
    }
    if scenario.small_windows {
        config.session_window = 200_000;
        config.flow_window = 100_000;
        config.flow_start_window = 70_000;
        config.send_buffer = 5000;
        config.max_flows = 4;
        config.kept_packets = 300;
        config.datagram_packets = 256;
        config.datagram_buffer = 1 << 17;
    }
    config
}

impl Gateway {
    fn new(scenario: &Scenario, role: Role, starts: u64) -> Self {
        let number = scenario.seed.wrapping_mul(4) + role as u64 * 2 + (starts << 32);
        let talks = scenario.streams.iter().enumerate();
        let talks = talks
            .map(|(place, it)| Talk::new(place, it, role))
            .collect();
        let sides = scenario.transfers.iter().enumerate();
        let sides = sides
            .map(|(place, it)| Side::new(place, it, role))
            .collect();
        let session = Session::new(config(scenario), role, number, number + 1);
        let carrier = match role {
            Role::Near => null::Carrier::near(number + 7),
            Role::Far => null::Carrier::far(number + 7),
        };
        Self {
            role,
            session: session.expect("settings that work"),
            carrier,
            sides,
            talks,
            watch: Watch::default(),
            starts,
            connect_at: (role == Role::Near).then_some(Time::ZERO),
        }
    }
}

/// Every second one is longer, so that it is divided between packets now and then.
fn target(place: usize) -> Target {
    let at = |last: u8, port| {
        let v4 = Ipv4Addr::new(10, 0, 0, last);
        let v6 = v4.to_ipv6_mapped();
        let ip = if place.is_multiple_of(2) {
            IpAddr::from(v4)
        } else {
            v6.into()
        };
        SocketAddr::new(ip, port)
    };
    Target {
        destination: at(1, 80),
        source: at(2, place as u16),
    }
}

impl World {
    pub fn new(scenario: &Scenario, traced: bool) -> Self {
        let line = |pipe: &Pipe| Line {
            pipe: pipe.clone(),
            free_at: Time::ZERO,
            in_burst: false,
            closed_until: Time::ZERO,
        };
        let mut world = Self {
            now: Time::ZERO,
            gateways: [Role::Near, Role::Far].map(|role| Gateway::new(scenario, role, 0)),
            lines: [line(&scenario.pipes[0]), line(&scenario.pipes[1])],
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
        let time = bytes as f64 * 8.0 / (slowest as f64 * share * both * 0.2);
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
        let now = self.now;
        let gateway = &mut self.gateways[role as usize];
        let mut moved = false;
        if gateway.connect_at.is_some_and(|at| at <= now) {
            gateway.connect_at = None;
            self.may_lose |= !gateway.session.has_session() && now > Time::ZERO;
            gateway.session.on_carrier_lost(now);
            gateway.carrier.connect();
        }
        while let Some(event) = gateway.carrier.poll_event() {
            match event {
                null::Event::Connected => gateway.session.on_carrier_connected(now, MAX_DATAGRAM),
                null::Event::Lost => {
                    gateway.session.on_carrier_lost(now);
                    gateway.connect_at = Some(now + Nanos::from_millis(200));
                }
                null::Event::Control(message) => gateway.session.handle_control(now, &message),
            }
            moved = true;
        }
        gateway.session.handle_timeout(now);
        let mut said = Vec::new();
        while let Some(event) = gateway.session.poll_event() {
            said.push(format!("{role:?}: {event:?}"));
            match event {
                Event::Opened { flow, target } => {
                    let place = usize::from(target.source.port());
                    gateway.session.set_user(flow, place as u64 % 3);
                    let side = &mut gateway.sides[place];
                    if side.flow.is_some() && side.outcome != Outcome::Reset {
                        return Err(format!("transfer {place} was opened twice"));
                    }
                    side.begin(flow);
                }
                Event::OpenedChannel { flow, channel } => {
                    let streams = &self.scenario.streams;
                    let place = Talk::place_of(channel, streams)
                        .ok_or_else(|| format!("nobody opened {channel:?}"))?;
                    gateway.session.set_user(flow, place as u64 % 3);
                    gateway.talks[place].begin(now, flow);
                }
                Event::Reset { flow, code } => {
                    let talks = gateway.talks.iter_mut();
                    talks.filter(|it| it.flow == Some(flow)).for_each(Talk::end);
                    for side in gateway.sides.iter_mut().filter(|it| it.flow == Some(flow)) {
                        side.on_reset(code);
                    }
                }
                Event::Lost(_) => {
                    if role == Role::Near && !gateway.session.is_up() {
                        gateway.connect_at = Some(now + Nanos::from_millis(200));
                    }
                }
                Event::Established { resumed: false } => {
                    gateway.talks.iter_mut().for_each(Talk::forget);
                }
                Event::Established { .. }
                | Event::Readable(_)
                | Event::Writable(_)
                | Event::OpenedNamed { .. } => {}
            }
            moved = true;
        }
        for side in &mut gateway.sides {
            if let Some(at) = side.act(now, &mut gateway.session)? {
                *wake = (*wake).min(at);
            }
        }
        while let Some(received) = gateway.session.poll_received() {
            let talk = gateway.talks.iter_mut().find(|it| it.is_of(received.flow));
            let talk = talk.ok_or("a datagram of no association")?;
            talk.on_received(&received)?;
            moved = true;
        }
        for talk in &mut gateway.talks {
            if let Some(at) = talk.act(now, &mut gateway.session)? {
                *wake = (*wake).min(at);
            }
        }
        while let Some(message) = gateway.session.poll_control() {
            gateway.carrier.send_control(message);
            moved = true;
        }
        let mut out = Vec::new();
        let mut packets = Vec::new();
        while gateway.carrier.poll_transmit(now, &mut out) {
            packets.push((core::mem::take(&mut out), "carrier".to_owned()));
        }
        let mut datagram = Vec::new();
        while let Some(sent) = gateway.session.poll_datagram(now, &mut datagram) {
            gateway.carrier.wrap(&datagram, &mut out);
            packets.push((core::mem::take(&mut out), format!("{:?}", sent.kind)));
            datagram.clear();
        }
        moved |= !packets.is_empty();
        for text in said {
            self.say(|| text);
        }
        for (packet, kind) in packets {
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
        let pipe = &line.pipe;
        let waiting = (line.free_at - self.now).0.max(0) as u128 * u128::from(pipe.rate);
        let waiting = (waiting / 8_000_000_000) as u64;
        let fate = if self.now < line.closed_until {
            "lost: the path is down"
        } else if waiting + bytes > pipe.queue {
            "lost: the queue is full"
        } else {
            let span = Nanos((bytes * 8_000_000_000 / pipe.rate) as i64);
            line.free_at = line.free_at.max(self.now) + span;
            let probability = if line.in_burst {
                pipe.burst.max(pipe.loss)
            } else {
                pipe.loss
            };
            line.in_burst = draws[0] < probability;
            if line.in_burst { "lost" } else { "sent" }
        };
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
