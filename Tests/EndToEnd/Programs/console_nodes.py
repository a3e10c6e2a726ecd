"""The console's page of the nodes of a cluster: what it shows, and draining the node whose console it is.

usage: console_nodes.py POSTRIDER DATABASE FOLDER
"""

import asyncio
import subprocess
import sys
from pathlib import Path

from browser import DESK, PHONE, Browser
from cluster_nodes import Node
from networks import LOOPBACK
from relay import lasting_ports, require, say

HOST = LOOPBACK.clients
MARKUP = """<img src=x onerror="window.hurt=1"><script>window.hurt=1</script>"""
# Has the page get another answer about the nodes than the relay gave.
CHANGED = """
const change = new Function("value", arguments[0]);
const real = window.fetch;
window.fetch = async (where, options) => {
  const answer = await real(where, options);
  if (where !== "/v1/nodes") return answer;
  const value = await answer.json();
  change(value);
  return new Response(JSON.stringify(value), { status: 200 });
};
"""
DRAIN = """
const done = arguments[1];
fetch(`/v1/drained-nodes/${arguments[0]}`, { method: "PUT", headers: { "x-postrider-console": "1" } })
  .then((answer) => done(answer.status));
"""


async def start(postrider, database, folder):
    """Starts two nodes; the first one has a console."""
    for kind, options in [("certificates", ["--name", HOST]), ("nodes", ["--node", "a", "--node", "b"])]:
        subprocess.run(
            [postrider, "certificates", "make", str(folder / kind), *options], check=True, stdout=subprocess.DEVNULL)
    nodes = [Node(postrider, database, folder, name) for name in "ab"]
    [port] = lasting_ports(1)
    nodes[0].arguments += ["--console-address", f"{HOST}:{port}"]
    await asyncio.gather(*(node.start() for node in nodes))
    await asyncio.gather(*(node.has_logged("ready: ") for node in nodes))
    return nodes


def shows_the_cluster(browser, nodes):
    browser.sign_in()
    browser.click("Nodes", "nav a")
    for node, words in zip(nodes, ("(this one)", "linked")):
        address = f"{HOST}:{node.cluster_port}"
        browser.until(f"node {node.name}", lambda: all(
            word in (browser.row(address) or "") for word in (words, "512", "serving", "in time")))
    browser.shows("512 partitions")
    for size, is_dark in ((DESK, False), (DESK, True), (PHONE, False), (PHONE, True)):
        browser.look(size, is_dark)
        browser.is_accessible(f"Nodes ({size[0]}, {'dark' if is_dark else 'light'})")
        width = browser.script("return document.documentElement.scrollWidth")
        require(width <= size[0], f"the page is {width} wide on a window of {size[0]}")
    browser.look()
    say("the page shows the cluster")


def is_not_hurt(browser, nodes):
    browser.script(CHANGED, f"""
        value.nodes[1].name = value.nodes[1].address = {MARKUP!r};
        value.nodes[1].isLinked = false;
        value.nodes[1].heartbeatMilliseconds = 3000;""")
    browser.until("a strange node", lambda: browser.row(MARKUP))
    row = browser.row(MARKUP)
    require("no link" in row and "3000 ms ago" in row, f"the row is {row}")
    require(browser.script("return window.hurt") is None, "a script ran")
    require(browser.script("return document.querySelectorAll('main img, main script').length") == 0, "markup became elements")
    browser.is_accessible("a node in trouble")
    browser.driver.refresh()
    say("names and addresses stay text")


def holds_roles(browser, nodes):
    for role in ("look", "send"):
        browser.click("Sign out")
        browser.sign_in(role)
        browser.click("Nodes", "nav a")
        browser.until("the nodes", lambda: browser.row("(this one)"))
        require(not browser.has("Drain node a"), f"{role} is offered to drain")
        status = browser.driver.execute_async_script(DRAIN, "a")
        require(status == 403, f"{role}: draining answers {status}")
    browser.click("Sign out")
    browser.sign_in()
    say("roles hold")


def drains(browser, nodes):
    browser.click("Nodes", "nav a")
    browser.until("the button", lambda: browser.has("Drain node a"))
    require(not browser.has("Drain node b"), "another node than this one can be drained")
    browser.script("document.querySelector('[aria-label=\"Drain node a\"]').focus()")
    browser.click("Drain node a")
    browser.until("the question", lambda: browser.all("dialog[open]"))
    require(browser.focus() == "Cancel", f"the question's focus is on {browser.focus()}")
    browser.is_accessible("the question")
    browser.click("Cancel")
    require(browser.focus() == "Drain node a", f"the focus went to {browser.focus()}")
    require("serving" in browser.row("(this one)"), "Cancel has drained the node")
    status = browser.driver.execute_async_script(DRAIN, "b")
    require(status == 404, f"draining another node answers {status}")
    browser.click("Drain node a")
    browser.click("Drain")
    browser.until("that it is drained", lambda: "drained" in browser.row("(this one)"))
    browser.until("that the other one has all", lambda: "1,024" in browser.row(f"{HOST}:{nodes[1].cluster_port}"))
    require(not browser.has("Drain node a"), "a drained node can be drained")
    say("the node is drained")


async def end(nodes):
    for node in nodes:
        node.process.terminate()
    codes = [await node.process.wait() for node in nodes]
    require(codes == [0, 0], f"the nodes end with {codes}:\n" + "\n".join(node.log for node in nodes))


async def run(postrider, database, folder):
    nodes = await start(postrider, database, folder)
    browser = Browser({"controlAddress": nodes[0].control}, postrider)
    try:
        for step in (shows_the_cluster, is_not_hurt, holds_roles, drains):
            await asyncio.to_thread(step, browser, nodes)
        require(not browser.complaints(), f"the browser complains: {browser.complaints()}")
    finally:
        browser.quit()
    await end(nodes)


asyncio.run(run(sys.argv[1], sys.argv[2], Path(sys.argv[3])))
