//! Windows and buffers: RFC 9293 section 3.8, RFC 7323, RFC 2861, RFC 7661's case, Nagle.

use crate::plain;
use crate::script::Script;

#[test]
fn the_peers_window_bounds_the_flight() {
    Script::with_window(100, 5888, |_| {}).run(
        "  0 app write 100
           0 >   data 0..4
         100 <   ack 4
         100 >   data 4..8
         150 is  rwnd_limited 150",
    );
}

#[test]
fn a_closed_window_is_probed_with_growing_pauses() {
    plain().run(
        "  0 app write 20
           0 >   data 0..10
         100 <   ack 10 win 0
         400 >   probe
        1000 >   probe
        2200 >   probe
        2300 <   ack 10 win 100000
        2300 >   data 10..20",
    );
}

#[test]
fn a_window_smaller_than_a_segment_is_filled_only_by_the_last_of_the_data() {
    // Silly-window avoidance at the sender.
    Script::with_window(100, 2944, |_| {}).run(
        "  0 app write 10
           0 >   data 0..2
         100 <   ack 2 win 1000
         150 is  out 0",
    );
}

#[test]
fn a_slow_reader_closes_the_window_as_its_buffer_fills() {
    Script::new(100, |host| {
        host.read_rate_bit_s = Some(1000);
        host.rcvbuf = Some(16_384);
    })
    .run(
        "  0 <   data 0..1
           0 >   ack 1 win 9
           1 <   data 1..2
           1 >   ack 2 win 8
           2 <   data 2..3
           2 >   ack 3 win 7
           3 <   data 3..4
          43 >   ack 4 win 6         # short of space: no quick ACKs any more",
    );
}

#[test]
fn nagle_holds_a_second_small_segment_until_the_first_is_acknowledged() {
    plain().run(
        "  0 app write 100b
           0 >   data 0+100
           1 app write 100b
         100 <   ack 0+100
         100 >   data 0+100..0+200",
    );
}

#[test]
fn without_nagle_small_segments_leave_at_once() {
    Script::new(100, |host| host.nagle = false).run(
        "  0 app write 100b
           0 >   data 0+100
           1 app write 100b
           1 >   data 0+100..0+200",
    );
}

#[test]
fn idle_longer_than_the_timeout_halves_the_window_per_timeout() {
    plain().run(
        "  0 app write 30
           0 >   data 0..10
         100 <   ack 10
         100 >   data 10..30
         200 <   ack 30
         200 is  cwnd 40 out 0
         550 app write 100           # 450 ms idle is one timeout of 300 ms and part of another
         550 is  cwnd 20
         550 >   data 30..50",
    );
}

#[test]
fn with_slow_start_after_idle_off_the_window_stays() {
    Script::new(100, |host| host.slow_start_after_idle = false).run(
        "  0 app write 30
           0 >   data 0..10
         100 <   ack 10
         100 >   data 10..30
         200 <   ack 30
        9000 app write 40
        9000 >   data 30..70",
    );
}

#[test]
fn a_window_that_the_application_does_not_use_does_not_grow() {
    plain().run(
        "  0 app write 4
           0 >   data 0..4
         100 <   ack 4
         100 is  cwnd 10
         100 app write 4
         100 >   data 4..8
         200 <   ack 8
         200 is  cwnd 10 app_limited true",
    );
}

#[test]
fn the_send_buffer_bounds_the_flight_but_for_what_a_burst_leaves_of_a_buffer() {
    // A buffer of 45 segments is more than there is room for; what a burst of 15 leaves of it is filled up once more.
    Script::new(100, |host| {
        host.sndbuf = Some(14_000);
        host.initcwnd = 30;
    })
    .run(
        "  0 app write 200
           0 >   data 0..30
         100 <   ack 30
         100 >   data 30..75
         150 is  busy 150",
    );
}

#[test]
fn without_scaling_the_window_ends_at_64_kib() {
    Script::new(100, |host| {
        host.window_scaling = false;
        host.initcwnd = 100;
    })
    .run(
        "  0 app write 100
           0 >   data 0..45",
    );
}

#[test]
fn bursts_fill_two_segments_at_least() {
    // At 10 segments per 100 ms a millisecond's worth is less than one segment.
    plain().run(
        "  0 app write 100
           0 >   data 0..10
         100 <   ack 1
         100 >   data 10..12",
    );
}

#[test]
fn a_burst_waits_for_an_ack_only_in_its_last_millisecond() {
    // `tcp_tso_should_defer` since Linux 6.18. Before, an ACK expected within half a round trip was worth waiting for.
    plain().run(
        "   0 app write 8
            0 >   data 0..8
         59.5 app write 1
         59.5 >   data 8..9
           60 app write 10
           60 >   data 9..10          # the ACK is 40 ms away
          100 <   ack 1
          100 >   data 10..12
        100.5 app write 100           # the next ACK is due
        100.5 is  out 11",
    );
}

#[test]
fn a_sender_that_uses_part_of_its_window_keeps_it_while_acks_come() {
    // Growth stamps the window (`tcp_cong_avoid`), so it does not count as unused.
    plain().run(
        "    0 app write 20
             0 >   data 0..10
           100 <   ack 10
           100 >   data 10..20
           200 <   ack 20
           200 is  cwnd 20
           300 app write 2
           300 >   data 20..22
           400 <   ack 22
           500 app write 2
           500 >   data 22..24
           600 <   ack 24
           700 app write 2
           700 >   data 24..26
           700 is  cwnd 20",
    );
}

#[test]
fn the_minimum_rtt_is_taken_from_short_segments_that_were_not_alone() {
    // A lone short segment's ACK may have waited at the receiver; with another one sent before it had not.
    Script::new(100, |host| host.nagle = false).run(
        "     0 app write 1
              0 >   data 0..1
            100 <   ack 1
         310000 app write 100b
         310000 >   data 1..1+100
         310010 app write 100b
         310010 >   data 1+100..1+200
         310150 <   ack 1+100
         310150 is  min_rtt 100
         310160 <   ack 1+200
         310160 is  min_rtt 150",
    );
}

#[test]
fn a_burst_of_several_segments_ends_with_psh_though_more_waits() {
    plain().run(
        " 0   app write 40
          0   >   data 0..1 more
          0   >   data 1..2 psh
          0   >   data 2..3 more
          0   >   data 3..4 psh
          0   >   data 4..5 more
          0   >   data 5..6 psh
          0   >   data 6..7 more
          0   >   data 7..8 psh
          0   >   data 8..9 more
          0   >   data 9..10 psh",
    );
}

#[test]
fn what_was_written_ends_with_psh() {
    plain().run(
        " 0   app write 1
          0   >   data 0..1 psh
          1   app write 10
          1   >   data 1..10
        100   <   ack 1
        100   >   data 10..11 psh",
    );
}

#[test]
fn a_single_segment_that_is_sent_again_has_no_psh_where_more_was_written() {
    plain().run(
        " 0   app write 10
          0   >   data 0..10
        100   <   ack 1
        101   <   ack 1 sack 2..5
        101   >   data 1..2 more",
    );
}
