//! cu-fec is an independent implementation of RFC 8681: it makes the same repair symbols and recovers the same packets.

use bentpipe_fec::field::Kernel;
use bentpipe_fec::{Decoder, DecoderConfig, Density, Encoder, RepairId, RepairOutcome};
use cu_fec::{
    DensityThreshold, EncodingSymbolId, Field, RepairParameters, RepairPayloadId, RlcConfig,
    RlcDecoder, RlcEncoder,
};
use proptest::prelude::*;

const PACKET_BYTES: usize = 30;
const SYMBOL_BYTES: usize = 2 + PACKET_BYTES;
const WINDOW: usize = 40;

/// As the RFC has it: symbols of one size, here a packet behind its length and before zeros.
fn symbol(packet: &[u8]) -> [u8; SYMBOL_BYTES] {
    let mut symbol = [0; SYMBOL_BYTES];
    symbol[..2].copy_from_slice(&(packet.len() as u16).to_be_bytes());
    symbol[2..2 + packet.len()].copy_from_slice(packet);
    symbol
}

fn packets() -> impl Strategy<Value = Vec<Vec<u8>>> {
    prop::collection::vec(
        prop::collection::vec(any::<u8>(), 0..=PACKET_BYTES),
        1..=WINDOW,
    )
}

proptest! {
    #[test]
    fn repair_symbols_are_those_of_cu_fec_without_the_padding(
        packets in packets(), key: u16, threshold in 0..16_u8,
    ) {
        let config = RlcConfig::new(SYMBOL_BYTES, WINDOW, Field::Gf256).expect("valid");
        let mut theirs =
            RlcEncoder::<SYMBOL_BYTES, WINDOW>::new(config, EncodingSymbolId::new(0)).expect("valid");
        let mut ours = Encoder::new(WINDOW, Kernel::default());
        for packet in &packets {
            theirs.push_source(&symbol(packet)).expect("it has the size");
            ours.push(packet);
        }
        let mut right = [0; SYMBOL_BYTES];
        let density = DensityThreshold::new(threshold).expect("valid");
        theirs.encode_repair(RepairParameters::new(key, density), &mut right).expect("valid");
        let id = RepairId {
            first: 0,
            symbols: packets.len() as u16,
            key,
            density: Density::new(threshold).expect("valid"),
        };
        let mut repair = Vec::new();
        prop_assert!(ours.repair(&id, &mut repair));
        prop_assert_eq!(&repair, &right[..repair.len()]);
        prop_assert!(right[repair.len()..].iter().all(|&it| it == 0));
    }

    #[test]
    fn what_cu_fec_recovers_is_recovered_and_nothing_else(
        packets in packets(),
        lost in prop::collection::vec(prop::bool::weighted(0.2), WINDOW),
        repairs in prop::collection::vec((any::<u16>(), 0..16_u8, 0.0..1.0_f64, 0.0..1.0_f64), 0..20),
    ) {
        let count = packets.len();
        let mut encoder = Encoder::new(WINDOW, Kernel::default());
        let config = RlcConfig::new(SYMBOL_BYTES, WINDOW, Field::Gf256).expect("valid");
        let mut theirs =
            RlcDecoder::<SYMBOL_BYTES, WINDOW, WINDOW>::new(config, WINDOW).expect("valid");
        theirs.discard_before(EncodingSymbolId::new(0)).expect("it is new");
        let mut ours = Decoder::new(
            DecoderConfig { kept_symbols: WINDOW, packet_max_bytes: PACKET_BYTES, max_unknowns: WINDOW },
            Kernel::default(),
        );
        for (id, packet) in packets.iter().enumerate() {
            encoder.push(packet);
            if !lost[id] {
                let esi = EncodingSymbolId::new(id as u32);
                let _ = theirs.receive_source(esi, &symbol(packet)).expect("it is new");
                ours.source(id as u64, packet);
            }
        }
        for (key, threshold, first, last) in repairs {
            let first = (first * count as f64) as usize;
            let symbols = 1 + (last * (count - first) as f64) as usize;
            let symbols = symbols.min(count - first) as u16;
            let density = Density::new(threshold).expect("valid");
            let id = RepairId { first: first as u64, symbols, key, density };
            let mut repair = Vec::new();
            encoder.repair(&id, &mut repair);
            let outcome = ours.repair(&id, &repair);
            repair.resize(SYMBOL_BYTES, 0);
            let density = DensityThreshold::new(threshold).expect("valid");
            let esi = EncodingSymbolId::new(first as u32);
            let theirs_id = RepairPayloadId::new(key, density, symbols, esi).expect("valid");
            let report = theirs.receive_repair(theirs_id, &repair).expect("valid");
            prop_assert_eq!(outcome == RepairOutcome::Innovative, report.is_innovative());
            for (id, packet) in packets.iter().enumerate() {
                let right = theirs.symbol(EncodingSymbolId::new(id as u32));
                prop_assert!(right.is_none_or(|it| it == symbol(packet)));
                prop_assert_eq!(ours.packet(id as u64), right.map(|_| &packet[..]));
            }
        }
    }
}
