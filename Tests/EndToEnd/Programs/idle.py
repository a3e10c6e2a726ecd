"""A provider that connects and says nothing: the relay says goodbye, and why.

usage: idle.py HOST PORT CA
"""

import json
import sys

import h2.events

from relay import require, say
from wire import Client

host, port, authority = sys.argv[1:]
client = Client((host, int(port)), authority)
farewells = []
while data := client.socket.recv(65536):
    events = client.streams.receive_data(data)
    farewells += [event for event in events if isinstance(event, h2.events.ConnectionTerminated)]
    client.flush()
streams = [farewell.last_stream_id for farewell in farewells]
require(streams == [2**31 - 1, 0], f"GOAWAY names {streams}")
for farewell in farewells:
    require(farewell.error_code == 0, f"GOAWAY has the error {farewell.error_code}")
    require(json.loads(farewell.additional_data) == {"reason": "IdleTimeout"}, "GOAWAY says IdleTimeout")
say("sent away")
