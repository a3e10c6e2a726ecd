"""An authority, and certificates under it that are issued one after the other into the same two files."""

import datetime
import ipaddress

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID


class Paper:
    def __init__(self, folder):
        self.authority = folder / "authority.pem"
        self.certificate = folder / "relay.pem"
        self.key = folder / "relay.key"
        self._authority_key = ec.generate_private_key(ec.SECP256R1())
        self._authority_name = self._name("Test authority")
        root = self._builder(self._authority_name, self._authority_key) \
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True) \
            .sign(self._authority_key, hashes.SHA256())
        self.authority.write_bytes(root.public_bytes(serialization.Encoding.PEM))

    def issue(self, name):
        """A new certificate and its key, in the place of the old ones."""
        key = ec.generate_private_key(ec.SECP256R1())
        addresses = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        leaf = self._builder(self._name(name), key) \
            .add_extension(x509.SubjectAlternativeName(addresses), critical=False) \
            .sign(self._authority_key, hashes.SHA256())
        self.certificate.write_bytes(leaf.public_bytes(serialization.Encoding.PEM))
        self._write(key)

    def issue_to_provider(self, topic):
        """The file of a provider's certificate and its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(NameOID.USER_ID, topic), x509.NameAttribute(NameOID.COMMON_NAME, topic)])
        leaf = self._builder(name, key) \
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False) \
            .sign(self._authority_key, hashes.SHA256())
        file = self.certificate.with_name("provider.pem")
        file.write_bytes(leaf.public_bytes(serialization.Encoding.PEM) + self._text(key))
        return file

    def stray_key(self):
        """A key that belongs to no certificate."""
        self._write(ec.generate_private_key(ec.SECP256R1()))

    def _write(self, key):
        self.key.touch(mode=0o600)
        self.key.write_bytes(self._text(key))

    @staticmethod
    def _text(key):
        return key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())

    @staticmethod
    def _name(text):
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])

    def _builder(self, name, key):
        now = datetime.datetime.now(datetime.timezone.utc)
        day = datetime.timedelta(days=1)
        return x509.CertificateBuilder().subject_name(name).issuer_name(self._authority_name) \
            .public_key(key.public_key()).serial_number(x509.random_serial_number()) \
            .not_valid_before(now - day).not_valid_after(now + day)
