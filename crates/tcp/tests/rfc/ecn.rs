//! RFC 3168.

use crate::script::Script;

fn capable() -> Script {
    Script::new(100, |host| host.ecn = true)
}

#[test]
fn data_is_sent_capable_and_an_echo_halves_the_window_once() {
    capable().run(
        "  0 app write 100
           0 >   data 0..10 ect
         100 <   ack 2 ece
         100 is  state CWR ssthresh 5 retransmitted 0
         100 >   data 10..11 cwr
         102 <   ack 4 ece
         102 is  ssthresh 5
         102 >   data 11..12 ect",
    );
}

#[test]
fn a_mark_is_echoed_until_cwr_comes() {
    capable().run(
        "  0 <   data 0..1 ce
           0 >   ack 1 ece
           1 <   data 1..2
           1 >   ack 2 ece
           2 <   data 2..3 cwr
           2 >   ack 3",
    );
}

#[test]
fn a_peer_that_does_not_agree_gets_plain_packets() {
    use bentpipe_tcp::segment::flag;
    Script::with_peer(
        100,
        |host| host.ecn = true,
        |answer| answer.flags &= !flag::ECE,
    )
    .run(
        "  0 app write 1
           0 >   data 0..1
         100 <   ack 1 ece
         100 is  state Open ssthresh none",
    );
}
