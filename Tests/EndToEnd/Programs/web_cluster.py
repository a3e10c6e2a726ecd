"""Web Push over three nodes of one cluster: browsers come to any node and senders post at any. One node is killed and comes back.

usage: web_cluster.py POSTRIDER DATABASE FOLDER

Every message that was accepted arrives, in the order in which it was sent, and once after de-duplication. Every receipt that
was promised comes once.
"""

import argparse
import asyncio
import itertools
import json
import threading
import time
from http.client import HTTPException
from urllib.parse import urlsplit

import websocket

from cluster import NAMES, Cluster
from cluster_nodes import PATIENCE_SECONDS, require
from networks import LOOPBACK
from relay import lasting_ports, say
from web_push import Browser, Sender, text

MESSAGES = 60
LOSSES = OSError, HTTPException, websocket.WebSocketException


class Wanderer(Browser):
    """A browser that goes to the next node when its connection ends. It takes a message of one version once."""

    def __init__(self, ports, key, authority):
        super().__init__("", authority)
        self.urls = itertools.cycle([f"wss://127.0.0.1:{port}/{key}" for port in ports])
        self.got, self.versions, self.ends = [], set(), 0
        self.is_over = False

    def arrive(self):
        """Connects to the next node that lets it in."""
        for _ in range(PATIENCE_SECONDS * 5):
            self.url = next(self.urls)
            try:
                return self.connect()
            except (*LOSSES, ValueError):
                # A node that is closing answers with a close frame, which is no JSON.
                time.sleep(0.2)
        require(False, "no node lets a browser in")

    def take(self):
        """Takes and acknowledges messages until the test is over."""
        while not self.is_over:
            try:
                told = json.loads(self.socket.recv())
                update = {"channelID": told["channelID"], "version": told["version"], "code": 100}
                self.socket.send(json.dumps({"messageType": "ack", "updates": [update]}))
            except (*LOSSES, ValueError):
                if self.is_over:
                    return
                self.ends += 1
                self.arrive()
                continue
            if told["version"] not in self.versions:
                self.versions.add(told["version"])
                self.got.append(told["data"])


class Roamer:
    """A sender to one browser, that posts each message at the next node, and one without an answer again."""

    def __init__(self, endpoint, ports, authority):
        self.endpoint, self.authority = endpoint, authority
        self.ports = itertools.cycle(ports)
        self.accepted, self.repeated, self.promised, self.receipts = [], set(), [], set()

    def ask(self, method, url, body=None, **fields):
        """Makes a request at the next node. Returns the answer and its content."""
        parts = urlsplit(url)._replace(netloc=f"127.0.0.1:{next(self.ports)}")
        sender = Sender(parts.geturl(), self.authority)
        try:
            sender.connection.request(method, parts.path, body, fields)
            answer = sender.connection.getresponse()
            return answer, answer.read()
        finally:
            sender.connection.close()

    def post(self, number, wants_receipt):
        fields = {"TTL": "600", "Content-Encoding": "aes128gcm"} | ({"Prefer": "respond-async"} if wants_receipt else {})
        for _ in range(PATIENCE_SECONDS * 5):
            try:
                answer, _ = self.ask("POST", self.endpoint, b"%03d" % number, **fields)
            except LOSSES:
                # Nobody knows whether it was accepted.
                self.repeated.add(number)
                continue
            if answer.status in (201, 202):
                self.accepted.append(number)
                if wants_receipt:
                    self.promised.append(answer.getheader("location"))
                    self.receipts.add(answer.getheader("link").split(">")[0][1:])
                return
            require(answer.status in (429, 503), f"a message gets {answer.status}")
            # 503 may mean that the node of the device has died meanwhile.
            self.repeated.add(number)
            time.sleep(0.1)
        require(False, "a message is never accepted")

    def send(self, numbers):
        for number in numbers:
            self.post(number, wants_receipt=number % 3 == 0)

    def fetch_receipts(self):
        """Reads and removes the receipts at any node, until all that were promised have come."""
        statuses, end = {}, time.monotonic() + PATIENCE_SECONDS
        while set(statuses) < set(self.promised):
            require(time.monotonic() < end, f"{len(statuses)} of {len(self.promised)} receipts come")
            for url in self.receipts:
                answer, content = self.ask("GET", url, Prefer="wait=1")
                require(answer.status in (200, 204), f"receipts are read with {answer.status}")
                for one in json.loads(content)["receipts"] if answer.status == 200 else []:
                    require(one["message"] not in statuses, "a receipt comes again after it was removed")
                    statuses[one["message"]] = one["status"]
                    removed, _ = self.ask("DELETE", one["receipt"])
                    require(removed.status == 204, f"a receipt is removed with {removed.status}")
        require(set(statuses[message] for message in self.promised) == {204}, f"receipts say {statuses}")


