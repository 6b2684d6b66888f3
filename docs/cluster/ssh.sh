#!/bin/sh
# A Dask scheduler here and workers on other machines by ssh, as long as this runs:
#
#   sh ssh.sh 10.0.0.1 alice@10.0.0.2 alice@10.0.0.3
#
# The first is this machine's address as the others reach it. Each of them needs the same bentpipe, where BENTPIPE
# says (its virtual environment), and a login without a password. One worker for each of its processors.
set -eu
here=$1
shift
bentpipe=${BENTPIPE:-$HOME/bentpipe/.venv}
port=${PORT:-8786}
trap 'trap - EXIT; kill 0' EXIT INT TERM HUP

"$bentpipe/bin/dask" scheduler --host "$here" --port "$port" --no-dashboard &
for machine; do
  # -tt: the workers end with the connection.
  ssh -tt "$machine" "exec $bentpipe/bin/dask worker tcp://$here:$port --nworkers \$(nproc) --nthreads 1" \
    "--no-dashboard --death-timeout 60 ${MORE:-}" </dev/null &
done
echo "bentpipe run LAB --engine sim --cluster tcp://$here:$port"
wait
