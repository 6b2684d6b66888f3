//! Any frame that a device may hand over: what cannot be cut is one packet, and what is cut loses and adds nothing.
//! Each wire segment is again a packet that parses, of the length that the model was told.

#![no_main]

use bentpipe_live::datapath::pool::Frame;
use bentpipe_live::datapath::superpacket::{Checksum, Run, SuperPacket};
use bentpipe_live::datapath::vnet;
use bentpipe_live::datapath::wire::Headers;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((&choice, bytes)) = bytes.split_first() else { return };
    let vnet_bytes = if choice & 1 == 0 { 10 } else { vnet::MAX_BYTES };
    let Ok(whole) = SuperPacket::parse(Frame::from(bytes.to_vec()), vnet_bytes) else { return };
    let count = whole.segments();
    assert!(count > 0);
    let Some(headers) = Headers::parse(whole.packet()) else {
        assert_eq!(count, 1);
        return;
    };
    // A checksum that is to be put into the IP header itself spoils it, as asked; no kernel asks for that.
    let checksum_start = usize::from(u16::from_le_bytes([bytes[6], bytes[7]]));
    if bytes[0] & vnet::NEEDS_CSUM != 0 && checksum_start < headers.network_bytes {
        return;
    }
    let mut payload = Vec::new();
    for index in 0..count {
        let wire = whole.wire_segment(index, choice & 2 != 0);
        assert_eq!(wire.bytes.len(), whole.wire_bytes(index) as usize);
        let again = Headers::parse(&wire.bytes).expect("a segment is a packet");
        if count > 1 {
            assert_eq!(again.total_bytes, wire.bytes.len());
            assert_eq!(again.header_bytes, headers.header_bytes);
        }
        payload.extend_from_slice(&wire.bytes[again.header_bytes.min(wire.bytes.len())..]);
        let mut flipped = whole.wire_segment(index, false);
        flipped.flip_bit(u64::from(choice).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        assert_eq!(flipped.bytes.len(), wire.bytes.len());
    }
    if count > 1 {
        assert_eq!(payload, whole.packet()[headers.header_bytes..]);
        let run = Run { first: count / 2, count: count - count / 2, ce: false };
        let head = whole.head(run, Checksum::AsItCame);
        let lengths: usize = (run.first..count).map(|i| whole.wire_bytes(i) as usize - headers.header_bytes).sum();
        assert_eq!(head.payload.len(), lengths);
    }
});
