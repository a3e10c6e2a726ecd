"""The cases of h2spec (generic, http2 and hpack), re-expressed, against a relay's provider port.

h2spec is a program in Go of Moto Ishizawa's that asks an HTTP/2 server what RFC 7540 and RFC 7541 oblige it to; its
cases are numbered by their sections. Here every case has its number, what is sent, and what may come back; nothing
is timed: two PINGs are sent behind what is to be judged, and what has not come before the second one's answer is
not coming.

usage: h2spec.py RELAY.json
"""

import sys
from concurrent.futures import ThreadPoolExecutor

import h2spec_generic
import h2spec_http2
import h2spec_hpack
from frames import Frames
from relay import Relay, require, say

# Cases that fail, and why that is as it should be.
KNOWN = {
    "http2/5.1.1/2": "the code is STREAM_CLOSED: a stream that was passed over is closed, and is not told from others",
}
AT_ONCE = 16


def verdict(relay, case):
    """What is wrong; None: nothing."""
    connection = Frames(relay.provider_endpoint, relay.ca, **case.options)
    try:
        for step in case.steps:
            if isinstance(step, bytes):
                connection.send(step)
            else:
                step(connection)
        return case.outcome(connection)
    except TimeoutError:
        return f"nothing comes after {connection.received}"
    finally:
        connection.close()


def main(relay):
    cases = [*h2spec_generic.CASES, *h2spec_http2.CASES, *h2spec_hpack.CASES]
    require(len({case.number for case in cases}) == len(cases), "every case has a number of its own")
    with ThreadPoolExecutor(AT_ONCE) as pool:
        verdicts = list(pool.map(lambda case: verdict(relay, case), cases))
    failures = {case.number: f"{case.sends}: {wrong}" for case, wrong in zip(cases, verdicts) if wrong is not None}
    for number, wrong in failures.items():
        say(f"{'known' if number in KNOWN else 'FAILED'} {number}: {wrong}")
    require(not KNOWN.keys() - failures.keys(), f"these are mended: {KNOWN.keys() - failures.keys()}")
    require(not failures.keys() - KNOWN.keys(), f"{len(failures.keys() - KNOWN.keys())} cases fail")
    say(f"{len(cases) - len(failures)} of {len(cases)} cases pass")


main(Relay.described_in(sys.argv[1]))
