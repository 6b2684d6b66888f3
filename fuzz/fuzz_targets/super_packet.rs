//! Any frame that a device may hand over: what cannot be cut is one packet, and what is cut loses and adds nothing.
//! Each wire segment is again a packet that parses, of the length that the model was told.

#![no_main]

use bentpipe_wire::super_packet::{Checksum, SegmentRun, flip_bit};
use bentpipe_wire::{Layout, SuperPacket, virtio_net};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((&choice, bytes)) = bytes.split_first() else { return };
    let vnet_bytes = if choice & 1 == 0 { 10 } else { virtio_net::MAX_BYTES };
    let Ok(whole) = SuperPacket::parse(bytes, vnet_bytes) else { return };
    let count = whole.segments();
    assert!(count > 0);
    let Ok(layout) = Layout::parse(whole.packet()) else {
        assert_eq!(count, 1);
        return;
    };
    // A checksum that is to be put into the IP header itself spoils it, as asked; no kernel asks for that.
    let checksum_start = usize::from(u16::from_le_bytes([bytes[6], bytes[7]]));
    if bytes[0] & virtio_net::NEEDS_CSUM != 0 && checksum_start < layout.network_bytes {
        return;
    }
    let (mut payload, mut wire, mut flipped) = (Vec::new(), Vec::new(), Vec::new());
    for index in 0..count {
        whole.write_segment(index, choice & 2 != 0, &mut wire);
        assert_eq!(wire.len(), whole.wire_bytes(index) as usize);
        let again = Layout::parse(&wire).expect("a segment is a packet");
        if count > 1 {
            assert_eq!(again.total_bytes, wire.len());
            assert_eq!(again.header_bytes, layout.header_bytes);
        }
        payload.extend_from_slice(&wire[again.header_bytes.min(wire.len())..]);
        whole.write_segment(index, false, &mut flipped);
        flip_bit(&mut flipped, u64::from(choice).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        assert_eq!(flipped.len(), wire.len());
    }
    if count > 1 {
        assert_eq!(payload, whole.packet()[layout.header_bytes..]);
        let run = SegmentRun { first: count / 2, count: count - count / 2, ce: false };
        let head = whole.head(run, Checksum::Unchanged);
        let lengths: usize = (run.first..count).map(|i| whole.wire_bytes(i) as usize - layout.header_bytes).sum();
        assert_eq!(head.payload.len(), lengths);
    }
});
