use super::*;

fn board(segments: u64) -> Scoreboard {
    let mut board = Scoreboard::default();
    for number in 0..segments {
        board.push(Sent::new(1 + number * 1000, 1000, 0));
    }
    board
}

#[test]
fn gaps_and_covers_are_each_others_complement() {
    let mut board = board(10);
    assert_eq!(board.first_gap(1, 10_001), Some((1, 10_001)));
    board.cover(2001, 3001);
    board.cover(5001, 6001);
    assert_eq!(board.first_gap(1, 10_001), Some((1, 2001)));
    assert_eq!(board.first_gap(2001, 10_001), Some((3001, 5001)));
    board.cover(3001, 5001);
    assert_eq!(board.first_gap(2001, 6001), None);
    assert_eq!(board.highest_sacked(), Some(6001));
    board.cover(1, 9001);
    assert_eq!(board.first_gap(1, 10_001), Some((9001, 10_001)));
}

#[test]
fn the_transmission_order_follows_retransmissions() {
    let mut board = board(3);
    board.stamp(0, Time(9));
    let mut order = vec![];
    let mut next = board.earliest_sent();
    while let Some(id) = next {
        order.push(id);
        next = board.sent_after(id);
    }
    assert_eq!(order, [1, 2, 0]);
    board.unlist(2);
    assert_eq!(board.sent_after(1), Some(0));
}

#[test]
fn a_segment_is_found_among_uneven_ones() {
    let mut board = Scoreboard::default();
    let mut seq = 1;
    for length in [1000, 10, 1000, 1, 500] {
        board.push(Sent::new(seq, length, 0));
        seq += u64::from(length);
    }
    assert_eq!(board.find(1), 0);
    assert_eq!(board.find(1001), 1);
    assert_eq!(board.find(1011), 2);
    assert_eq!(board.find(2012), 4);
    assert_eq!(board.find(9999), 5);
    assert_eq!(board.pop_acked(1006).map(|sent| sent.seq), Some(1));
    assert!(board.pop_acked(1006).is_none());
    assert_eq!(
        board.head().map(|sent| (sent.seq, sent.length)),
        Some((1006, 5))
    );
}

#[test]
fn a_lost_segment_whose_retransmission_was_needless_waits_for_the_next() {
    let mut board = board(3);
    board.mark_lost(1);
    assert!(!board.was_needless(1), "none was made");
    board.get_mut(1).flags |= RETRANS;
    assert!(board.was_needless(1) && !board.was_needless(1));
    assert_eq!(board.next_to_retransmit(), Some(1));
}

#[test]
fn a_segment_is_lost_once_and_again_when_its_retransmission_is() {
    let mut board = board(3);
    board.get_mut(2).flags |= SACKED;
    assert!(board.mark_lost(2).is_none(), "delivered");
    assert!(!board.mark_lost(1).expect("lost").again);
    assert!(board.mark_lost(1).is_none(), "known");
    assert_eq!(board.next_to_retransmit(), Some(1));
    board.get_mut(1).flags |= RETRANS;
    assert_eq!(board.next_to_retransmit(), None);
    assert!(board.mark_lost(1).expect("lost").again);
    assert_eq!(board.next_to_retransmit(), Some(1));
    assert!(board.get(1).is(LOST) && !board.get(1).is(RETRANS));
}
