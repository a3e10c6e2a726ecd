"""Forwards connections to a port, and cuts them at drawn moments, with whatever is on its way.

usage: cutter.py PORT SEED

It prints `port NUMBER`, where it listens on 127.0.0.1, and `cut` for each connection that it has cut.
"""

import asyncio
import random
import socket
import struct
import sys

LEAST_SECONDS, MOST_SECONDS = 0.2, 1.5


def abort(writer):
    """Sends a reset: what was not read yet is lost."""
    peer = writer.get_extra_info("socket")
    if peer is not None:
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def pump(reader, writer):
    while data := await reader.read(4096):
        writer.write(data)
        await writer.drain()


async def main(port, seed):
    moments = random.Random(int(seed))

    async def serve(reader, writer):
        there, back = await asyncio.open_connection("127.0.0.1", int(port))
        pumps = [asyncio.ensure_future(pump(reader, back)), asyncio.ensure_future(pump(there, writer))]
        await asyncio.wait(
            pumps, timeout=moments.uniform(LEAST_SECONDS, MOST_SECONDS), return_when=asyncio.FIRST_COMPLETED)
        for task in pumps:
            task.cancel()
        await asyncio.gather(*pumps, return_exceptions=True)
        for end in writer, back:
            abort(end)
        print("cut", flush=True)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    print("port", server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
