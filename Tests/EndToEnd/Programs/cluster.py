"""Several nodes of one cluster behind a load balancer: stock providers and devices on all of them, and faults meanwhile.

usage: cluster.py POSTRIDER DATABASE FOLDER [--balancer haproxy|nginx] [--pushes N] [--devices N] [--fault FAULT]
                  [--minutes N [--seed N] [--within SECONDS]] [--database-process PID] [--flaw FLAW]

Every push that is answered 200 arrives exactly once after de-duplication, whatever happens to the nodes, to the links
between them and to their way to the database. A push that was answered before another one was sent arrives before it.
The faults are those of cluster_faults.py: one of them, or for some minutes all by turns.

With --database-process each node, the database and the clients are in network namespaces of their own, and links can be
cut. It is a process of a database server that is in such a namespace already. Only root can do that.

A deliberate flaw must make the program fail:
forgets    the database says that it has stored a notification, and has not, for one of 50
disorder   the last two notifications of a device have changed places
uncounted  a notification is in the database of which no node knows
"""

import argparse
import asyncio
import base64
import collections
import dataclasses
import json
import logging
import random
import signal
import subprocess
from pathlib import Path
from uuid import uuid4

import grpc
from aioapns import NotificationRequest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from h2.exceptions import ProtocolError

from cluster_checks import Checks, Push
from cluster_faults import FAULTS, Faults
from cluster_nodes import PATIENCE_SECONDS, LoadBalancer, Node, fail, require
from device import Device, Gone
from networks import LOOPBACK, Network
from provider import make_provider
from relay import Relay, say, until

TOPIC = "com.example.app"
KEY = "CLUSTERKEY"
TEAM = "CLUSTERTEAM"
NAMES = "abc"
IN_FLIGHT = 50
# How soon a device notices that its connection leads nowhere. grpcio allows no less.
QUICK_KEEPALIVE_SECONDS = 10


