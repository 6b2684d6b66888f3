//! The carrier over a byte stream: what arrives, who gets in, and how it ends.

use crate::net::{Random, identity};
use bentpipe_carrier::tls::{Carrier, Config, FarEnd};
use bentpipe_carrier::{Event, SendError, Why};
use std::collections::VecDeque;

/// Two ends and the byte stream between them, which is cut into pieces at will and may stand still.
struct Pair {
    near: Carrier,
    far: Carrier,
    to_far: VecDeque<u8>,
    to_near: VecDeque<u8>,
    random: Random,
    /// Bytes of the stream that are under way at most, in each direction.
    socket: usize,
}

impl Pair {
    fn new(pinned: u8, allowed: u8, config: Config) -> Self {
        let far = FarEnd::new(&identity(2), [identity(allowed).public()].into());
        Self {
            near: Carrier::near(config, identity(pinned).public(), &identity(1)),
            far: far.carrier(config),
            to_far: VecDeque::new(),
            to_near: VecDeque::new(),
            random: Random(5),
            socket: 30_000,
        }
    }

    fn connected() -> Self {
        let mut pair = Self::new(2, 1, Config::default());
        pair.settle();
        assert!(
            matches!(events(&mut pair.near)[..], [Event::Connected { key, .. }] if key == identity(2).public())
        );
        assert!(
            matches!(events(&mut pair.far)[..], [Event::Connected { key, .. }] if key == identity(1).public())
        );
        pair
    }

    /// A piece of random length in each direction. Returns whether anything moved.
    fn step(&mut self) -> bool {
        let Self {
            near,
            far,
            to_far,
            to_near,
            random,
            socket,
        } = self;
        let there = half_step(near, far, to_far, random, *socket);
        let back = half_step(far, near, to_near, random, *socket);
        there || back
    }

    fn settle(&mut self) {
        while self.step() {}
    }
}

fn half_step(
    end: &mut Carrier,
    other: &mut Carrier,
    stream: &mut VecDeque<u8>,
    random: &mut Random,
    socket: usize,
) -> bool {
    let mut out = Vec::new();
    let wrote = stream.len() < socket && end.poll_bytes(&mut out);
    stream.extend(out);
    let piece = 1 + (random.draw() % 5000) as usize;
    let piece: Vec<u8> = stream.iter().copied().take(piece).collect();
    let taken = other.handle_bytes(&piece);
    stream.drain(..taken);
    wrote || taken > 0
}

fn events(end: &mut Carrier) -> Vec<Event> {
    std::iter::from_fn(|| end.poll_event()).collect()
}

fn why(end: &mut Carrier) -> Option<Why> {
    events(end).into_iter().find_map(|event| match event {
        Event::Closed { why } => Some(why),
        _ => None,
    })
}

#[test]
fn messages_arrive_whole_and_in_order_both_ways_however_the_stream_is_cut() {
    let mut pair = Pair::connected();
    for number in 0..2000usize {
        let body = vec![number as u8; 1 + number * 7 % 1162];
        pair.near.send_datagram(&body).unwrap();
        pair.far.send_control(&body).unwrap();
        pair.settle();
        assert_eq!(
            events(&mut pair.far),
            [Event::Datagram(body.clone().into())]
        );
        assert_eq!(events(&mut pair.near), [Event::Control(body.into())]);
    }
}

#[test]
fn a_wrong_key_is_refused_at_either_end_with_a_reason() {
    let mut pair = Pair::new(2, 9, Config::default());
    pair.settle();
    assert_eq!(
        why(&mut pair.far),
        Some(Why::UnknownNearKey {
            found: identity(1).public()
        })
    );
    assert_eq!(why(&mut pair.near), Some(Why::KeyNotAllowed));
    let mut pair = Pair::new(3, 1, Config::default());
    pair.settle();
    let wrong = Why::WrongFarKey {
        found: identity(2).public(),
        expected: identity(3).public(),
    };
    assert_eq!(why(&mut pair.near), Some(wrong));
    assert_eq!(why(&mut pair.far), Some(Why::KeyNotAllowed));
    assert!(pair.near.is_done() && pair.far.is_done());
    assert_eq!(pair.near.send_control(b"x"), Err(SendError::NotConnected));
}

