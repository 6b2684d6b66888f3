//! The receiver: RFC 1122's delayed ACK as Linux has it, RFC 2018, RFC 2883, RFC 5681.

use crate::plain;
use crate::script::Script;

/// Past the quick ACKs of the start: 22 segments taken and acknowledged one by one, while the window opened.
fn settled() -> Script {
    let script: Vec<String> = (0..22)
        .map(|at| {
            format!(
                "{at} < data {at}..{next}\n{at} > ack {next}\n",
                next = at + 1
            )
        })
        .collect();
    let script = script.concat();
    plain().run(&script)
}

#[test]
fn the_first_segments_are_acknowledged_one_by_one() {
    plain().run(
        "  0 <   data 0..1
           0 >   ack 1
           1 <   data 1..2
           1 >   ack 2
           2 <   data 2..3
           2 >   ack 3",
    );
}

#[test]
fn once_the_window_is_open_every_second_segment_is_acknowledged() {
    settled().run(
        " 22 <   data 22..23
          23 <   data 23..24
          23 >   ack 24
          24 <   data 24..25
          25 <   data 25..26
          25 >   ack 26",
    );
}

#[test]
fn a_lone_segment_waits_forty_milliseconds() {
    settled().run(
        " 22 <   data 22..23
          62 >   ack 23",
    );
}

#[test]
fn a_small_push_is_acknowledged_when_it_is_read() {
    settled().run(
        " 22 <   data 22+100 psh
          22 >   ack 22+100",
    );
}

#[test]
fn a_segment_out_of_order_is_reported_at_once() {
    plain().run(
        "  0 <   data 0..1
           0 >   ack 1
           1 <   data 2..3
           1 >   ack 1 sack 2..3
           2 <   data 3..4
           2 >   ack 1 sack 2..4",
    );
}

#[test]
fn the_latest_hole_comes_first_and_three_blocks_fit_beside_timestamps() {
    plain().run(
        "  0 <   data 0..1
           0 >   ack 1
           0 <   data 2..3
           0 >   ack 1 sack 2..3
           0 <   data 4..5
           0 >   ack 1 sack 4..5 sack 2..3
           0 <   data 6..7
           0 >   ack 1 sack 6..7 sack 4..5 sack 2..3
           0 <   data 8..9
           0 >   ack 1 sack 8..9 sack 6..7 sack 4..5",
    );
}

#[test]
fn a_filled_hole_is_acknowledged_at_once() {
    plain().run(
        "  0 <   data 1..2
           0 >   ack 0 sack 1..2
           5 <   data 0..1
           5 >   ack 2",
    );
}

#[test]
fn a_duplicate_is_reported_by_dsack() {
    plain().run(
        "  0 <   data 0..1
           0 >   ack 1
           5 <   data 0..1
           5 >   ack 1 dsack 0..1",
    );
}

#[test]
fn a_duplicate_out_of_order_is_reported_inside_its_block() {
    plain().run(
        "  0 <   data 2..4
           0 >   ack 0 sack 2..4
           1 <   data 2..3
           1 >   ack 0 dsack 2..3 sack 2..4",
    );
}

#[test]
fn without_sack_every_segment_behind_a_hole_is_a_duplicate_ack() {
    Script::new(100, |host| host.sack = false).run(
        "  0 <   data 1..2
           0 >   ack 0
           0 <   data 2..3
           0 >   ack 0
           1 <   data 0..1
           1 >   ack 3",
    );
}

#[test]
fn after_three_duplicates_acks_are_compressed_to_one_a_millisecond() {
    // And the timer's slack of 0.1 ms.
    settled().run(
        " 22   <   data 23..24
          22   >   ack 22 sack 23..24
          22   <   data 24..25
          22   >   ack 22 sack 23..25
          22   <   data 25..26
          22   >   ack 22 sack 23..26
          22   <   data 26..27
          22.5 <   data 27..28
          23.1 >   ack 22 sack 23..28",
    );
}

#[test]
fn overlapping_data_counts_once() {
    plain().run(
        "  0 <   data 0..2
           0 >   ack 2
           1 <   data 1..3
           1 >   ack 3 dsack 1..2
           1 is  read 4344",
    );
}
