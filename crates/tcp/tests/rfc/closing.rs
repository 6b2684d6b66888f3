//! The end of a connection: RFC 9293, section 3.6.

use crate::plain;
use bentpipe_tcp::Notice;

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
