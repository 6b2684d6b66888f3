//! Fast recovery: RFC 5681, RFC 6582, RFC 6675, RFC 6937, RFC 8985, RFC 2883, RFC 3708.

use crate::plain;
use crate::script::Script;

fn without_sack() -> Script {
    Script::new(100, |host| host.sack = false)
}

#[test]
fn the_initial_window_is_ten_segments() {
    plain().run(
        "  0 app write 100
           0 >   data 0..10
           0 is  cwnd 10 out 10 ssthresh none",
    );
}

#[test]
fn slow_start_grows_by_what_is_acknowledged() {
    plain().run(
        "  0 app write 100
           0 >   data 0..10
         100 <   ack 2
         100 >   data 10..14
         100 is  cwnd 12
         100 <   ack 10
         100 is  cwnd 20
         100 >   data 14..30",
    );
}

#[test]
fn a_single_loss_is_repaired_after_three_duplicates_without_a_timeout() {
    plain().run(
        "  0 app write 100
           0 >   data 0..10
         100 <   ack 0 sack 1..2
         100 is  state Disorder lost 0
         100 >   data 10..11         # limited transmit: SACKed data leaves room
         102 <   ack 0 sack 1..3
         102 >   data 11..12
         104 <   ack 0 sack 1..4     # the third
         104 is  state Recovery lost 1 ssthresh 5
         104 >   data 0..1
         204 is  timeouts 0 retransmitted 1
         204 <   ack 12
         204 is  state Open ssthresh 5
         204 >   data 12..18",
    );
}

#[test]
fn proportional_rate_reduction_sends_half_of_what_is_delivered() {
    // RFC 6937: from 10 out and ssthresh 5, about one packet for two delivered.
    plain().run(
        "  0 app write 100
           0 >   data 0..10
         100 <   ack 0 sack 1..4
         100 >   data 0..1           # three delivered: two may leave
         100 >   data 10..11
         100 is  state Recovery ssthresh 5
         102 <   ack 0 sack 1..5
         104 <   ack 0 sack 1..6
         104 >   data 11..12
         106 <   ack 0 sack 1..7
         108 <   ack 0 sack 1..8
         108 is  cwnd 5 out 12",
    );
}

#[test]
fn several_losses_in_one_window_cost_one_reduction() {
    plain().run(
        "  0 app write 100
           0 >   data 0..10
         100 <   ack 0 sack 3..10    # 0, 1 and 2 are lost
         100 is  state Recovery lost 3 ssthresh 5
         100 >   data 0..3
         100 >   data 10..12
         200 <   ack 10
         200 is  state Open cwnd 5 ssthresh 5 retransmitted 3
         200 >   data 12..14",
    );
}

#[test]
fn a_lost_retransmission_is_found_by_time_without_a_timeout() {
    // RFC 8985: what was sent after the retransmission has been delivered.
    plain().run(
        "  0 app write 100
           0 >   data 0..10
         100 <   ack 0 sack 1..10
         100 >   data 0..1
         100 >   data 10..14
         200 <   ack 0 sack 1..14
         200 is  state Recovery lost 1 timeouts 0
         200 >   data 0..1           # again
         200 >   data 14..18
         300 <   ack 18
         300 is  state Open retransmitted 2 ssthresh 5
         300 >   data 18..24",
    );
}

#[test]
fn reordering_below_the_window_is_no_loss() {
    // One duplicate, then the hole is filled within the reordering window.
    plain().run(
        "  0 app write 100
           0 >   data 0..10
         100 <   ack 0 sack 1..2
         100 >   data 10..11
         105 <   ack 2
         105 is  state Open lost 0 retransmitted 0 ssthresh none
         105 >   data 11..13",
    );
}

#[test]
fn two_duplicates_wait_for_a_quarter_of_the_rtt_and_no_longer() {
    // min_rtt / 4 = 25 ms, and 2 ms of grace.
    plain().run(
        "  0 app write 3
           0 >   data 0..3
         100 <   ack 0 sack 1..3
         100 is  state Disorder lost 0
         127 >   data 0..1
         127 is  state Recovery timeouts 0",
    );
}

#[test]
fn reordering_once_seen_keeps_three_duplicates_from_being_a_loss() {
    plain().run(
        "  0 app write 100
           0 >   data 0..10
         100 <   ack 0 sack 1..2
         100 >   data 10..11
         101 <   ack 2               # reordering seen
         101 >   data 11..13
         103 <   ack 2 sack 3..6
         103 >   data 13..15
         103 is  state Disorder lost 0
         105 <   ack 13
         105 is  retransmitted 0 ssthresh none state Open
         105 >   data 15..32",
    );
}

#[test]
fn reordering_beyond_the_window_is_a_loss_and_its_dsack_undoes_it() {
    plain().run(
        "  0 app write 100
           0 >   data 0..10
         100 <   ack 0 sack 1..5
         100 >   data 0..1
         100 is  state Recovery ssthresh 5
         110 <   ack 5 echo 0        # the original came after all
         110 is  state Open cwnd 11 ssthresh none retransmitted 1
         110 >   data 10..16",
    );
}

#[test]
fn a_dsack_for_every_retransmission_restores_the_window_even_later() {
    Script::new(100, |host| host.timestamps = false).run(
        "  0 app write 100
           0 >   data 0..10
         100 <   ack 0 sack 1..5
         100 >   data 0..1
         150 <   ack 10
         150 is  ssthresh 5 state Open
         150 >   data 10..16
         200 <   ack 10 dsack 0..1
         200 is  ssthresh none cwnd 10
         200 >   data 16..20",
    );
}

