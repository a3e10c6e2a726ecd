"""Two servers of notifications, of which the second takes the place of the first, and their user.

usage: notices.py BUS

For Debian's own Python, with python3-jeepney. It prints `one shows SUMMARY`, or `two`. At SIGUSR1 the user replies to what
was shown last: the first time with a text that has the noncharacter U+FFFF in it, later with a number. At SIGUSR2 the
second server takes the name over; it answers what it can do at the next SIGUSR2 only.
"""

import select
import signal
import sys

from jeepney import DBusAddress, HeaderFields, MessageType, new_method_return, new_signal
from jeepney.bus_messages import DBus
from jeepney.io.blocking import open_dbus_connection

PATIENCE_SECONDS = 60
NAME = "org.freedesktop.Notifications"
NOTICES = DBusAddress("/org/freedesktop/Notifications", interface=NAME)
CAPABILITIES = ["body", "actions", "inline-reply"]
ALLOW_REPLACEMENT, REPLACE_EXISTING = 1, 2


def say(line):
    print(line, flush=True)


class Server:
    def __init__(self, name, bus, hesitates):
        self.name = name
        self.connection = open_dbus_connection(bus)
        self.hesitates = hesitates
        self.last = 0
        # The question that waits for its answer.
        self.question = None

    def take_name(self, flags):
        self.connection.send_and_get_reply(DBus().RequestName(NAME, flags), timeout=PATIENCE_SECONDS)
        say(f"{self.name} has the name")

    def work(self):
        """Answers whatever has come."""
        while True:
            try:
                message = self.connection.receive(timeout=0)
            except TimeoutError:
                return
            if message.header.message_type != MessageType.method_call:
                continue
            match message.header.fields[HeaderFields.member]:
                case "GetCapabilities" if self.hesitates:
                    say(f"{self.name} is asked what it can do")
                    self.question = message
                case "GetCapabilities":
                    self.connection.send(new_method_return(message, "as", (CAPABILITIES,)))
                case "Notify":
                    self.last += 1
                    say(f"{self.name} shows {message.body[3]}")
                    self.connection.send(new_method_return(message, "u", (self.last,)))
                case "CloseNotification":
                    self.connection.send(new_method_return(message))

    def answer(self):
        say(f"{self.name} answers")
        self.connection.send(new_method_return(self.question, "as", (CAPABILITIES,)))
        self.hesitates = False

    def reply(self, text):
        self.connection.send(new_signal(NOTICES, "NotificationReplied", "us", (self.last, text)))
        self.connection.send(new_signal(NOTICES, "NotificationClosed", "uu", (self.last, 2)))


def main(bus):
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGUSR2])
    one, two = Server("one", bus, False), Server("two", bus, True)
    texts = iter(["600\uffff"])
    took_over = False
    one.take_name(ALLOW_REPLACEMENT)
    while True:
        select.select([one.connection.sock, two.connection.sock], [], [], 0.05)
        one.work()
        two.work()
        for number in signal.sigpending() & {signal.SIGUSR1, signal.SIGUSR2}:
            signal.sigwait([number])
            if number == signal.SIGUSR1:
                one.reply(next(texts, "600"))
            elif took_over:
                two.answer()
            else:
                took_over = True
                two.take_name(REPLACE_EXISTING)


if __name__ == "__main__":
    main(*sys.argv[1:])
