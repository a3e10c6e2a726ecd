"""A device with grpcio and the published courier.proto, without any code of Postrider."""

import asyncio
import sys
from pathlib import Path

import grpc

sys.path.insert(0, str(Path(__file__).parents[3] / "docs" / "reference"))
pb, rpc = grpc.protos_and_services("courier.proto")


class Gone(Exception):
    """The device left before it was welcomed."""


class Device:
    """A device with one registered topic. It stores the notifications that it receives in `arrivals`."""

    def __init__(self, relay, name, keepalive_seconds=60):
        self.relay = relay
        self.name = name
        self.keepalive_seconds = keepalive_seconds
        self.identity = None
        self.secret = None
        self.token = None
        self.welcome = None
        # The payloads by (topic, identity), in the order of first arrival.
        self.arrivals = {}
        self.copies = 0
        # All broadcasts, in the order of arrival.
        self.broadcasts = []
        self.goodbyes = []
        # While this is cleared, the device does not read.
        self.reads = asyncio.Event()
        self.reads.set()
        self.arrived = asyncio.Condition()
        self._channel = None
        self._call = None
        self._reader = None
        self._outbox = None
        self._answered = {}
        self._stays = False

    def _open_channel(self):
        options = [
            # Each device has its own connection, even if many are in one process.
            ("grpc.use_local_subchannel_pool", 1),
            ("grpc.keepalive_time_ms", self.keepalive_seconds * 1000),
            ("grpc.http2.max_pings_without_data", 0),
            ("grpc.initial_reconnect_backoff_ms", 100),
            ("grpc.max_reconnect_backoff_ms", 500),
        ]
        authority = Path(self.relay.ca).read_bytes()
        credentials = grpc.ssl_channel_credentials(authority)
        host, port = self.relay.device_endpoint
        return grpc.aio.secure_channel(f"{host}:{port}", credentials, options)

    async def join(self, is_development=False):
        """Enrols, connects and registers."""
        await self.enrol()
        await self.connect()
        await self.register(is_development)

    async def enrol(self, key=None):
        """Enrols and gets an identity."""
        async with self._open_channel() as channel:
            request = pb.EnrollRequest(enrolment_key=key or self.relay.enrolment_key, name=self.name)
            answer = await rpc.CourierStub(channel).Enroll(request, wait_for_ready=True)
        self.identity, self.secret = answer.device_identity, answer.device_secret

    async def connect(self):
        """Opens the device's connection and returns when it is welcomed."""
        self._channel = self._open_channel()
        self._outbox = asyncio.Queue()
        self.say(hello=pb.Hello(
            device_identity=self.identity,
            device_secret=self.secret,
            keepalive_seconds=self.keepalive_seconds,
            agent="grpcio",
        ))
        self._call = rpc.CourierStub(self._channel).Connect(self._messages(self._outbox), wait_for_ready=True)
        self._answered = {}
        first = await self._call.read()
        if first is grpc.aio.EOF:
            raise Gone
        if first.WhichOneof("message") == "goodbye":
            self.goodbyes.append(first.goodbye)
            # Raises the status.
            first = await self._call.read()
        self.welcome = first.welcome
        self._reader = asyncio.create_task(self._read(self._call))

    async def register(self, is_development=False):
        """Registers the topic in an environment and keeps its token."""
        topic = self.relay.topic
        self._answered[topic] = asyncio.get_running_loop().create_future()
        environment = pb.DEVELOPMENT if is_development else pb.PRODUCTION
        self.say(register=pb.Register(topic=topic, environment=environment))
        self.token = await self._answered[topic]

    async def unregister(self):
        """Unregisters the topic, as when the app is deleted, and returns when the relay knows that."""
        topic = self.relay.topic
        self._answered[topic] = asyncio.get_running_loop().create_future()
        self.say(unregister=pb.Unregister(topic=topic))
        await self._answered[topic]

    async def subscribe(self, channel, last=b""):
        """Subscribes to a channel; `last` is the last broadcast that the device has."""
        self._answered[channel] = asyncio.get_running_loop().create_future()
        self.say(subscribe=pb.Subscribe(topic=self.relay.topic, channel=channel, last=last))
        await self._answered[channel]

    async def disconnect(self, politely=True):
        """Disconnects with a goodbye or without one."""
        if politely:
            self.say(goodbye=pb.Goodbye())
            await self._reader
        else:
            self._call.cancel()
            await asyncio.gather(self._reader, return_exceptions=True)
        await self._channel.close()

    async def stay(self):
        """Keeps the device connected, whatever happens to the relay, until it is cancelled or `leave` is called."""
        self._stays = True
        while self._stays:
            try:
                await self.connect()
                if not self._stays:
                    self.say(goodbye=pb.Goodbye())
                await self._reader
            except (grpc.aio.AioRpcError, Gone):
                # The relay is away for a while. A real device would wait longer between attempts.
                await asyncio.sleep(0.05)
            finally:
                await self._channel.close()

    def leave(self):
        """Ends `stay` with a goodbye."""
        self._stays = False
        self.say(goodbye=pb.Goodbye())

    async def end(self):
        """Returns the name of the status code with which the connection ended, and its message."""
        await asyncio.gather(self._reader, return_exceptions=True)
        return (await self._call.code()).name, await self._call.details()

    async def has(self, count):
        """Waits until this many different notifications have arrived."""
        async with self.arrived:
            await self.arrived.wait_for(lambda: len(self.arrivals) >= count)

    async def has_had(self, identity):
        """Waits until this notification has arrived."""
        async with self.arrived:
            await self.arrived.wait_for(lambda: (self.relay.topic, identity) in self.arrivals)

    def say(self, **message):
        """Sends a message as soon as the stream accepts it."""
        self._outbox.put_nowait(pb.DeviceMessage(**message))

    async def _messages(self, outbox):
        while True:
            message = await outbox.get()
            yield message
            if message.WhichOneof("message") == "goodbye":
                return

    async def _read(self, call):
        while True:
            await self.reads.wait()
            message = await call.read()
            if message is grpc.aio.EOF:
                return
            match message.WhichOneof("message"):
                case "registered":
                    self._answered.pop(message.registered.topic).set_result(message.registered.device_token.hex())
                case "unregistered":
                    self._answered.pop(message.unregistered.topic).set_result(None)
                case "refused":
                    refusal = RuntimeError(message.refused.reason)
                    self._answered.pop(message.refused.topic).set_exception(refusal)
                case "deliver":
                    await self._take(message.deliver)
                case "subscribed":
                    self._answered.pop(message.subscribed.channel).set_result(None)
                case "unsubscribed":
                    refusal = RuntimeError(message.unsubscribed.reason)
                    self._answered.pop(message.unsubscribed.channel).set_exception(refusal)
                case "broadcast":
                    async with self.arrived:
                        self.broadcasts.append(message.broadcast)
                        self.arrived.notify_all()
                case "goodbye":
                    self.goodbyes.append(message.goodbye)

    async def _take(self, deliver):
        key = (deliver.topic, deliver.identity)
        if key in self.arrivals:
            self.copies += 1
        else:
            async with self.arrived:
                self.arrivals[key] = deliver.payload
                self.arrived.notify_all()
        self.say(acknowledge=pb.Acknowledge(delivery=[deliver.delivery]))
