"""Providers that show a client certificate: each rule of the contract's section 3.3, on both versions of TLS.

usage: certificates.py RELAY.json AUTHORITY.key TOKEN
"""

import datetime
import json
import ssl
import sys
import tempfile
from pathlib import Path

import h2.events
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from relay import Relay, require, say
from wire import Client

BODY = b'{"aps":{"alert":"by certificate"}}'
DEVELOPMENT, PRODUCTION, TOPICS = 1, 2, 6
NULL = b"\x05\x00"
DAY = datetime.timedelta(days=1)
VERSIONS = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3


def element(tag, content):
    """An element of DER with less than 128 bytes."""
    return bytes([tag, len(content)]) + content


def listing(*topics):
    """The extension that lists topics, each with one label."""
    label = element(0x30, element(12, b"app"))
    return element(0x30, b"".join(element(12, topic.encode()) + label for topic in topics))


class Authority:
    """Issues what a provider may show."""

    def __init__(self, certificate, key, folder):
        self.certificate, self.key, self.folder = certificate, key, Path(folder)
        self.issued = 0

    @classmethod
    def stranger(cls, like, folder):
        """One of the same name that nobody trusts."""
        key = ec.generate_private_key(ec.SECP256R1())
        now = datetime.datetime.now(datetime.UTC)
        certificate = (
            x509.CertificateBuilder().subject_name(like.certificate.subject).issuer_name(like.certificate.subject)
            .public_key(key.public_key()).serial_number(x509.random_serial_number())
            .not_valid_before(now - DAY).not_valid_after(now + DAY)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True).sign(key, hashes.SHA256()))
        return cls(certificate, key, folder)

    def issue(self, identifier, extensions, usage=ExtendedKeyUsageOID.CLIENT_AUTH, ends=DAY):
        """The file of a certificate and its key; `extensions` by the last number of Apple's identifiers."""
        key = ec.generate_private_key(ec.SECP256R1())
        now = datetime.datetime.now(datetime.UTC)
        subject = [x509.NameAttribute(NameOID.COMMON_NAME, "a provider of the tests")]
        if identifier:
            subject.append(x509.NameAttribute(NameOID.USER_ID, identifier))
        builder = (
            x509.CertificateBuilder().subject_name(x509.Name(subject)).issuer_name(self.certificate.subject)
            .public_key(key.public_key()).serial_number(x509.random_serial_number())
            .not_valid_before(now - 3 * DAY).not_valid_after(now + ends)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False))
        for number, value in extensions.items():
            kind = x509.ObjectIdentifier(f"1.2.840.113635.100.6.3.{number}")
            builder = builder.add_extension(x509.UnrecognizedExtension(kind, value), critical=False)
        self.issued += 1
        file = self.folder / f"{self.issued}.pem"
        file.write_bytes(
            builder.sign(self.key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
            + key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
        return file


class Provider:
    """One connection of a provider."""

    def __init__(self, relay, token, certificate, version):
        self.relay, self.token = relay, token
        self.client = Client(relay.provider_endpoint, relay.ca, certificate=certificate, version=version)

    def push(self, **changes):
        """The status of a push, and its reason."""
        fields = {":method": "POST", ":scheme": "https", ":authority": "localhost",
                  ":path": f"/3/device/{self.token}", "apns-topic": self.relay.topic, "apns-push-type": "alert"}
        fields.update({name.replace("_", "-"): value for name, value in changes.items()})
        status, _, body, _ = self.client.request([field for field in fields.items() if field[1] is not None], BODY)
        return status, json.loads(body)["reason"] if body else None

    def expect(self, what, status, reason, **changes):
        answer = self.push(**changes)
        require(answer == (status, reason), f"{what} gets {answer}")

    def farewell(self):
        """What the relay says without being asked: SETTINGS, a GOAWAY, the end. The reason in the GOAWAY."""
        events = [event for event in self.client.until_closed()
                  if isinstance(event, (h2.events.RemoteSettingsChanged, h2.events.ConnectionTerminated))]
        require(len(events) == 2 and isinstance(events[0], h2.events.RemoteSettingsChanged), f"{events}")
        goaway = events[1]
        require((goaway.error_code, goaway.last_stream_id) == (0, 0), f"{goaway}")
        return json.loads(goaway.additional_data)["reason"]


def good(relay, token, authority, version):
    both = {DEVELOPMENT: NULL, PRODUCTION: NULL}
    several = both | {TOPICS: listing(relay.topic, relay.topic + ".voip")}

    provider = Provider(relay, token, authority.issue(relay.topic, both), version)
    provider.expect("a push", 200, None)
    provider.expect("a push without topic", 200, None, apns_topic=None)
    provider.expect("a push with a token that is none", 200, None, authorization="bearer a.b.c")
    provider.expect("a push for another topic", 400, "TopicDisallowed", apns_topic=relay.topic + ".voip")
    provider.expect("a push for an app of nobody", 400, "TopicDisallowed", apns_topic="com.example.nobody")
    say("a certificate of one topic pushes to it, with or without naming it, and to nothing else")

    provider = Provider(relay, token, authority.issue(relay.topic, several), version)
    provider.expect("a push for the first topic", 200, None)
    provider.expect("a push for the second", 400, "DeviceTokenNotForTopic", apns_topic=relay.topic + ".voip")
    provider.expect("a push without topic", 400, "MissingTopic", apns_topic=None)
    provider.expect("a push for a third", 400, "TopicDisallowed", apns_topic=relay.topic + ".complication")
    provider.expect("a location push", 400, "TopicDisallowed", apns_topic=relay.topic + ".location-query",
                    apns_push_type="location")
    say("a certificate of several topics pushes to each of them, if it is named, and never asks for a location")

    for extensions in {PRODUCTION: NULL}, {}:
        Provider(relay, token, authority.issue(relay.topic, extensions), version).expect("a push", 200, None)
    say("a certificate for production, or for no environment, is good in production")

    provider = Provider(relay, token, None, version)
    provider.expect("a push without certificate or token", 403, "MissingProviderToken")
    say("a provider that shows no certificate is asked for its token")


def bad(relay, token, authority, stranger, version):
    both = {DEVELOPMENT: NULL, PRODUCTION: NULL}
    for what, file, reason in (
        ("of another authority", stranger.issue(relay.topic, both), "BadCertificate"),
        ("that is past its end", authority.issue(relay.topic, both, ends=-DAY), "BadCertificate"),
        ("of a server", authority.issue(relay.topic, both, usage=ExtendedKeyUsageOID.SERVER_AUTH), "BadCertificate"),
        ("without a topic", authority.issue(None, both), "BadCertificate"),
        ("with a list that is none", authority.issue(relay.topic, both | {TOPICS: b"\x30\x05"}), "BadCertificate"),
        ("for development", authority.issue(relay.topic, {DEVELOPMENT: NULL}), "BadCertificateEnvironment"),
    ):
        said = Provider(relay, token, file, version).farewell()
        require(said == reason, f"a certificate {what} gets {said}")
        say(f"a certificate {what} is told {reason}, and let go")


def main(relay, key, token):
    certificate = x509.load_pem_x509_certificate(Path(relay.ca).read_bytes())
    with tempfile.TemporaryDirectory() as folder:
        authority = Authority(
            certificate, serialization.load_pem_private_key(Path(key).read_bytes(), None), folder)
        with tempfile.TemporaryDirectory() as elsewhere:
            stranger = Authority.stranger(authority, elsewhere)
            for version in VERSIONS:
                good(relay, token, authority, version)
                bad(relay, token, authority, stranger, version)
    say("all is as it should be")


main(Relay.described_in(sys.argv[1]), *sys.argv[2:])
