"""Samples of sockets, as the table `sockets` has them, to the evidence's: a sender's or a receiver's."""

import polars as pl

from bentpipe.doctor.evidence import events


def at_sender(own: pl.DataFrame) -> pl.DataFrame:
    """What a sender knows."""
    mss = pl.col("mss_bytes")
    return own.with_columns(
        pl.col("bytes_sent").alias("sent_bytes"),
        pl.col("bytes_acked").alias("delivered_bytes"),
        (pl.col("delivered") * mss).alias("arrived_bytes"),
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
