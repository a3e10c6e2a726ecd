"""A receiver of OTLP over HTTP, which reads requests with OpenTelemetry's published schema and prints one line for each span.

usage: collector.py [--port N] [--status N] [--silent]

It prints `port N`, then for each span JSON with its name, kind, identifiers, times and attributes. With --status it answers that and
prints nothing; with --silent it never answers.
"""

import argparse
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.trace.v1 import trace_service_pb2
from opentelemetry.proto.trace.v1 import trace_pb2
from relay import say

parser = argparse.ArgumentParser()
parser.add_argument("--port", type=int, default=0)
parser.add_argument("--status", type=int, default=200)
parser.add_argument("--silent", action="store_true")
arguments = parser.parse_args()
# A line of one thread is not to end within that of another.
TURN = threading.Lock()


def attributes(pairs):
    return {pair.key: getattr(pair.value, pair.value.WhichOneof("value")) for pair in pairs}


def lines(body):
    request = trace_service_pb2.ExportTraceServiceRequest.FromString(body)
    for resource in request.resource_spans:
        service = attributes(resource.resource.attributes)["service.name"]
        for scope in resource.scope_spans:
            for span in scope.spans:
                yield json.dumps({
                    "service": service,
                    "name": span.name,
                    "kind": trace_pb2.Span.SpanKind.Name(span.kind).removeprefix("SPAN_KIND_"),
                    "trace": span.trace_id.hex(),
                    "span": span.span_id.hex(),
                    "parent": span.parent_span_id.hex(),
                    "state": span.trace_state,
                    "milliseconds": (span.end_time_unix_nano - span.start_time_unix_nano) / 1e6,
                    "failure": span.status.message,
                    "attributes": attributes(span.attributes),
                })


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        if arguments.silent:
            threading.Event().wait()
        isRight = self.path == "/v1/traces" and self.headers["content-type"] == "application/x-protobuf"
        if arguments.status == 200 and isRight:
            with TURN:
                for line in lines(body):
                    say(line)
        answer = trace_service_pb2.ExportTraceServiceResponse().SerializeToString()
        self.send_response(arguments.status if isRight else 404)
        self.send_header("content-type", "application/x-protobuf")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", arguments.port), Handler)
server.daemon_threads = True
say(f"port {server.server_port}")
server.serve_forever()
