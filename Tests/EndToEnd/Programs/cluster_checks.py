"""What must hold over a whole cluster, whatever has happened to it."""

import asyncio
import itertools
from dataclasses import dataclass
from uuid import UUID

from cluster_nodes import require
from relay import say

# How long numbers that do not agree must stay the same before that is a finding.
STILL_SECONDS = 5
ENDS = ("delivered", "pending", "expired", "replaced", "discarded")

# For a deliberate flaw: the database drops some rows, and says that it has stored them.
FORGETS = """
CREATE FUNCTION postrider.forget() RETURNS trigger LANGUAGE plpgsql AS
    'BEGIN IF NEW.number % 50 = 0 THEN RETURN NULL; END IF; RETURN NEW; END';
CREATE TRIGGER forget BEFORE INSERT ON postrider.queue FOR EACH ROW EXECUTE FUNCTION postrider.forget();
"""
# For another: a row that no node has stored. It belongs to a device that has left with all that it had.
UNCOUNTED = """
INSERT INTO postrider.queue (number, device, registration, priority, expires_at, identity, topic, accepted_at, payload)
    SELECT -1, identity, 1, 10, 9999999999999, identity, 'x', 0, '{}' FROM postrider.device LIMIT 1;
"""


@dataclass
class Push:
    """A push that was answered 200, by the clock of its provider."""

    identity: bytes
    sent: float
    answered: float


class Checks:
    """Compares what was answered 200 with what devices have, nodes count and the database has."""

    def __init__(self, cluster, flaw=None):
        self.cluster = cluster
        self.flaw = flaw
        # What was answered 200, by devices.
        self.pushes = [[] for _ in range(cluster.arguments.devices)]

    async def begin(self):
        """Makes the flaw that is in the database."""
        if self.flaw == "forgets":
            await self.sql(FORGETS)

    async def sql(self, text):
        """Runs SQL in the database of the cluster, around all networks, and returns the rows."""
        process = await asyncio.create_subprocess_exec(
            "psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", self.cluster.arguments.database, "-c", text,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT)
        output, _ = await process.communicate()
        require(process.returncode == 0, f"{text}: {output.decode()}")
        return [line.split("|") for line in output.decode().splitlines()]

    def arrived(self, device):
        """What a device has, in the order of arrival."""
        return [identity for _, identity in device.arrivals]

    async def nothing_is_lost(self):
        """What was answered 200 has arrived, or waits in the database. Nobody pushes meanwhile."""
        rows = await self.sql("SELECT encode(device, 'hex'), encode(identity, 'hex') FROM postrider.queue")
        waiting = {(bytes.fromhex(device), bytes.fromhex(identity)) for device, identity in rows}
        found = 0
        for number, (device, pushes) in enumerate(zip(self.cluster.devices, self.pushes)):
            has = set(self.arrived(device))
            lost = [str(UUID(bytes=p.identity)) for p in pushes
                    if p.identity not in has and (device.identity, p.identity) not in waiting]
            require(not lost, f"device {number} has not got {lost}, and they do not wait either")
            found += len(pushes)
        say(f"each of {found} accepted notifications has arrived or waits")

    async def counters_balance(self):
        """Each node accounts for all that it has accepted, and as many notifications wait as the database has rows.

        Nobody pushes meanwhile, but acknowledgements may be under way.
        """
        if self.flaw == "uncounted":
            await self.sql(UNCOUNTED)
        found, unchanged = None, 0
        while unchanged < STILL_SECONDS * 5:
            told, before = [], found
            for node in self.cluster.nodes:
                code, status, complaints = await self.cluster.ask_all(node, "status")
                require(code == 0, f"node {node.name}: {status} {complaints}\n{node.log}")
                for part in status["nodes"]:
                    count = part["status"]["counters"]
                    ends = sum(count[end] for end in ENDS) + sum(count["dropped"].values()) + count.get("moved", 0)
                    require(count["isBalanced"] and count["accepted"] == ends, f"node {part['name']}: {count}")
                told.append(status["counters"]["pending"])
            [[rows]] = await self.sql("SELECT count(*) FROM postrider.queue")
            if {str(pending) for pending in told} == {rows}:
                say(f"the nodes account for all that they have accepted; {rows} notifications wait")
                return
            found = (told, rows)
            unchanged = unchanged + 1 if found == before else 0
            await asyncio.sleep(0.2)
        require(False, f"the nodes count {told} notifications that wait, and the database has {rows}")

    def all_arrived(self):
        """What was answered 200 has arrived."""
        copies = sum(device.copies for device in self.cluster.devices)
        for number, (device, pushes) in enumerate(zip(self.cluster.devices, self.pushes)):
            has = set(self.arrived(device))
            missing = [str(UUID(bytes=push.identity)) for push in pushes if push.identity not in has]
            require(not missing, f"device {number} misses {missing}")
        total = sum(len(pushes) for pushes in self.pushes)
        say(f"all {total} accepted notifications arrived, besides {copies} copies")

    def order_is_kept(self):
        """What was answered before another push for the same device was sent has arrived before it."""
        compared = 0
        for number, (device, pushes) in enumerate(zip(self.cluster.devices, self.pushes)):
            times = {push.identity: push for push in pushes}
            order = [times[identity] for identity in self.arrived(device) if identity in times]
            if self.flaw == "disorder":
                order.insert(0, order.pop())
            latest = itertools.accumulate(order, lambda a, b: a if a.sent > b.sent else b)
            for before, push in zip(latest, order[1:]):
                require(
                    push.answered >= before.sent,
                    f"device {number} got {UUID(bytes=push.identity)} after {UUID(bytes=before.identity)}, which was "
                    f"sent {before.sent - push.answered:.3f} s after the answer to it")
                compared += 1
        say(f"{compared} notifications arrived in an order that their providers may expect")
