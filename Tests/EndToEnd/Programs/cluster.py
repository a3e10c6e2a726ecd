"""Several nodes of one cluster behind a load balancer: stock providers and devices on all of them, and faults meanwhile.

usage: cluster.py POSTRIDER DATABASE FOLDER [--balancer haproxy|nginx] [--pushes N] [--devices N] [--fault FAULT]
                  [--minutes N [--seed N]]

Every push that is answered 200 arrives exactly once after de-duplication, whatever happens to one of the nodes:
kill       it is killed, and started again when others have its devices
pause      it is stopped for five seconds, as a virtual machine may be, and goes on
drain      it is drained, ended in order, and started again: no push is refused, besides what comes to it after its GOAWAY
namesake   another node of its name is started
strangers  nodes are started that the others cannot trust
outside    the test makes the trouble, such as with the database
"""

import argparse
import asyncio
import base64
import dataclasses
import datetime
import json
import logging
import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from uuid import UUID, uuid4

import grpc
from aioapns import NotificationRequest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from h2.exceptions import ProtocolError

from device import Device, Gone
from provider import make_provider
from relay import Relay, lasting_ports, require, say, until

TOPIC = "com.example.app"
KEY = "CLUSTERKEY"
TEAM = "CLUSTERTEAM"
HOST = "127.0.0.1"
# Linux has all of 127.0.0.0/8 on the loopback interface.
BALANCER = "127.0.0.9"
NGINX = """
load_module /usr/lib/nginx/modules/ngx_stream_module.so;
daemon off;
{user}
error_log stderr;
pid {folder}/nginx.pid;
events {{ worker_connections 4096; }}
"""
IN_FLIGHT = 50
# No node is away from the others for longer than a lease and what a loaded machine adds to it.
PATIENCE_SECONDS = 60


class Node:
    """One relay of the cluster."""

    def __init__(self, program, database, folder, name, place=None, certificates="nodes"):
        self.program = program
        self.name = name
        self.folder = folder / (place or name)
        self.folder.mkdir()
        self.control = f"unix:{self.folder}/control"
        self.provider_port, self.device_port, self.cluster_port = lasting_ports(3)
        self.arguments = [
            "serve",
            "--store", database,
            "--accept-unsafe-database", "true",
            "--data-directory", f"{self.folder}/data",
            "--certificate", f"{folder}/certificates/relay.pem",
            "--private-key", f"{folder}/certificates/relay.key",
            "--provider-address", f"{HOST}:{self.provider_port}",
            "--device-address", f"{HOST}:{self.device_port}",
            "--control-address", self.control,
            "--load-balancers", BALANCER,
            "--node-name", name,
            "--cluster-address", f"{HOST}:{self.cluster_port}",
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
            self.program, *self.arguments, stdout=log, stderr=subprocess.STDOUT)

    async def has_logged(self, words):
        for _ in range(PATIENCE_SECONDS * 20):
            if words in self.log:
                return
            require(self.process.returncode is None, f"node {self.name} has ended:\n{self.log}")
            await asyncio.sleep(0.05)
        sys.exit(f"node {self.name} has not logged '{words}':\n{self.log}")

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

    def __init__(self, kind, nodes, folder):
        self.kind = kind
        self.device_port, self.provider_port = lasting_ports(2)
        title = {"haproxy": "# HAProxy", "nginx": "# nginx"}[kind]
        page = Path(__file__).parents[3] / "docs/operate/cluster.md"
        block = next(block for block in page.read_text().split("```")[1::2] if block.strip().startswith(title))
        for port, here, at_nodes in [
            (5223, self.device_port, [node.device_port for node in nodes]),
            (2197, self.provider_port, [node.provider_port for node in nodes]),
        ]:
            for number, there in enumerate(at_nodes, 1):
                block = block.replace(f"relay-{number}.example:{port}", f"{HOST}:{there}")
            block = block.replace(f"bind :{port}", f"bind {HOST}:{here}")
            block = block.replace(f"listen {port};", f"listen {HOST}:{here};")
        require(".example" not in block, f"the page has other nodes than the test:\n{block}")
        # Others on this machine reach the nodes without a load balancer.
        block = block.replace("send-proxy-v2", f"source {BALANCER} send-proxy-v2")
        block = block.replace("proxy_protocol on;", f"proxy_protocol on; proxy_bind {BALANCER};")
        self.file = folder / f"{kind}.conf"
        if kind == "nginx":
            block = NGINX.format(folder=folder, user="user root;" if os.geteuid() == 0 else "") + block
        self.file.write_text(block)

    async def start(self):
        arguments = {
            "haproxy": ["/usr/sbin/haproxy", "-db", "-f", self.file],
            "nginx": ["/usr/sbin/nginx", "-c", self.file, "-p", self.file.parent],
        }[self.kind]
        self.process = await asyncio.create_subprocess_exec(*arguments)
        for port in self.device_port, self.provider_port:
            for _ in range(PATIENCE_SECONDS * 20):
                require(self.process.returncode is None, f"{self.kind} has ended")
                try:
                    _, writer = await asyncio.open_connection(HOST, port)
                    writer.close()
                    break
                except OSError:
                    await asyncio.sleep(0.05)

    async def end(self):
        self.process.send_signal(signal.SIGTERM)
        await self.process.wait()


