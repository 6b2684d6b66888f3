# `make demo` and `make test` do all the set-up themselves.
.PHONY: setup demo test test-all test-loop lint fuzz bench bench-live bench-sim bench-store bench-sweep bench-report bench-labs bench-hosts bench-start bench-fec bench-coded bench-gateway bench-gateway-live bench-gateway-law bench-gateway-peers bench-protocol bench-capture bench-watch bench-playground bench-module bench-carrier check-interrupted validate calibrate check-intervals check-query check-calc check-doctor check-doctor-bursts check-doctor-full check-doctor-live check-captures train-doctor check-tune story-tune check-gateway check-gateway-protocols soak-gateway wheel check-wheel gateway-binary container check-container deb check-deb check-upgrade docs wasm playground lessons site clean

python := .venv/bin/python
bentpipe := .venv/bin/bentpipe
demo_out := runs/demo
# The published experiment in all its ten cells in virtual time, with 3 s of iperf3 instead of 30; then its
# downloads on this machine's kernel, and both side by side. Runs that this machine was too busy for are shown as such and do not
# stop it, nor does a machine that has no namespaces; a run that failed does.
demo_changes := --variant "as is" --set workload.download.time='"3 s"' --set workload.rtt.count=5 \
	--set workload.rtt.start='"-1.6 s"'

setup:
	@scripts/setup

demo: setup
	@rm -rf $(demo_out)
	@$(bentpipe) run effects-of-latency --engine sim --jobs 2 $(demo_changes) --out $(demo_out)/sim
	@$(bentpipe) report $(demo_out)/sim >/dev/null
	@echo; echo "Now the downloads on this machine's own kernel, with real ping and iperf3:"
	@$(bentpipe) run effects-of-latency --engine live $(demo_changes) --set workload.download.direction=down \
		--out $(demo_out)/live || [ $$? = 1 ] || [ $$? = 2 ]
	@if [ -f $(demo_out)/live/lab.json ]; then $(bentpipe) report $(demo_out)/live >/dev/null; \
		$(bentpipe) compare $(demo_out)/sim $(demo_out)/live; fi
	@! grep -l '"status": "failed"' $(demo_out)/*/*/run.json
	@echo 'Each cell had 3 s of iperf3 instead of the published 30, so slow start is most of the slow ones.'
	@echo 'Pages with all charts: $(demo_out)/sim/report.html, $(demo_out)/live/report.html.'
	@echo 'In full: $(bentpipe) run effects-of-latency --engine live'

# FILTER=word runs only the Python tests whose name has it. scripts/python-tests says what goes beside what.
# `make test-all` runs the tests that are marked `long` too, as .ci/run does: they take as long as all others together.
# The playground's module is compiled where it was built before (`make playground`). Where it was not, the tests that want it are
# skipped, with the reason. .ci/run builds it, and skips none of them.
# Many tests start `bentpipe`, which is slow where Python may keep nothing that it compiled.
# Property tests of Rust take the same examples each time, as those of Python do (tests/conftest.py).
test test-all: export PROPTEST_RNG_SEED ?= 20261122
test test-all: export PYTHONDONTWRITEBYTECODE =
test test-all: all_of_them = $(if $(filter test-all,$@),--all)
test test-all:
	@scripts/setup test
	@if [ -f web/built/bentpipe.wasm ]; then scripts/wasm; fi
	@node web/build.js
	@scripts/python-tests $(all_of_them) --after 'scripts/rust-tests $(all_of_them)' $(if $(FILTER),'$(FILTER)')

# The Python tests N times, those of LIVE=1 or the others, with other examples each time: which failed how often.
test-loop: export PYTHONDONTWRITEBYTECODE =
test-loop:
	@scripts/setup test
	@$(python) scripts/repeat-tests --times $(or $(N),20) $(if $(LIVE),--live) $(if $(FILTER),-- -k $(FILTER))