#[test]
fn control_overtakes_datagrams_that_wait() {
    let mut pair = Pair::connected();
    let mut given = 0;
    while pair.near.send_datagram(&[1; 1162]).is_ok() {
        given += 1;
    }
    assert_eq!(given, 64 * 1024 / 1165);
    pair.near.send_control(b"first").unwrap();
    pair.settle();
    let far = events(&mut pair.far);
    assert_eq!(far[0], Event::Control("first".into()));
    assert_eq!(far.len(), given + 1);
    assert_eq!(events(&mut pair.near), [Event::Writable]);
}

#[test]
fn an_end_that_does_not_read_holds_the_other_back_and_keeps_little() {
    let mut pair = Pair::connected();
    let mut given = 0;
    for _ in 0..10_000 {
        given += usize::from(pair.near.send_control(&[3; 1000]).is_ok());
        pair.step();
    }
    let config = Config::default();
    let most =
        (config.receive_bytes + pair.socket + 16 * 1024 + 5000 + config.control_bytes + 40_000)
            / 1000;
    assert!((1400..most).contains(&given), "{given} {most}");
    assert!(!pair.near.has_room() || pair.near.send_control(&[3; 1000]) == Err(SendError::Full));
    let mut arrived = 0;
    loop {
        let count = events(&mut pair.far).len();
        arrived += count;
        if !pair.step() && count == 0 {
            break;
        }
    }
    assert_eq!(arrived, given);
    assert_eq!(events(&mut pair.near), [Event::Writable]);
}

#[test]
fn a_close_brings_its_code_and_reason_and_a_cut_stream_is_told_from_it() {
    let mut pair = Pair::connected();
    pair.near.send_datagram(&[1; 1162]).unwrap();
    pair.near.close(7, "enough");
    assert!(!pair.near.is_done());
    pair.settle();
    assert_eq!(
        events(&mut pair.far),
        [Event::Closed {
            why: Why::Peer {
                code: 7,
                reason: "enough".into()
            }
        }]
    );
    assert_eq!(events(&mut pair.near), [Event::Closed { why: Why::Local }]);
    assert!(pair.near.is_done());

    let mut pair = Pair::connected();
    pair.near.handle_end();
    assert_eq!(events(&mut pair.near), [Event::Closed { why: Why::Cut }]);
    pair.near.handle_end();
    assert_eq!(events(&mut pair.near), []);
}

#[test]
fn a_session_can_move_between_the_carriers() {
    assert_eq!(
        Config::default().max_datagram,
        bentpipe_carrier::quic::Config::default().certain_datagram()
    );
}

#[test]
fn messages_of_impossible_lengths_are_refused() {
    let mut pair = Pair::connected();
    assert_eq!(
        pair.near.send_datagram(&[0; 1163]),
        Err(SendError::Length { most: 1162 })
    );
    assert_eq!(
        pair.near.send_datagram(&[]),
        Err(SendError::Length { most: 1162 })
    );
    assert_eq!(
        pair.near.send_control(&vec![0; 16385]),
        Err(SendError::Length { most: 16384 })
    );
    pair.near.send_control(&vec![9; 16384]).unwrap();
    pair.settle();
    assert_eq!(
        events(&mut pair.far),
        [Event::Control(vec![9; 16384].into())]
    );
}

proptest::proptest! {
    #[test]
    fn no_bytes_make_an_end_panic_or_connect(bytes: Vec<u8>, after in 0..6usize, at: usize, by: u8) {
        // Noise in place of the other end, or a flaw in what the other end sent.
        for flaw in [false, true] {
            let mut pair = Pair::new(2, 1, Config::default());
            for _ in 0..after {
                pair.step();
            }
            for stream in [&mut pair.to_far, &mut pair.to_near] {
                if flaw && !stream.is_empty() {
                    let at = at % stream.len();
                    stream[at] ^= by;
                } else if !flaw {
                    stream.clear();
                    stream.extend(&bytes);
                }
            }
            for _ in 0..100 {
                pair.step();
            }
            let both = [events(&mut pair.near), events(&mut pair.far)].concat();
            let harmless = |event: &Event| matches!(event, Event::Connected { .. } | Event::Closed { .. });
            proptest::prop_assert!(both.iter().all(harmless));
        }
    }
}
