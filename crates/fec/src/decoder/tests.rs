//! What must hold inside the decoder after every step, whatever comes.

use super::*;
use crate::coefficients::Density;
use crate::encoder::Encoder;
use proptest::prelude::*;

const KEPT: usize = 24;
const MAX_UNKNOWNS: usize = 9;

fn packet(id: u64) -> Vec<u8> {
    let bytes = (id * 37 % 41) as usize;
    (0..bytes)
        .map(|at| (id as usize * 7 + at * 13) as u8)
        .collect()
}

#[derive(Clone, Debug)]
enum Step {
    Source(u64),
    Repair(RepairId),
    Promise(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let id = 0..60_u64;
    let repair = (id.clone(), 0..30_u16, any::<u16>(), 0..16_u8).prop_map(
        |(first, symbols, key, threshold)| {
            Step::Repair(RepairId {
                first,
                symbols,
                key,
                density: Density::new(threshold).expect("it is at most 15"),
            })
        },
    );
    // Mostly in order, so that the window moves slowly.
    prop::collection::vec(
        prop_oneof![
            4 => id.clone().prop_map(Step::Source),
            4 => repair,
            1 => id.prop_map(Step::Promise),
        ],
        0..120,
    )
    .prop_map(|mut steps| {
        let place = |step: &Step| match step {
            Step::Source(id) | Step::Promise(id) => *id / 6,
            Step::Repair(id) => id.window().end / 6,
        };
        steps.sort_by_key(place);
        steps
    })
}

proptest! {
    #[test]
    fn whatever_comes_in_any_order_what_is_known_is_right_and_the_equations_stay_reduced(steps in steps()) {
        let mut encoder = Encoder::new(100, Kernel::default());
        for id in 0..90 {
            encoder.push(&packet(id));
        }
        let mut decoder = Decoder::new(
            DecoderConfig { kept_symbols: KEPT, packet_max_bytes: 40, max_unknowns: MAX_UNKNOWNS },
            Kernel::default(),
        );
        for step in steps {
            let rank = decoder.rank();
            match step {
                Step::Source(id) => {
                    decoder.source(id, &packet(id));
                }
                Step::Repair(id) => {
                    let mut symbol = Vec::new();
                    encoder.repair(&id, &mut symbol);
                    let outcome = decoder.repair(&id, &symbol);
                    prop_assert!(outcome == RepairOutcome::Innovative || decoder.rank() <= rank);
                }
                Step::Promise(id) => {
                    decoder.promise(id);
                    prop_assert_eq!(decoder.rank(), rank);
                }
            }
            decoder.check();
            for id in decoder.kept() {
                prop_assert!(decoder.packet(id).is_none_or(|known| known == packet(id)));
            }
            while let Some(id) = decoder.poll_recovered() {
                prop_assert!(decoder.is_known(id));
            }
            prop_assert!(decoder.rank() <= MAX_UNKNOWNS && decoder.kept().count() <= KEPT);
        }
        prop_assert_eq!(decoder.corrupt(), 0);
    }

    #[test]
    fn symbols_that_no_encoder_made_do_no_harm_to_memory(
        steps in steps(),
        symbols in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..50), 1..20),
    ) {
        let mut decoder = Decoder::new(
            DecoderConfig { kept_symbols: KEPT, packet_max_bytes: 40, max_unknowns: MAX_UNKNOWNS },
            Kernel::default(),
        );
        for (step, symbol) in steps.into_iter().zip(symbols.iter().cycle()) {
            match step {
                Step::Source(id) => {
                    decoder.source(id, symbol);
                }
                Step::Repair(id) => {
                    decoder.repair(&id, symbol);
                }
                Step::Promise(id) => decoder.promise(id),
            }
            decoder.check();
            prop_assert!(decoder.kept().count() <= KEPT && decoder.recovered.len() <= 2 * KEPT);
            for id in decoder.kept() {
                prop_assert!(decoder.packet(id).is_none_or(|it| it.len() <= 40));
            }
        }
    }
}

#[test]
fn a_repair_of_released_packets_is_of_use_no_more_and_others_are() {
    let kernel = Kernel::fastest();
    let (mut encoder, mut decoder) = (
        Encoder::new(KEPT, kernel),
        Decoder::new(
            DecoderConfig {
                kept_symbols: KEPT,
                packet_max_bytes: 100,
                max_unknowns: MAX_UNKNOWNS,
            },
            kernel,
        ),
    );
    for id in 0..10_u64 {
        encoder.push(&[id as u8; 20]);
        if id != 8 {
            decoder.source(id, &[id as u8; 20]);
        }
    }
    let repair = |first: u64| {
        let id = RepairId {
            first,
            symbols: (10 - first) as u16,
            key: 1,
            density: Density::FULL,
        };
        let mut symbol = Vec::new();
        assert!(encoder.repair(&id, &mut symbol));
        (id, symbol)
    };
    decoder.release_before(5);
    let (old, symbol) = repair(4);
    assert_eq!(decoder.repair(&old, &symbol), RepairOutcome::Expired);
    assert_eq!(decoder.source(4, &[4; 20]), SourceOutcome::Known);
    let (new, symbol) = repair(5);
    assert_eq!(decoder.repair(&new, &symbol), RepairOutcome::Innovative);
    assert_eq!(decoder.packet(8), Some(&[8; 20][..]));
}