lint:
	@scripts/setup
	@scripts/setup npm
	cargo fmt --check
	rustfmt --check --edition 2024 crates/sim/src/node/*.rs crates/tcp/src/congestion/*.rs # files that a macro names
	cargo clippy --quiet --workspace --all-targets -- -D warnings
	.venv/bin/ruff check
	.venv/bin/ruff format --check
	.venv/bin/mypy
	node_modules/.bin/tsc
	node_modules/.bin/tsc -p web

fuzz:
	@scripts/setup fuzz
	scripts/fuzz

# Packets per second through each part of a pipe; nanoseconds for reading, cutting and writing packets.
bench:
	cargo bench --quiet -p bentpipe-path -p bentpipe-wire

# Speed of the datapath, what one core carries coded, departure lateness, ping and rate errors on this machine.
bench-live: setup
	cargo run --quiet --release -p bentpipe-live --example bench_live

# Packets per CPU second, memory, and how the cost grows with rate, RTT and flows.
bench-sim:
	cargo run --quiet --release -p bentpipe-sim --example bench_sim

# Speed of the erasure code's kernels and of a coded tunnel; recovery, delay and processor time beside other codes.
bench-fec:
	@cargo run --quiet --release --manifest-path benches/fec/Cargo.toml --target-dir target/bench-fec

# What a coded tunnel does for a download over a satellite link, in `sim`; packets per CPU second. SEEDS=20 takes more seeds.
bench-coded: setup
	@$(python) benches/tunnel $(if $(SEEDS),--seeds $(SEEDS))

# What the gateways do for downloads, keystrokes and pages on a satellite link, in `sim`. SEEDS=20 takes more seeds.
bench-gateway: setup
	@$(python) benches/gateway $(if $(SEEDS),--seeds $(SEEDS))

# What the law `fair` leaves a CUBIC flow beside it, and what it reaches alone, over many paths. SEEDS=20 takes more; ARGS=Alone prints one table.
bench-gateway-law:
	@cargo run --quiet --release -p bentpipe-sim --example bench_gateway_law -- $(SEEDS) $(ARGS)

# What make bench-gateway prints, on this machine's kernel, some 20 minutes: downloads, keystrokes and pages through real gateways.
bench-gateway-live: setup
	@$(python) benches/gateway --live $(if $(SEEDS),--seeds $(SEEDS))

# bentpipe's gateways, kcptun, Hysteria 2 and TUIC beside each other on this machine's kernel: hours for all of it. ARGS="--help" tells how to
# take a part.
bench-gateway-peers: setup
	@$(python) benches/gateway/peers.py $(ARGS)

# What the gateways' protocol costs without a carrier: bits per second of processor time, and memory of 10,000 flows.
bench-protocol:
	@cargo run --quiet --release -p bentpipe-gateway --example bench_gateway

# How fast captures are read, and the peak of the memory: GB=1 gigabyte, snapped at 96 bytes and whole, from a file in /tmp.
bench-capture:
	@cargo build --quiet --release -p bentpipe-capture --example bench_capture
	@for snap in 96 1514; do \
		file=$$(mktemp --suffix .pcap) && \
		target/release/examples/bench_capture GENERATE $(or $(GB),1)000000000 $$file $$snap >/dev/null && \
		printf 'snapped at %s bytes: ' $$snap && target/release/examples/bench_capture READ $$file; rm -f $$file; \
	done

# The same with QUIC, through real sockets on the loopback device. ARGS="--udp-payload 8900" and more: see the first lines of the example.
bench-carrier:
	@cargo run --quiet --release -p bentpipe-gateway-host --example bench_carrier -- $(ARGS)

# Two real gateways under users' connections for MINUTES, with outages of the path and kills of either side. It needs root.
soak-gateway:
	@cargo build --quiet --release -p bentpipe-gateway-daemon
	@python3 benches/proof/soak.py --minutes $(or $(MINUTES),60) $(ARGS)

# curl, nginx, ssh, rsync, WebSocket, DNS and more through two real gateways, byte for byte: docs/gateway/proof.md. It needs root.
check-gateway-protocols:
	@cargo build --quiet --release -p bentpipe-gateway-daemon
	@unshare --mount --pid --fork --kill-child --mount-proc python3 benches/proof $(ARGS)

# What a sweep costs beyond its simulations, one by one, by processes and on a cluster; peak memory.
bench-sweep: setup
	$(python) benches/sweep

# What `bentpipe report` of many runs costs. BESIDE=../other: also by the code of another checkout, in turns.
bench-report: setup
	@$(python) benches/report $(if $(BESIDE),--beside $(BESIDE))

# The bundled labs in `sim` by this checkout and by another one, BESIDE=../other: which figures changed, and by how much.
bench-labs: setup
	@$(python) benches/labs --beside $(BESIDE)

# What it costs a run's figures that its hosts' programs wait for a processor.
bench-hosts: setup
	$(python) benches/hosts

# What it costs to watch 1000 sockets every 100 ms: processor time, and goodput with the watch and without, in turns.
bench-watch: setup
	@$(python) benches/watch $(ARGS)

# How long each command takes to start: `--help`, `calc`, a run of one second in `sim`.
bench-start: export PYTHONDONTWRITEBYTECODE =
bench-start: setup
	@$(python) benches/start

# A sweep of 1000 runs killed three times ends with the rows of one that was not.
check-interrupted: setup
	$(python) benches/interrupted

# How long a sweep of 10,000 runs takes to open, to its tables, and to answers. RUNS=100000 makes it longer.
bench-store: setup
	@$(python) benches/store $(if $(RUNS),--runs $(RUNS))

# `sim` beside `live`, cell by cell, into docs/accuracy.md. LIVE=1 does the live runs that are missing first;
# CELLS='bbr*' chooses.
validate: setup
	$(python) benches/validate $(if $(LIVE),--live) $(if $(CELLS),--cells '$(CELLS)')

# Whether `bentpipe query` answers right every time: ASKS=100 of 20 million rows, beside LOAD=0 busy processes.
check-query: setup
	@$(python) benches/query --asks $(or $(ASKS),100) --load $(or $(LOAD),0)

# The sizes of satellite-baselines' flows, fitted to its published throughputs.
calibrate: setup
	$(python) benches/calibrate

# The gateway's protocol in virtual time, under faults: SEEDS=10000 scenarios. SEED=17 shows one of them with its trace.
check-gateway:
	cargo run --quiet --release -p bentpipe-gateway --example check_gateway -- \
		$(if $(SEED),--seed $(SEED),--seeds $(or $(SEEDS),1000))

# How often the intervals of `bentpipe compare` hold what they should: the tables of docs/compare.md.
check-intervals: setup
	$(python) benches/intervals

# `bentpipe calc` beside `sim` and `live`: the tables of docs/calc.md. LIVE=1 does the live runs that are missing first.
check-calc: setup
	$(python) benches/calc $(if $(LIVE),--live)

# `bentpipe doctor` on labs with known limits: the confusion matrix of docs/doctor-accuracy.md. RUNS=20 takes more of each kind and half.
check-doctor: setup
	@$(python) benches/doctor $(if $(RUNS),--runs $(RUNS)) $(ARGS)

# How near it is to the length of bursts of losses, and how near the lab of such a path: RUNS=8 (a minute or two).
check-doctor-bursts: setup
	@$(python) benches/doctor/bursts.py $(if $(RUNS),--runs $(RUNS)) $(ARGS)

# How often it calls the full path of an ordinary host ill, by itself or beside others: RUNS=300, ARGS=--alone.
check-doctor-full: setup
	@$(python) benches/doctor/full_paths.py $(if $(RUNS),--runs $(RUNS)) $(ARGS)

# What the doctor says of other people's captures: FROM=folder. Debian's sources of nDPI and Wireshark have 380 (docs/doctor-accuracy.md).
check-captures: setup
	@$(python) benches/doctor/strangers.py $(FROM)

# The same on real runs of 8 s, 20 of each kind, kept in runs/doctor-live: RUNS=2 takes fewer, and a later call goes on. As root.
check-doctor-live: setup
	@$(python) benches/doctor/live.py $(if $(RUNS),--runs $(RUNS)) $(ARGS)

# Fit the trees by which it tells what drops, to the training half (40 to 70 minutes with two processors; captures take a third of that). It goes on where it was stopped.
train-doctor: setup
	@$(python) benches/doctor/train.py $(if $(RUNS),--runs $(RUNS)) $(ARGS)

# `bentpipe tune --apply` killed at every third step and at KILLS=200 random moments, in a network namespace: `--undo` restores
# everything. Some ten minutes.
check-tune: setup
	@$(python) benches/tune/kills.py --kills $(or $(KILLS),200) --every 3 $(ARGS)

# The published tuning story by doctor and tune, on this machine's kernel, some six minutes: the output on docs/tune.md.
story-tune: setup
	@$(python) benches/tune/story.py $(ARGS)

# A wheel in dist/ that installs without a compiler.
wheel:
	@scripts/wheel

# From `pip install` of that wheel to a report, where nothing else is installed.
check-wheel:
	@scripts/check-wheel

# The gateway as one static program for any Linux.
gateway-binary:
	@scripts/gateway-binary

# The gateway's image, by docker, podman or buildah.
container:
	@scripts/container

# That image built by buildah, and near and far run from it in network namespaces. Root.
check-container:
	@ENGINE=true scripts/container >/dev/null
	@python3 benches/proof/container.py

# The gateway's Debian package, in dist/.
deb:
	@scripts/deb

# That package and docs/gateway/ten-minutes.md, on two bare machines with systemd, in namespaces. Root.
check-deb:
	@scripts/check-deb

# One side of two gateways at a time is upgraded from the program of the commit REV to this one, and back. Root.
check-upgrade:
	@cargo build --quiet --release -p bentpipe-gateway-daemon
	@scripts/check-upgrade --rev $(or $(REV),$(error REV= names the earlier commit))

# The pages that are printed from the code, and the notebook with its output.
docs: setup
	$(python) -m bentpipe.runs >docs/results.md
	$(python) -m bentpipe.lab.reference docs
	$(python) scripts/render-notebook docs/first-steps.ipynb

# The simulator as WebAssembly, web/built/bentpipe.wasm, and the part "What if" for the reports of this checkout.
wasm:
	@scripts/setup npm
	@scripts/wasm
	@node web/build.js

# The playground in web/built. Any static server shows it: python3 -m http.server --bind 127.0.0.1 --directory web/built
playground:
	@scripts/setup npm
	@scripts/wasm
	@node web/build.js

# How soon the playground shows a run, and how often it redraws while a slider is held.
bench-playground: setup playground
	@$(python) benches/playground

# How fast the simulator's module is in node beside that of another build, BESIDE=other.wasm, run by run in turns. TIMES=9
bench-module: playground
	@node_modules/.bin/esbuild benches/playground/beside.ts --bundle --platform=node --format=esm --log-level=warning --outfile=target/beside.mjs
	@node target/beside.mjs $(or $(TIMES),9) web/built/bentpipe.wasm $(BESIDE)

# The pages docs/lessons, with the figures that the simulator gives now.
lessons: playground
	@scripts/lessons

# The docs as a site in site/, with the playground: strict, so a broken link, a missing picture or a request to another host fails.
site: setup playground
	@$(python) scripts/site

clean:
	rm -rf site target fuzz/target web/built python/bentpipe/report/what_if .venv runs
