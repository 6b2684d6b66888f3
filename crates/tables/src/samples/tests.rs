use super::*;
use crate::Cell;
use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::record::Field;
use proptest::prelude::*;

const STATES: [&str; 3] = ["ESTAB", "SYN-SENT", "CLOSE-WAIT"];

/// A row of few different values, all of which follow from `seed`.
fn row(time_s: f64, seed: u64, waited_s: f64) -> Socket<'static> {
    Socket {
        time_s,
        host: ["client", "server"][seed as usize % 2],
        workload: Some("download"),
        flow: (!seed.is_multiple_of(3)).then_some(seed / 4),
        role: Some("data"),
        ip: 4,
        local_port: seed,
        remote_port: 80,
        state: STATES[seed as usize / 2 % 3],
        congestion_control: Some("cubic"),
        ca_state: Some("open"),
        cwnd_segments: Some(seed % 7),
        ssthresh_segments: (seed % 5 > 2).then_some(seed % 11),
        mss_bytes: Some(1448),
        srtt_s: (seed > 4).then_some(seed as f64 / 8.0),
        rttvar_s: None,
        min_rtt_s: Some(0.5),
        rto_s: Some(1.0),
        backoff: Some(0),
        unacked_segments: Some(seed / 2),
        sacked_segments: Some(0),
        lost_segments: Some(0),
        retrans_segments: Some(0),
        reordering: Some(3),
        in_flight_bytes: Some(-(seed as i64)),
        bytes_sent: Some(seed * 1000),
        bytes_acked: Some(u64::MAX),
        bytes_received: Some(0),
        bytes_retrans: Some(0),
        segments_out: Some(seed),
        segments_in: Some(seed),
        retransmits: Some(0),
        delivered: Some(seed),
        delivery_rate_bit_s: Some(1e6),
        pacing_rate_bit_s: (seed % 4 == 1).then_some(2e6),
        app_limited: Some(seed % 4 > 1),
        busy_s: Some(waited_s),
        rwnd_limited_s: Some(0.0),
        sndbuf_limited_s: Some(0.0),
        snd_wnd_bytes: Some(seed),
        rcv_wnd_bytes: Some(65_535),
        rcv_space_bytes: Some(14_480),
        rcv_ssthresh_bytes: Some(65_535),
        rcv_ooopack: Some(0),
        notsent_bytes: Some(0),
        sndbuf_bytes: Some(87_040),
        rcvbuf_bytes: Some(131_072),
        wmem_queued_bytes: Some(seed),
        rmem_alloc_bytes: Some(0),
        backlog_bytes: Some(0),
        drops: Some(0),
        total_rto: Some(0),
        rcv_rtt_s: seed.is_multiple_of(6).then_some(0.6),
    }
}

/// A socket at an odd slot is always busy.
fn waited(time: Time, slot: usize) -> Nanos {
    Nanos(time.0 * (slot % 2) as i64)
}

fn row_at(time: Time, slot: usize, seed: u64) -> Socket<'static> {
    row(time.as_secs_f64(), seed, waited(time, slot).as_secs_f64())
}

/// At each instant, of each slot that is there, what its row follows from.
type Instant = Vec<Option<u64>>;

/// What was sampled is read back, instant by instant, though the writer is told only what differs from the one before.
fn check(group_rows: usize, instants: &[Instant]) {
    let mut writer = Writer::with_groups_of(group_rows, Vec::new()).expect("a Vec takes all");
    let mut expected: Vec<Vec<Socket<'static>>> = Vec::new();
    let mut before: &[Option<u64>] = &[];
    for (number, slots) in instants.iter().enumerate() {
        let time = Time(number as i64 * 100_000_000);
        writer.begin(time).expect("a Vec takes all");
        let mut rows = Vec::new();
        for slot in 0..slots.len().max(before.len()) {
            let of = |slots: &[Option<u64>]| slots.get(slot).copied().flatten();
            let [was, is] = [before, slots].map(of);
            match is {
                None if was.is_some() => writer.gone(slot),
                Some(_) if was != is => writer.changed(slot),
                Some(_) if slot % 2 == 1 => writer.waited(slot),
                None | Some(_) => {}
            }
            rows.extend(is.map(|seed| row_at(time, slot, seed)));
        }
        while let Some(wanted) = writer.next_wanted() {
            match wanted {
                Wanted::Row(slot) => {
                    let row = row_at(time, slot, slots[slot].expect("it is there"));
                    if !writer.row(slot, &row.raw()) {
                        writer.whole_row(slot, &row);
                    }
                }
                Wanted::Waits(slot) => {
                    writer.waits([waited(time, slot), Nanos::ZERO, Nanos::ZERO]);
                }
            }
        }
        expected.push(rows);
        before = slots;
    }
    let file = writer.finish().expect("a Vec takes all");
    let reader = SerializedFileReader::new(bytes::Bytes::from(file)).expect("a Parquet file");
    let mut found = reader.get_row_iter(None).expect("rows");
    for (number, expected) in expected.into_iter().enumerate() {
        let mut read: Vec<Vec<Field>> = found
            .by_ref()
            .take(expected.len())
            .map(|row| {
                let row = row.expect("a row");
                let values = row.get_column_iter().map(|(_, value)| value.clone());
                values.collect()
            })
            .collect();
        let fields = |row: Socket<'static>| row.cells().map(field).to_vec();
        let mut written: Vec<Vec<Field>> = expected.into_iter().map(fields).collect();
        for rows in [&mut read, &mut written] {
            rows.sort_by_key(|row| (whole(&row[PORT]), whole(&row[BUSY])));
        }
        assert!(read == written, "{number}: {read:?} {written:?}");
    }
    assert!(found.next().is_none());
}