async def together(calls):
    await asyncio.gather(*(asyncio.to_thread(call) for call in calls))


async def check(cluster):
    ports = lasting_ports(len(NAMES))
    for node, port in zip(cluster.nodes, ports):
        node.arguments += ["--web-address", f"127.0.0.1:{port}", "--public-url", f"https://127.0.0.1:{ports[0]}"]
    await cluster.start()
    key = json.loads(await cluster.nodes[0].operate("enrolment-keys", "add", "browsers", "--json"))["key"]
    authority = str(cluster.folder / "certificates/authority.pem")
    browsers = [Wanderer(ports[n % 3:] + ports[:n % 3], key, authority) for n in range(6)]
    await together(browser.arrive for browser in browsers)
    senders = [Roamer(browser.subscribe()[1], ports, authority) for browser in browsers]
    # From now on most of them are at a node that is not their home.
    for browser in browsers:
        browser.socket.close()
    await together(browser.arrive for browser in browsers)
    takers = [threading.Thread(target=browser.take, daemon=True) for browser in browsers]
    for taker in takers:
        taker.start()
    say("browsers come to any node")
    await together((lambda s=s: s.send(range(MESSAGES // 3))) for s in senders)
    require(not any(sender.repeated for sender in senders), "messages are refused while nothing happens")
    victim = cluster.nodes[1]
    sending = asyncio.create_task(together((lambda s=s: s.send(range(MESSAGES // 3, MESSAGES))) for s in senders))
    await asyncio.sleep(0.2)
    victim.process.kill()
    await victim.process.wait()
    await sending
    await victim.start()
    await victim.has_logged("ready: ")
    await cluster.is_even()
    await together((lambda s=s: s.send(range(MESSAGES, MESSAGES + 5))) for s in senders)
    await together(sender.fetch_receipts for sender in senders)
    say("every receipt has come once")
    for browser, sender in zip(browsers, senders):
        end = time.monotonic() + PATIENCE_SECONDS
        wanted = [text(b"%03d" % number) for number in sender.accepted]
        while not set(wanted) <= set(browser.got):
            require(time.monotonic() < end, f"{len(set(wanted) - set(browser.got))} messages are lost")
            await asyncio.sleep(0.1)
        once = [one for one in browser.got if one not in {text(b"%03d" % n) for n in sender.repeated}]
        require(len(once) == len(set(once)), "a message has come twice")
        require(once == sorted(once, key=wanted.index), f"messages come in another order: {browser.got}")
        browser.is_over = True
    require(any(browser.ends for browser in browsers), "no browser has noticed that a node was killed")
    say(f"{sum(len(sender.accepted) for sender in senders)} messages have arrived")
    for node in cluster.nodes:
        node.process.terminate()
    codes = [await node.process.wait() for node in cluster.nodes]
    require(codes == [0] * len(codes), f"the nodes end with {codes}")
    say("every node has ended in order")


def main():
    parser = argparse.ArgumentParser()
    for name in "program", "database", "folder":
        parser.add_argument(name)
    arguments = parser.parse_args()
    arguments.balancer, arguments.flaw, arguments.seed, arguments.devices = "haproxy", None, 1, 0
    asyncio.run(check(Cluster(arguments, LOOPBACK)))


if __name__ == "__main__":
    main()
