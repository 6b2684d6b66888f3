//! The `link` table (python/bentpipe/results/schema.py says what the columns mean), and its CSV.

use crate::cell::{Cell, Column, line};
use bentpipe_path::{Bin, DropCause};
use std::io::{self, Write};

pub const COLUMNS: [Column; 22] = [
    Column::float("time_s"),
    Column::text("pipe"),
    Column::integer("offered_bytes"),
    Column::integer("throughput_bytes"),
    Column::integer("goodput_bytes"),
    Column::integer("offered_packets"),
    Column::integer("throughput_packets"),
    Column::float("queue_bytes_mean"),
    Column::integer("queue_bytes_max"),
    Column::integer("queue_bytes_end"),
    Column::float("queue_delay_s_mean"),
    Column::float("queue_delay_s_max"),
    Column::integer("drops_tail"),
    Column::integer("drops_aqm"),
    Column::integer("drops_policer"),
    Column::integer("drops_ingress"),
    Column::integer("drops_line"),
    Column::integer("drops_channel"),
    Column::integer("drops_outage"),
    Column::integer("marks"),
    Column::integer("duplicates"),
    Column::integer("corrupted"),
];

/// A bin of the pipe of this name; the cells stand in the order of the columns.
pub fn cells<'a>(pipe: &'a str, bin: &Bin) -> [Cell<'a>; COLUMNS.len()] {
    let drops = |cause| bin.drops_by(cause).into();
    [
        bin.start.as_secs_f64().into(),
        pipe.into(),
        bin.offered_bytes.into(),
        bin.throughput_bytes.into(),
        bin.goodput_bytes.into(),
        bin.offered_packets.into(),
        bin.throughput_packets.into(),
        bin.queue_bytes_mean.into(),
        bin.queue_bytes_max.into(),
        bin.queue_bytes_end.into(),
        bin.queue_delay_s_mean.into(),
        bin.queue_delay_s_max.into(),
        drops(DropCause::Tail),
        drops(DropCause::Aqm),
        drops(DropCause::Policer),
        drops(DropCause::Ingress),
        drops(DropCause::Line),
        drops(DropCause::Channel),
        drops(DropCause::Outage),
        bin.marks.into(),
        bin.duplicates.into(),
        bin.corrupted.into(),
    ]
}

pub fn header(out: &mut impl Write) -> io::Result<()> {
    line(out, COLUMNS.map(|column| column.name))
}

pub fn row(out: &mut impl Write, pipe: &str, bin: &Bin) -> io::Result<()> {
    line(out, cells(pipe, bin))
}

#[cfg(test)]
mod tests {
    use super::*;
    use bentpipe_path::Time;

    #[test]
    fn a_row_has_a_value_for_each_column_and_none_for_what_is_not_known() {
        let bin = Bin {
            start: Time(-100_000_000),
            offered_bytes: 1500,
            marks: 7,
            ..Bin::default()
        };
        let mut out = Vec::new();
        header(&mut out).expect("a Vec takes all");
        row(&mut out, "down", &bin).expect("a Vec takes all");
        let text = String::from_utf8(out).expect("digits and commas");
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[1],
            "-0.1,down,1500,0,0,0,0,0,0,0,,,0,0,0,0,0,0,0,7,0,0"
        );
        assert_eq!(lines[0].split(',').count(), lines[1].split(',').count());
        let causes: Vec<&str> = lines[0]
            .split(',')
            .filter_map(|it| it.strip_prefix("drops_"))
            .collect();
        assert_eq!(causes, DropCause::ALL.map(DropCause::name));
    }
}
