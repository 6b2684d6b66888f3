//! Any packets: those that are joined are, once cut again, the packets that were joined, save for how a checksum of zero is
//! written.

#![no_main]

use bentpipe_wire::{Layout, Merger, SuperPacket, virtio_net};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let (mut merger, mut taken) = (Merger::default(), Vec::new());
    let mut rest = bytes;
    while let Some((&length, after)) = rest.split_first() {
        let (packet, after) = after.split_at(usize::from(length).min(after.len()));
        if merger.push(packet) {
            taken.push(packet);
        }
        rest = after;
    }
    let Some((header, packet)) = merger.finish() else {
        assert!(taken.is_empty());
        return;
    };
    let frame = [&header.to_bytes()[..virtio_net::BYTES], packet].concat();
    let whole = SuperPacket::parse(&frame[..], virtio_net::BYTES).expect("a packet");
    assert_eq!(usize::from(whole.segments()), taken.len());
    let mut segment = Vec::new();
    for (index, packet) in (0..).zip(taken) {
        whole.write_segment(index, false, &mut segment);
        assert_eq!(segment.len(), packet.len());
        let layout = Layout::parse(packet).expect("it was joined");
        assert_eq!(segment[layout.header_bytes..], packet[layout.header_bytes..]);
        assert_eq!(Layout::parse(&segment), Ok(layout));
    }
});
