# What the scripts with hosts in network namespaces share. They run as root of namespaces of their own, with the program as their argument.
set -euo pipefail
gateway=$1
cd "$(mktemp -d)"
fail() { echo "$0: $*"; tail -n 5 ./*.log; exit 1; }
host() { # host NAME: sets $NAME to a process in a network namespace of its own
  unshare --net sleep infinity &
  local pid=$!
  until [ "$(readlink "/proc/$pid/ns/net")" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.02; done
  nsenter --target "$pid" --net ip link set lo up
  printf -v "$1" %s "$pid"
}
in_net() { nsenter --target "$1" --net "${@:2}"; }
join() { # join HOST DEVICE "ADDRESS..."
  local address
  for address in $3; do
    case $address in *:*) in_net "$1" ip addr add "$address" dev "$2" nodad ;; *) in_net "$1" ip addr add "$address" dev "$2" ;; esac
  done
  in_net "$1" ip link set "$2" up
}
link() { # link HOST DEVICE "ADDRESS..." HOST DEVICE "ADDRESS..."
  ip link add "$2" netns "$1" type veth peer name "$5" netns "$4"
  join "$1" "$2" "$3"
  join "$4" "$5" "$6"
}
four_hosts() { # four_hosts CLIENT NEAR FAR SERVER: client - near - far - server, with these addresses beside 198.18.0.0/24 between near and far
  local name
  for name in client near far server; do host "$name"; done
  link "$client" lan "$1" "$near" lan0 "$2"
  link "$near" wan 198.18.0.1/24 "$far" wan 198.18.0.2/24
  link "$far" out "$3" "$server" eth "$4"
  in_net "$client" ip route add default via 10.1.0.1
  case $2 in *fd01::1/*) in_net "$client" ip route add default via fd01::1 ;; esac
}
forwards() { in_net "$1" sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward; echo 1 >/proc/sys/net/ipv6/conf/all/forwarding'; }
wait_for() { # wait_for WHAT COMMAND...
  local until=$((SECONDS + 60))
  until "${@:2}" >/dev/null 2>&1; do
    [ "$SECONDS" -lt "$until" ] || fail "not in time: $1"
    sleep 0.05
  done
}
near_key=$("$gateway" keys near.key 2>/dev/null) far_key=$("$gateway" keys far.key 2>/dev/null)
configure() { # configure ROLE <<END: more of [path], and what follows it
  local peer
  case $1 in near) peer="address = \"198.18.0.2:4433\"\nkey = \"$far_key\"" ;; far) peer="key = \"$near_key\"" ;; esac
  { printf 'role = "%s"\nkey = "%s.key"\n[peer]\n%b\n[path]\nrate = "200 Mbit/s"\n' "$1" "$1" "$peer" && cat; } >"$1.toml"
}
start() { # start ROLE, on the host of this name; sets $ROLE_daemon
  : >"$1.log" # at once: the log of the one before says "ready", too
  nsenter --target "${!1}" --net "$gateway" "$1" --config "$1.toml" 2>"$1.log" &
  printf -v "$1_daemon" %s $!
  wait_for "$1 is ready" grep -q ready "$1.log"
}
connected() { "$gateway" status --socket near.sock --json | grep -q '"connected":true'; }