/// What rows of an instant follow from.
const PORT: usize = Socket::index_of("local_port");
const BUSY: usize = Socket::index_of("busy_s");

fn whole(value: &Field) -> u64 {
    match value {
        Field::Long(number) => *number as u64,
        Field::Double(number) => number.to_bits(),
        value => unreachable!("{value:?}"),
    }
}

fn field(cell: Cell<'_>) -> Field {
    match cell {
        Cell::Null => Field::Null,
        Cell::Text(text) => Field::Str(text.into()),
        Cell::Integer(number) => Field::Long(number),
        Cell::Float(number) => Field::Double(number),
        Cell::Flag(flag) => Field::Bool(flag),
    }
}

#[test]
fn what_never_changes_is_read_back_at_every_instant() {
    check(GROUP_ROWS, &vec![vec![Some(5), Some(6)]; 100]);
    check(GROUP_ROWS, &vec![vec![Some(7)]; 3]);
    check(GROUP_ROWS, &[vec![Some(7)]]);
    check(GROUP_ROWS, &[]);
}

/// Small groups are read back in the tests with `group_rows`.
#[test]
#[ignore = "long: a whole group of rows is written and read"]
fn a_table_of_more_rows_than_a_group_is_read_back() {
    let sockets = 1000;
    let instants = GROUP_ROWS / sockets + 20;
    let seed = |instant: usize, slot: usize| Some((slot + instant / (slot + 1)) as u64);
    let of = |instant| (0..sockets).map(|slot| seed(instant, slot)).collect();
    check(GROUP_ROWS, &(0..instants).map(of).collect::<Vec<_>>());
}

#[test]
fn more_sockets_than_a_reference_reaches_back_are_read_back() {
    let counts = [7000, 7990, 9500, 9500, 20];
    let of = |count: usize| (0..count).map(|slot| Some(slot as u64 % 50)).collect();
    check(GROUP_ROWS, &counts.map(of));
}

#[test]
fn sockets_of_which_none_is_left_at_the_end_are_read_back() {
    let there = vec![Some(5), Some(6)];
    check(GROUP_ROWS, &[there.clone(), there, vec![], vec![]]);
}

#[test]
fn more_sockets_than_a_reference_reaches_back_may_come_at_the_first_instant_of_a_table_or_group() {
    for (group_rows, counts) in [(GROUP_ROWS, [9500, 9500, 20]), (1, [7990, 9500, 20])] {
        let of = |count: usize| (0..count).map(|slot| Some(slot as u64 % 50)).collect();
        check(group_rows, &counts.map(of));
    }
}

/// The second socket comes while all others have no unacknowledged segments, and again when one has some.
#[test]
fn a_socket_that_comes_after_others_like_it_has_its_own_values() {
    let mut instants = vec![vec![Some(1), None]];
    instants.extend(vec![vec![Some(4), None]; 15]);
    instants.push(vec![Some(4), Some(5)]);
    instants.push(vec![Some(0), None]);
    instants.extend([vec![Some(0), Some(5)], vec![None, Some(5)]]);
    check(GROUP_ROWS, &instants);
}

#[test]
fn a_socket_takes_the_row_of_one_that_has_gone_at_the_same_host_and_no_other_row_moves() {
    let mut writer = Writer::create(Vec::new()).expect("a Vec takes all");
    let mut slots_after = |gone: &[usize], come: &[usize]| {
        writer.begin(Time::ZERO).expect("a Vec takes all");
        for slot in gone {
            writer.gone(*slot);
        }
        for slot in come {
            writer.changed(*slot);
        }
        while let Some(Wanted::Row(slot)) = writer.next_wanted() {
            let row = row_at(Time::ZERO, slot, slot as u64);
            if !writer.row(slot, &row.raw()) {
                writer.whole_row(slot, &row);
            }
        }
        let slots = writer.rows.iter().map(|row| row.slot);
        slots.collect::<Vec<_>>()
    };
    assert_eq!(slots_after(&[], &[0, 1, 2, 3]), [0, 1, 2, 3]);
    assert_eq!(slots_after(&[0, 1], &[5, 4]), [4, 5, 2, 3]);
    assert_eq!(slots_after(&[2], &[1]), [4, 5, 1, 3]);
    // The last one moves into the hole of the first.
    assert_eq!(slots_after(&[4], &[]), [3, 5, 1]);
    assert_eq!(slots_after(&[], &[9, 7]), [3, 5, 1, 7, 9]);
    assert_eq!(slots_after(&[7, 9], &[]), [3, 5, 1]);
    assert_eq!(slots_after(&[3, 5, 1], &[]), []);
}

proptest! {
    #[test]
    fn sockets_that_come_change_and_go_are_read_back(
        group_rows in 1_usize..60,
        instants in prop::collection::vec(
            prop::collection::vec(prop::option::of(0_u64..12), 0..9),
            0..12,
        )
    ) {
        check(group_rows, &instants);
    }

    /// Most sockets stay as they are for many instants, so that columns come to have one value and lose it again.
    #[test]
    fn runs_of_unchanged_rows_are_read_back(
        group_rows in 1_usize..2000,
        mut slots in prop::collection::vec(prop::option::of(0_u64..12), 1..20),
        events in prop::collection::vec(
            (0_usize..40, 0_usize..20, prop::option::weighted(0.7, 0_u64..12)),
            0..20,
        )
    ) {
        let mut instants = vec![slots.clone()];
        for (later, slot, seed) in events {
            instants.extend(core::iter::repeat_n(slots.clone(), later));
            let slot = slot % slots.len();
            slots[slot] = seed;
        }
        instants.push(slots);
        check(group_rows, &instants);
    }
}
