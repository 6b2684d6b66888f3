//! A fixed rate that is set too high: a download, keystrokes, a call and a page over a link that carries a half or a quarter of it. What the
//! link cannot carry is dropped. Service gets slower, and nothing stands still.

mod ends;

use bentpipe_base::Nanos;
use bentpipe_gateway::{Config, Event, FlowId, Session};
use ends::{Ends, Link, config, read_all, target};
use std::collections::BTreeMap;

const LINK: u64 = 4_000_000;
const ROUND_TRIP: Nanos = Nanos::from_millis(550);
const DATAGRAM: usize = 1441;
/// The hosts write so often.
const STEP: Nanos = Nanos::from_millis(20);
const STEPS: usize = 1500;
const KEYS_FROM: usize = 50;
const DOWNLOAD_FROM: usize = 400;
/// After so many steps it counts.
const SETTLED: usize = 50;
const CALL_FROM: usize = 600;
const PAGE_FROM: usize = 800;
const OBJECTS: usize = 60;
const OBJECT_BYTES: u64 = 5_000;
const KEY_BYTES: u64 = 36;
/// A keystroke each 200 ms.
const KEY_EVERY: usize = 10;

/// The first byte of a flow says what far's host does with it.
const DOWNLOAD: u8 = 1;
const KEYS: u8 = 2;
const OBJECT: u8 = 3;

#[derive(Debug, Default)]
struct Served {
    /// Of the download, in each step.
    downloaded: Vec<u64>,
    /// From writing a keystroke until its echo was read, of those that had one, and how many were written.
    echoes: Vec<Nanos>,
    keys: usize,
    /// Since they were asked for, of those that came.
    objects: Vec<Nanos>,
    /// Datagrams of the call that came to near, of so many.
    call: [u64; 2],
    /// Packets that came to near, and those that had come before.
    came: u64,
    useless: u64,
}

impl Served {
    fn share_useless(&self) -> f64 {
        self.useless as f64 / (self.came + self.useless) as f64
    }

    fn after_begin(&self) -> &[u64] {
        &self.downloaded[DOWNLOAD_FROM + SETTLED..]
    }

    /// The longest time in which the download got no byte.
    fn longest_pause(&self) -> Nanos {
        let pauses = self
            .after_begin()
            .split(|&bytes| bytes > 0)
            .map(<[u64]>::len);
        Nanos(pauses.max().unwrap_or(0) as i64 * STEP.0)
    }
}

/// Far's hosts.
#[derive(Default)]
struct Servers {
    /// What each flow is, and what it is still to be sent.
    flows: BTreeMap<FlowId, (u8, usize)>,
    call: Option<FlowId>,
}

impl Servers {
    fn serve(&mut self, far: &mut Session) {
        while let Some(event) = far.poll_event() {
            match event {
                Event::Opened { flow, .. } => {
                    self.flows.insert(flow, (0, 0));
                }
                Event::OpenedChannel { flow, .. } => self.call = Some(flow),
                Event::Reset { .. } | Event::Lost(_) => panic!("{event:?}"),
                _ => {}
            }
        }
        while far.poll_received().is_some() {}
        for (&flow, (kind, left)) in &mut self.flows {
            let asked = far.readable(flow).to_vec();
            far.consume(flow, asked.len());
            *kind = asked.first().copied().unwrap_or(*kind);
            *left += match *kind {
                KEYS => asked.len(),
                OBJECT => asked.len() * OBJECT_BYTES as usize,
                _ => 0,
            };
            if *kind == DOWNLOAD {
                *left = 100_000;
            }
            if *left > 0 {
                *left -= far.write(flow, &vec![*kind; *left]);
            }
        }
    }
}

