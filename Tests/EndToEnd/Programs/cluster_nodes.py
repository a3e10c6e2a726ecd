"""The nodes of a cluster and a load balancer before them, as programs that a test starts."""

import asyncio
import datetime
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from networks import LOOPBACK
from relay import lasting_ports

NGINX = """
load_module /usr/lib/nginx/modules/ngx_stream_module.so;
daemon off;
{user}
error_log stderr;
pid {folder}/nginx.pid;
events {{ worker_connections 4096; }}
"""
# No node is away from the others for longer than a lease and what a loaded machine adds to it.
PATIENCE_SECONDS = 60


def fail(sentence):
    """Ends the program with a sentence, at once: tasks of stock clients may go on for a while when they are cancelled.

    What this program has started ends with it.
    """
    print(sentence, file=sys.stderr, flush=True)
    os._exit(1)


def require(condition, sentence):
    """Ends the program with a sentence if a condition is false."""
    if not condition:
        fail(sentence)


class Node:
    """One relay of the cluster."""

    def __init__(self, program, database, folder, name, network=LOOPBACK, place=None, certificates="nodes"):
        self.program = program
        self.name = name
        self.network = network
        self.host = network.host(name)
        self.folder = folder / (place or name)
        self.folder.mkdir()
        self.control = f"unix:{self.folder}/control"
        self.provider_port, self.device_port, self.cluster_port = lasting_ports(3)
        self.arguments = [
            "serve",
            "--store", network.database(database),
            "--accept-unsafe-database", "true",
            "--data-directory", f"{self.folder}/data",
            "--certificate", f"{folder}/certificates/relay.pem",
            "--private-key", f"{folder}/certificates/relay.key",
            "--provider-address", f"{self.host}:{self.provider_port}",
            "--device-address", f"{self.host}:{self.device_port}",
            "--control-address", self.control,
            "--load-balancers", network.balancer,
            "--node-name", name,
            "--cluster-address", f"{self.host}:{self.cluster_port}",
            "--cluster-certificate", f"{folder}/{certificates}/node-{name}.pem",
            "--cluster-key", f"{folder}/{certificates}/node-{name}.key",
            "--cluster-trust", f"{folder}/{certificates}/authority.pem",
            "--metrics-address", "off",
            "--log-level", "info",
        ]
        self.process = None
        self.starts = 0

    async def start(self):
        self.starts += 1
        log = open(f"{self.folder}/log-{self.starts}", "wb")
        self.process = await asyncio.create_subprocess_exec(
            *self.network.within(self.name), self.program, *self.arguments, stdout=log, stderr=subprocess.STDOUT)

    async def has_logged(self, words):
        for _ in range(PATIENCE_SECONDS * 20):
            if words in self.log:
                return
            require(self.process.returncode is None, f"node {self.name} has ended:\n{self.log}")
            await asyncio.sleep(0.05)
        fail(f"node {self.name} has not logged '{words}':\n{self.log}")

    @property
    def log(self):
        return Path(f"{self.folder}/log-{self.starts}").read_text()

    async def operate(self, *arguments):
        """Runs an operator's command for this node, and returns what it prints."""
        process = await asyncio.create_subprocess_exec(
            self.program, *arguments, "--control", self.control, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        output, _ = await process.communicate()
        require(process.returncode == 0, f"{arguments} at node {self.name}: {output.decode()}\n{self.log}")
        return output.decode()

    async def ask(self, *arguments):
        """Runs an operator's command for this node, and returns its exit code, its answer and its complaints."""
        process = await asyncio.create_subprocess_exec(
            self.program, *arguments, "--json", "--control", self.control, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)
        output, complaints = await process.communicate()
        return process.returncode, json.loads(output) if output else None, complaints.decode()

    async def partitions(self):
        """Returns what the node serves, and the nodes that it sees."""
        told = json.loads(await self.operate("nodes", "list", "--json"))
        return told["served"], {node["name"]: node["partitions"] for node in told["nodes"]}, told

    @property
    def runs(self):
        return self.process.returncode is None


def make_expired(folder, name):
    """Makes a node's certificate by the authority in a folder, and lets it have expired a day ago."""
    issuer = x509.load_pem_x509_certificate((folder / "authority.pem").read_bytes())
    signer = serialization.load_pem_private_key((folder / "authority.key").read_bytes(), None)
    key = ec.generate_private_key(ec.SECP256R1())
    now = datetime.datetime.now(datetime.timezone.utc)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)]))
        .issuer_name(issuer.subject).public_key(key.public_key()).serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=2)).not_valid_after(now - datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), False)
        .sign(signer, hashes.SHA256()))
    file = folder / f"node-{name}.key"
    file.write_bytes(key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
    file.chmod(0o600)
    (folder / f"node-{name}.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))


class LoadBalancer:
    """A stock load balancer with the settings of docs/operate/cluster.md, but for addresses."""

    def __init__(self, kind, nodes, folder, network):
        self.kind = kind
        self.network = network
        self.host = network.clients
        self.device_port, self.provider_port = lasting_ports(2)
        title = {"haproxy": "# HAProxy", "nginx": "# nginx"}[kind]
        page = Path(__file__).parents[3] / "docs/operate/cluster.md"
        block = next(block for block in page.read_text().split("```")[1::2] if block.strip().startswith(title))
        for port, here, at_nodes in [
            (5223, self.device_port, [f"{node.host}:{node.device_port}" for node in nodes]),
            (2197, self.provider_port, [f"{node.host}:{node.provider_port}" for node in nodes]),
        ]:
            for number, there in enumerate(at_nodes, 1):
                block = block.replace(f"relay-{number}.example:{port}", there)
            block = block.replace(f"bind :{port}", f"bind {self.host}:{here}")
            block = block.replace(f"listen {port};", f"listen {self.host}:{here};")
        require(".example" not in block, f"the page has other nodes than the test:\n{block}")
        # Others on this machine reach the nodes without a load balancer.
        block = block.replace("send-proxy-v2", f"source {network.balancer} send-proxy-v2")
        block = block.replace("proxy_protocol on;", f"proxy_protocol on; proxy_bind {network.balancer};")
        self.file = folder / f"{kind}.conf"
        if kind == "nginx":
            block = NGINX.format(folder=folder, user="user root;" if os.geteuid() == 0 else "") + block
        self.file.write_text(block)

    async def start(self):
        arguments = {
            "haproxy": ["/usr/sbin/haproxy", "-db", "-f", self.file],
            "nginx": ["/usr/sbin/nginx", "-c", self.file, "-p", self.file.parent],
        }[self.kind]
        log = open(self.file.with_suffix(".log"), "wb")
        self.process = await asyncio.create_subprocess_exec(
            *self.network.within("clients"), *arguments, stderr=log)
        for port in self.device_port, self.provider_port:
            for _ in range(PATIENCE_SECONDS * 20):
                require(self.process.returncode is None, f"{self.kind} has ended")
                try:
                    _, writer = await asyncio.open_connection(self.host, port)
                    writer.close()
                    break
                except OSError:
                    await asyncio.sleep(0.05)

    async def end(self):
        self.process.send_signal(signal.SIGTERM)
        await self.process.wait()
