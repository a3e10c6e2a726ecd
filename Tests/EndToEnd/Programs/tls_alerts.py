"""Records of TLS 1.3 that break the rules, sent after the handshake by tlslite-ng, and the alert that comes back: from the
relay, whose records are its own, and from `openssl s_server` for comparison.

usage: tls_alerts.py RELAY.json
"""

import subprocess
import sys
import threading
from pathlib import Path

from tlslite.api import HandshakeSettings, TLSConnection
from tlslite.constants import AlertDescription, ContentType
from tlslite.errors import TLSAbruptCloseError, TLSRemoteAlert
from tlslite.messages import Message

from relay import Relay, require, say
from wire import connect

ALERT, HANDSHAKE, DATA = ContentType.alert, ContentType.handshake, ContentType.application_data
UPDATE = bytes([24, 0, 0, 1])
MOST = 2**14


def inside(*pieces):
    """Records with this inside, sealed: content, its type, padding."""
    def send(connection):
        records = connection._recordLayer
        for piece in pieces:
            sealed = records._encryptThenSeal(bytearray(piece), DATA)
            for _ in records._recordSocket.send(Message(DATA, sealed)):
                pass
    return send


def outside(kind, payload):
    """A record as it is."""
    def send(connection):
        for _ in connection._recordLayer._recordSocket.send(Message(kind, bytearray(payload))):
            pass
    return send


def twice(connection):
    """A record that is sent, and sent again."""
    sealed = connection._recordLayer._encryptThenSeal(bytearray([DATA]), DATA)
    for _ in range(2):
        outside(DATA, sealed)(connection)


def changed(connection):
    """A record with a byte that is not the one it was sealed with."""
    sealed = connection._recordLayer._encryptThenSeal(bytearray(b"x" + bytes([DATA])), DATA)
    sealed[0] ^= 1
    outside(DATA, sealed)(connection)


def updates_in_pieces(connection):
    """A KeyUpdate in three records; what follows is sealed with the new key."""
    inside(UPDATE[:1] + b"\x16", UPDATE[1:] + b"\x16", b"\0\x16")(connection)
    session = connection.session
    # The one who receives it is the one whose key the library changes with this.
    session.cl_app_secret, session.sr_app_secret = connection._recordLayer.calcTLS1_3KeyUpdate_reciever(
        session.cipherSuite, session.cl_app_secret, session.sr_app_secret)


# What is sent, RFC 8446's alert for it, and OpenSSL 3.0's where it has another.
CASES = [
    ("a KeyUpdate with the request 2 (4.6.3)", inside(UPDATE + b"\x02\x16"), "illegal_parameter"),
    ("a KeyUpdate with the request 255 (4.6.3)", inside(UPDATE + b"\xff\x16"), "illegal_parameter"),
    ("a KeyUpdate in pieces with the request 2 (4.6.3)", inside(UPDATE[:2] + b"\x16", UPDATE[2:] + b"\x02\x16"),
     "illegal_parameter"),
    ("a KeyUpdate of no bytes (6.2)", inside(b"\x18\0\0\0\x16"), "decode_error"),
    ("a KeyUpdate of two bytes (6.2)", inside(b"\x18\0\0\x02\0\0\x16"), "decode_error", "illegal_parameter"),
    ("two KeyUpdates in a record (5.1)", inside((UPDATE + b"\0") * 2 + b"\x16"), "unexpected_message"),
    ("content between the pieces of a KeyUpdate (5.1)", inside(UPDATE + b"\x16", b"x\x17"), "unexpected_message"),
    ("a ClientHello after the handshake (4.1.2)", inside(b"\x01\0\0\0\x16"), "unexpected_message"),
    ("a Certificate that nobody has asked for (4.6.2)", inside(b"\x0b\0\0\x04\0\0\0\0\x16"), "unexpected_message"),
    ("a second Finished (4)", inside(b"\x14\0\0\x20" + bytes(32) + b"\x16"), "unexpected_message"),
    ("an empty handshake record (5.4)", inside(b"\x16"), "unexpected_message"),
    ("an empty alert record (5.4)", inside(b"\x15"), "unexpected_message"),
    ("an alert of one byte (6)", inside(b"\x01\x15"), "decode_error", "unexpected_message"),
    ("an alert of three bytes (6)", inside(b"\x01\0\0\x15"), "decode_error", "unexpected_message"),
    ("a record of padding alone (5.4)", inside(b"\0\0\0"), "unexpected_message"),
    ("a record that holds nothing, not even a type (5.4)", inside(b""), "unexpected_message", "bad_record_mac"),
    ("a content type that nobody knows (5)", inside(b"x\x63"), "unexpected_message"),
    ("change_cipher_spec, protected (5)", inside(b"\x01\x14"), "unexpected_message"),
    ("content in the clear (5)", outside(HANDSHAKE, b"\x01\0\0\0"), "unexpected_message"),
    ("an alert in the clear (5)", outside(ALERT, b"\x02\x28"), "unexpected_message"),
    ("a record that was changed (5.2)", changed, "bad_record_mac"),
    ("a record that comes again (5.3)", twice, "bad_record_mac"),
    ("a record that is shorter than a tag (5.2)", outside(DATA, bytes(15)), "bad_record_mac"),
    ("a record of 2^14 + 257 bytes (5.2)", outside(DATA, bytes(MOST + 257)), "record_overflow"),
    ("content of 2^14 + 1 bytes (5.1)", inside(bytes([1]) * (MOST + 1) + b"\x17"), "record_overflow"),
    ("content that padding makes too long (5.4)", inside(bytes([1]) * MOST + b"\x17" + bytes(9)), "record_overflow",
     "nothing"),
]

