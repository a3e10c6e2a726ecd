"""Receipts of Web Push, in steps between which the relay may be killed. What a browser and a sender keep is in a file.

usage: web_receipts.py RELAY.json STATE.json STEP, where STEP is

    send            20 messages for a browser that is away, whose sender wants receipts
    acknowledge     the browser acknowledges 10 of them, and 1 is cancelled
    read            the sender reads the 11 receipts, without removing them
    finish          the sender reads and removes the 11 receipts; the browser takes the other 9, whose receipts come
"""

import json
import sys
from pathlib import Path
from urllib.parse import urlsplit

from relay import require
from web_push import Browser, Sender

RELATION = 'rel="urn:ietf:params:push:receipt"'


class Watcher(Sender):
    """A sender that wants receipts, all at one URL."""

    receipts = None

    def send(self, body):
        fields = {"Link": f"<{self.receipts}>; {RELATION}"} if self.receipts else {}
        answer, problem = self.post(body, Prefer="respond-async", **fields)
        require(answer.status == 202, f"a message that wants a receipt gets {answer.status} {problem}")
        url, relation = answer.getheader("link").split(";", 1)
        require(relation.strip() == RELATION, f"another link comes: {relation}")
        require(self.receipts in (None, url[1:-1]), "another receipt subscription is given")
        self.receipts = url[1:-1]
        return answer.getheader("location")

    def ask(self, method, url, **fields):
        self.connection.request(method, urlsplit(url).path, headers=fields)
        answer = self.connection.getresponse()
        content = answer.read()
        return answer.status, json.loads(content)["receipts"] if answer.status == 200 else []

    def read(self, count):
        """Reads until there are so many receipts, and looks whether more come. Returns statuses by messages."""
        got = []
        while len(got) < count:
            status, got = self.ask("GET", self.receipts, Prefer="wait=20")
            require(status == 200, f"only {len(got)} of {count} receipts come")
        require(len(got) == count, f"{len(got)} receipts come instead of {count}")
        require(len({one["message"] for one in got}) == count, "a message has two receipts")
        return got

    def remove(self, receipts):
        for one in receipts:
            status = self.ask("DELETE", one["receipt"])[0]
            require(status == 204, f"a receipt is removed with {status}")


def take(browser, count, more):
    """Connects, acknowledges so many messages, and leaves when the relay has heard of that: it sends the next message then,
    or answers the next request."""
    browser.connect()
    for _ in range(count):
        browser.receive()
    if more:
        browser.socket.recv()
    else:
        browser.subscribe()
    browser.socket.close()


def main():
    told = json.loads(Path(sys.argv[1]).read_text())
    state_file, step = Path(sys.argv[2]), sys.argv[3]
    browser = Browser(told["webURL"], told["authorityFile"])
    if step == "send":
        browser.connect()
        _, endpoint = browser.subscribe()
        browser.socket.close()
        watcher = Watcher(endpoint, told["authorityFile"])
        sent = [watcher.send(b"%d" % number) for number in range(20)]
        status, _ = watcher.ask("GET", watcher.receipts, Prefer="wait=0")
        require(status == 204, "a receipt comes before the browser has its message")
        state = {"uaid": browser.uaid, "endpoint": endpoint, "receipts": watcher.receipts, "sent": sent}
        state_file.write_text(json.dumps(state))
        return
    state = json.loads(state_file.read_text())
    browser.uaid = state["uaid"]
    sent = state["sent"]
    watcher = Watcher(state["endpoint"], told["authorityFile"])
    watcher.receipts = state["receipts"]
    expected = {message: 204 for message in sent[:10]} | {sent[19]: 410}
    if step == "acknowledge":
        take(browser, 10, more=True)
        require(watcher.cancel(sent[19]) == 204, "a message cannot be cancelled")
        return
    got = watcher.read(11)
    require({one["message"]: one["status"] for one in got} == expected, f"other receipts come: {got}")
    if step == "finish":
        watcher.remove(got)
        take(browser, 9, more=False)
        got = watcher.read(9)
        require({one["message"] for one in got} == set(sent[10:19]), f"other receipts come: {got}")
        require({one["status"] for one in got} == {204}, f"other receipts come: {got}")
        watcher.remove(got)
        status, _ = watcher.ask("GET", watcher.receipts, Prefer="wait=0")
        require(status == 204, "a removed receipt comes again")


if __name__ == "__main__":
    main()
