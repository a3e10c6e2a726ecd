"""Prints a port that takes connections, and never says anything on them."""

import socket
import threading

with socket.create_server(("127.0.0.1", 0)) as hole:
    print(hole.getsockname()[1], flush=True)
    threading.Event().wait()
