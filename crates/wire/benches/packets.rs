//! Nanoseconds for what a datapath does to each packet or super-packet, and for reading the same headers with `etherparse`.

use bentpipe_wire::super_packet::{Checksum, SegmentRun};
use bentpipe_wire::virtio_net::{self, VirtioNetHeader};
use bentpipe_wire::{IpHeader, Layout, SuperPacket, TcpHeader, checksum};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use std::hint::black_box;

const MSS: usize = 1448;
const HEADER_BYTES: usize = 52;
const SEGMENTS: usize = 44;

/// What the kernel hands over for 44 segments of one connection.
fn frame() -> Vec<u8> {
    let length = HEADER_BYTES + SEGMENTS * MSS;
    let header = VirtioNetHeader {
        flags: virtio_net::NEEDS_CSUM,
        gso_type: virtio_net::GSO_TCPV4,
        hdr_len: HEADER_BYTES as u16,
        gso_size: MSS as u16,
        csum_start: 20,
        csum_offset: 16,
    };
    let mut frame = header.to_bytes()[..virtio_net::BYTES].to_vec();
    frame.extend([0x45, 0]);
    frame.extend((length as u16).to_be_bytes());
    frame.extend([0, 1, 0x40, 0, 64, 6, 0, 0, 10, 77, 0, 2, 10, 77, 0, 1]);
    frame.extend([
        0x14, 0x51, 0x9c, 0x40, 0, 0, 0, 1, 0, 0, 0, 1, 0x80, 0x18, 1, 0,
    ]);
    frame.extend([0, 0, 0, 0, 1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 1]);
    frame.resize(virtio_net::BYTES + length, 0x5a);
    frame
}

fn headers(criterion: &mut Criterion) {
    let frame = frame();
    let packet = &frame[virtio_net::BYTES..];
    let mut group = criterion.benchmark_group("headers");
    group.bench_function("layout", |bench| {
        bench.iter(|| Layout::parse(black_box(packet)).expect("a packet"));
    });
    group.bench_function("IP and TCP read", |bench| {
        bench.iter(|| {
            let packet = black_box(packet);
            let ip = IpHeader::parse(packet).expect("a packet");
            let tcp = TcpHeader::parse(&packet[ip.header_bytes()..]).expect("a header");
            black_box((ip, tcp));
        });
    });
    group.bench_function("IP and TCP read by etherparse", |bench| {
        bench.iter(|| {
            let (ip, rest) =
                etherparse::Ipv4Header::from_slice(black_box(packet)).expect("a packet");
            let (tcp, _) = etherparse::TcpHeader::from_slice(rest).expect("a header");
            black_box((ip, tcp));
        });
    });
    let (ip, tcp) = (
        IpHeader::parse(packet).expect("a packet"),
        TcpHeader::parse(&packet[20..]).expect("a header"),
    );
    let mut out = [0; HEADER_BYTES];
    group.bench_function("IP and TCP written", |bench| {
        bench.iter(|| {
            let start = black_box(ip).write(&mut out).expect("there is room");
            black_box(tcp)
                .write(&mut out[start..])
                .expect("there is room");
            black_box(&out);
        });
    });
    group.finish();
}

fn super_packets(criterion: &mut Criterion) {
    let frame = frame();
    let whole = SuperPacket::parse(&frame[..], virtio_net::BYTES).expect("a packet");
    let mut group = criterion.benchmark_group("super-packet");
    group.bench_function("read", |bench| {
        bench.iter(|| {
            SuperPacket::parse(black_box(&frame[..]), virtio_net::BYTES).expect("a packet")
        });
    });
    group.bench_function("headers of a run", |bench| {
        let run = SegmentRun {
            first: 3,
            count: 7,
            ce: false,
        };
        bench.iter(|| whole.head(black_box(run), Checksum::Unchanged));
    });
    group.throughput(Throughput::Bytes((HEADER_BYTES + MSS) as u64));
    let mut out = Vec::new();
    group.bench_function("segment with its checksum", |bench| {
        bench.iter(|| whole.write_segment(black_box(3), false, &mut out));
    });
    group.bench_function("sum", |bench| {
        bench.iter(|| checksum::fold(checksum::sum(black_box(&frame[..HEADER_BYTES + MSS]))));
    });
    group.finish();
}

criterion_group!(benches, headers, super_packets);
criterion_main!(benches);
