//! How often as many repair symbols as losses are enough.
//!
//! L losses decode from N repair symbols that cover them where the N x L matrix of coefficients has the rank L. The coefficients
//! are uniform over the 255 bytes that are not zero. A combination of w columns with fixed factors that are not zero vanishes in
//! a row with the probability p(w) = (1 - (-1/255)^(w-1)) / 256. The expected number of combinations that vanish in all rows, of
//! proportional ones counting one, is the sum over w of C(L, w) 255^(w-1) p(w)^N. A matrix without rank L has one such combination,
//! or 257 and more with a probability below 256^-4, so the sum is the probability of failing but for 256^-3.

use bentpipe_base::SplitMix64;
use bentpipe_fec::field::Kernel;
use bentpipe_fec::{Decoder, DecoderConfig, Density, Encoder, RepairId};

fn failing(losses: usize, repairs: usize) -> f64 {
    let mut expected = 0.0;
    let mut combinations = 1.0 / 255.0;
    for weight in 1..=losses {
        combinations *= 255.0 * (losses - weight + 1) as f64 / weight as f64;
        let vanishes = (1.0 - (-1.0 / 255.0_f64).powi(weight as i32 - 1)) / 256.0;
        expected += combinations * vanishes.powi(repairs as i32);
    }
    expected
}

/// Of this many patterns of losses, how many did not decode.
fn failed(losses: usize, repairs: usize, trials: u32) -> u32 {
    let mut random = SplitMix64(losses as u64 * 1000 + repairs as u64);
    let window = 64;
    let config = DecoderConfig {
        kept_symbols: window,
        packet_max_bytes: 4,
        max_unknowns: window,
    };
    let mut encoder = Encoder::new(window, Kernel::default());
    for id in 0..window {
        encoder.push(&[id as u8]);
    }
    let mut failed = 0;
    let mut symbol = Vec::new();
    let mut first_key = 0_u16;
    for _ in 0..trials {
        let mut ids: Vec<u64> = (0..window as u64).collect();
        for place in 0..losses {
            let other = place + random.draw_below((window - place) as u32) as usize;
            ids.swap(place, other);
        }
        let mut decoder = Decoder::new(config, Kernel::default());
        for &id in &ids[losses..] {
            decoder.source(id, &[id as u8]);
        }
        for _ in 0..repairs {
            let id = RepairId {
                first: 0,
                symbols: window as u16,
                key: first_key,
                density: Density::FULL,
            };
            first_key = first_key.wrapping_add(1);
            symbol.clear();
            encoder.repair(&id, &mut symbol);
            decoder.repair(&id, &symbol);
        }
        let all = (0..window as u64).all(|id| decoder.packet(id) == Some(&[id as u8]));
        failed += u32::from(!all);
    }
    failed
}

#[test]
fn the_formula_is_the_known_value_where_that_is_simple() {
    assert!(failing(1, 1).abs() < 1e-12);
    // Two rows of two are dependent where their quotients are the same byte of 255.
    assert!((failing(2, 2) - 1.0 / 255.0).abs() < 1e-12);
    // Large matrices are as those with uniform entries: 1 - (1 - 1/256)(1 - 1/256^2)...
    assert!((failing(40, 40) - 0.003_921_5).abs() < 2e-5);
}

#[test]
fn any_losses_up_to_the_number_of_repairs_decode_as_often_as_theory_says() {
    let trials = 6000;
    for losses in [1, 2, 3, 5, 8, 13, 24] {
        for extra in 0..=2 {
            let expected = failing(losses, losses + extra) * f64::from(trials);
            let failed = f64::from(failed(losses, losses + extra, trials));
            // Five standard deviations of a Poisson count, and one failure where none is expected.
            let tolerance = 5.0 * expected.sqrt() + f64::from(u8::from(expected > 1e-9));
            println!(
                "{losses} losses, {} repairs: {failed} of {trials} failed, expected {expected:.2}",
                losses + extra
            );
            assert!(
                (failed - expected).abs() <= tolerance + 1e-9,
                "{losses} + {extra}: {failed} {expected}"
            );
        }
    }
}

#[test]
fn one_repair_too_few_never_decodes_all() {
    for losses in [1, 4, 9] {
        assert_eq!(failed(losses, losses - 1, 50), 50);
    }
}
