"""Requests to a relay's control socket, which speaks HTTP/2 without TLS."""

import json
import socket

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import ConnectionTerminated, DataReceived, ResponseReceived, StreamEnded, StreamReset


class Refused(Exception):
    """The relay refused a request; the text is its own sentence."""


def request(path, method, target, body=b"", timeout=10.0):
    """Makes one request on its own connection, and returns the bytes of the answer."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(timeout)
        connection.connect(path)
        streams = H2Connection(H2Configuration(client_side=True, header_encoding="utf-8"))
        streams.initiate_connection()
        head = [(":method", method), (":scheme", "http"), (":authority", "localhost"), (":path", target)]
        streams.send_headers(1, head, end_stream=not body)
        connection.sendall(streams.data_to_send())
        status, answer = _exchange(connection, streams, body)
    if status == 200:
        return answer
    try:
        sentence = json.loads(answer)["sentence"]
    except (ValueError, KeyError, TypeError):
        sentence = f"The relay answered {status} and did not say why."
    raise Refused(sentence)


def _exchange(connection, streams, body):
    status, answer = None, bytearray()
    while True:
        body = _send(connection, streams, body)
        received = connection.recv(65536)
        if not received:
            raise ConnectionError("The relay ended the connection: only root and its own user may use it.")
        for event in streams.receive_data(received):
            if isinstance(event, ResponseReceived):
                status = int(dict(event.headers)[":status"])
            elif isinstance(event, DataReceived):
                answer += event.data
                streams.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            elif isinstance(event, StreamEnded):
                return status, bytes(answer)
            elif isinstance(event, (StreamReset, ConnectionTerminated)):
                raise ConnectionError("The relay did not answer the request.")
        connection.sendall(streams.data_to_send())


def _send(connection, streams, body):
    """Sends as much of the body as the relay's window permits, and returns the rest."""
    while body:
        size = min(len(body), streams.local_flow_control_window(1), streams.max_outbound_frame_size)
        if size == 0:
            break
        streams.send_data(1, body[:size], end_stream=size == len(body))
        body = body[size:]
    connection.sendall(streams.data_to_send())
    return body
