"""Every MUST of UnifiedPush's D-Bus specification (DBUS_0.3.0) against a live agent, with apps over dbus-fast and a sender over
HTTP/1.1. The relay was started with --web-port. This program starts the session bus and the agent itself, and kills both.

usage: unifiedpush.py RELAY.json POSTRIDER FOLDER
       unifiedpush.py app BUS SERVICE FILE    (an app that the bus starts: it writes what it gets into the file)
"""

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path
from uuid import uuid4

from dbus_fast import Message, MessageType, Variant
from dbus_fast.aio import MessageBus

from relay import Relay, require, say, until
from web_push import Sender, SenderKey

DISTRIBUTOR = "org.unifiedpush.Distributor.Postrider"
DISTRIBUTOR_PATH = "/org/unifiedpush/Distributor"
CONNECTOR_PATH = "/org/unifiedpush/Connector"
SUCCEEDED = {"success": "REGISTRATION_SUCCEEDED"}
# The arguments of the methods of version 1, and their types.
OLD_ARGUMENTS = {
    "Message": (("token", "message", "id"), "says"), "NewEndpoint": (("token", "endpoint"), "ss"),
    "Unregistered": (("token",), "s"),
}
BUS = """<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type><listen>unix:path={folder}/bus</listen><auth>EXTERNAL</auth>
  <servicedir>{folder}/services</servicedir>
  <policy context="default">
    <allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/><allow user="*"/>
  </policy>
</busconfig>
"""


def plain(named):
    """Returns a dictionary without the types of its values."""
    return {name: value.value for name, value in named.items()}


class App:
    """An app with a connector library: it remembers what its connector is told, and answers as its version says."""

    def __init__(self, service, version=2):
        self.service = service
        self.version = version
        self.token = str(uuid4())
        self.told = []
        self.answers = True

    async def connect(self, address):
        self.bus = await MessageBus(bus_address=address).connect()
        self.bus.add_message_handler(self.hear)
        await self.bus.request_name(self.service)
        return self

    def hear(self, message):
        if message.message_type != MessageType.METHOD_CALL or message.interface == "org.freedesktop.DBus.Peer":
            return None
        require(message.path == CONNECTOR_PATH, f"{message.path} is called")
        require(message.interface == f"org.unifiedpush.Connector{self.version}", f"{message.interface} is called")
        if self.version == 1:
            names, types = OLD_ARGUMENTS[message.member]
            require(message.signature == types, f"{message.member} has arguments of type {message.signature}")
            self.told.append((message.member, dict(zip(names, message.body))))
            return True
        require(message.signature == "a{sv}", f"{message.member} has arguments of type {message.signature}")
        told = plain(message.body[0])
        self.told.append((message.member, told))
        if message.member == "Message" and not self.answers:
            return True
        answer = {"id": Variant("s", told["id"])} if message.member == "Message" else {}
        return Message.new_method_return(message, "a{sv}", [answer])

    async def call(self, member, signature, body, interface=None):
        interface = interface or f"org.unifiedpush.Distributor{self.version}"
        return await self.bus.call(
            Message(
                destination=DISTRIBUTOR, path=DISTRIBUTOR_PATH, interface=interface, member=member,
                signature=signature, body=body))

    async def register(self, **fields):
        """Registers, and returns the fields of the answer."""
        fields = {"service": self.service, "token": self.token, "description": "a test"} | fields
        named = {name: value if isinstance(value, Variant) else Variant("s", value) for name, value in fields.items()}
        answer = await self.call("Register", "a{sv}", [named])
        if answer.message_type == MessageType.ERROR:
            return answer.error_name
        require(answer.signature == "a{sv}", f"Register answers with {answer.signature}")
        return plain(answer.body[0])

    def heard(self, member):
        return [told for name, told in self.told if name == member]

    async def hears(self, member, count):
        """Waits for the call of this number, and returns its fields."""
        await until(lambda: len(self.heard(member)) >= count)
        told = self.heard(member)[count - 1]
        require(member == "Unregistered" or told["token"] == self.token, f"{member} has the token {told['token']}")
        return told


