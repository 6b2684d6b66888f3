//! The end of a connection: RFC 9293, section 3.6.

use crate::plain;
use crate::script::Script;
use bentpipe_base::Time;
use bentpipe_tcp::{Config, Notice, Outbox, Socket, State};
use std::sync::Arc;

#[test]
fn a_close_sends_what_was_written_and_then_a_fin() {
    plain().run(
        "  0 app write 2
           0 >   data 0..2
          10 app close
          10 >   data 2..2 fin
          10 is  tcp FIN-WAIT-1
         110 <   ack 2+1
         110 is  tcp FIN-WAIT-2",
    );
}

#[test]
fn a_peers_fin_is_acknowledged_and_told() {
    let script = plain().run(
        "  0 <   data 0..1 fin
           0 >   ack 1+1
           0 is  tcp CLOSE-WAIT",
    );
    assert!(script.notices.contains(&Notice::PeerClosed));
}

#[test]
fn a_lost_fin_is_sent_again() {
    plain().run(
        "  0 app close
           0 >   data 0..0 fin
         300 >   data 0..0 fin",
    );
}

#[test]
fn a_reset_ends_the_connection() {
    let script = plain().run(
        "  0 app write 1
           0 >   data 0..1
          10 <   rst
          10 is  tcp CLOSE",
    );
    assert!(script.notices.contains(&Notice::Closed(false)));
}

#[test]
fn whatever_comes_to_a_connection_that_was_aborted_is_answered_by_a_reset() {
    plain().run(
        "  0 <   data 0..1
           0 >   ack 1
           5 app abort
           5 >   rst
           5 is  tcp CLOSE
          20 <   data 1..2
          20 >   rst
          30 <   rst",
    );
}

#[test]
fn a_slow_reader_reads_the_rest_after_the_connection_is_closed() {
    // 1448 bytes in half a second.
    let script = Script::new(100, |host| host.read_rate_bit_s = Some(23_168)).run(
        "  0 <   data 0..1 fin
           0 >   ack 1+1
          10 app close
          10 >   data 0..0 fin
         110 <   ack 0+1
         110 is  tcp CLOSE read 0
         600 is  read 1448",
    );
    assert!(script.notices.contains(&Notice::PeerClosed));
}

#[test]
fn nothing_leaves_a_closed_connection_late() {
    // Whoever answered at once delays its ACKs. Then the peer sends beyond its own FIN, with the last acknowledgement.
    plain().run(
        "  0 <   data 0..1
           0 >   ack 1
           1 app write 1
           1 >   data 0..1
         101 <   ack 1
         110 <   data 1..1 fin
         110 >   ack 1+1
         115 app close
         115 >   data 1..1 fin
         215 <   data 1+1..2 ack 1+1
         215 is  tcp CLOSE
         500 is  tcp CLOSE",
    );
}

#[test]
fn a_connection_closed_before_it_stands_waits_for_nothing() {
    let mut out = Outbox::default();
    let config = Arc::new(Config::default());
    let mut socket = Socket::connect(&config, 1500, 7, Time::ZERO, &mut out).expect("cubic");
    assert!(socket.next_timer().is_some(), "the SYN's");
    socket.close(Time(1), &mut out);
    assert_eq!((socket.state(), socket.next_timer()), (State::Closed, None));
}
