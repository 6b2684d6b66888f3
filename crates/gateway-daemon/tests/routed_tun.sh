# routed_tun.sh PROGRAM: client - near - far - server in network namespaces, over IPv4 and IPv6; whole packets of the client cross by TUN devices.
source "$(dirname "$0")/namespaces.sh"
four_hosts "10.1.0.2/24 fd01::2/64" "10.1.0.1/24 fd01::1/64" "203.0.114.1/24 2a0e::1/64" "203.0.114.2/24 2a0e::2/64 192.168.7.7/24"
in_net "$far" ip route add 192.168.7.0/24 via 203.0.114.2
# Near's and the server's networks know nothing of each other: without the gateway no packet gets further than near.
for router in "$near" "$far"; do forwards "$router"; done
configure near <<END2
udp_payload = 1452
[listen]
socks5 = ["127.0.0.1:1080"]
[tun]
address = ["10.77.0.1/24", "fd77::1/64"]
users = ["10.1.0.0/24", "fd01::/64"]
interfaces = ["lan0"]
bypass_after_s = 1
[status]
socket = "near.sock"
prometheus = "127.0.0.1:9478"
END2
configure far <<END2
udp_payload = 1452
[listen]
peer = "198.18.0.2:4433"
[tun]
address = ["10.77.0.2/24", "fd77::2/64"]
users = ["10.1.0.0/24", "fd01::/64"]
END2
rules() { { in_net "$1" nft list tables | grep bentpipe || in_net "$1" ip rule | grep 25201 || in_net "$1" ip -6 rule | grep 25201 ||
  in_net "$1" ip link show bentpipe0 ; } 2>/dev/null; }
none() { ! rules "$1"; }
pings() { in_net "$client" ping -c 1 -W 1 "$@"; }
start far
start near
wait_for "a session" connected
wait_for "a ping over IPv4" pings 203.0.114.2
wait_for "a ping over IPv6" pings 2a0e::2
wait_for "a ping from near itself" in_net "$near" ping -c 1 -W 1 -I bentpipe0 203.0.114.2
# The longest that crosses in one piece, and one that the kernel has to divide.
mtu=$(in_net "$near" ip -o link show bentpipe0 | sed "s/.* mtu \([0-9]*\).*/\1/")
[ "$mtu" -gt 1300 ] && [ "$mtu" -lt 1452 ] || fail "the MTU is $mtu"
wait_for "a ping as long as the MTU" pings -M do -s "$((mtu - 28))" 203.0.114.2
wait_for "a ping in fragments" pings -s 3000 203.0.114.2
in_net "$client" ping -c 1 -W 1 -M do -s "$((mtu - 27))" 203.0.114.2 >long.log 2>&1 || true
grep -q "mtu = $mtu" long.log || fail "the client does not hear of the MTU"
echo "pings cross over IPv4 and IPv6, behind far's address, as long as the MTU"

pings 192.168.7.7 >/dev/null 2>&1 && fail "a private address was reached"
wait_for "a refusal" grep -q 'refused a packet.*192.168.7.7.*no public address' far.log
in_net "$near" ip addr add 10.9.9.9/32 dev bentpipe0
in_net "$near" ip route add 203.0.114.2 dev bentpipe0 src 10.9.9.9
in_net "$near" ping -c 1 -W 1 203.0.114.2 >/dev/null 2>&1 && fail "a foreign source crossed"
wait_for "a refusal at near" grep -q 'refused a packet.*10.9.9.9.*tun.users' near.log
status() { "$gateway" status --socket near.sock --json | python3 -c "import json, sys; it = json.load(sys.stdin); print($1)"; }
[ "$(status 'all(user["datagrams_sent"] >= 1 <= user["datagrams_delivered"] for user in it["users"]) and len(it["users"])')" = 3 ] ||
  fail "users: $(status 'it["users"]')"
[ "$(status 'it["tun"]["flows"] >= 4 and it["tun"]["sent"] > 2 < it["tun"]["delivered"] and it["tun"]["refused"] > 0')" = True ] ||
  fail "whole packets: $(status 'it["tun"]')"
in_net "$near" curl -sf http://127.0.0.1:9478/metrics >metrics
grep -Eq '^bentpipe_gateway_tun_packets_sent_total\{role="near"\} [1-9]' metrics || fail "no whole packets in /metrics"
"$gateway" status --socket near.sock >shown
grep -q '^whole packets ' shown || fail "no whole packets in the status"
echo "foreign sources and private destinations are refused, and users are counted"

into_device() { in_net "$near" ip rule | grep 25202 >/dev/null; }
past() { ! into_device; }
into_device || fail "no rule"
kill -KILL "$far_daemon"
wait_for "the bypass" past
start far
wait_for "the end of the bypass" into_device
wait_for "a ping again" pings 203.0.114.2
echo "packets go past a far that is away, and through one that is back"

rules "$near" >/dev/null && rules "$far" >/dev/null || fail "no rules"
kill -KILL "$near_daemon" && kill -TERM "$far_daemon"
wait "$far_daemon" || fail "far ended with $?"
none "$far" || fail "far left: $(rules "$far")"
wait_for "nothing of near's" none "$near"
echo "nothing is left after any end"