class Session:
    """A user's session: a bus that starts apps, and the agent."""

    def __init__(self, relay, postrider, folder):
        self.folder = Path(folder)
        self.address = f"unix:path={folder}/bus"
        (self.folder / "services").mkdir()
        (self.folder / "bus.conf").write_text(BUS.format(folder=folder))
        self.relay = relay
        self.postrider = postrider
        self.programs = {}

    def start(self, name, *command, **environment):
        self.programs[name] = subprocess.Popen(command, env=os.environ | environment)

    def kill(self, name):
        self.programs.pop(name).kill()

    async def start_bus(self):
        (self.folder / "bus").unlink(missing_ok=True)
        self.start("bus", "/usr/bin/dbus-daemon", f"--config-file={self.folder}/bus.conf", "--nofork", "--nopidfile")
        await until((self.folder / "bus").exists)

    def start_agent(self):
        host, port = self.relay.device_endpoint
        self.start(
            "agent", self.postrider, "agent", "--relay", f"{host}:{port}", "--ca", self.relay.ca, "--state",
            f"{self.folder}/agent", "--socket", f"{self.folder}/agent.sock", "--session-bus", self.address,
            "--unifiedpush", "true", DBUS_SYSTEM_BUS_ADDRESS="unix:path=/nowhere",
            POSTRIDER_ENROLMENT_KEY=self.relay.enrolment_key)

    def says(self, *command):
        """Returns what a command of 'postrider-agent' prints."""
        socket = f"{self.folder}/agent.sock"
        answer = subprocess.run([self.postrider, "agent", *command, "--socket", socket], capture_output=True, text=True)
        require(answer.returncode == 0, answer.stderr)
        return answer.stdout

    async def has_distributor(self, app):
        """Waits until the agent has its name on the bus."""
        question = Message(
            destination="org.freedesktop.DBus", path="/org/freedesktop/DBus", interface="org.freedesktop.DBus",
            member="NameHasOwner", signature="s", body=[DISTRIBUTOR])
        while not (await app.bus.call(question)).body[0]:
            await asyncio.sleep(0.02)

    def make_startable(self, service):
        """Lets the bus start an app, and returns the file into which that writes what it gets."""
        file = self.folder / f"{service}.txt"
        file.touch()
        command = f"{sys.executable} {Path(__file__).resolve()} app {self.address} {service} {file}"
        (self.folder / "services" / f"{service}.service").write_text(f"[D-BUS Service]\nName={service}\nExec={command}\n")
        return file


async def registration(session, app):
    xml = await app.call("Introspect", "", [], "org.freedesktop.DBus.Introspectable")
    require("org.unifiedpush.Distributor2" in xml.body[0], "the object does not describe its interface")
    require(await app.register() == SUCCEEDED, "the app is not registered")
    endpoint = (await app.hears("NewEndpoint", 1))["endpoint"]
    require(len(endpoint) <= 1000 and endpoint.startswith("https://"), f"{endpoint} is no endpoint")
    require(await app.register() == SUCCEEDED, "a known app is not registered again")
    require((await app.hears("NewEndpoint", 2))["endpoint"] == endpoint, "a known app gets another endpoint")
    # Calls with fields that do not follow the specification are ignored.
    invalid = "org.freedesktop.DBus.Error.InvalidArgs"
    for name, value in {
        "token": "", "service": "nonsense", "vapid": "BAAA", "description": "d" * 101,
    }.items():
        require(await app.register(**{name: value}) == invalid, f"{name} = {value} is not refused")
    require(await app.register(token=Variant("u", 7)) == invalid, "a token of another type is not refused")
    require(await app.register(service="org.example.Thief") == {
        "success": "REGISTRATION_FAILED", "reason": "INTERNAL_ERROR"}, "a token is taken from its app")
    await app.register()
    await app.hears("NewEndpoint", 3)
    require(len(app.heard("NewEndpoint")) == 3, "an ignored call has had an effect")
    return endpoint


async def messages(app, sender):
    for number, (body, encoding) in enumerate([
        (b"\x00", "aes128gcm"), (bytes(range(256)) * 16, "aes128gcm"), (b"plain", ""), (b"\xff\xfe", "aesgcm"),
    ], 1):
        answer, _ = sender.post(body, **{"Content-Encoding": encoding})
        require(answer.status == 201, f"a message is answered with {answer.status}")
        told = await app.hears("Message", number)
        require(bytes(told["message"]) == body, "the app gets other bytes than were sent")
        require(told["id"], "a message has no identifier")
    require(sender.post(b"")[0].status == 400 and sender.post(b"a" * 4097)[0].status == 413, "the size is not checked")


async def vapid(session, authority):
    key = SenderKey()
    app = await App("org.example.Vapid").connect(session.address)
    require(await app.register(vapid=key.public) == SUCCEEDED, "an app with a VAPID key is not registered")
    endpoint = (await app.hears("NewEndpoint", 1))["endpoint"]
    sender = Sender(endpoint, authority)
    require(sender.post(b"a")[0].status == 401, "a sender without the key is let in")
    require(sender.post(b"a", SenderKey().authorization(sender.audience))[0].status == 403, "another key is let in")
    require(sender.post(b"b", key.authorization(sender.audience))[0].status == 201, "the key is not let in")
    require(bytes((await app.hears("Message", 1))["message"]) == b"b", "the wrong message has arrived")


async def ends(sender):
    """Waits until a registration has ended at the relay, which hears of it after the app."""
    await until(lambda: sender.post(b"a")[0].status == 410)


async def version_one(session, authority):
    app = await App("org.example.Old", version=1).connect(session.address)
    answer = await app.call("Register", "sss", [app.service, app.token, "an old app"])
    require(answer.body == ["REGISTRATION_SUCCEEDED", ""], f"version 1 is answered with {answer.body}")
    sender = Sender((await app.hears("NewEndpoint", 1))["endpoint"], authority)
    for number in range(3):
        require(sender.post(b"%d" % number, **{"Content-Encoding": ""})[0].status == 201, "a message is refused")
    await app.hears("Message", 3)
    require([bytes(told["message"]) for told in app.heard("Message")] == [b"0", b"1", b"2"], "the order is another")
    await app.call("Unregister", "s", [app.token])
    require((await app.hears("Unregistered", 1))["token"] == "", "the confirmation is another")
    await ends(sender)


