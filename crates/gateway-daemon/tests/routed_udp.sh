# routed_udp.sh PROGRAM: client - near - far - server in network namespaces, over IPv4 and IPv6; near takes the client's UDP by its rules.
source "$(dirname "$0")/namespaces.sh"
four_hosts "10.1.0.2/24 fd01::2/64" "10.1.0.1/24 fd01::1/64" "203.0.114.1/24 2a0e::1/64" "203.0.114.2/24 203.0.114.3/24 2a0e::2/64 2a0e::3/64"
# Without the gateway nothing gets further than near.
forwards "$near"
configure near <<END2
[listen]
tproxy = ["127.0.0.1:4100", "[::1]:4100"]
[router]
interfaces = ["lan0"]
udp = [53, 443]
[status]
socket = "near.sock"
END2
configure far <<END2
[listen]
peer = "198.18.0.2:4433"
[status]
socket = "far.sock"
END2
# Answers with the question, and who asked.
cat >server.py <<'END2'
import selectors, socket
ready = selectors.DefaultSelector()
for ip in "203.0.114.2", "203.0.114.3", "2a0e::2", "2a0e::3":
    for port in 53, 5000:
        server = socket.socket(socket.AF_INET6 if ":" in ip else socket.AF_INET, socket.SOCK_DGRAM)
        server.bind((ip, port))
        ready.register(server, selectors.EVENT_READ)
print("ready", flush=True)
while True:
    for key, _ in ready.select():
        question, source = key.fileobj.recvfrom(65535)
        key.fileobj.sendto(question + b" " + source[0].encode(), source)
END2
# client.py PORT SOURCE ADDRESS...: asks each address from one socket, again and again until it answers; another address must not answer. `-`: nobody answers.
cat >client.py <<'END2'
import socket, sys
port, expected, *servers = sys.argv[1:]
family = socket.AF_INET6 if ":" in servers[0] else socket.AF_INET
client = socket.socket(family, socket.SOCK_DGRAM)
client.settimeout(0.3)

def answered(server, length):
    """Whether an answer to this question came. One to an earlier question may be late."""
    while True:
        try:
            answer, source = client.recvfrom(65535)
        except TimeoutError:
            return False
        asked = answer.split()[0].decode()
        assert source[:2] == (asked, int(port)), (source, asked)
        assert answer.endswith(b" " + expected.encode()), answer
        if asked == server and len(answer) > length:
            return True

for length in 20, 4000:
    for server in servers:
        question = f"{server} ".encode().ljust(length, b"x")
        for attempt in range(1 if expected == "-" else 100):
            client.sendto(question, (server, int(port)))
            if answered(server, length):
                break
        else:
            assert expected == "-", f"no answer from {server}"
END2
asks() { in_net "$client" timeout 40 python3 client.py "$@" || fail "asked $*"; }
in_net "$server" python3 server.py >server.log 2>&1 &
wait_for "the server" grep -q ready server.log
start far
start near
wait_for "a session" connected
asks 53 203.0.114.1 203.0.114.2 203.0.114.3
asks 53 2a0e::1 2a0e::2 2a0e::3
echo "answers come from the address that was asked, over IPv4 and IPv6"

asks 5000 - 203.0.114.2
sed -i 's/udp = .*/udp = "all"/' near.toml
kill -HUP "$near_daemon"
wait_for "a reload" grep -q 'reloaded.*router' near.log
asks 5000 203.0.114.1 203.0.114.2
asks 5000 2a0e::1 2a0e::2
echo "a reload takes other ports"

in_net "$client" python3 - <<'END2'
import socket
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("198.18.0.9", 53))
END2
wait_for "a refusal" grep -q 'refused a datagram.*198.18.0.9:53' far.log
status() { "$gateway" status --socket near.sock --json | python3 -c "import json, sys; it = json.load(sys.stdin); print($1)"; }
[ "$(status 'sorted(user["user"] for user in it["users"])')" = "['10.1.0.2', 'fd01::']" ] || fail "users: $(status 'it["users"]')"
[ "$(status 'all(user["datagrams_sent"] >= 4 <= user["datagrams_delivered"] for user in it["users"])')" = True ] || fail "users: $(status 'it["users"]')"
[ "$(status 'it["associations"] == len(it["flows"])')" = True ] || fail "flows: $(status 'it["flows"]')"
echo "users are counted, and far's access list holds"

# many.py USERS...: 12 sockets of each of these addresses ask and are answered; the first user's first socket then asks again.
cat >many.py <<'END2'
import socket, sys

def ask(client):
    for attempt in range(100):
        client.send(b"question")
        try:
            return client.recv(100)
        except TimeoutError:
            pass
    raise SystemExit("no answer")

clients = []
for user in sys.argv[1:]:
    for _ in range(12):
        client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        client.bind((user, 0))
        client.connect(("203.0.114.2", 5000))
        client.settimeout(0.3)
        ask(client)
        clients.append(client)
ask(clients[0])
END2
reload() { # reload KEY VALUE
  sed -i "/^\[limits\]/,/^\[status\]/{/^\[status\]/!d}; s/^\[status\]/[limits]\n$1 = $2\n&/" near.toml
  kill -HUP "$near_daemon"
  wait_for "a reload" grep -q "reloaded.*limits.$1" near.log
}
of_user() { status "sum(flow['host'].startswith('$1:') for flow in it['flows'])"; }
in_net "$client" ip addr add 10.1.0.3/24 dev lan
reload user_associations 8
in_net "$client" timeout 60 python3 many.py 10.1.0.3 || fail "with 8 associations of a user at most"
# Those of the other user, from before, stay.
in_net "$client" timeout 60 python3 many.py 10.1.0.2 10.1.0.3 || fail "with 8 associations of each user"
[ "$(of_user 10.1.0.2) $(of_user 10.1.0.3)" = "8 8" ] || fail "of each user: $(of_user 10.1.0.2), $(of_user 10.1.0.3)"
[ "$(status 'it["associations_over_limit"] >= 12')" = True ] || fail "over the limit: $(status 'it["associations_over_limit"]')"
echo "a user has so many associations as one may, and the idlest of that user's own make room"

reload connections 8
in_net "$client" timeout 60 python3 many.py 10.1.0.2 || fail "with 8 associations at most"
[ "$(status 'it["associations"]')" -le 8 ] || fail "associations: $(status 'it["associations"]')"
echo "where there is no room, the idlest association makes it"
