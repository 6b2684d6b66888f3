//! Block codes: the packets of a block are sent as they are, then its repairs. What comes is decoded as soon as there is enough.

use crate::PACKET_BYTES;
use crate::channel::{Channel, Outcome, Packet, packet};
use crate::clock::timed;
use rand::{SeedableRng, rngs::StdRng};
use raptorq::{
    EncodingPacket, ObjectTransmissionInformation, PayloadId, SourceBlockDecoder,
    SourceBlockEncoder,
};
use reed_solomon_simd::{ReedSolomonDecoder, ReedSolomonEncoder};

/// What came of a block.
struct Received {
    sources: Vec<bool>,
    repairs: Vec<bool>,
}

/// Sends blocks. `block` gets the sources and what came of them, and says after how many of the repairs that came all was known,
/// if it ever was, with the processor time of encoding and decoding.
fn run(
    mut channel: Channel,
    size: usize,
    repairs: usize,
    blocks: usize,
    mut block: impl FnMut(&[Vec<u8>], &Received, &mut f64, &mut f64) -> Option<usize>,
) -> Outcome {
    let (mut encoding_s, mut decoding_s) = (0.0, 0.0);
    let mut packets = Vec::new();
    for number in 0..blocks {
        let sources: Vec<Vec<u8>> = (0..size)
            .map(|at| packet(number * size + at, PACKET_BYTES))
            .collect();
        let first = packets.len();
        for _ in 0..size {
            let lost = channel.loses();
            let known = (!lost).then_some(channel.slot);
            packets.push(Packet {
                sent: channel.slot,
                known,
                lost,
                given_up: 0,
            });
        }
        let mut arrivals = Vec::new();
        let mut came = Vec::new();
        for _ in 0..repairs {
            let arrives = !channel.loses();
            came.push(arrives);
            if arrives {
                arrivals.push(channel.slot);
            }
        }
        let this = &mut packets[first..];
        let received = Received {
            sources: this.iter().map(|it| !it.lost).collect(),
            repairs: came,
        };
        let needed = block(&sources, &received, &mut encoding_s, &mut decoding_s);
        for it in this.iter_mut() {
            it.given_up = channel.slot;
            if let (true, Some(needed)) = (it.lost, needed) {
                it.known = Some(arrivals[needed - 1]);
            }
        }
    }
    Outcome::new(&packets, encoding_s, decoding_s)
}

pub fn reed_solomon(channel: Channel, size: usize, repairs: usize, blocks: usize) -> Outcome {
    let mut encoder = ReedSolomonEncoder::new(size, repairs, PACKET_BYTES).expect("supported");
    let mut decoder = ReedSolomonDecoder::new(size, repairs, PACKET_BYTES).expect("supported");
    run(
        channel,
        size,
        repairs,
        blocks,
        |sources, received, encoding_s, decoding_s| {
            let made: Vec<Vec<u8>> = timed(encoding_s, || {
                for source in sources {
                    encoder.add_original_shard(source).expect("it has the size");
                }
                let result = encoder.encode().expect("all are there");
                result.recovery_iter().map(<[u8]>::to_vec).collect()
            });
            let lost = received.sources.iter().filter(|&&it| !it).count();
            let came = received.repairs.iter().filter(|&&it| it).count();
            // Any as many repairs as losses are enough.
            if lost == 0 || lost > came {
                return None;
            }
            timed(decoding_s, || {
                for (at, source) in sources
                    .iter()
                    .enumerate()
                    .filter(|it| received.sources[it.0])
                {
                    decoder
                        .add_original_shard(at, source)
                        .expect("it has the size");
                }
                for (at, repair) in made
                    .iter()
                    .enumerate()
                    .filter(|it| received.repairs[it.0])
                    .take(lost)
                {
                    decoder
                        .add_recovery_shard(at, repair)
                        .expect("it has the size");
                }
                let result = decoder.decode().expect("there are enough");
                for (at, restored) in result.restored_original_iter() {
                    assert_eq!(restored, sources[at]);
                }
            });
            Some(lost)
        },
    )
}

pub fn raptorq(channel: Channel, size: usize, repairs: usize, blocks: usize) -> Outcome {
    let bytes = (size * PACKET_BYTES) as u64;
    let config = ObjectTransmissionInformation::new(bytes, PACKET_BYTES as u16, 1, 1, 8);
    run(
        channel,
        size,
        repairs,
        blocks,
        |sources, received, encoding_s, decoding_s| {
            let whole = sources.concat();
            let made = timed(encoding_s, || {
                SourceBlockEncoder::new(0, &config, &whole).repair_packets(0, repairs as u32)
            });
            let lost = received.sources.iter().filter(|&&it| !it).count();
            let came: Vec<EncodingPacket> = made
                .into_iter()
                .zip(&received.repairs)
                .filter(|it| *it.1)
                .map(|it| it.0)
                .collect();
            if lost == 0 || lost > came.len() {
                return None;
            }
            timed(decoding_s, || {
                let mut decoder = SourceBlockDecoder::new(0, &config, bytes);
                let here = sources
                    .iter()
                    .enumerate()
                    .filter(|it| received.sources[it.0]);
                let mut packets: Vec<EncodingPacket> = here
                    .map(|(at, source)| {
                        EncodingPacket::new(PayloadId::new(0, at as u32), source.clone())
                    })
                    .collect();
                packets.extend(came[..lost].iter().cloned());
                let mut decoded = decoder.decode(packets);
                let mut needed = lost;
                while decoded.is_none() && needed < came.len() {
                    decoded = decoder.decode([came[needed].clone()]);
                    needed += 1;
                }
                decoded.map(|it| {
                    assert!(it == whole);
                    needed
                })
            })
        },
    )
}

pub fn rlnc(channel: Channel, size: usize, repairs: usize, blocks: usize) -> Outcome {
    let mut random = StdRng::seed_from_u64(1);
    run(
        channel,
        size,
        repairs,
        blocks,
        |sources, received, encoding_s, decoding_s| {
            let whole = sources.concat();
            let (made, piece_bytes) = timed(encoding_s, || {
                let encoder = rlnc::full::Encoder::new(whole.clone(), size).expect("valid");
                let made: Vec<Vec<u8>> = (0..repairs).map(|_| encoder.code(&mut random)).collect();
                (made, encoder.get_piece_byte_len())
            });
            let lost = received.sources.iter().filter(|&&it| !it).count();
            let came: Vec<Vec<u8>> = made
                .into_iter()
                .zip(&received.repairs)
                .filter(|it| *it.1)
                .map(|it| it.0)
                .collect();
            if lost == 0 || lost > came.len() {
                return None;
            }
            // The crate is not systematic: a source packet is a piece whose coding vector has a single 1.
            let mut padded = whole;
            padded.push(0x81);
            padded.resize(size * piece_bytes, 0);
            let pieces: Vec<Vec<u8>> = padded
                .chunks(piece_bytes)
                .enumerate()
                .filter(|it| received.sources[it.0])
                .map(|(at, piece)| {
                    let mut coded = vec![0; size];
                    coded[at] = 1;
                    coded.extend_from_slice(piece);
                    coded
                })
                .collect();
            timed(decoding_s, || {
                let mut decoder = rlnc::full::Decoder::new(piece_bytes, size).expect("valid");
                for piece in &pieces {
                    decoder.decode(piece).expect("it is useful");
                }
                for (at, repair) in came.iter().enumerate() {
                    let _ = decoder.decode(repair);
                    if decoder.is_already_decoded() {
                        return Some(at + 1);
                    }
                }
                None
            })
        },
    )
}
