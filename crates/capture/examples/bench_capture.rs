//! Writes captures of a given size, reads them, and prints the speed and the peak of the memory: `make bench-capture`.
//!
//! `bench_capture GENERATE BYTES FILE [SNAP]` writes one; `bench_capture READ FILE` reads one, prints its figures and with
//! `FACTS` all that was found.

use bentpipe_capture::Analysis;
use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::time::Instant;

const PIECE_BYTES: usize = 1 << 20;
const PAYLOAD: u32 = 1448;
/// Connections that take turns.
const CONNECTIONS: usize = 200;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["GENERATE", bytes, file] => generate(number(bytes), file, 1514),
        ["GENERATE", bytes, file, snap] => generate(number(bytes), file, number(snap) as usize),
        ["READ", file] => read(file, false),
        ["READ", file, "FACTS"] => read(file, true),
        _ => eprintln!("bench_capture GENERATE BYTES FILE [SNAP] | READ FILE [FACTS]"),
    }
}

fn number(word: &str) -> u64 {
    word.parse().expect("a number of bytes")
}

fn read(file: &str, with_facts: bool) {
    let began = Instant::now();
    let mut from = File::open(file).expect("a file");
    let mut analysis = Analysis::default();
    let mut bytes = vec![0; 2 * PIECE_BYTES];
    let (mut held, mut total) = (0, 0_u64);
    loop {
        let count = from.read(&mut bytes[held..]).expect("it can be read");
        if count == 0 {
            if let Err(error) = analysis.end(&bytes[..held]) {
                println!("{error}");
            }
            break;
        }
        held += count;
        total += count as u64;
        let (taken, needed) = analysis.feed(&bytes[..held]).expect("a sound capture");
        bytes.copy_within(taken..held, 0);
        held -= taken;
        if needed + PIECE_BYTES > bytes.len() {
            bytes.resize(needed + PIECE_BYTES, 0);
        }
    }
    let capture = analysis.finish();
    let took = began.elapsed().as_secs_f64();
    let facts = capture.facts();
    if with_facts {
        println!("{}", serde_json::to_string_pretty(&facts).expect("JSON"));
    }
    println!(
        "{:.2} GB, {} packets, {} flows: {took:.2} s, {:.2} s of processor time, {:.2} GB/s, {:.0} ns a packet, peak {:.0} MB",
        total as f64 / 1e9,
        facts.packets.packets,
        facts.flows.len(),
        processor_s(),
        total as f64 / 1e9 / took,
        took * 1e9 / facts.packets.packets.max(1) as f64,
        peak_mb(),
    );
}

/// Of this process, all of its threads; 0 where there is no `/proc`.
fn processor_s() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after = stat.rsplit(')').next().unwrap_or_default();
    let ticks = |place: usize| {
        let word = after.split_whitespace().nth(place);
        word.and_then(|it| it.parse::<f64>().ok()).unwrap_or(0.0)
    };
    (ticks(11) + ticks(12)) / 100.0
}

fn peak_mb() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|it| it.split_whitespace().next()?.parse::<f64>().ok());
    kilobytes.unwrap_or(0.0) / 1e3
}

/// Downloads that send ten segments, get five acknowledgements, and lose one segment in a thousand.
fn generate(bytes: u64, file: &str, snap: usize) {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(file).expect("a file"));
    let mut written = 24_u64;
    let head: [u32; 6] = [0xa1b2_3c4d, 4 << 16 | 2, 0, 0, snap as u32, 1];
    for word in head {
        out.write_all(&word.to_le_bytes()).expect("room");
    }
    let mut sent = [1_u32; CONNECTIONS];
    let mut at_ns = 1_700_000_000_000_000_000_u64;
    let mut packet = vec![0; 66 + PAYLOAD as usize];
    let mut turn = 0_usize;
    while written < bytes {
        let connection = turn / 16 % CONNECTIONS;
        at_ns += 5_000;
        let in_turn = turn % 16;
        turn += 1;
        let is_ack = in_turn >= 11;
        let seq = sent[connection];
        let (payload, seq, ack) = match in_turn {
            0 if seq == 1 => (0, 0, 0),
            // The segment that was lost is sent again.
            0 => (PAYLOAD, seq.wrapping_sub(PAYLOAD * 4), 1),
            11.. => {
                let below = PAYLOAD * 2 * (15 - in_turn as u32);
                (0, 1, seq.wrapping_sub(below))
            }
            _ => (PAYLOAD, seq, 1),
        };
        let is_lost_again = in_turn == 0 && turn / 16 % 1000 >= CONNECTIONS;
        if is_lost_again {
            continue;
        }
        let syn = u8::from(payload == 0 && !is_ack) * 2;
        segment(
            &mut packet,
            connection as u16,
            is_ack,
            (seq, ack),
            syn,
            at_ns,
            payload,
        );
        if payload > 0 && in_turn > 0 {
            sent[connection] = seq.wrapping_add(payload);
        } else if syn > 0 {
            sent[connection] = 1;
        }
        let length = 66 + payload as usize;
        let kept = length.min(snap);
        let record = [
            (at_ns / 1_000_000_000) as u32,
            (at_ns % 1_000_000_000) as u32,
            kept as u32,
            length as u32,
        ];
        for word in record {
            out.write_all(&word.to_le_bytes()).expect("room");
        }
        out.write_all(&packet[..kept]).expect("room");
        written += 16 + kept as u64;
    }
    out.flush().expect("room");
    println!("{file}: {:.2} GB", written as f64 / 1e9);
}

/// Ethernet, IPv4 and TCP with time stamps, without checksums.
fn segment(
    out: &mut [u8],
    connection: u16,
    is_ack: bool,
    (seq, ack): (u32, u32),
    syn: u8,
    at_ns: u64,
    payload: u32,
) {
    let milliseconds = (at_ns / 1_000_000) as u32;
    out[12..14].copy_from_slice(&[8, 0]);
    out[14] = 0x45;
    out[16..18].copy_from_slice(&(52 + payload as u16).to_be_bytes());
    out[22] = 64;
    out[23] = 6;
    let (server, client) = ([10, 0, 0, 2], [10, 0, 0, 1]);
    let (from, to) = if is_ack {
        (client, server)
    } else {
        (server, client)
    };
    out[26..30].copy_from_slice(&from);
    out[30..34].copy_from_slice(&to);
    let (from, to) = if is_ack {
        (40_000 + connection, 443)
    } else {
        (443, 40_000 + connection)
    };
    out[34..36].copy_from_slice(&from.to_be_bytes());
    out[36..38].copy_from_slice(&to.to_be_bytes());
    out[38..42].copy_from_slice(&seq.to_be_bytes());
    out[42..46].copy_from_slice(&ack.to_be_bytes());
    out[46] = 0x80;
    out[47] = 0x10 | syn;
    out[48..50].copy_from_slice(&0xffff_u16.to_be_bytes());
    out[54..58].copy_from_slice(&[1, 1, 8, 10]);
    out[58..62].copy_from_slice(&milliseconds.to_be_bytes());
    out[62..66].copy_from_slice(&milliseconds.wrapping_sub(40).to_be_bytes());
}