class Cluster:
    def __init__(self, arguments):
        self.arguments = arguments
        self.folder = Path(arguments.folder)
        names = "abc"
        for kind, options in [("certificates", ["--name", HOST]), ("nodes", [x for n in names for x in ("--node", n)])]:
            subprocess.run(
                [arguments.program, "certificates", "make", str(self.folder / kind), *options],
                check=True, stdout=subprocess.DEVNULL)
        self.nodes = [Node(arguments.program, arguments.database, self.folder, name) for name in names]
        self.balancer = LoadBalancer(arguments.balancer, self.nodes, self.folder)
        self.accepted = 0
        # How many pushes got which answer, besides 200, and how often a connection ended under one.
        self.refused = {}
        self.retried = {}
        self.pushed = []
        self.stop = asyncio.Event()

    async def start(self):
        await asyncio.gather(*(node.start() for node in self.nodes))
        await asyncio.gather(*(node.has_logged("ready: ") for node in self.nodes))
        await self.is_even()
        say(f"{len(self.nodes)} nodes share the partitions")

    async def is_even(self):
        """Waits until every node that runs serves its part of the partitions."""
        running = [node for node in self.nodes if node.process.returncode is None]
        for _ in range(PATIENCE_SECONDS * 5):
            told = [await node.partitions() for node in running]
            served = [number for number, _, _ in told]
            linked = all(n.get("isLinked", True) for _, _, t in told for n in t["nodes"])
            if sum(served) == 1024 and max(served) - min(served) <= 1 and linked:
                return
            await asyncio.sleep(0.2)
        sys.exit(f"the partitions are not shared: {told}\n" + "\n".join(node.log for node in running))

    async def configure(self):
        """Adds a key, a topic and an enrolment key at the first node."""
        key = ec.generate_private_key(ec.SECP256R1())
        file = self.folder / f"AuthKey_{KEY}.p8"
        file.write_bytes(key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
        file.chmod(0o600)
        first = self.nodes[0]
        await first.operate("keys", "add", str(file), "--key-id", KEY, "--team-id", TEAM)
        await first.operate("topics", "add", TOPIC, "--team-id", TEAM)
        printed = await first.operate("enrolment-keys", "add", "all", "--json")
        enrolment_key = json.loads(printed)["key"]
        for node in self.nodes[1:]:
            require("all" in await node.operate("enrolment-keys", "list"), f"node {node.name} has no key")
        say("what was added at one node is known to the others")
        return Relay(
            provider_endpoint=(HOST, self.balancer.provider_port), development_endpoint=(HOST, 0),
            device_endpoint=(HOST, self.balancer.device_port), ca=str(self.folder / "certificates/authority.pem"),
            key=str(file), key_identifier=KEY, team=TEAM, topic=TOPIC, enrolment_key=enrolment_key)

    async def run(self):
        await self.start()
        relay = await self.configure()
        await self.balancer.start()
        self.devices = [Device(relay, f"device {number}") for number in range(self.arguments.devices)]
        self.pushed = [set() for _ in self.devices]
        await asyncio.gather(*(self.join(device) for device in self.devices))
        say(f"{len(self.devices)} devices are ready")
        await self.ask_everywhere()
        providers = [
            make_provider(dataclasses.replace(relay, provider_endpoint=(HOST, port)))
            for port in [self.balancer.provider_port, *(node.provider_port for node in self.nodes)]
        ]
        # Half of the devices are away until the end.
        stays = [asyncio.create_task(device.stay()) for device in self.devices[::2]]
        try:
            async with asyncio.TaskGroup() as group:
                for number, provider in enumerate(providers):
                    group.create_task(self.provide(provider, number))
                await self.make_trouble()
                self.stop.set()
        except* asyncio.CancelledError:
            pass
        say(f"{self.accepted} pushes were accepted; others got {self.refused}")
        stays += [asyncio.create_task(device.stay()) for device in self.devices[1::2]]
        for device, identities in zip(self.devices, self.pushed):
            for identity in identities:
                await asyncio.wait_for(device.has_had(identity), PATIENCE_SECONDS)
        await self.trace_everywhere()
        await self.broadcast(relay)
        for stay in stays:
            stay.cancel()
        self.check()
        for node in self.nodes:
            node.process.send_signal(signal.SIGTERM)
        codes = [await node.process.wait() for node in self.nodes]
        require(codes == [0] * len(codes), f"the nodes end with {codes}:\n" + "\n".join(n.log for n in self.nodes))
        await self.balancer.end()
        say("every node has ended in order")

    async def ask_everywhere(self, but=None):
        """Asks every node that runs about all of them. One that does not run is named, as long as it is a member."""
        for node in self.nodes:
            if node is but:
                continue
            code, status, complaints = await node.ask("status")
            names = [part["name"] for part in status["nodes"]]
            answered = [part["name"] for part in status["nodes"] if "status" in part]
            if but is None:
                require(code == 0 and answered == [node.name for node in self.nodes], f"{status} {complaints}")
                require(status["devices"] == len(self.devices), f"{status}")
                code, devices, _ = await node.ask("devices", "list")
                require(code == 0 and len(devices) == len(self.devices), f"{devices}")
            else:
                require(but.name not in answered, f"{status}")
                sentence = f"Node {but.name} has not answered"
                is_named = but.name in names
                require(is_named == (sentence in complaints) and code == (4 if is_named else 0), f"{status} {complaints}")
        say("any node speaks of all")

    async def trace_everywhere(self):
        """Finds the latest pushes at every node, and each by its identity."""
        for node in self.nodes:
            code, trace, complaints = await node.ask("trace", "--last", "30")
            require(code == 0 and len(trace["pushes"]) == 30, f"{trace} {complaints}")
            times = [push["acceptedAt"] for push in trace["pushes"]]
            require(times == sorted(times), f"{times}")
            for push in trace["pushes"][::10]:
                code, found, complaints = await node.ask("trace", push["identity"])
                nodes = [(other["identity"], other["node"]) for other in found["pushes"]]
                require(code == 0 and (push["identity"], push["node"]) in nodes, f"{push} {found} {complaints}")
        say("any node knows what became of a push")

    async def broadcast(self, relay):
        """Makes a channel at one node, and broadcasts at each of them: every device that stays connected gets all."""
        own = ["--ca", relay.ca, "--key-file", relay.key, "--key-id", KEY, "--team-id", TEAM, "--topic", TOPIC]
        places = [["--relay", f"{HOST}:{node.provider_port}"] for node in self.nodes]
        channel = (await self.command("channels", "create", *places[0], *own)).strip()
        name = base64.b64decode(channel)
        for device in self.devices:
            while True:
                try:
                    await device.subscribe(name)
                    break
                except RuntimeError:
                    # Another node decides about the app's channels by now.
                    await asyncio.sleep(0.1)
        for place in places:
            await self.command("send", "--channel", channel, "--payload", "{}", "--expiration", "0", *place, *own)
        for device in self.devices:
            async with device.arrived:
                await asyncio.wait_for(
                    device.arrived.wait_for(lambda: len(device.broadcasts) >= len(places)), PATIENCE_SECONDS)
        say("a broadcast at any node reaches every device")

    async def command(self, *arguments):
        """Runs a command that needs no operator, and returns what it prints."""
        process = await asyncio.create_subprocess_exec(
            self.arguments.program, *arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        output, _ = await process.communicate()
        require(process.returncode == 0, f"{arguments}: {output.decode()}")
        return output.decode()

    async def join(self, device):
        """Enrols a device and registers its app. A node may ask it to come back while partitions move."""
        await device.enrol()
        while True:
            try:
                await device.connect()
                await device.register()
                return await device.disconnect()
            except (grpc.aio.AioRpcError, Gone):
                await asyncio.sleep(0.1)

    async def provide(self, provider, own):
        """Pushes through one node, with some under way, until the trouble is over."""
        room = asyncio.Semaphore(IN_FLIGHT)

        async def push(number):
            try:
                await self.push(provider, number)
            finally:
                room.release()

        number = own
        async with asyncio.TaskGroup() as group:
            while not self.stop.is_set() or number < self.arguments.pushes:
                await room.acquire()
                group.create_task(push(number % len(self.devices)))
                number += len(self.nodes) + 1
                await asyncio.sleep(0.002)

    async def push(self, provider, number):
        identity = uuid4()
        request = NotificationRequest(
            device_token=self.devices[number].token, message={"aps": {"alert": "x"}}, notification_id=str(identity))
        while True:
            try:
                result = await asyncio.wait_for(provider.send_notification(request), PATIENCE_SECONDS)
                if result.is_successful:
                    break
                answer = f"{result.status} {result.description}"
                self.refused[answer] = self.refused.get(answer, 0) + 1
                require(result.status in ("503", "429"), f"a push got {result.status} {result.description}")
            except (ConnectionError, ProtocolError) as error:
                # aioapns uses a connection a little longer than its GOAWAY allows, and leaves the next attempt to us.
                self.retried[type(error).__name__] = self.retried.get(type(error).__name__, 0) + 1
            await asyncio.sleep(0.05)
        self.pushed[number].add(identity.bytes)
        self.accepted += 1

    async def make_trouble(self):
        await until(lambda: self.accepted >= self.arguments.pushes // 3)
        if self.arguments.minutes == 0:
            await getattr(self, self.arguments.fault)(self.nodes[-1])
        chance = random.Random(self.arguments.seed)
        end = asyncio.get_running_loop().time() + 60 * self.arguments.minutes
        while asyncio.get_running_loop().time() < end:
            victim = chance.choice(self.nodes)
            fault = chance.choice([self.kill, self.pause, self.drain])
            say(f"{fault.__name__} of node {victim.name}, after {self.accepted} accepted pushes")
            await fault(victim)
        await until(lambda: self.accepted >= self.arguments.pushes)

    async def none(self, victim):
        pass

    async def outside(self, victim):
        """Waits until somebody else has made the trouble, and a file says so."""
        say("make trouble now")
        await until((self.folder / "trouble").exists)
        await self.is_even()
        say("the nodes go on")

    async def namesake(self, victim):
        """Starts a node with the name of one that is alive: it is refused, and the others notice nothing."""
        before = dict(self.refused)
        other = Node(self.arguments.program, self.arguments.database, self.folder, victim.name, "namesake")
        await other.start()
        require(await other.process.wait() == 1, other.log)
        require(f"Another node of the cluster is called {victim.name} and is alive" in other.log, other.log)
        require(self.refused == before, f"pushes were refused: {self.refused}")
        say("a second node of the name was refused")

    async def strangers(self, victim):
        """Starts nodes with an expired certificate, and with one of another authority: they get no devices."""
        program, nodes = self.arguments.program, self.folder / "nodes"
        subprocess.run([program, "certificates", "make", str(self.folder / "others"), "--node", "x"], check=True,
                       stdout=subprocess.DEVNULL)
        make_expired(nodes, "y")
        for name, kind in ("x", "others"), ("y", "nodes"):
            before = dict(self.refused)
            stranger = Node(program, self.arguments.database, self.folder, name, certificates=kind)
            await stranger.start()
            await stranger.has_logged("ready: ")
            for node in self.nodes:
                await node.has_logged(f"there is no link to node {name}: ")
            served, partitions, _ = await stranger.partitions()
            require(served == partitions[name] == 0, f"node {name} serves {served} partitions:\n{stranger.log}")
            stranger.process.send_signal(signal.SIGTERM)
            require(await stranger.process.wait() == 0, stranger.log)
            require(self.refused == before, f"pushes were refused: {self.refused}")
        say("nodes that nobody can trust get no devices")
        await self.is_even()

    async def bring_back(self, victim):
        await victim.start()
        await victim.has_logged("ready: ")
        await self.is_even()

    async def kill(self, victim):
        victim.process.kill()
        await victim.process.wait()
        await self.ask_everywhere(but=victim)
        loop = asyncio.get_running_loop()
        began = loop.time()
        await self.is_even()
        say(f"the others serve the devices of the killed node after {loop.time() - began:.1f} s")
        await self.bring_back(victim)
        say("the killed node is back")

    async def pause(self, victim):
        victim.process.send_signal(signal.SIGSTOP)
        await asyncio.sleep(5)
        victim.process.send_signal(signal.SIGCONT)
        await victim.process.wait()
        say(f"the node that was paused has ended with {victim.process.returncode}")
        await self.bring_back(victim)

    async def drain(self, victim):
        before = dict(self.refused)
        await victim.operate("nodes", "drain", victim.name)
        while (await victim.partitions())[0] > 0:
            await asyncio.sleep(0.05)
        victim.process.send_signal(signal.SIGTERM)
        require(await victim.process.wait() == 0, victim.log)
        await self.bring_back(victim)
        # Its own provider goes on to push there after its GOAWAY, which a load balancer would not.
        late = self.refused.get("503 Shutdown", 0) - before.get("503 Shutdown", 0)
        refused = sum(self.refused.values()) - sum(before.values()) - late
        require(refused == 0, f"pushes were refused: {before}, {self.refused}")
        say("the drained node is back, and no push was refused for it")

    def check(self):
        copies = sum(device.copies for device in self.devices)
        for number, (device, pushed) in enumerate(zip(self.devices, self.pushed)):
            arrived = {identity for _, identity in device.arrivals}
            missing = [str(UUID(bytes=identity)) for identity in pushed - arrived]
            require(not missing, f"device {number} misses {missing}")
        say(f"all {self.accepted} accepted notifications arrived, besides {copies} copies")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("database")
    parser.add_argument("folder")
    parser.add_argument("--balancer", choices=["haproxy", "nginx"], default="haproxy")
    parser.add_argument("--pushes", type=int, default=3000)
    parser.add_argument("--devices", type=int, default=24)
    parser.add_argument("--minutes", type=float, default=0, help="make faults by turns for so long")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--fault", choices=["none", "kill", "pause", "drain", "namesake", "strangers", "outside"], default="none")
    logging.getLogger("aioapns").setLevel(logging.CRITICAL)
    asyncio.run(Cluster(parser.parse_args()).run())
