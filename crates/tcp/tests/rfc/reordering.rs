//! A path that reorders: RFC 7323 (PAWS), RFC 2018, RFC 2883, RFC 8985, as Linux has them.

use crate::plain;
use crate::script::Script;

#[test]
fn data_sent_before_what_last_moved_the_left_edge_is_refused() {
    // RFC 7323, section 5.3; `tcp_validate_incoming`.
    plain().run(
        "  0 <   data 0..1
           0 >   ack 1
          10 <   data 1..2           # a retransmission, say
          10 >   ack 2
          12 <   data 2..3 due 8     # an original sent before it, two milliseconds late
          12 >   ack 2
          13 <   data 2..3 due 9     # one is the clock's grain
          13 >   ack 3
          13 is  read 4344",
    );
}

#[test]
fn data_behind_a_hole_is_not_refused_for_its_age() {
    // Only what reaches the left edge sets the timestamp to compare with (RFC 7323, section 4.3).
    plain().run(
        "  0 <   data 0..1
           0 >   ack 1
          10 <   data 3..4
          10 >   ack 1 sack 3..4
          12 <   data 2..3 due 2
          12 >   ack 1 sack 2..4",
    );
}

#[test]
fn a_duplicate_sets_no_timestamp_to_compare_with() {
    // `tcp_sequence` turns it away before that: a needless retransmission costs its later originals nothing.
    plain().run(
        "  0 <   data 0..1
           0 >   ack 1
           1 <   data 1..2
           1 >   ack 2
          20 <   data 0..1
          20 >   ack 2 dsack 0..1
          22 <   data 2..3 due 12
          22 >   ack 3",
    );
}

#[test]
fn a_probe_of_a_closed_window_is_answered() {
    // It lies below the window. Two within half a second get one answer.
    plain().run(
        "  0 <   data 0..2
           0 >   ack 2
         100 <   probe
         100 >   ack 2
         300 <   probe
         700 <   probe
         700 >   ack 2",
    );
}

#[test]
fn a_refused_duplicate_is_reported_by_dsack() {
    plain().run(
        "  0 <   data 0..1
           0 >   ack 1
          10 <   data 1..2
          10 >   ack 2
          20 <   data 0..1 due 5
          20 >   ack 2 dsack 0..1",
    );
}

#[test]
fn an_old_ack_that_was_overtaken_is_refused_with_its_sacks() {
    // `tcp_disordered_ack_check`: answered at most twice a second; what repeats the last ACK is taken.
    plain().run(
        "  0 app write 100
           0 >   data 0..10
         100 <   ack 2
         100 >   data 10..14
         105 <   ack 1 sack 6..7 due 95
         105 is  sacked 0
         105 >   ack 0
         106 <   ack 1 sack 6..7 due 95
         106 is  sacked 0
         110 <   ack 2 sack 6..7 due 95
         110 is  sacked 1
         110 >   data 14..15",
    );
}

#[test]
fn blocks_are_read_lowest_first_so_the_highest_sets_racks_rtt() {
    // `tcp_sacktag_write_queue` sorts them. Segments 2 to 9 left 200 ms ago, twice the RTT of segment 12.
    plain().run(
        "  0 app write 100
           0 >   data 0..10
         100 <   ack 2
         100 >   data 10..14
         200 <   ack 2 sack 12..13 sack 4..5
         200 is  state Recovery lost 7
         200 >   data 2..4",
    );
}

#[test]
fn a_block_that_begins_at_the_left_edge_is_ignored() {
    // `tcp_is_sackblock_valid`.
    plain().run(
        "  0 app write 10
           0 >   data 0..10
         100 <   ack 1 sack 1..3
         100 is  sacked 0",
    );
}

#[test]
fn a_dsack_where_nothing_was_reordered_leaves_racks_window() {
    // `tcp_dsack_seen`: a quarter of the RTT still, and 2 ms of grace.
    Script::new(100, |host| host.timestamps = false).run(
        "  0 app write 10
           0 >   data 0..10
         100 <   ack 0 sack 1..5
         100 >   data 0..1
         150 <   ack 10
         200 <   ack 10 dsack 0..1
         200 app write 3
         200 >   data 10..13
         300 <   ack 10 sack 11..13
         327 >   data 10..11",
    );
}

