# routed_page.sh PROGRAM: four hosts in network namespaces, client - near - far - server, and near's router rules. Runs as root of namespaces of its own.
source "$(dirname "$0")/namespaces.sh"
four_hosts 10.1.0.2/24 10.1.0.1/24 203.0.114.1/24 203.0.114.2/24
in_net "$near" ip route add default via 198.18.0.2
in_net "$server" ip route add default via 203.0.114.1
in_net "$far" ip route add 10.1.0.0/24 via 198.18.0.1
for router in "$near" "$far"; do forwards "$router"; done

configure near <<END
[listen]
tproxy = ["127.0.0.1:4100", "[::1]:4100"]
[router]
interfaces = ["lan0"]
except = ["198.18.0.0/24"]
bypass_after_s = 1
[status]
socket = "near.sock"
END
configure far <<END
[listen]
peer = "198.18.0.2:4433"
END
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
