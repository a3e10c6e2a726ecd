"""What happens to a cluster, and how soon it works again.

kill       a node is killed, and started again when others have its devices
pause      it is stopped for five seconds, as a virtual machine may be, and goes on
drain      it is drained, ended in order, and started again: no push is refused, besides what comes to it after its GOAWAY
namesake   another node of its name is started
strangers  nodes are started that the others cannot trust
outside    the test makes the trouble, such as with the database

Where links can be cut (networks.py), for some seconds each:
one_way            the packets from one node to another disappear
both_ways          those of both directions do
all_links          no node reaches another one
slow_link          they are late, few fit through, and some are lost
database_cut       a node and the database do not reach each other, or only one way
slow_database      packets between a node and the database are late
database_cut_all   no node reaches the database
alone              a node reaches nobody: no other node, no database, no client
kill_in_a_cut      a node is killed while the two others do not reach each other
kill_in_an_outage  a node is killed while no node reaches the database
join_in_a_cut      a node is started while it does not reach one of the others: it gets no devices until it does
cuts               the test's short choice of these
"""

import asyncio
import contextlib
import dataclasses
import datetime
import itertools
import random
import signal
import subprocess

from cluster_nodes import PATIENCE_SECONDS, Node, fail, make_expired, require
from provider import make_provider
from relay import say, until

# A cut is shorter and longer than the time for which a node may serve without the database, and its links without a word.
SHORTEST, LONGEST = 0.3, 8
OF_NODES = ["kill", "pause", "drain"]
BY_CUTS = ["one_way", "both_ways", "all_links", "slow_link", "kill_in_a_cut", "join_in_a_cut",
           "database_cut", "slow_database", "database_cut_all", "kill_in_an_outage", "alone"]
FAULTS = ["none", "namesake", "strangers", "outside", "cuts", *OF_NODES, *BY_CUTS]


