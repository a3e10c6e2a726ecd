"""What a relay does because rules say so."""

import pytest
from h2.events import DataReceived, StreamReset
from provider import TOKEN, Provider

from pytest_postrider.control import Refused


@pytest.fixture
def provider(postrider):
    provider = Provider(postrider)
    yield provider
    provider.close()


def test_an_answer_is_what_a_rule_says(postrider, provider):
    postrider.rules([
        {"match": {"nth": 1}, "do": {"status": 410, "timestamp": 1234}},
        {"match": {"nth": 1}, "do": {"status": 429, "retryAfter": "30s"}},
        {"match": {"nth": 1}, "do": {"status": 418, "customReason": "Teapot"}},
    ])
    status, head, body = provider.answer(provider.push(apns_id="6f0c2e5a-4c1b-4b6e-9d6f-0a3f5e7c9b1d"))
    assert (status, body) == (410, {"reason": "Unregistered", "timestamp": 1234})
    assert head["apns-id"] == "6f0c2e5a-4c1b-4b6e-9d6f-0a3f5e7c9b1d"
    status, head, body = provider.answer(provider.push())
    assert (status, head["retry-after"], body) == (429, "30", {"reason": "TooManyRequests"})
    status, head, body = provider.answer(provider.push())
    assert (status, body) == (418, {"reason": "Teapot"})
    assert provider.send() == 200
    captures = postrider.captures.wait(4)
    assert [(each.outcome, each.rule and each.rule["number"]) for each in captures] == [
        ("scripted", 1), ("scripted", 2), ("scripted", 3), ("captured", None),
    ]


def test_a_scenario_begins_with_the_first_push(postrider, provider):
    postrider.rules("phases: [{for: 1h, rules: [{do: {status: 503, retryAfter: rest}}]}, {name: as usual}]")
    status, head, body = provider.answer(provider.push())
    assert (status, head["retry-after"], body) == (503, "3600", {"reason": "ServiceUnavailable"})


def test_each_rule_counts_its_matches(postrider, provider):
    answer = postrider.rules([
        {"name": "first", "match": {"nth": 1, "per": "token"}, "do": {"status": 503}},
        {"match": {"payload": {"aps.badge": 4}}, "do": {"lose": True}},
    ])
    assert [each["matched"] for each in answer] == [0, 0]
    assert [provider.send(token=token * 32) for token in ("aa", "aa", "bb", "bb")] == [503, 200, 503, 200]
    assert postrider.rule_counts() == [
        {"rule": 1, "name": "first", "considered": 4, "matched": 2}, {"rule": 2, "considered": 0, "matched": 0},
    ]


def test_a_request_that_is_wrong_is_refused_as_always(postrider, provider):
    postrider.rules([{"do": {"lose": True}}])
    assert provider.send(authorization="bearer a.b.c") == 403
    assert provider.send() == 200
    assert [each.outcome for each in postrider.captures.wait(2)] == ["refused", "lost"]
    assert postrider.rule_counts()[0]["matched"] == 1


def test_a_token_is_unregistered_from_now_on(postrider, provider):
    postrider.rules([{"match": {"token": TOKEN, "nth": 2}, "do": {"unregister": True}}])
    assert [provider.send() for _ in range(4)] == [200, 410, 410, 410]
    assert provider.send(token="cd" * 32) == 200


def test_an_answer_is_held_back(postrider, provider):
    postrider.rules([{"match": {"nth": 1}, "do": {"delay": "1h"}}, {"match": {"nth": 1}, "do": {"delay": {"mean": "20ms"}}}])
    held, late, prompt = (provider.push() for _ in range(3))
    assert [provider.answer(stream)[0] for stream in (prompt, late)] == [200, 200]
    captures = postrider.captures.all()
    assert [(each.raw["stream"], each.outcome) for each in captures] == [
        (held, "open"), (late, "captured"), (prompt, "captured"),
    ]


def test_a_stream_is_reset(postrider, provider):
    postrider.rules([{"match": {"nth": 1}, "do": {"reset": "REFUSED_STREAM"}}])
    stream = provider.push()
    event = provider.read(lambda event: isinstance(event, StreamReset) and event.stream_id == stream)
    assert event.error_code == 7
    assert provider.send() == 200
    assert [each.outcome for each in postrider.captures.wait(2)] == ["reset", "captured"]


@pytest.mark.parametrize("close, end", [("clean", "close_notify"), ("abrupt", "cut")])
def test_a_connection_is_closed(postrider, provider, close, end):
    postrider.rules([{"do": {"close": close}}])
    provider.push()
    assert provider.read_to_end() == end
    capture, = postrider.captures.wait()
    assert (capture.status, capture.outcome) == (None, "closed")


@pytest.mark.parametrize("when, kinds", [("before", ["GOAWAY", "HEADERS", "DATA"]), ("after", ["HEADERS", "DATA", "GOAWAY"])])
def test_a_goaway_comes_before_the_answer_or_after(postrider, provider, when, kinds):
    goaway = {"when": when, "code": "ENHANCE_YOUR_CALM", "reason": "Shutdown"}
    postrider.rules([{"match": {"nth": 1}, "do": {"status": 503, "goaway": goaway}}])
    provider.push()
    frames = provider.frames_to_end()
    assert [kind for kind, _ in frames] == kinds
    # The last stream, the error code, the debug data (RFC 9113, section 6.8).
    assert dict(frames)["GOAWAY"] == (1).to_bytes(4, "big") + (11).to_bytes(4, "big") + b'{"reason":"Shutdown"}'


def test_a_goaway_follows_a_push_that_is_taken_on(postrider, provider):
    postrider.rules([{"do": {"goaway": "after"}}])
    provider.push()
    assert [kind for kind, _ in provider.frames_to_end()] == ["HEADERS", "GOAWAY"]
    assert postrider.captures.wait()[0].status == 200


def test_a_body_stops_half_way(postrider, provider):
    postrider.rules([{"match": {"nth": 1}, "do": {"status": 503, "stall": "forever"}}, {"do": {"status": 503, "stall": "200ms"}}])
    stuck = provider.push()
    provider.read(lambda event: isinstance(event, DataReceived))
    assert provider.answer(provider.push())[2] == {"reason": "ServiceUnavailable"}
    assert provider.body(stuck) == b'{"reason":"Serv'


def test_probability_is_the_same_with_the_same_seed(postrider, provider):
    def statuses(seed):
        postrider.rules([{"match": {"probability": 0.5}, "do": {"status": 503}}], seed=seed)
        return [provider.send() for _ in range(20)]

    some = statuses(1)
    assert set(some) == {200, 503} and some == statuses(1) and some != statuses(2)


def test_wrong_rules_are_refused_and_those_before_them_stay(postrider):
    postrider.rules("rules: [{do: {lose: true}}]")
    with pytest.raises(Refused, match="rules:1:.*has several reasons"):
        postrider.rules([{"do": {"status": 400}}])
    assert len(postrider.rule_counts()) == 1
