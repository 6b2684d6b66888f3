//! What can be known at all: elimination over everything that was received, as in a textbook.

use bentpipe_fec::field::{Kernel, inverse, multiply};
use bentpipe_fec::{
    Coefficients, Decoder, DecoderConfig, Density, Encoder, RepairId, RepairOutcome,
};
use proptest::prelude::*;

const PACKETS: u64 = 48;

/// Which of the unknowns are determined by equations with these coefficients.
fn determined(mut rows: Vec<Vec<u8>>, unknowns: usize) -> Vec<bool> {
    let mut rank = 0;
    for column in 0..unknowns {
        let Some(pivot) = (rank..rows.len()).find(|&row| rows[row][column] != 0) else {
            continue;
        };
        rows.swap(rank, pivot);
        let scale = inverse(rows[rank][column]).expect("a pivot is not zero");
        for coefficient in &mut rows[rank] {
            *coefficient = multiply(*coefficient, scale);
        }
        let pivot = rows[rank].clone();
        for (index, row) in rows.iter_mut().enumerate() {
            let factor = row[column];
            if index != rank {
                for (into, &from) in row.iter_mut().zip(&pivot) {
                    *into ^= multiply(factor, from);
                }
            }
        }
        rank += 1;
    }
    let mut known = vec![false; unknowns];
    for row in &rows {
        let mut used = (0..unknowns).filter(|&at| row[at] != 0);
        if let (Some(only), None) = (used.next(), used.next()) {
            known[only] = true;
        }
    }
    known
}

fn packet(id: u64) -> Vec<u8> {
    vec![id as u8; (id % 7) as usize]
}

proptest! {
    #[test]
    fn the_decoder_knows_all_that_can_be_known_also_when_packets_come_late(
        sources in Just((0..PACKETS).collect::<Vec<_>>()).prop_shuffle(),
        arriving in 20..PACKETS as usize,
        repairs in prop::collection::vec(
            (0..PACKETS, 1..=PACKETS as u16, any::<u16>(), 0..16_u8, any::<prop::sample::Index>()),
            0..30,
        ),
    ) {
        let mut encoder = Encoder::new(64, Kernel::default());
        for id in 0..PACKETS {
            encoder.push(&packet(id));
        }
        let config = DecoderConfig { kept_symbols: 64, packet_max_bytes: 8, max_unknowns: 64 };
        let mut decoder = Decoder::new(config, Kernel::default());
        let mut events: Vec<Result<u64, RepairId>> =
            sources[..arriving].iter().map(|&id| Ok(id)).collect();
        for (first, symbols, key, threshold, place) in repairs {
            let symbols = symbols.min((PACKETS - first) as u16);
            let density = Density::new(threshold).expect("it is at most 15");
            let at = place.index(events.len() + 1);
            events.insert(at, Err(RepairId { first, symbols, key, density }));
        }
        let mut received = vec![false; PACKETS as usize];
        let mut equations = Vec::new();
        for event in events {
            match event {
                Ok(id) => {
                    received[id as usize] = true;
                    decoder.source(id, &packet(id));
                }
                Err(id) => {
                    let mut symbol = Vec::new();
                    prop_assert!(encoder.repair(&id, &mut symbol));
                    prop_assert_ne!(decoder.repair(&id, &symbol), RepairOutcome::Malformed);
                    let mut row = vec![0; PACKETS as usize];
                    for (at, coefficient) in id.window().zip(Coefficients::new(id.key, id.density)) {
                        row[at as usize] = coefficient;
                    }
                    equations.push(row);
                }
            }
            let mut rows = equations.clone();
            for row in &mut rows {
                for (coefficient, received) in row.iter_mut().zip(&received) {
                    if *received {
                        *coefficient = 0;
                    }
                }
            }
            let solved = determined(rows, PACKETS as usize);
            for id in 0..PACKETS {
                let possible = received[id as usize] || solved[id as usize];
                let known = decoder.packet(id).map(<[u8]>::to_vec);
                prop_assert_eq!(known, possible.then(|| packet(id)));
            }
        }
        // To receive exactly the missing packets without an equation is enough to know all.
        let wanted: Vec<u64> = decoder
            .kept()
            .filter(|&id| !decoder.is_known(id) && !decoder.has_equation(id))
            .collect();
        let missing = decoder.kept().filter(|&id| !decoder.is_known(id)).count();
        prop_assert_eq!(missing - decoder.rank(), wanted.len());
        for id in wanted {
            prop_assert!(!decoder.is_known(id), "an equation was left out of account");
            decoder.source(id, &packet(id));
        }
        prop_assert!(decoder.kept().all(|id| decoder.is_known(id)));
    }
}
