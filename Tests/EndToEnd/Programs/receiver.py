"""A receiver of callbacks, which checks their signature by itself (Standard Webhooks) and prints one line for each request.

usage: receiver.py SECRET-FILE [--port N] [--status N] [--silent]

It prints `port N`, then `EVENT APNS-ID WEBHOOK-ID` for each request with a good signature, and `wrong` for any other. With --status it answers that;
with --silent it never answers.
"""

import argparse
import base64
import hashlib
import hmac
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from relay import say

parser = argparse.ArgumentParser()
parser.add_argument("secret")
parser.add_argument("--port", type=int, default=0)
parser.add_argument("--status", type=int, default=204)
parser.add_argument("--silent", action="store_true")
arguments = parser.parse_args()
# A line of one thread is not to end within that of another.
TURN = threading.Lock()
KEY = base64.b64decode(Path(arguments.secret).read_text().strip().removeprefix("whsec_"))


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        identity, seconds = self.headers["webhook-id"], self.headers["webhook-timestamp"]
        code = hmac.new(KEY, f"{identity}.{seconds}.".encode() + body, hashlib.sha256).digest()
        line = "wrong"
        if self.headers["webhook-signature"] == "v1," + base64.b64encode(code).decode():
            content = json.loads(body)
            line = f"{content['type']} {content['data']['apns-id']} {identity}"
        with TURN:
            say(line)
        if arguments.silent:
            threading.Event().wait()
        self.send_response(arguments.status)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", arguments.port), Handler)
server.daemon_threads = True
say(f"port {server.server_port}")
server.serve_forever()