#[test]
fn a_dsack_within_the_recovery_undoes_it() {
    Script::new(100, |host| host.timestamps = false).run(
        "  0 app write 100
           0 >   data 0..10
         100 <   ack 0 sack 1..5
         100 >   data 0..1
         105 <   ack 5
         105 is  state Recovery cwnd 5
         110 <   ack 5 dsack 0..1
         110 is  state Open cwnd 10 ssthresh none
         110 >   data 10..14         # the fifth waits for a fuller burst",
    );
}

#[test]
fn the_reordering_window_widens_with_each_dsack() {
    // From a quarter of min_rtt to a half: 50 ms, and 2 ms of grace.
    plain().run(
        "  0 app write 10
           0 >   data 0..10
         100 <   ack 0 sack 1..5
         100 >   data 0..1
         110 <   ack 5 echo 0
         200 <   ack 10 dsack 0..1
         200 app write 3
         200 >   data 10..13
         300 <   ack 10 sack 11..13
         352 >   data 10..11",
    );
}

#[test]
fn lost_acks_cost_nothing() {
    plain().run(
        "  0 app write 100
           0 >   data 0..10
         100 <   ack 10              # the only one of five that came
         100 is  cwnd 20 retransmitted 0
         100 >   data 10..30",
    );
}

#[test]
fn an_old_ack_changes_nothing() {
    plain().run(
        "  0 app write 20
           0 >   data 0..10
         100 <   ack 10
         100 >   data 10..20
         101 <   ack 4
         101 is  cwnd 20 out 10 state Open",
    );
}

#[test]
fn an_ack_of_what_was_never_sent_is_ignored() {
    plain().run(
        "  0 app write 10
           0 >   data 0..10
         100 <   ack 99
         100 is  out 10",
    );
}

#[test]
fn partial_acks_within_recovery_repair_hole_after_hole() {
    plain().run(
        "  0 app write 100
           0 >   data 0..10
         100 <   ack 0 sack 1..4
         100 >   data 0..1
         100 >   data 10..11
         100 <   ack 0 sack 1..4 sack 5..10
         100 is  lost 2
         100 >   data 4..5
         100 >   data 11..13
         200 <   ack 4 sack 5..10
         200 is  state Recovery
         200 >   data 13..14
         201 <   ack 13
         201 is  state Open ssthresh 5
         201 >   data 14..18",
    );
}

#[test]
fn without_sack_three_duplicates_repair_one_hole() {
    without_sack().run(
        "  0 app write 100
           0 >   data 0..10
         100 <   ack 1
         100 >   data 10..12
         102 <   ack 1
         102 >   data 12..13
         104 <   ack 1
         104 >   data 13..14
         104 is  state Disorder
         106 <   ack 1
         106 is  state Recovery lost 1 ssthresh 5
         106 >   data 1..2",
    );
}

#[test]
fn without_sack_a_partial_ack_shows_the_next_hole() {
    // RFC 6582, section 3.2, step 3.
    without_sack().run(
        "  0 app write 100
           0 >   data 0..10
         100 <   ack 0
         100 >   data 10..11
         102 <   ack 0
         102 >   data 11..12
         104 <   ack 0
         104 >   data 0..1
         104 is  state Recovery
         204 <   ack 5
         204 is  state Recovery lost 1
         204 >   data 5..6",
    );
}

#[test]
fn without_sack_duplicates_of_a_finished_recovery_start_no_new_one() {
    // RFC 6582, section 4.1: the state is held until something above is acknowledged.
    without_sack().run(
        "  0 app write 12
           0 >   data 0..10
         100 <   ack 0
         100 >   data 10..11
         102 <   ack 0
         102 >   data 11..12
         104 <   ack 0
         104 >   data 0..1
         204 <   ack 12
         204 is  state Recovery out 0",
    );
}

#[test]
fn a_receiver_that_takes_back_its_sacks_is_believed() {
    plain().run(
        "  0 app write 10
           0 >   data 0..10
         100 <   ack 0 sack 1..4
         100 >   data 0..1
         200 <   ack 1               # 1 to 3 were SACKed, and are gone
         250 >   data 1..2           # half an RTT later
         250 is  state Loss sacked 0 lost 9",
    );
}

#[test]
fn a_recovery_without_sack_that_only_retransmits_is_no_idle_time() {
    // Kernel 6.12, 16 Mbit/s and 300 ms: after seconds of one retransmission per round trip the whole of ssthresh left at once.
    Script::new(100, |host| host.sack = false).run(
        "   0 app write 14
            0 >   data 0..10
          100 <   ack 2
          100 >   data 10..14
          100 <   ack 2
          100 <   ack 2
          100 <   ack 2
          100 >   data 2..3
          100 <   ack 2
          200 <   ack 2
          200 <   ack 2
          200 <   ack 2
          200 <   ack 2
          200 <   ack 3
          200 >   data 3..4
          300 <   ack 4
          300 >   data 4..5
          400 <   ack 5
          400 >   data 5..6
          500 <   ack 6
          500 >   data 6..7
          600 <   ack 14
          600 is  out 0 ssthresh 6
          610 app write 20
          610 >   data 14..20        # ssthresh, not halved for each timeout's length without new data",
    );
}
