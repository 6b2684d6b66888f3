//! How fast the sliding-window code is, and how it stands to block codes at the same overhead and the same losses.
//!
//! `make bench-fec`. Speeds are per second of one thread's processor time.

mod blocks;
mod channel;
mod clock;
mod sliding;

use bentpipe_fec::field::Kernel;
use channel::{Channel, Outcome};
use clock::processor_seconds;

pub const PACKET_BYTES: usize = 1400;
const WINDOW: usize = 500;
/// 16 Mbit/s of packets of 1500 bytes on the wire: one takes so long.
const SLOT_MS: f64 = 0.75;

fn main() {
    multiply_add();
    tunnel();
    compare();
}

/// A window of packets lies in the second-level cache and is added up into one packet.
fn multiply_add() {
    println!("Multiply-add of {WINDOW} packets of 1500 bytes (0.75 MB) into one, best of 5:\n");
    println!("| kernel | GB/s |\n|---|---:|");
    let window: Vec<Vec<u8>> = (0..WINDOW).map(|at| vec![at as u8; 1500]).collect();
    for kernel in Kernel::available() {
        let rounds = if kernel == Kernel::PORTABLE { 20 } else { 1000 };
        let mut best = f64::INFINITY;
        for _ in 0..5 {
            let mut into = vec![0; 1500];
            let start = processor_seconds();
            for round in 0..rounds {
                for (at, packet) in window.iter().enumerate() {
                    kernel.add_scaled(&mut into, packet, (at + round) as u8 | 2);
                }
            }
            best = best.min(processor_seconds() - start);
            std::hint::black_box(&into);
        }
        let bytes = (rounds * WINDOW * 1500) as f64;
        println!("| {} | {:.1} |", kernel.name(), bytes / best / 1e9);
    }
}

fn tunnel() {
    println!(
        "\nA tunnel's sender and receiver, 5 % loss, window {WINDOW}, packets of {PACKET_BYTES} bytes, one repair per 12.7 packets \
         (1.5 for each loss), best of 3:\n"
    );
    println!("| part | Gbit/s of packets |\n|---|---:|");
    let mut best = (f64::INFINITY, f64::INFINITY);
    for _ in 0..3 {
        let (sending, receiving) = sliding::tunnel_seconds(WINDOW as u32, 100_000);
        best = (best.0.min(sending), best.1.min(receiving));
    }
    let bits = 100_000.0 * PACKET_BYTES as f64 * 8.0;
    println!("| sender | {:.1} |", bits / best.0 / 1e9);
    println!("| receiver | {:.1} |", bits / best.1 / 1e9);
}

fn compare() {
    for (loss, burst) in [(0.05, 1.0), (0.05, 5.0)] {
        let repairs = (1.5 * loss / (1.0 - loss) * WINDOW as f64).round() as usize;
        let kind = if burst > 1.0 {
            format!("in bursts of {burst}")
        } else {
            "one by one".to_string()
        };
        println!(
            "\n{:.0} % loss {kind}, {repairs} repairs to {WINDOW} packets ({:.1} %), nothing sent again; delays at {SLOT_MS} ms per packet:\n",
            loss * 100.0,
            repairs as f64 / WINDOW as f64 * 100.0,
        );
        println!(
            "| code | losses recovered | added delay in order, mean | 99 % | encoding Gbit/s | decoding Gbit/s |\n|---|---:|---:|---:|---:|---:|"
        );
        let row = |name: &str, outcome: Outcome| {
            let bits = outcome.packets as f64 * PACKET_BYTES as f64 * 8.0;
            println!(
                "| {name} | {:.2} % | {:.0} ms | {:.0} ms | {:.2} | {:.2} |",
                outcome.recovered as f64 / outcome.lost as f64 * 100.0,
                outcome.mean_delay() * SLOT_MS,
                outcome.delay_quantile(0.99) * SLOT_MS,
                bits / outcome.encoding_s / 1e9,
                bits / outcome.decoding_s / 1e9,
            );
        };
        let channel = || Channel::new(loss, burst, 1);
        row(
            "bentpipe, window 500",
            sliding::run(channel(), WINDOW, repairs, 200),
        );
        row(
            "reed-solomon-simd, blocks of 500",
            blocks::reed_solomon(channel(), WINDOW, repairs, 200),
        );
        row(
            "raptorq, blocks of 500",
            blocks::raptorq(channel(), WINDOW, repairs, 200),
        );
        row(
            "rlnc, blocks of 500, systematic",
            blocks::rlnc(channel(), WINDOW, repairs, 20),
        );
    }
}
