//! The `link` table's CSV (python/bentpipe/results/schema.py says what the columns mean).

use bentpipe_path::{Bin, DropCause};
use std::io::{self, Write};

pub const HEADER: &str = "time_s,pipe,offered_bytes,throughput_bytes,goodput_bytes,offered_packets,\
throughput_packets,queue_bytes_mean,queue_bytes_max,queue_bytes_end,queue_delay_s_mean,queue_delay_s_max,\
drops_tail,drops_aqm,drops_policer,drops_ingress,drops_line,drops_channel,drops_outage,marks,duplicates,corrupted";

pub fn header(out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{HEADER}")
}

/// A bin of the pipe of this name.
pub fn row(out: &mut impl Write, pipe: &str, bin: &Bin) -> io::Result<()> {
    let seconds = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
    write!(
        out,
        "{},{pipe},{},{},{},{},{},{},{},{},{},{}",
        bin.start.as_secs_f64(),
        bin.offered_bytes,
        bin.throughput_bytes,
        bin.goodput_bytes,
        bin.offered_packets,
        bin.throughput_packets,
        bin.queue_bytes_mean,
        bin.queue_bytes_max,
        bin.queue_bytes_end,
        seconds(bin.queue_delay_s_mean),
        seconds(bin.queue_delay_s_max),
    )?;
    for cause in DropCause::ALL {
        write!(out, ",{}", bin.drops_by(cause))?;
    }
    writeln!(out, ",{},{},{}", bin.marks, bin.duplicates, bin.corrupted)
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
