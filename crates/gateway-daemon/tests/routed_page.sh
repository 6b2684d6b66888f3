# routed_page.sh PROGRAM: four hosts in network namespaces, client - near - far - server, and near's router rules. Runs as root of namespaces of its own.
set -euo pipefail
gateway=$1
cd "$(mktemp -d)"
fail() { echo "routed_page.sh: $*"; tail -n 5 ./*.log; exit 1; }
host() { # host NAME: sets $NAME to a process in a network namespace of its own
  unshare --net sleep infinity &
  local pid=$!
  until [ "$(readlink "/proc/$pid/ns/net")" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.02; done
  nsenter --target "$pid" --net ip link set lo up
  printf -v "$1" %s "$pid"
}
in_net() { nsenter --target "$1" --net "${@:2}"; }
link() {
  ip link add "$2" netns "$1" type veth peer name "$5" netns "$4"
  for end in "$1 $2 $3" "$4 $5 $6"; do
    read -r host device address <<<"$end"
    in_net "$host" ip addr add "$address" dev "$device"
    in_net "$host" ip link set "$device" up
  done
}
wait_for() { # wait_for WHAT COMMAND...
  local until=$((SECONDS + 60))
  until "${@:2}" >/dev/null 2>&1; do
    [ "$SECONDS" -lt "$until" ] || fail "not in time: $1"
    sleep 0.05
  done
}
for name in client near far server; do host "$name"; done
link "$client" lan 10.1.0.2/24 "$near" lan0 10.1.0.1/24
link "$near" wan 198.18.0.1/24 "$far" wan 198.18.0.2/24
link "$far" out 203.0.114.1/24 "$server" eth 203.0.114.2/24
in_net "$client" ip route add default via 10.1.0.1
in_net "$near" ip route add default via 198.18.0.2
in_net "$server" ip route add default via 203.0.114.1
in_net "$far" ip route add 10.1.0.0/24 via 198.18.0.1
for router in "$near" "$far"; do in_net "$router" sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'; done

near_key=$("$gateway" keys near.key 2>/dev/null) far_key=$("$gateway" keys far.key 2>/dev/null)
cat >near.toml <<END
role = "near"
key = "near.key"
[peer]
address = "198.18.0.2:4433"
key = "$far_key"
[path]
rate = "200 Mbit/s"
[listen]
tproxy = ["127.0.0.1:4100", "[::1]:4100"]
[router]
interfaces = ["lan0"]
except = ["198.18.0.0/24"]
bypass_after_s = 1
[status]
socket = "near.sock"
END
cat >far.toml <<END
role = "far"
key = "far.key"
[peer]
key = "$near_key"
[path]
rate = "200 Mbit/s"
[listen]
peer = "198.18.0.2:4433"
END
start() { nsenter --target "${!1}" --net "$gateway" "$1" --config "$1.toml" 2>"$1.log" & printf -v "$1_daemon" %s $!; wait_for "$1 is ready" grep -q ready "$1.log"; }
rules() { { in_net "$near" nft list tables | grep bentpipe || in_net "$near" ip rule | grep 25200 || in_net "$near" ip -6 rule | grep 25200 ||
  in_net "$near" ip route show table 25200 | grep . ; } 2>/dev/null; }
none() { ! rules; }
mkdir www
head -c 2000000 /dev/urandom >www/page
in_net "$server" python3 -m http.server --directory www 80 >web.log 2>&1 &
wait_for "the server" in_net "$server" curl -sf -o /dev/null http://203.0.114.2/page
page_from() { # the server's page crosses byte for byte, and this address asked for it
  in_net "$client" curl -sSf --max-time 60 -o got http://203.0.114.2/page && cmp got www/page || fail "the page did not cross"
  local asked; asked=$(tail -1 web.log | cut -d' ' -f1)
  [ "$asked" = "$1" ] || fail "$asked asked, not $1"
}
connected() { "$gateway" status --socket near.sock --json | grep -q '"connected":true'; }

none || fail "rules of before"
page_from 10.1.0.2
start far
start near
rules >/dev/null || fail "no rules"
wait_for "a session" connected
page_from 203.0.114.1
echo "a page crosses by the rules"

kill -KILL "$far_daemon"
wait_for "the bypass" grep -q "go past it" near.log
page_from 10.1.0.2
start far
wait_for "the end of the bypass" grep -q "go through it" near.log
page_from 203.0.114.1
echo "new connections go past a far that is away, and through one that is back"

kill -KILL "$near_daemon"
wait_for "no rule after kill -9" none
page_from 10.1.0.2
echo "kill -9 leaves nothing"

start near
rules >/dev/null || fail "no rules"
kill -TERM "$near_daemon"
wait "$near_daemon" || fail "near ended with $?"
none || fail "rules are left"
echo "the end leaves nothing"