async def started_by_the_bus(session, app, authority):
    """An app that does not run, and the agent is killed between its messages."""
    file = session.make_startable("org.example.Sleepy")
    reload = Message(
        destination="org.freedesktop.DBus", path="/org/freedesktop/DBus", interface="org.freedesktop.DBus",
        member="ReloadConfig")
    await app.bus.call(reload)
    sleepy = App("org.example.Sleepy")
    sleepy.bus = app.bus
    require(await sleepy.register() == SUCCEEDED, "an app that does not run yet is not registered")

    def lines(member):
        told = [json.loads(line) for line in file.read_text().splitlines()]
        return [fields for name, fields in told if name == member]

    await until(lambda: lines("NewEndpoint"))
    sender = Sender(lines("NewEndpoint")[0]["endpoint"], authority)
    for number in range(3):
        if number == 1:
            # An agent that is killed before it knows that the app has a message sends it again.
            await until(lambda: lines("Message") and json.loads(session.says("inbox", "--json")) == [])
            session.kill("agent")
        require(sender.post(b"%d" % number)[0].status == 201, "a message is refused")
        if number == 1:
            session.start_agent()
            await session.has_distributor(app)
    await until(lambda: len(lines("Message")) >= 3)
    got = [told["message"] for told in lines("Message")]
    require(got == ["0", "1", "2"], f"the app that the bus starts gets {got}")
    return lambda: [told["message"] for told in lines("Message")]


async def slow(session, app, sender):
    """The distributor does not wait for an app that does not answer."""
    app.answers = False
    sender.post(b"unanswered")
    await app.hears("Message", 5)
    other = await App("org.example.Other").connect(session.address)
    require(await other.register() == SUCCEEDED, "an app is not registered while another one is slow")
    posted = Sender((await other.hears("NewEndpoint", 1))["endpoint"], session.relay.ca).post(b"b")[0]
    require(posted.status == 201, f"a message is answered with {posted.status}")
    await other.hears("Message", 1)
    app.answers = True


async def new_bus(session, endpoint, authority):
    """Registrations and messages outlive the bus and the agent."""
    app = App("org.example.Lasting")
    await app.connect(session.address)
    require(await app.register() == SUCCEEDED, "an app is not registered")
    sender = Sender((await app.hears("NewEndpoint", 1))["endpoint"], authority)
    session.kill("agent")
    session.kill("bus")
    require(sender.post(b"kept")[0].status == 201, "a message is refused")
    await session.start_bus()
    session.start_agent()
    await app.connect(session.address)
    await session.has_distributor(app)
    require(await app.register() == SUCCEEDED, "a known app is not registered on the new bus")
    require(bytes((await app.hears("Message", 1))["message"]) == b"kept", "the wrong message has arrived")
    require((await app.hears("NewEndpoint", 2))["endpoint"] == app.heard("NewEndpoint")[0]["endpoint"], "it has changed")
    answer = await app.call("Unregister", "a{sv}", [{"token": Variant("s", app.token)}])
    require((answer.signature, answer.body) == ("a{sv}", [{}]), f"Unregister answers with {answer.body}")
    require((await app.hears("Unregistered", 1))["token"] == app.token, "another registration has ended")
    await ends(sender)


async def all_of_it(session):
    authority = session.relay.ca
    await session.start_bus()
    session.start_agent()
    app = await App("org.example.App").connect(session.address)
    await session.has_distributor(app)
    endpoint = await registration(session, app)
    listed = session.says("apps")
    require("org.example.App by UnifiedPush" in listed, f"the app is not listed: {listed}")
    say("registered")
    sender = Sender(endpoint, authority)
    await messages(app, sender)
    await vapid(session, authority)
    await version_one(session, authority)
    sleepy = await started_by_the_bus(session, app, authority)
    await slow(session, app, sender)
    require(sleepy() == ["0", "1", "2"], "a message has come twice")
    await new_bus(session, endpoint, authority)
    say("all of it")


async def run_app(address, service, file):
    app = App(service)
    await app.connect(address)
    written = 0
    while app.bus.connected:
        for member, told in app.told[written:]:
            with open(file, "a") as output:
                output.write(json.dumps([member, told | {"message": bytes(told.get("message", b"")).decode()}]) + "\n")
            written += 1
        await asyncio.sleep(0.02)


def main():
    if sys.argv[1] == "app":
        return asyncio.run(run_app(*sys.argv[2:]))
    session = Session(Relay.described_in(sys.argv[1]), sys.argv[2], sys.argv[3])
    try:
        asyncio.run(all_of_it(session))
    finally:
        for name in list(session.programs):
            session.kill(name)


if __name__ == "__main__":
    main()
