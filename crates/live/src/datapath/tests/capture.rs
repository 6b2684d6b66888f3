//! What another program reads in a capture.

use super::{Bed, MSS, super_packet};
use bentpipe_path::Nanos;
use bentpipe_path::config::{PipeConfig, PropagationConfig};
use std::process::Command;

#[test]
fn tshark_reads_a_capture_without_complaint() {
    let propagation = PropagationConfig {
        delay_ns: Nanos::from_millis(5),
        ..PropagationConfig::default()
    };
    let bed = Bed::new(
        "tshark",
        PipeConfig {
            propagation,
            ..PipeConfig::default()
        },
    );
    for packet in 0..20 {
        bed.send(&super_packet(1 + packet * 10 * MSS as u32, 10 * MSS));
        bed.receive().expect("the super-packet");
    }
    let capture = bed.folder.with_extension("pcapng");
    std::fs::hard_link(bed.folder.join("client.pcapng"), &capture)
        .expect("the same folder's parent");
    bed.stop();
    let output = Command::new("tshark")
        .args([
            "-o",
            "tcp.check_checksum:TRUE",
            "-o",
            "ip.check_checksum:TRUE",
            "-r",
        ])
        .arg(&capture)
        .args([
            "-T",
            "fields",
            "-e",
            "tcp.seq_raw",
            "-e",
            "tcp.checksum.status",
            "-e",
            "ip.checksum.status",
        ])
        .args([
            "-e",
            "tcp.analysis.flags",
            "-e",
            "frame.interface_name",
            "-e",
            "_ws.malformed",
        ])
        .output()
        .expect("tshark is installed (apt install tshark)");
    std::fs::remove_file(&capture).expect("it is ours");
    let text = String::from_utf8_lossy(&output.stdout);
    let problems = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{problems}");
    let expected: Vec<String> = (0..200)
        .map(|index| format!("{}\t1\t1\t\tclient\t", 1 + index * MSS))
        .collect();
    assert_eq!(
        text.lines().collect::<Vec<_>>(),
        expected,
        "one record per segment, good checksums; {problems}"
    );
}
