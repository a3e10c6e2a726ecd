"""A login manager: sends the device to sleep, and waits for whoever holds a delay lock, as logind does.

usage: logind.py BUS COUNT

For Debian's own Python, with python3-jeepney. It prints `locked` when somebody has taken the lock and `asleep` when nobody
holds it any more; so many times it sleeps and wakes.
"""

import os
import select
import sys

from jeepney import DBusAddress, HeaderFields, MessageType, new_method_return, new_signal
from jeepney.bus_messages import DBus
from jeepney.io.blocking import open_dbus_connection

PATIENCE_SECONDS = 60
# logind waits for five; an agent that had waited for its own patience would need four.
RELEASE_SECONDS = 20
MANAGER = DBusAddress("/org/freedesktop/login1", interface="org.freedesktop.login1.Manager")


def say(line):
    print(line, flush=True)


def lend(connection):
    """Waits for somebody who wants a delay lock, and answers the end of a pipe that is theirs for as long as they hold it."""
    while True:
        message = connection.receive(timeout=PATIENCE_SECONDS)
        fields = message.header.fields
        if message.header.message_type == MessageType.method_call and fields.get(HeaderFields.member) == "Inhibit":
            what, _, _, mode = message.body
            assert (what, mode) == ("sleep", "delay"), message.body
            ours, theirs = os.pipe()
            connection.send(new_method_return(message, "h", (theirs,)))
            os.close(theirs)
            say("locked")
            return ours


def prepare(connection, is_to_sleep):
    connection.send(new_signal(MANAGER, "PrepareForSleep", "b", (is_to_sleep,)))


def main(bus, count):
    connection = open_dbus_connection(bus, enable_fds=True)
    connection.send_and_get_reply(DBus().RequestName("org.freedesktop.login1"), timeout=PATIENCE_SECONDS)
    lock = lend(connection)
    for _ in range(int(count)):
        prepare(connection, True)
        if not select.select([lock], [], [], RELEASE_SECONDS)[0]:
            sys.exit("the lock was held too long")
        assert os.read(lock, 1) == b""
        os.close(lock)
        say("asleep")
        prepare(connection, False)
        lock = lend(connection)


if __name__ == "__main__":
    main(*sys.argv[1:])
