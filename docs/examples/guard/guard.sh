#!/bin/sh
# Guards a TCP change: runs the lab as it was and as it is, and fails where the change made transfers slower.
#
#   guard.sh BEFORE.toml AFTER.toml
#
# Exit status: 0 all that is required holds, 1 something does not, 2 a lab or a requirement cannot be read.
# ENGINE=live asks this machine's kernel instead of the simulator; OUT is where the runs go.
set -eu
before=$1 after=$2
out=${OUT:-guarded}
engine=${ENGINE:-sim}

run() {
    # Status 1: some run failed or is unreliable. It is counted and left out of the comparison, and a point that
    # nothing speaks for does not pass.
    bentpipe run "$1" --engine "$engine" --out "$out/$2" --quiet --json >/dev/null || {
        status=$?
        [ $status = 1 ] || exit $status
    }
}

rm -rf "$out"
run "$before" before
run "$after" after
bentpipe compare "$out/before" "$out/after" \
    --require "workload.download.completion_s <= 1.05 * baseline" \
    --require "workload.download.goodput_mbit_s >= 0.95 * baseline" \
    --require "workload.download.queue_delay_ms <= baseline + 10" \
    --require "workload.download.goodput_mbit_s >= 2"
