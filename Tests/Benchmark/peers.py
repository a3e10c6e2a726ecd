"""Programs that one could use instead of the relay, each configured as its own documentation recommends for this work, on
the server's processor. A peer yields its process and its port."""

import contextlib
import getpass
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

from machine import SERVER, finished, free_port, last_line, run, start, stop, wait_for

POSTGRES = "/usr/lib/postgresql/15/bin/postgres"
NCHAN = "/usr/lib/nginx/modules/ngx_nchan_module.so"


class Peers:
    def __init__(self, folder):
        """`folder` has relay.pem, relay.key and authority.pem, as `postrider dev` makes them."""
        self.folder = folder
        self.certificate, self.key = folder / "relay.pem", folder / "relay.key"

    @contextlib.contextmanager
    def nghttpd(self, tokens):
        files = self.folder / "www/3/device"
        files.mkdir(parents=True, exist_ok=True)
        for token in tokens:
            (files / token).touch()
        port = free_port()
        with self.serving(port, "nghttpd", "--workers=1", "--max-concurrent-streams=1000",
                          f"--htdocs={self.folder / 'www'}", "--address=127.0.0.1", port, self.key,
                          self.certificate) as server:
            yield server.pid, port

    @contextlib.contextmanager
    def nginx(self, locations="location / { return 200; }", modules=""):
        port = free_port()
        configuration = self.file("nginx.conf", f"""
            {modules}
            daemon off; master_process off; worker_processes 1; pid {self.folder}/nginx.pid; error_log /dev/null;
            events {{ worker_connections 20000; }}
            http {{
                access_log off; keepalive_requests 1000000000; keepalive_timeout 1h; http2_max_concurrent_streams 1000;
                client_body_temp_path {self.folder}/body;
                server {{
                    listen 127.0.0.1:{port} ssl http2 backlog=4096; ssl_session_tickets off; ssl_protocols TLSv1.3;
                    ssl_certificate {self.certificate}; ssl_certificate_key {self.key};
                    {locations}
                }}
            }}""")
        with self.serving(port, "/usr/sbin/nginx", "-c", configuration) as server:
            yield server.pid, port

    def nchan(self):
        """Stores nothing for absent subscribers, because every subscriber is connected."""
        return self.nginx("""
            location ~ ^/write/(.+)$ { nchan_publisher; nchan_channel_id $1; nchan_store_messages off; }
            location ~ ^/read/(.+)$ { nchan_subscriber eventsource; nchan_channel_id $1; }
            """, modules=f"load_module {NCHAN};")

    @contextlib.contextmanager
    def mosquitto(self):
        port = free_port()
        configuration = self.file("mosquitto.conf", f"""
            user {getpass.getuser()}
            persistence false
            log_dest none
            max_queued_messages 0
            max_inflight_messages 0
            set_tcp_nodelay true
            listener {port} 127.0.0.1
            allow_anonymous true
            certfile {self.certificate}
            keyfile {self.key}
            """)
        with self.serving(port, "mosquitto", "-c", configuration) as server:
            yield server.pid, port

    @contextlib.contextmanager
    def redis(self):
        port = free_port()
        # Each begins without data: a server that reads old data refuses connections meanwhile.
        shutil.rmtree(self.folder / "appendonlydir", ignore_errors=True)
        with self.serving(port, "redis-server", "--port", 0, "--tls-port", port, "--bind", "127.0.0.1",
                          "--tls-auth-clients", "no", "--tls-cert-file", self.certificate, "--tls-key-file", self.key,
                          "--appendonly", "yes", "--appendfsync", "always", "--save", "", "--dir",
                          self.folder) as server:
            yield server.pid, port

    @contextlib.contextmanager
    def postgres(self):
        """Yields the connection string of an empty database, whose server has Debian's settings and keeps what it commits.
        It refuses to run as root, and then gets a folder of its own user's."""
        with tempfile.TemporaryDirectory(prefix="pg-") as folder:
            user = []
            if os.getuid() == 0:
                shutil.chown(folder, "postgres")
                user = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
            run(*user, Path(POSTGRES).with_name("initdb"), f"--pgdata={folder}/data", "--username=postgres",
                "--encoding=UTF8", "--locale=C", "--auth=trust")
            log = self.folder / "peer.log"
            with log.open("w") as file:
                server = start(*user, POSTGRES, "-D", f"{folder}/data", "-c", "listen_addresses=", "-c",
                               f"unix_socket_directories={folder}", pinned=SERVER, stdout=file, stderr=subprocess.STDOUT)
            try:
                self.wait_for_postgres(folder, server, log)
                yield f"postgresql://postgres@/postgres?host={folder.replace('/', '%2F')}"
            finally:
                stop(server)

    @staticmethod
    def wait_for_postgres(folder, server, log):
        for _ in range(200):
            if finished(Path(POSTGRES).with_name("pg_isready"), "--host", folder)[0] == 0:
                return
            if server.poll() is not None:
                break
            time.sleep(0.05)
        sys.exit(f"PostgreSQL does not start: {last_line(log)}")

    def file(self, name, text):
        path = self.folder / name
        path.write_text(textwrap.dedent(text).strip() + "\n")
        return path

    @contextlib.contextmanager
    def serving(self, port, *words):
        log = self.folder / "peer.log"
        with log.open("w") as file:
            server = start(*words, pinned=SERVER, stdout=file, stderr=subprocess.STDOUT)
        try:
            wait_for(port, server, Path(words[0]).name, log)
            yield server
        finally:
            stop(server)
