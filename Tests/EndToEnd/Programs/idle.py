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
require(len(farewells) == 1, f"there are {len(farewells)} GOAWAY frames")
require(farewells[0].error_code == 0, f"GOAWAY has the error {farewells[0].error_code}")
require(json.loads(farewells[0].additional_data) == {"reason": "IdleTimeout"}, "GOAWAY says IdleTimeout")
say("sent away")
