"""A system manager: starts no unit, and says of each what came of it, as systemd does over D-Bus.

usage: systemd.py BUS FOLDER RESULT...

For Debian's own Python, with python3-jeepney. A RESULT is `done`, or the exit code of a unit that fails: one for each
StartUnit, in order. It prints `started NAME PAYLOAD` with what lies for the unit below FOLDER, and `reset NAME`.
"""

import pathlib
import sys

from jeepney import DBusAddress, HeaderFields, MessageType, new_error, new_method_return, new_signal
from jeepney.bus_messages import DBus
from jeepney.io.blocking import open_dbus_connection

PATIENCE_SECONDS = 60
PATH = "/org/freedesktop/systemd1"
MANAGER = DBusAddress(PATH, interface="org.freedesktop.systemd1.Manager")
CLD_EXITED = 1


def say(line):
    print(line, flush=True)


def main(bus, folder, *results):
    connection = open_dbus_connection(bus)
    connection.send_and_get_reply(DBus().RequestName("org.freedesktop.systemd1"), timeout=PATIENCE_SECONDS)
    say("ready")
    results, codes, jobs = list(results), {}, 0
    while True:
        message = connection.receive()
        if message.header.message_type != MessageType.method_call:
            continue
        member = message.header.fields.get(HeaderFields.member)
        if member == "StartUnit":
            name, mode = message.body
            assert mode == "fail", mode
            instance = name.partition("@")[2].removesuffix(".service")
            payload = pathlib.Path(folder, instance, "payload").read_text(encoding="utf-8")
            say(f"started {name} {payload}")
            jobs += 1
            job = f"{PATH}/job/{jobs}"
            result = results.pop(0)
            codes[name] = 0 if result == "done" else int(result)
            connection.send(new_method_return(message, "o", (job,)))
            word = "done" if result == "done" else "failed"
            connection.send(new_signal(MANAGER, "JobRemoved", "uoss", (jobs, job, name, word)))
        elif member == "GetUnit":
            unit = message.body[0]
            connection.send(new_method_return(message, "o", (f"{PATH}/unit/{list(codes).index(unit)}",)))
        elif member == "GetAll":
            index = int(message.header.fields[HeaderFields.path].rsplit("/", 1)[1])
            values = {"ExecMainCode": ("i", CLD_EXITED), "ExecMainStatus": ("i", list(codes.values())[index])}
            connection.send(new_method_return(message, "a{sv}", (values,)))
        elif member in ("Subscribe", "ResetFailedUnit"):
            if member == "ResetFailedUnit":
                say(f"reset {message.body[0]}")
            connection.send(new_method_return(message))
        else:
            connection.send(new_error(message, "org.freedesktop.DBus.Error.UnknownMethod"))


if __name__ == "__main__":
    main(*sys.argv[1:])
