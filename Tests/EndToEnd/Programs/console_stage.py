"""What the console of a relay has to show: devices, and providers that push to them."""

import asyncio
import threading
import time
from uuid import uuid4

import httpx

from device import Device, pb
from provider import bearer

PATIENCE = 120


class TellingDevice(Device):
    """A device that calls itself and its agent as it likes, and reports that its app has failed, with a text."""

    def __init__(self, relay, name, agent="grpcio", report=None):
        super().__init__(relay, name)
        self.agent, self.report = agent, report

    def say(self, **message):
        if "hello" in message:
            message["hello"].agent = self.agent
        super().say(**message)

    async def _take(self, deliver):
        await super()._take(deliver)
        if self.report is not None:
            self.say(report=pb.Report(event=[pb.Report.Event(
                identity=deliver.identity, kind=pb.Report.FAILED, at_milliseconds=int(time.time() * 1000),
                push=deliver.push, text=self.report)]))


class ConsoleStage:
    """Runs devices and a provider on an event loop of its own, because selenium blocks."""

    def __init__(self, relay):
        self.relay = relay
        self.bearer = bearer(relay)
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()
        self.client = httpx.Client(http1=False, http2=True, verify=relay.tls, timeout=PATIENCE)

    def run(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(PATIENCE)

    def device(self, name, **properties):
        """A connected device with the relay's topic."""
        device = TellingDevice(self.relay, name, **properties)
        self.run(device.join())
        # A device that is removed ends with an error, which nobody here waits for.
        self.loop.call_soon_threadsafe(device._reader.add_done_callback, lambda task: task.cancelled() or task.exception())
        return device

    def away(self, device):
        self.run(device.disconnect())

    def _post(self, path, body, **fields):
        host, port = self.relay.provider_endpoint
        headers = {"authorization": self.bearer} | {name.replace("_", "-"): value for name, value in fields.items()}
        answer = self.client.post(f"https://{host}:{port}{path}", headers=headers, json=body)
        assert answer.status_code in (200, 201), f"{path}: {answer.status_code} {answer.text}"
        return answer

    def channel(self, stores):
        """Creates a channel as a provider does; returns its identifier."""
        body = {"message-storage-policy": int(stores), "push-type": "LiveActivity"}
        return self._post(f"/1/apps/{self.relay.topic}/channels", body).headers["apns-channel-id"]

    def broadcast(self, channel):
        """Broadcasts as a provider does, for ten minutes."""
        self._post(f"/4/broadcasts/apps/{self.relay.topic}", {"aps": {"event": "update", "content-state": {}}},
                   apns_channel_id=channel, apns_push_type="liveactivity", apns_priority="10",
                   apns_expiration=str(int(time.time()) + 600))

    def push(self, token, payload=None, **fields):
        """Pushes as a provider does; returns the answer and the apns-id."""
        host, port = self.relay.provider_endpoint
        fields = {name.replace("_", "-"): value for name, value in fields.items()}
        headers = {"authorization": self.bearer, "apns-topic": self.relay.topic, "apns-push-type": "alert",
                   "apns-id": str(uuid4()).upper()} | fields
        answer = self.client.post(
            f"https://{host}:{port}/3/device/{token}", headers=headers,
            json=payload or {"aps": {"alert": "Open the door"}})
        return answer.status_code, answer.headers.get("apns-id")
