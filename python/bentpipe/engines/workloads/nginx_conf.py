"""What nginx is told: as a web server, and as a cache in front of one.

Source: nginx 1.22's documentation of its core, log, proxy and upstream modules; experiments with Debian's
nginx-light.
1. Everything lies in the folder that nginx is started in. Files are one per size; which object of that size
   is meant only the URL says, /WORKLOAD/OBJECT/SIZE?NUMBER, so that a cache sees different objects.
2. `sendfile` and `tcp_nopush` are on, as in Debian's own configuration. Connections are kept for any number
   of requests, and a peer may be silent for an hour: nginx's own limits (1000 requests, 60 s) are for other
   paths.
3. The server thinks in nginx itself, by the echo module that nginx-light comes with.
4. An upload is passed on as it comes to a process behind nginx that reads it to its end: nginx alone would
   answer at once or fill the disk.
5. The cache keeps connections to the server for the next request. What it does not hold it passes on while
   it comes, and keeps when it has come whole. `proxy_cache_lock` is off: requests for what is on its way
   each fetch it.
6. The cache does not ask for a range: it fetches the whole file, and the range begins when it
   gets there. So each of aria2c's ranges of a file that is not held fetches all of it. The slice module
   would mend that; no cache has it on unless told to.
7. nginx removes what is beyond the cache's size, the least recently used first, when it looks: every ten
   seconds.
"""

from collections.abc import Iterable
from pathlib import Path

_HTTP = """
daemon off;
user root;
worker_processes 1;
pid nginx.pid;
error_log error.log warn;
{modules}
events {{ worker_connections 1024; }}
http {{
    log_format bentpipe escape=json
        '{{"ended_unix_s":$msec,"request_s":$request_time,"port":$remote_port,'
        '"connection":$connection,"nth":$connection_requests,"request":"$request","range":"$http_range",'
        '"status":$status,"sent_bytes":$bytes_sent,"body_bytes":$body_bytes_sent,'
        '"request_bytes":$request_length,"cache":"$upstream_cache_status"}}';
    access_log access.log bentpipe;
    default_type application/octet-stream;
    sendfile on;
    tcp_nopush on;
    keepalive_requests 1000000;
    keepalive_timeout 1h;
    client_body_timeout 1h;
    send_timeout 1h;
    client_max_body_size 0;
    client_body_temp_path temporary/body;
    proxy_temp_path temporary/proxy;
    fastcgi_temp_path temporary/fastcgi;
    uwsgi_temp_path temporary/uwsgi;
    scgi_temp_path temporary/scgi;
{server}
}}
"""
_SERVER = """
    server {{
        {listen}
        location ~ "^/[^/]+/[0-9]+/(?<size>[0-9]+)$" {{
            {answer}
        }}
        location @file {{
            root files;
            try_files /$size =404;
        }}
        location @sink {{
            proxy_pass http://unix:sink;
            proxy_http_version 1.1;
            proxy_request_buffering off;
            proxy_read_timeout 1h;
            proxy_send_timeout 1h;
        }}
    }}
"""

_FILES = """
    server {{
        {listen}
        location / {{ root files; autoindex on; }}
    }}
"""
_CACHE = """
    proxy_cache_path cache levels=1:2 keys_zone=objects:{zone_bytes} max_size={size_bytes}
        inactive=100d use_temp_path=off;
    upstream origin {{
        server {origin};
        keepalive 128;
        keepalive_requests 1000000;
        keepalive_timeout 1h;
    }}
    server {{
        {listen}
        location / {{
            proxy_pass http://origin;
            proxy_http_version 1.1;
            proxy_set_header Connection "";
            proxy_read_timeout 1h;
            proxy_send_timeout 1h;
            proxy_cache objects;
            proxy_cache_key $uri;
            proxy_cache_valid 200 100d;
            add_header X-Cache $upstream_cache_status;
        }}
    }}
"""
_KEY_BYTES = 256
"""Of the zone in memory, per object: nginx's documentation says 8000 keys per megabyte."""
_LEAST_ZONE_BYTES = 1 << 20


def server(
    *, addresses: Iterable[str], port: int, upload: bool, think_s: float, echo_module: Path | None
) -> str:
    """Of a web server. `echo_module` is needed where downloads are to be thought about."""
    thinks = think_s > 0 and not upload
    if thinks:
        answer = f"echo_sleep {think_s:.3f}; echo_exec @file;"
    else:
        answer = f"try_files /nothing {'@sink' if upload else '@file'};"
    return _HTTP.format(
        modules=f"load_module {echo_module};" if thinks else "",
        server=_SERVER.format(listen=_listen(addresses, port), answer=answer),
    )


def files(addresses: Iterable[str], port: int) -> str:
    """Of a web server of the files in the folder `files`, which it lists."""
    return _HTTP.format(modules="", server=_FILES.format(listen=_listen(addresses, port)))


def cache(*, addresses: Iterable[str], port: int, origin: str, size_bytes: int, objects: int) -> str:
    """Of a cache for so many objects in front of the server `origin`, an address with its port."""
    return _HTTP.format(
        modules="",
        server=_CACHE.format(
            listen=_listen(addresses, port),
            origin=origin,
            size_bytes=size_bytes,
            zone_bytes=_LEAST_ZONE_BYTES + _KEY_BYTES * objects,
        ),
    )


def authority(address: str, port: int) -> str:
    """As it stands in a URL."""
    return f"{f'[{address}]' if ':' in address else address}:{port}"


def _listen(addresses: Iterable[str], port: int) -> str:
    return " ".join(f"listen {authority(each, port)};" for each in addresses)