class Faults:
    def __init__(self, cluster):
        self.cluster = cluster
        self.network = cluster.network
        self.nodes = cluster.nodes
        self.chance = random.Random(cluster.arguments.seed)
        # By fault, how long it took after its end until pushes were answered 200 everywhere again.
        self.recoveries = {}
        self.loop = asyncio.get_running_loop()

    async def make(self):
        """Makes the fault that was asked for, or all of them by turns, in an order that the seed decides."""
        arguments = self.cluster.arguments
        needs_cuts = arguments.fault in ["cuts", *BY_CUTS]
        require(self.network.can_cut or not needs_cuts, f"for {arguments.fault} name a --database-process")
        if arguments.minutes == 0:
            return await getattr(self, arguments.fault)(self.nodes[-1])
        end = self.loop.time() + 60 * arguments.minutes
        turns = []
        while self.loop.time() < end:
            if not turns:
                turns = OF_NODES + (BY_CUTS if self.network.can_cut else [])
                self.chance.shuffle(turns)
            fault, victim = turns.pop(), self.chance.choice(self.nodes)
            say(f"{datetime.datetime.now():%H:%M:%S} {fault} of node {victim.name}, "
                f"after {self.cluster.accepted} accepted pushes")
            await getattr(self, fault)(victim)
        for fault, seconds in sorted(self.recoveries.items()):
            say(f"{fault}: {len(seconds)} times; pushes were answered 200 again at the latest {max(seconds):.1f} s after it")

    # Of nodes

    async def none(self, victim):
        pass

    async def outside(self, victim):
        """Waits until somebody else has made the trouble, and a file says so."""
        say("make trouble now")
        await until((self.cluster.folder / "trouble").exists)
        await self.cluster.is_even()
        say("the nodes go on")

    def another(self, name, place=None, certificates="nodes"):
        """A node that does not belong to the cluster's own."""
        arguments = self.cluster.arguments
        return Node(arguments.program, arguments.database, self.cluster.folder, name, self.network, place, certificates)

    async def namesake(self, victim):
        """Starts a node with the name of one that is alive: it is refused, and the others notice nothing."""
        before = dict(self.cluster.refused)
        other = self.another(victim.name, "namesake")
        await other.start()
        require(await other.process.wait() == 1, other.log)
        require(f"Another node of the cluster is called {victim.name} and is alive" in other.log, other.log)
        require(self.cluster.refused == before, f"pushes were refused: {self.cluster.refused}")
        say("a second node of the name was refused")

    async def strangers(self, victim):
        """Starts nodes with an expired certificate, and with one of another authority: they get no devices."""
        folder = self.cluster.folder
        subprocess.run([victim.program, "certificates", "make", str(folder / "others"), "--node", "x"], check=True,
                       stdout=subprocess.DEVNULL)
        make_expired(folder / "nodes", "y")
        for name, kind in ("x", "others"), ("y", "nodes"):
            before = dict(self.cluster.refused)
            stranger = self.another(name, certificates=kind)
            await stranger.start()
            await stranger.has_logged("ready: ")
            for node in self.nodes:
                await node.has_logged(f"there is no link to node {name}: ")
            served, partitions, _ = await stranger.partitions()
            require(served == partitions[name] == 0, f"node {name} serves {served} partitions:\n{stranger.log}")
            stranger.process.send_signal(signal.SIGTERM)
            require(await stranger.process.wait() == 0, stranger.log)
            require(self.cluster.refused == before, f"pushes were refused: {self.cluster.refused}")
        say("nodes that nobody can trust get no devices")
        await self.cluster.is_even()

    async def bring_back(self, victim):
        await victim.start()
        await victim.has_logged("ready: ")
        await self.cluster.is_even()

    async def kill(self, victim):
        victim.process.kill()
        await victim.process.wait()
        await self.cluster.ask_everywhere(but=victim)
        began = self.loop.time()
        await self.cluster.is_even()
        say(f"the others serve the devices of the killed node after {self.loop.time() - began:.1f} s")
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
        refused = self.cluster.refused
        before = dict(refused)
        await victim.operate("nodes", "drain", victim.name)
        while (await victim.partitions())[0] > 0:
            await asyncio.sleep(0.05)
        victim.process.send_signal(signal.SIGTERM)
        require(await victim.process.wait() == 0, victim.log)
        await self.bring_back(victim)
        # Its own provider goes on to push there after its GOAWAY, which a load balancer would not.
        late = refused.get("503 Shutdown", 0) - before.get("503 Shutdown", 0)
        new = sum(refused.values()) - sum(before.values()) - late
        require(new == 0, f"pushes were refused: {before}, {refused}")
        say("the drained node is back, and no push was refused for it")

    # Of links

    def others(self, victim):
        """The other nodes, in any order."""
        return self.chance.sample([node for node in self.nodes if node is not victim], len(self.nodes) - 1)

    def draw_seconds(self):
        return self.chance.uniform(SHORTEST, LONGEST)

    async def one_way(self, victim, seconds=None):
        [other, third] = self.others(victim)
        with self.cut((victim.name, other.name)):
            await self.nobody_moves(third, seconds or self.draw_seconds())
        await self.recovers("one_way")

    async def both_ways(self, victim):
        [other, third] = self.others(victim)
        with self.cut(*self.network.both(victim.name, other.name)):
            await self.nobody_moves(third, self.draw_seconds())
        await self.recovers("both_ways")

    async def all_links(self, victim):
        pairs = itertools.permutations([node.name for node in self.nodes], 2)
        with self.cut(*pairs):
            await self.nobody_moves(None, self.draw_seconds())
        await self.recovers("all_links")

    async def slow_link(self, victim):
        [other, third] = self.others(victim)
        with self.slow(victim.name, other.name):
            await self.nobody_moves(third, self.draw_seconds())
        await self.recovers("slow_link")

    async def kill_in_a_cut(self, victim):
        [one, other] = self.others(victim)
        seconds = self.draw_seconds()
        with self.cut(*self.network.both(one.name, other.name)):
            victim.process.kill()
            await victim.process.wait()
            await asyncio.sleep(seconds)
            await victim.start()
        await self.recovers("kill_in_a_cut")

    async def join_in_a_cut(self, victim):
        victim.process.kill()
        await victim.process.wait()
        await self.cluster.is_even()
        [other, _] = self.others(victim)
        ways = self.chance.choice([[(victim.name, other.name)], [(other.name, victim.name)]])
        with self.cut(*ways):
            await victim.start()
            await victim.has_logged("ready: ")
            await asyncio.sleep(self.draw_seconds())
            served, partitions, _ = await victim.partitions()
            require(served == partitions[victim.name] == 0, f"it serves {served} partitions:\n{victim.log}")
        await self.recovers("join_in_a_cut")

    async def nobody_moves(self, third, seconds):
        """Lets a fault of links last: each node goes on to serve what it has.

        The third one, if there is one that reaches all, refuses no push.
        """
        refused = self.cluster.refused_at[third.host] if third else 0
        before = [await node.partitions() for node in self.nodes]
        await asyncio.sleep(seconds)
        after = [await node.partitions() for node in self.nodes]
        places = [[partitions for _, partitions, _ in told] for told in (before, after)]
        require(places[0] == places[1], f"a fault of a link has moved partitions: {places}")
        if third:
            refused = self.cluster.refused_at[third.host] - refused
            require(refused == 0, f"node {third.name} reaches all, and has refused {refused} pushes:\n{third.log}")

    # Of the database

    async def database_cut(self, victim, seconds=None):
        out, back = self.network.both(victim.name, "database")
        ways = self.chance.choice([[out, back], [out], [back]])
        with self.cut(*ways):
            await asyncio.sleep(seconds or self.draw_seconds())
        await self.recovers("database_cut", may_end=[victim])

    async def slow_database(self, victim):
        with self.slow(victim.name, "database"):
            await asyncio.sleep(self.draw_seconds())
        await self.recovers("slow_database", may_end=[victim])

    async def database_cut_all(self, victim, seconds=None):
        ways = [way for node in self.nodes for way in self.network.both(node.name, "database")]
        with self.cut(*ways):
            await asyncio.sleep(seconds or self.draw_seconds())
        # Nobody is declared dead because the database was away for all.
        await self.recovers("database_cut_all")

    async def kill_in_an_outage(self, victim):
        ways = [way for node in self.nodes for way in self.network.both(node.name, "database")]
        with self.cut(*ways):
            victim.process.kill()
            await victim.process.wait()
            await asyncio.sleep(self.draw_seconds())
        await victim.start()
        await self.recovers("kill_in_an_outage")

    async def alone(self, victim, seconds=None):
        with self.cut(*self.network.all_of(victim.name)):
            await asyncio.sleep(seconds or self.draw_seconds())
        await self.recovers("alone", may_end=[victim])

    async def cuts(self, victim):
        """The short choice of `make test`: longer than any lease or keepalive."""
        await self.one_way(victim, 2.5)
        await self.database_cut_all(victim, 2.5)
        await self.alone(victim, 4)
        require(victim.starts == 2, f"the node that was cut off has not ended:\n{victim.log}")
        say("the nodes that were cut off lost nothing")

    # Their end

    @contextlib.contextmanager
    def cut(self, *ways):
        self.network.cut(*ways)
        try:
            yield
        finally:
            self.network.heal()

    @contextlib.contextmanager
    def slow(self, one, other):
        seconds = self.chance.choice([0.02, 0.1, 0.3])
        bytes_a_second = self.chance.choice([8_000, 30_000, 120_000])
        loss = self.chance.choice([0, 0, 0.02])
        say(f"{one} and {other}: {seconds} s, {bytes_a_second} bytes a second, {loss:.0%} lost")
        self.network.slow(*self.network.both(one, other), seconds=seconds, bytes_a_second=bytes_a_second, loss=loss)
        try:
            yield
        finally:
            self.network.heal()

    async def recovers(self, fault, may_end=()):
        """Waits until a push through each node to each device is answered 200, and all nodes share the partitions.

        A node that others had to replace has ended by itself, and is started again, as systemd does.
        """
        began = self.loop.time()
        relay = self.cluster.relay
        # As from new connections: those through a cut may need as long again as the cut took.
        providers = [
            make_provider(dataclasses.replace(relay, provider_endpoint=endpoint))
            for endpoint in self.cluster.provider_endpoints
        ]
        seconds = []

        async def push(provider, number):
            await self.cluster.push(provider, number)
            seconds.append(self.loop.time() - began)

        async with asyncio.TaskGroup() as group:
            group.create_task(self.shares_again(may_end))
            for provider in providers:
                for number in range(len(self.cluster.devices)):
                    group.create_task(push(provider, number))
        for provider in providers:
            provider.pool.close()
        within = self.cluster.arguments.within
        say(f"pushes are answered 200 everywhere {max(seconds):.1f} s after the end of {fault}, "
            f"and the partitions are shared after {self.loop.time() - began:.1f} s")
        require(not within or max(seconds) <= within, f"that is more than {within} s")
        self.recoveries.setdefault(fault, []).append(max(seconds))

    async def shares_again(self, may_end):
        began = self.loop.time()
        for _ in range(PATIENCE_SECONDS * 5):
            for node in self.nodes:
                if not node.runs:
                    require(node in may_end and node.process.returncode == 1,
                            f"node {node.name} has ended with {node.process.returncode}:\n{node.log}")
                    say(f"others had declared node {node.name} dead; "
                        f"it starts again after {self.loop.time() - began:.1f} s")
                    await node.start()
            # One may end while the others are asked, which share all partitions without it.
            if await self.cluster.shares() and all(node.runs for node in self.nodes):
                return
            await asyncio.sleep(0.2)
        fail("the partitions are not shared:\n" + "\n".join(f"node {n.name}:\n{n.log}" for n in self.nodes))