#[test]
fn a_dsack_of_what_was_sacked_shows_how_late_the_original_was() {
    // `tcp_sacktag_one`: segment 5 came after segment 9.
    plain().run(
        "  0 app write 10
           0 >   data 0..10
         100 <   ack 0 sack 6..10 sack 1..5
         100 >   data 0..1
         100 >   data 5..6
         105 <   ack 0 sack 1..10
         105 is  reordering 3
         200 <   ack 0 dsack 5..6 sack 1..10
         200 is  reordering 5 retrans_out 1",
    );
}

#[test]
fn while_retransmissions_are_out_a_late_original_lets_only_new_data_leave() {
    // `tcp_try_undo_partial`.
    plain().run(
        "  0 app write 100
           0 >   data 0..10
         100 <   ack 0 sack 7..10
         100 is  state Recovery lost 7
         100 >   data 0..3
         105 <   ack 1 echo 0
         105 is  state Recovery lost 6 retrans_out 2
         105 >   data 10..12",
    );
}

#[test]
fn a_retransmission_that_an_undo_forgave_counts_as_in_flight_until_acknowledged() {
    // `tcp_sacktag_one` leaves it, since it is no longer marked lost.
    plain().run(
        "  0 app write 10
           0 >   data 0..10
         202 >   data 9..10
         502 >   data 0..1
         602 <   ack 1
         602 >   data 1..3
         702 <   ack 3
         702 >   data 3..7
         712 <   ack 4 echo 0
         712 is  state Recovery retrans_out 3 lost 3      # RACK looks again, at 7 to 9
         713 <   ack 4 sack 5..6
         713 is  retrans_out 3 sacked 1",
    );
}

#[test]
fn without_sack_more_duplicates_than_segments_tell_the_reordering() {
    // `tcp_check_reno_reordering`: as wide as the flight, whatever it was before.
    Script::new(100, |host| host.sack = false).run(
        "  0 app write 10
           0 >   data 0..10
         100 <   ack 0
         101 <   ack 0
         102 <   ack 0
         102 >   data 0..1
         103 <   ack 0
         104 <   ack 0
         105 <   ack 0
         106 <   ack 0
         107 <   ack 0
         108 <   ack 0
         109 <   ack 0
         109 is  reordering 10
         202 <   ack 10
         202 app write 3
         202 >   data 10..13
         302 <   ack 11
         303 <   ack 11
         304 <   ack 11
         304 is  reordering 2",
    );
}

#[test]
fn compressed_acks_leave_at_once_when_a_third_block_begins() {
    // `tcp_sack_new_ofo_skb`.
    let script: Vec<String> = (0..22)
        .map(|at| {
            format!(
                "{at} < data {at}..{next}\n{at} > ack {next}\n",
                next = at + 1
            )
        })
        .collect();
    plain().run(&script.concat()).run(
        " 22   <   data 23..24
          22   >   ack 22 sack 23..24
          22   <   data 24..25
          22   >   ack 22 sack 23..25
          22   <   data 25..26
          22   >   ack 22 sack 23..26
          22   <   data 26..27
          22.2 <   data 30..31
          22.4 <   data 34..35
          22.4 >   ack 22 sack 30..31 sack 23..27
          22.6 <   data 35..36         # the block itself goes with the next ACK
          23.7 >   ack 22 sack 34..36 sack 30..31 sack 23..27",
    );
}

#[test]
fn a_block_pushed_off_the_list_is_forgotten() {
    // Four are kept (`TCP_NUM_SACKS`): segment 3 adjoins what was reported as 2..3, but only 4..5 is still listed.
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
           0 >   ack 1 sack 8..9 sack 6..7 sack 4..5
           0 <   data 10..11
           0 >   ack 1 sack 10..11 sack 8..9 sack 6..7
           1 <   data 3..4
           1 >   ack 1 sack 3..5 sack 10..11 sack 8..9",
    );
}
