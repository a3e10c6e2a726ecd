"""A blocking HTTP/2 client with h2 (PyPI) that can also do what no client should do."""

import socket
import ssl
from collections import defaultdict

import h2.connection
import h2.events

# Much longer than any deadline of the relay: a longer wait has failed.
PATIENCE_SECONDS = 60


def connect(endpoint):
    """Opens a TCP connection."""
    return socket.create_connection(endpoint, timeout=PATIENCE_SECONDS)


def closes(connection):
    """Returns everything that arrives until the other end closes."""
    received = b""
    try:
        while data := connection.recv(65536):
            received += data
    except (ConnectionResetError, ssl.SSLError):
        pass
    return received


class Client:
    """One connection. Requests are answered one after the other."""

    def __init__(self, endpoint, authority, alpn=("h2",), certificate=None, version=None):
        context = ssl.create_default_context(cafile=authority)
        if certificate:
            context.load_cert_chain(certificate)
        if version:
            context.minimum_version = context.maximum_version = version
        if alpn:
            context.set_alpn_protocols(alpn)
        self.socket = context.wrap_socket(connect(endpoint), server_hostname=endpoint[0])
        self.streams = h2.connection.H2Connection()
        self.streams.initiate_connection()
        self.events = defaultdict(list)
        self.flush()

    def flush(self):
        self.socket.sendall(self.streams.data_to_send())

    def begin(self, headers, body=b"", end=True):
        """Sends a request or its beginning, and returns its stream."""
        stream = self.streams.get_next_available_stream_id()
        self.streams.send_headers(stream, headers, end_stream=end and not body)
        size = self.streams.max_outbound_frame_size
        for start in range(0, len(body), size):
            is_last = start + size >= len(body)
            self.streams.send_data(stream, body[start : start + size], end_stream=end and is_last)
        self.flush()
        return stream

    def reset(self, stream):
        self.streams.reset_stream(stream)
        self.flush()

    def answer(self, stream):
        """Returns the status, the header fields, the body and the trailers of a stream's answer."""
        while not any(isinstance(event, h2.events.StreamEnded) for event in self.events[stream]):
            data = self.socket.recv(65536)
            if not data:
                raise ConnectionError("the relay closed the connection")
            for event in self.streams.receive_data(data):
                if isinstance(event, h2.events.StreamReset):
                    raise ConnectionError(f"the relay reset the stream: {event.error_code}")
                self.events[getattr(event, "stream_id", 0)].append(event)
            self.flush()
        head, trailers, body = {}, {}, b""
        for event in self.events[stream]:
            if isinstance(event, h2.events.ResponseReceived):
                head = {name.decode(): value.decode() for name, value in event.headers}
            elif isinstance(event, h2.events.DataReceived):
                body += event.data
                self.streams.acknowledge_received_data(event.flow_controlled_length, stream)
            elif isinstance(event, h2.events.TrailersReceived):
                trailers = {name.decode(): value.decode() for name, value in event.headers}
        return int(head.pop(":status")), head, body, trailers

    def until_closed(self):
        """Returns everything that arrives until the relay closes the connection."""
        events = []
        for data in iter(lambda: self.socket.recv(65536), b""):
            events += self.streams.receive_data(data)
        return events

    def request(self, headers, body=b""):
        return self.answer(self.begin(headers, body))

    def close(self):
        self.socket.close()
