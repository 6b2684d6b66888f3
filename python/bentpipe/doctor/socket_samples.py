"""Samples of sockets, as the table `sockets` has them, to the evidence's: a sender's or a receiver's."""

import polars as pl

from bentpipe.doctor.evidence import events


def at_sender(own: pl.DataFrame) -> pl.DataFrame:
    """What a sender knows."""
    mss = pl.col("mss_bytes")
    return own.with_columns(
        pl.col("bytes_sent").alias("sent_bytes"),
        pl.col("bytes_acked").alias("delivered_bytes"),
        _arrived_bytes().alias("arrived_bytes"),
        pl.col("bytes_retrans").alias("retransmitted_bytes"),
        pl.col("total_rto").alias("timeouts"),
        pl.col("segments_out").alias("segments_sent"),
        pl.col("segments_in").alias("acks"),
        (pl.col("unacked_segments") * mss).alias("outstanding_bytes"),
        (pl.col("lost_segments") * mss).alias("lost_bytes"),
        (pl.col("cwnd_segments") * mss).alias("cwnd_bytes"),
        (pl.col("ssthresh_segments") * mss).cast(pl.Float64).fill_null(float("inf")).alias("ssthresh_bytes"),
        pl.col("ca_state").alias("recovery"),
        pl.col("reordering").alias("reordering_segments"),
        pl.col("wmem_queued_bytes").alias("sndbuf_used_bytes"),
        pl.col("snd_wnd_bytes").alias("rwnd_bytes"),
        pl.lit(None).alias("rcvbuf_bytes"),
    )


def _arrived_bytes() -> pl.Expr:
    """What the peer has, in order or not. The kernel counts segments, and small ones hold less than an MSS.
    So from one sample to the next it is no more than what was on its way and what was sent since."""
    delivered, mss = pl.col("delivered"), pl.col("mss_bytes")
    sent = pl.col("bytes_sent") - pl.col("bytes_retrans")
    segments_out = pl.col("unacked_segments") * mss
    since_first = sent - pl.col("bytes_acked")
    # The counters of a connection that was open before the watch begin with it.
    before = (segments_out - since_first).clip(lower_bound=0).first().over("connection")
    out = pl.min_horizontal(segments_out, since_first + before)
    grown = pl.min_horizontal(
        (delivered.diff() * mss).over("connection"), (sent.diff() + out.shift()).over("connection")
    )
    first = pl.int_range(pl.len()).over("connection") == 0
    steps = pl.when(first).then(delivered * mss).otherwise(grown).fill_null(0)
    return pl.when(delivered.is_not_null()).then(steps.cum_sum().over("connection"))


def at_receiver(own: pl.DataFrame) -> pl.DataFrame:
    """What a receiver knows."""
    return own.select(
        "time_s",
        "connection",
        pl.col("bytes_received").alias("delivered_bytes"),
        pl.col("segments_in").alias("segments_sent"),
        pl.col("segments_out").alias("acks"),
        pl.col("rcv_ooopack").alias("out_of_order"),
        pl.col("rcv_wnd_bytes").alias("rwnd_bytes"),
        "rcvbuf_bytes",
        pl.col("rmem_alloc_bytes").alias("unread_bytes"),
        pl.col("bytes_sent").alias("asked_bytes"),
        pl.col("rcv_rtt_s").alias("srtt_s"),
        pl.col("min_rtt_s"),
    )


def happened(frame: pl.DataFrame) -> pl.DataFrame:
    """Events, from the counters of the evidence's samples, at the sample that first shows them."""
    grown = frame.select(
        "time_s",
        "connection",
        *(
            pl.col(name).diff().over("connection").alias(name)
            for name in ("retransmitted_bytes", "timeouts", "out_of_order")
        ),
        pl.col("rwnd_bytes"),
    )
    of = {
        "retransmission": ("retransmitted_bytes", pl.col("retransmitted_bytes")),
        "timeout": ("timeouts", pl.lit(None)),
        "loss": ("out_of_order", pl.lit(None)),
    }
    found = [
        grown.filter(pl.col(counter) > 0).select(
            "time_s", "connection", pl.lit(kind).alias("kind"), count.cast(pl.Int64).alias("bytes")
        )
        for kind, (counter, count) in of.items()
    ]
    return events(pl.concat(found))
