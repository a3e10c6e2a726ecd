"""The requests that a relay has received."""

import json
from dataclasses import dataclass
from urllib.parse import urlencode

from .expectation import Expectable


@dataclass(frozen=True)
class Capture(Expectable):
    """One request with its answer, and with the later events of its push."""

    raw: dict

    @property
    def token(self):
        return self.raw.get("token")

    @property
    def topic(self):
        return self.raw.get("topic")

    @property
    def push_type(self):
        return self.raw.get("pushType")

    @property
    def id(self):
        return self.raw["id"]

    @property
    def status(self):
        """The HTTP status; None if there was no answer."""
        return self.raw.get("answer", {}).get("status")

    @property
    def reason(self):
        """The reason in the answer; None if the status is 200."""
        return self.raw.get("answer", {}).get("reason")

    @property
    def outcome(self):
        return self.raw["outcome"]

    @property
    def rule(self):
        """The rule that was applied, as {"number", "name"}; None if none was."""
        return self.raw.get("rule")

    @property
    def headers(self):
        """The header fields by name; if a name is repeated, its last value."""
        return {field["name"]: field["value"] for field in self.raw["headers"]}

    @property
    def payload(self):
        """The body; None if it is not a JSON object."""
        return self.raw.get("payload")

    @property
    def claims(self):
        """The contents of the provider token: {"alg", "kid", "iss", "iat"}."""
        return self.raw.get("claims")

    @property
    def events(self):
        """The kinds of the push's events after it was accepted, in order."""
        return [event["kind"] for event in self.raw["events"]]

    @property
    def title(self):
        return f"request {self.raw['number']}"

    def __str__(self):
        status = "no answer" if self.status is None else f"{self.status} {self.reason or ''}".rstrip()
        rule = f" by rule {self.rule['number']}" if self.rule else ""
        token = (self.token or "-")[:16]
        payload = "no JSON" if self.payload is None else json.dumps(self.payload, ensure_ascii=False)
        return f"  {self.raw['number']}: {status} ({self.outcome}{rule}) {self.push_type} {self.topic} {token} {payload}"


class Captures:
    """The requests that a relay has received."""

    def __init__(self, ask):
        self._ask = ask

    def all(self, **filters):
        """The requests so far, oldest first."""
        return self._get(filters)["captures"]

    def wait(self, count=1, timeout=5.0, **filters):
        """Waits until this many requests that pass the filters have an outcome, and returns all of them."""
        __tracebackhide__ = True
        answer = self._get({**filters, "count": count, "wait": f"{int(timeout * 1000)}ms"}, timeout)
        if answer["isComplete"]:
            return answer["captures"]
        came = self.all()
        wanted = "".join(f", {name}={value!r}" for name, value in filters.items())
        list_of_all = "\n".join(map(str, came)) or "  nothing"
        raise AssertionError(
            f"{len(answer['captures'])} of {count} requests came within {timeout} seconds{wanted}; all that came:\n{list_of_all}"
        )

    def clear(self):
        """Removes all captures."""
        self._ask("DELETE", "/v1/captures")

    def _get(self, filters, seconds=0.0):
        body = self._ask("GET", "/v1/captures?" + urlencode(filters), timeout=seconds + 10)
        answer = json.loads(body)
        answer["captures"] = [Capture(raw) for raw in answer["captures"]]
        return answer