class Cluster:
    def __init__(self, arguments, network):
        self.arguments = arguments
        self.network = network
        self.folder = Path(arguments.folder)
        hosts = {network.clients, network.balancer, *(network.host(name) for name in NAMES)}
        for kind, options in [
            ("certificates", [x for host in sorted(hosts) for x in ("--name", host)]),
            ("nodes", [x for name in NAMES for x in ("--node", name)]),
        ]:
            subprocess.run(
                [arguments.program, "certificates", "make", str(self.folder / kind), *options],
                check=True, stdout=subprocess.DEVNULL)
        self.nodes = [Node(arguments.program, arguments.database, self.folder, name, network) for name in NAMES]
        self.balancer = LoadBalancer(arguments.balancer, self.nodes, self.folder, network)
        self.provider_endpoints = [
            (network.clients, self.balancer.provider_port), *((node.host, node.provider_port) for node in self.nodes)]
        self.accepted = 0
        # How many pushes got which answer, besides 200, and how often a connection ended under one.
        self.refused = {}
        self.retried = {}
        # How many pushes were refused at which address.
        self.refused_at = collections.Counter()
        self.checks = Checks(self, arguments.flaw)
        self.chance = random.Random(arguments.seed)
        self.stop = asyncio.Event()

    async def start(self):
        await asyncio.gather(*(node.start() for node in self.nodes))
        await asyncio.gather(*(node.has_logged("ready: ") for node in self.nodes))
        await self.is_even()
        say(f"{len(self.nodes)} nodes share the partitions")

    async def is_even(self):
        """Waits until every node that runs serves its part of the partitions."""
        for _ in range(PATIENCE_SECONDS * 5):
            if await self.shares():
                return
            await asyncio.sleep(0.2)
        fail("the partitions are not shared:\n" + "\n".join(f"node {n.name}:\n{n.log}" for n in self.nodes))

    async def shares(self):
        """Whether every node that runs serves its part of the partitions, and is linked with all that are members."""
        answers = [await node.ask("nodes", "list") for node in self.nodes if node.runs]
        told = [answer for code, answer, _ in answers if code == 0]
        served = [one["served"] for one in told]
        linked = all(node.get("isLinked", True) for one in told for node in one["nodes"])
        return len(told) == len(answers) and sum(served) == 1024 and max(served) - min(served) <= 1 and linked

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
            provider_endpoint=self.provider_endpoints[0], development_endpoint=(self.network.clients, 0),
            device_endpoint=(self.network.clients, self.balancer.device_port), ca=str(self.folder / "certificates/authority.pem"),
            key=str(file), key_identifier=KEY, team=TEAM, topic=TOPIC, enrolment_key=enrolment_key)

    async def run(self):
        await self.start()
        self.relay = await self.configure()
        await self.checks.begin()
        await self.balancer.start()
        seconds = QUICK_KEEPALIVE_SECONDS if self.network.can_cut else 60
        self.devices = [Device(self.relay, f"device {n}", seconds) for n in range(self.arguments.devices)]
        await asyncio.gather(*(self.join(device) for device in self.devices))
        say(f"{len(self.devices)} devices are ready")
        await self.ask_everywhere()
        # Half of the devices are away until the end, or as often as not.
        stays = [asyncio.create_task(device.stay()) for device in self.devices[::2]]
        away = self.devices[1::2]
        await self.push_meanwhile(away)
        say(f"{self.accepted} pushes were accepted; others got {self.refused}, and {self.retried}")
        await self.is_even()
        await self.checks.nothing_is_lost()
        stays += [asyncio.create_task(device.stay()) for device in away]
        for device, pushes in zip(self.devices, self.checks.pushes):
            for push in pushes:
                await asyncio.wait_for(device.has_had(push.identity), PATIENCE_SECONDS)
        await self.trace_everywhere()
        await self.broadcast(self.relay)
        self.checks.all_arrived()
        self.checks.order_is_kept()
        await self.checks.counters_balance()
        for stay in stays:
            stay.cancel()
        for node in self.nodes:
            node.process.send_signal(signal.SIGTERM)
        codes = [await node.process.wait() for node in self.nodes]
        require(codes == [0] * len(codes), f"the nodes end with {codes}:\n" + "\n".join(n.log for n in self.nodes))
        await self.balancer.end()
        say("every node has ended in order")

    async def push_meanwhile(self, away):
        """Pushes through all nodes and the load balancer while the faults happen."""
        providers = [
            make_provider(dataclasses.replace(self.relay, provider_endpoint=endpoint))
            for endpoint in self.provider_endpoints
        ]
        async with asyncio.TaskGroup() as group:
            for number, provider in enumerate(providers):
                group.create_task(self.provide(provider, number))
            if self.arguments.minutes:
                for device in away:
                    group.create_task(self.come_and_go(device))
            await until(lambda: self.accepted >= self.arguments.pushes // 3)
            await Faults(self).make()
            await until(lambda: self.accepted >= self.arguments.pushes)
            self.stop.set()

    async def come_and_go(self, device):
        """Connects a device now and then, until the trouble is over."""
        while not self.stop.is_set():
            await asyncio.sleep(self.chance.uniform(1, 10))
            stay = asyncio.create_task(device.stay())
            await asyncio.sleep(self.chance.uniform(1, 10))
            device.leave()
            await stay

    async def ask_everywhere(self, but=None):
        """Asks every node that runs about all of them. One that does not run is named, as long as it is a member."""
        for node in self.nodes:
            if node is but:
                continue
            code, status, complaints = await self.ask_all(node, "status", but=but)
            names = [part["name"] for part in status["nodes"]]
            answered = [part["name"] for part in status["nodes"] if "status" in part]
            if but is None:
                require(code == 0 and answered == [node.name for node in self.nodes], f"{status} {complaints}")
                require(status["devices"] == len(self.devices), f"{status}")
                code, devices, _ = await self.ask_all(node, "devices", "list")
                require(code == 0 and len(devices) == len(self.devices), f"{devices}")
            else:
                require(but.name not in answered, f"{status}")
                sentence = f"Node {but.name} has not answered"
                is_named = but.name in names
                require(is_named == (sentence in complaints) and code == (4 if is_named else 0), f"{status} {complaints}")
        say("any node speaks of all")

    async def ask_all(self, node, *arguments, but=None):
        """Asks a node about all of them, again as long as one does not answer in time, as on a busy machine."""
        others = [f"Node {other.name} has not answered" for other in self.nodes if other is not but]
        for _ in range(PATIENCE_SECONDS):
            code, answer, complaints = await node.ask(*arguments)
            if not any(words in complaints for words in others):
                break
        return code, answer, complaints

    async def trace_everywhere(self):
        """Finds the latest pushes at every node, and each by its identity."""
        for node in self.nodes:
            code, trace, complaints = await self.ask_all(node, "trace", "--last", "30")
            require(code == 0 and len(trace["pushes"]) == 30, f"{trace} {complaints}")
            times = [push["acceptedAt"] for push in trace["pushes"]]
            require(times == sorted(times), f"{times}")
            for push in trace["pushes"][::10]:
                code, found, complaints = await self.ask_all(node, "trace", push["identity"])
                nodes = [(other["identity"], other["node"]) for other in found["pushes"]]
                require(code == 0 and (push["identity"], push["node"]) in nodes, f"{push} {found} {complaints}")
        say("any node knows what became of a push")

    async def broadcast(self, relay):
        """Makes a channel at one node, and broadcasts at each of them: every device that stays connected gets all."""
        own = ["--ca", relay.ca, "--key-file", relay.key, "--key-id", KEY, "--team-id", TEAM, "--topic", TOPIC]
        places = [["--relay", f"{node.host}:{node.provider_port}"] for node in self.nodes]
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
                await asyncio.sleep(0.01 if self.arguments.minutes else 0.002)

    async def push(self, provider, number):
        """Pushes to a device until that is answered 200."""
        identity = uuid4()
        loop = asyncio.get_running_loop()
        sent = loop.time()
        request = NotificationRequest(
            device_token=self.devices[number].token, message={"aps": {"alert": "x"}}, notification_id=str(identity))
        while True:
            try:
                result = await asyncio.wait_for(provider.send_notification(request), PATIENCE_SECONDS)
                if result.is_successful:
                    break
                answer = f"{result.status} {result.description}"
                self.refused[answer] = self.refused.get(answer, 0) + 1
                self.refused_at[provider.pool.protocol_class.APNS_SERVER] += 1
                require(result.status in ("503", "429"), f"a push got {result.status} {result.description}")
            except (ConnectionError, ProtocolError) as error:
                # aioapns uses a connection a little longer than its GOAWAY allows, and leaves the next attempt to us.
                self.retried[type(error).__name__] = self.retried.get(type(error).__name__, 0) + 1
            await asyncio.sleep(0.05)
        self.checks.pushes[number].append(Push(identity.bytes, sent, loop.time()))
        self.accepted += 1


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("database")
    parser.add_argument("folder")
    parser.add_argument("--balancer", choices=["haproxy", "nginx"], default="haproxy")
    parser.add_argument("--pushes", type=int, default=3000)
    parser.add_argument("--devices", type=int, default=24)
    parser.add_argument("--minutes", type=float, default=0, help="make faults by turns for so long")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--within", type=float, default=0, help="how soon after a cut pushes must be answered 200")
    parser.add_argument("--fault", choices=FAULTS, default="none")
    parser.add_argument("--database-process", type=int, help="a process of the server, whose namespace is its own")
    parser.add_argument("--flaw", choices=["forgets", "disorder", "uncounted"])
    # They say what is no error of anybody: connections end while they are used.
    for library in "aioapns", "asyncio":
        logging.getLogger(library).setLevel(logging.CRITICAL)
    arguments = parser.parse_args()
    if arguments.database_process is None:
        return asyncio.run(Cluster(arguments, LOOPBACK).run())
    network = Network(NAMES, arguments.database_process)
    try:
        network.prove("a", "b")
        asyncio.run(Cluster(arguments, network).run())
    finally:
        network.end()


if __name__ == "__main__":
    main()
