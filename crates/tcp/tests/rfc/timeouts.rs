//! Timeouts and probes: RFC 6298, RFC 8985 (tail-loss probe), RFC 5682 (F-RTO), RFC 4015 (Eifel).

use crate::plain;
use crate::script::Script;

#[test]
fn the_first_timeout_is_three_times_the_handshakes_rtt() {
    // 100 ms: 100 + max(4 x 50, 200).
    plain().run("0 is rto 300 srtt 100");
}

#[test]
fn a_tail_loss_is_repaired_by_a_probe_after_two_rtts() {
    plain().run(
        "  0 app write 4
           0 >   data 0..4
         100 <   ack 2
         302 >   data 3..4           # 2 x 100 ms and 2 ms
         302 is  timeouts 0 state Open
         402 <   ack 2 sack 3..4
         402 is  state Recovery      # RACK: the probe left long after segment 2
         402 >   data 2..3
         502 <   ack 4
         502 is  out 0 state Open timeouts 0",
    );
}

#[test]
fn a_probe_sends_new_data_where_there_is_some() {
    plain().run(
        "  0 app write 100
           0 >   data 0..10
         202 >   data 10..11         # though cwnd is full
         202 is  retransmitted 0",
    );
}

#[test]
fn a_lone_segments_probe_allows_for_a_delayed_ack() {
    // 2 x 100 ms + 200 ms, but no later than the timeout itself (300 ms).
    plain().run(
        "  0 app write 1
           0 >   data 0..1
         300 >   data 0..1",
    );
}

#[test]
fn a_probe_that_repaired_the_only_loss_still_halves_the_window() {
    // RFC 8985, section 7.4.2: acknowledged beyond the probe without a DSACK.
    plain().run(
        "  0 app write 10
           0 >   data 0..10
         100 <   ack 9
         400 >   data 9..10
         410 app write 2
         410 >   data 10..12
         510 <   ack 11
         510 is  ssthresh 9 state Open",
    );
}

#[test]
fn a_probe_that_was_needless_costs_nothing() {
    plain().run(
        "  0 app write 10
           0 >   data 0..10
         100 <   ack 9
         400 >   data 9..10
         490 <   ack 10
         500 <   ack 10 dsack 9..10
         500 is  ssthresh none state Open",
    );
}

#[test]
fn a_timeout_retransmits_one_segment_and_backs_off() {
    Script::new(100, |host| host.sack = false).run(
        "  0 app write 4
           0 >   data 0..4
         300 >   data 0..1
         300 is  cwnd 1 ssthresh 5 state Loss timeouts 1 rto 600
         900 >   data 0..1
         900 is  timeouts 2 rto 1200
        2100 >   data 0..1
        4500 >   data 0..1",
    );
}

#[test]
fn a_fresh_rtt_ends_the_back_off() {
    Script::new(100, |host| host.sack = false).run(
        "  0 app write 4
           0 >   data 0..4
         300 >   data 0..1
         900 >   data 0..1
        1000 <   ack 4
        1000 is  out 0
        1000 app write 1
        1000 >   data 4..5
        1100 <   ack 5
        1100 is  rto 300",
    );
}

#[test]
fn after_a_timeout_slow_start_repairs_the_rest() {
    Script::new(100, |host| host.sack = false).run(
        "  0 app write 4
           0 >   data 0..4
         300 >   data 0..1
         400 <   ack 1
         400 >   data 1..3
         500 <   ack 2
         500 >   data 3..4
         600 <   ack 4
         600 is  out 0 ssthresh 5 timeouts 1",
    );
}

#[test]
fn a_spurious_timeout_is_undone_by_the_originals_timestamp() {
    // RFC 4015: the ACK echoes a time before the retransmission.
    plain().run(
        "  0 app write 10
           0 >   data 0..10
         202 >   data 9..10          # the probe
         502 >   data 0..1
         502 is  state Loss timeouts 1 cwnd 1
         550 <   ack 10 echo 0
         550 is  state Open cwnd 20 ssthresh none",
    );
}

#[test]
fn without_timestamps_f_rto_finds_the_timeout_spurious() {
    // RFC 5682, section 3: what was never retransmitted is SACKed after the timeout.
    Script::new(100, |host| host.timestamps = false).run(
        "  0 app write 12
           0 >   data 0..10
         202 >   data 10..11
         502 >   data 0..1
         502 is  state Loss
         550 <   ack 1
         550 >   data 11..12         # new data, to see
         551 <   ack 3
         551 is  state Open ssthresh none timeouts 1 lost 0",
    );
}

#[test]
fn a_syn_is_repeated_each_second_five_times_then_backs_off() {
    use bentpipe_base::{Nanos, Time};
    use bentpipe_tcp::{Config, Notice, Outbox, Socket};
    let mut out = Outbox::default();
    let config = std::sync::Arc::new(Config {
        tick_ns: Nanos::ZERO,
        ..Config::default()
    });
    let mut socket = Socket::connect(&config, 1500, 1, Time::ZERO, &mut out).expect("cubic");
    let mut times = vec![];
    while let Some(at) = socket.next_timer() {
        out.packets.clear();
        socket.on_timer(at, &mut out);
        if !out.packets.is_empty() {
            times.push((at - Time::ZERO).0 / Nanos::from_secs(1).0);
        }
    }
    assert_eq!(times, [1, 2, 3, 4, 5, 7, 11, 19, 35, 67]);
    assert_eq!(out.notices, [Notice::Closed(false)]);
}

#[test]
fn a_second_probe_that_may_not_be_sent_leaves_the_timeout_at_the_oldest_datas() {
    // Linux clears the timer's slot only before a timeout and a window probe (`tcp_write_timer_handler`). After a loss probe
    // that sent nothing the time that has passed since the head left counts.
    plain().run(
        "  0 app write 10
           0 >   data 0..10
         100 <   ack 5
         302 >   data 9..10          # the probe: 2 x 100 ms and 2 ms
         310 <   ack 6               # the probe's episode goes on
     564.501 >   data 6..7           # overdue by then: at once
         565 is  timeouts 1",
    );
}