/// The gateways think that the link is so many times faster.
fn served(factor: u64, queue_bytes: u64, seed: u64) -> Served {
    let settings = Config {
        takes_udp: true,
        ..config(LINK * factor)
    };
    let mut ends = Ends::over(DATAGRAM, settings, Nanos(ROUND_TRIP.0 / 2)).with_seed(seed);
    ends.link = Some(Link::new(LINK, queue_bytes));
    let mut servers = Servers::default();
    let mut served = Served::default();
    let open = |ends: &mut Ends| ends.near().open(1, &target()).expect("room");
    let [download, keys] = [open(&mut ends), open(&mut ends)];
    let now = ends.now;
    let call = ends.near().open_udp(now, 1, &target()).expect("room");
    let (mut written, mut echoed) = (Vec::new(), 0);
    let mut page: Vec<(FlowId, u64)> = Vec::new();
    let mut asked = ends.now;
    for step in 0..STEPS {
        let now = ends.now;
        // At first keystrokes are lost whose copies, sent unasked, come just after they were asked for: no round trip takes so little.
        ends.loss = if step < DOWNLOAD_FROM { 0.2 } else { 0.01 };
        if step == DOWNLOAD_FROM {
            ends.near().write(download, &[DOWNLOAD]);
        }
        if step >= KEYS_FROM && step % KEY_EVERY == 0 {
            ends.near().write(keys, &[KEYS; KEY_BYTES as usize]);
            written.push(now);
        }
        if step >= CALL_FROM
            && let Some(call) = servers.call
        {
            ends.far().send_datagram(now, call, None, &[0; 172]);
            served.call[1] += 1;
        }
        if step >= CALL_FROM || servers.call.is_none() {
            ends.near().send_datagram(now, call, None, &[0; 172]);
        }
        if step == PAGE_FROM {
            asked = now;
            page = (0..OBJECTS).map(|_| (open(&mut ends), 0)).collect();
            for (flow, _) in &page {
                ends.near().write(*flow, &[OBJECT]);
            }
        }
        let mut came = 0;
        ends.run(STEP, |[near, far]| {
            servers.serve(far);
            while let Some(event) = near.poll_event() {
                let is_over = matches!(event, Event::Reset { .. } | Event::Lost(_));
                assert!(!is_over, "{event:?}");
            }
            while near.poll_received().is_some() {
                served.call[0] += 1;
            }
            came += read_all(near, download);
            echoed += read_all(near, keys);
            for (flow, bytes) in &mut page {
                *bytes += read_all(near, *flow);
            }
        });
        served.downloaded.push(came);
        let echoes = &written[served.echoes.len()..(echoed / KEY_BYTES) as usize];
        served.echoes.extend(echoes.iter().map(|&at| ends.now - at));
        page.retain(|it| it.1 < OBJECT_BYTES);
        if step >= PAGE_FROM {
            served
                .objects
                .resize(OBJECTS - page.len(), ends.now - asked);
        }
    }
    served.keys = written.len();
    let figures = ends.near().figures().receiver;
    served.came = figures.sources + figures.exact_repairs + figures.recovered;
    served.useless = figures.useless_exact_repairs;
    served
}

#[test]
fn at_a_rate_of_twice_the_link_or_more_all_is_slower_and_nothing_stands_still() {
    let product = LINK / 8_000 * 550;
    // At four times the rate three packets of four are lost, repeats too, until the sender falls to what the link carries. What was lost till
    // then takes the link some ten seconds.
    for (factor, queue_bytes, seed, least, round_trips) in [
        (2, product / 5, 1, 0.6, 10),
        (2, product, 2, 0.6, 10),
        (4, product / 5, 1, 0.6, 20),
        (4, product, 2, 0.6, 20),
    ] {
        let it = served(factor, queue_bytes, seed);
        let what = format!("{factor} times the rate, queue of {queue_bytes} bytes, seed {seed}");
        let span = (STEPS - DOWNLOAD_FROM - SETTLED) as f64 * STEP.as_secs_f64();
        let goodput = it.after_begin().iter().sum::<u64>() as f64 * 8.0 / span;
        assert!(goodput > least * LINK as f64, "{what}: {goodput} bit/s");
        // Answers to askings that were too early fill the link with what came before, and lengthen the wait for the others.
        let useless = it.share_useless();
        assert!(
            useless < 0.05,
            "{what}: {useless} of the packets were useless"
        );
        let pause = it.longest_pause();
        assert!(
            pause < Nanos(round_trips * ROUND_TRIP.0),
            "{what}: no byte for {pause:?}"
        );
        let longest = it.echoes.iter().max().copied().unwrap_or(Nanos::ZERO);
        assert!(
            longest < Nanos(round_trips * 3 / 2 * ROUND_TRIP.0),
            "{what}: an echo after {longest:?}"
        );
        let open = it.keys - it.echoes.len();
        assert!(
            open < round_trips as usize * 3 / 2 * 550 / 200,
            "{what}: {open} keystrokes without an echo"
        );
        let came = it.objects.len();
        assert!(came == OBJECTS, "{what}: {came} of {OBJECTS} objects");
        assert!(
            it.call[0] > it.call[1] / 5,
            "{what}: {:?} datagrams",
            it.call
        );
    }
}
