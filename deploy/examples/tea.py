#!/usr/bin/env python3
"""An app in Python with stock grpcio, the published agent.proto, and payload.py from this folder.

usage: tea.py [--topic TOPIC] [--socket PATH] [--seconds N]

It registers, prints its device token and each push, schedules a notification in N seconds, and prints the user's response.
It ends with Control-C, or when the agent asks for that.
"""

import argparse
import os
import queue
import sys
from pathlib import Path

import grpc

import payload

# A real app generates its code when it is built; docs/start/a-device-in-python.md has the command for Debian's own gRPC.
try:
    import agent_pb2 as pb
    import agent_pb2_grpc as rpc
    import courier_pb2 as courier
except ImportError:
    # Without that, grpcio-tools reads agent.proto and courier.proto in the repository, or where the package has them.
    sys.path += [str(Path(__file__).resolve().parents[2] / "docs" / "reference"), "/usr/share/postrider"]
    courier, _ = grpc.protos_and_services("courier.proto")
    pb, rpc = grpc.protos_and_services("agent.proto")

AUTHORIZE, CATEGORIES, ADD = 1, 2, 3


class App:
    def __init__(self, topic, seconds):
        self.topic = topic
        self.seconds = seconds
        # The messages to the agent; None ends the stream.
        self.outbox = queue.SimpleQueue()
        # The handled notifications: after a lost connection the agent may deliver them again.
        self.seen = set()

    def say(self, **message):
        self.outbox.put(pb.AppMessage(**message))

    def ask(self, number, **order):
        self.say(center=pb.CenterCall(call=number, topic=self.topic, **order))

    def run(self, socket):
        self.say(register=courier.Register(topic=self.topic))
        self.ask(AUTHORIZE, request_authorization=pb.AuthorizationRequest(options=4))
        with grpc.insecure_channel(f"unix:{socket}") as channel:
            for message in rpc.AppsStub(channel).Attach(iter(self.outbox.get, None), wait_for_ready=True):
                kind = message.WhichOneof("message")
                handle = getattr(self, f"on_{kind}", None)
                if handle:
                    handle(getattr(message, kind))

    def on_registered(self, registered):
        print("device token:", registered.device_token.hex(), flush=True)

    def on_refused(self, refused):
        sys.exit(f"not registered: {refused.reason}")

    def on_answer(self, answer):
        if answer.WhichOneof("answer") == "refused":
            print("refused:", answer.refused.reason, flush=True)
        elif answer.call == AUTHORIZE and answer.authorization == pb.AUTHORIZED:
            stop = pb.Action(identifier="stop", title="Stop")
            self.ask(CATEGORIES, set_categories=pb.Categories(
                category=[pb.Category(identifier="tea", action=[stop])]))
            self.ask(ADD, add=pb.LocalRequest(
                identifier="tea", content=pb.Content(title="Tea", body="is ready.", category="tea"),
                trigger=pb.Trigger(interval=pb.Trigger.Interval(milliseconds=self.seconds * 1000))))
        elif answer.call == ADD:
            print(f"tea in {self.seconds} s", flush=True)

    def on_deliver(self, deliver):
        try:
            values = payload.read(deliver.payload)
        except ValueError as error:
            self.say(failed=pb.Failed(delivery=deliver.delivery, reason=str(error)))
        else:
            self.once(deliver, lambda: print("push:", values, flush=True))

    def on_fired(self, fired):
        content = fired.notice.request.content
        self.once(fired, lambda: print("notification:", content.title, content.body, flush=True))

    def on_responded(self, responded):
        self.once(responded, lambda: print("response:", responded.action, flush=True))

    def on_life_cycle(self, change):
        if change.event == pb.LifeCycle.WILL_TERMINATE:
            self.outbox.put(None)

    def once(self, delivery, handle):
        """Handles a notification unless it was handled before, and confirms it in any case."""
        if delivery.identity not in self.seen:
            handle()
            self.seen.add(delivery.identity)
        self.say(handled=pb.Handled(delivery=[delivery.delivery]))


parser = argparse.ArgumentParser()
parser.add_argument("--topic", default=os.environ.get("POSTRIDER_TOPIC", "com.example.tea"))
parser.add_argument(
    "--socket", default=os.environ.get("POSTRIDER_AGENT_SOCKET", "/run/postrider-agent/agent.sock"))
parser.add_argument("--seconds", type=int, default=5)
arguments = parser.parse_args()
try:
    App(arguments.topic, arguments.seconds).run(os.path.abspath(arguments.socket))
except KeyboardInterrupt:
    pass