# What is to be borne: the connection goes on, or ends in order.
BORNE = [
    ("a KeyUpdate in pieces (5.1)", updates_in_pieces),
    ("padded content of the greatest length (5.4)", inside(bytes([1]) * (MOST - 9) + b"\x17" + bytes(9))),
    ("empty content (5.1)", inside(b"\x17")),
    ("user_canceled (6.1)", inside(b"\x01\x5a\x15")),
    ("close_notify of the level fatal (6)", inside(b"\x02\0\x15")),
]


def shake_hands(endpoint):
    connection = TLSConnection(connect(endpoint))
    settings = HandshakeSettings()
    settings.minVersion = settings.maxVersion = (3, 4)
    # Would bind the records of a server that granted it (RFC 8449).
    settings.record_size_limit = 512
    connection.handshakeClientCert(settings=settings, alpn=[bytearray(b"h2")], serverName="localhost")
    require(connection.version == (3, 4), f"TLS {connection.version} is spoken")
    require(connection._peer_record_size_limit is None, "record_size_limit is granted")
    return connection


def alert_after(endpoint, send):
    """The alert that comes when this was sent, and close_notify behind it; "nothing" where there is none."""
    connection = shake_hands(endpoint)
    try:
        send(connection)
        inside(b"\x01\0\x15")(connection)
        while connection.read(max=65_536, min=1):
            pass
        return "nothing"
    except TLSRemoteAlert as alert:
        return AlertDescription.toStr(alert.description)
    except TLSAbruptCloseError:
        return "nothing"
    finally:
        connection.sock.close()


def reference(relay):
    """OpenSSL's own server, and where it listens."""
    certificate = Path(relay.ca).with_name("relay.pem")
    process = subprocess.Popen(
        ["openssl", "s_server", "-accept", "127.0.0.1:0", "-tls1_3", "-alpn", "h2", "-cert", certificate, "-key",
         certificate.with_name("relay.key")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        errors="replace")
    for line in process.stdout:
        if line.startswith("ACCEPT "):
            # What it goes on to write must not make it wait.
            threading.Thread(target=process.stdout.read, daemon=True).start()
            return process, ("127.0.0.1", int(line.rsplit(":", 1)[1]))
    sys.exit("openssl s_server does not listen")


def main(relay):
    process, openssl = reference(relay)
    try:
        wrong = []
        for title, send, ours, *theirs in CASES:
            for name, endpoint, expected in (
                    ("the relay", relay.device_endpoint, ours), ("OpenSSL", openssl, theirs[0] if theirs else ours)):
                if (alert := alert_after(endpoint, send)) != expected:
                    wrong.append(f"{title}: {name} answers {alert}, not {expected}")
        for title, send in BORNE:
            for name, endpoint in (("the relay", relay.device_endpoint), ("OpenSSL", openssl)):
                if (alert := alert_after(endpoint, send)) != "nothing":
                    wrong.append(f"{title}: {name} answers {alert}")
    finally:
        process.kill()
        process.wait()
    require(not wrong, "\n".join(wrong))
    say(f"{len(CASES)} violations and {len(BORNE)} others are answered as RFC 8446 has it")


main(Relay.described_in(sys.argv[1]))
