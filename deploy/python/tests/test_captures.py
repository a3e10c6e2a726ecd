"""What a relay keeps of what it was sent."""

import asyncio
import threading

import pytest
from aioapns import NotificationRequest
from provider import PAYLOAD, TOKEN, Provider, library

from pytest_postrider.control import Refused


@pytest.fixture
def provider(postrider):
    provider = Provider(postrider)
    yield provider
    provider.close()


def test_a_library_s_push_is_kept_as_it_came(postrider):
    async def push():
        client = library(postrider)
        result = await client.send_notification(
            NotificationRequest(device_token=TOKEN, message=PAYLOAD, notification_id="6f0c2e5a-4c1b-4b6e-9d6f-0a3f5e7c9b1d")
        )
        client.pool.close()
        return result

    assert asyncio.run(push()).is_successful
    capture, = postrider.captures.wait()
    capture.expect(
        token=TOKEN, topic=postrider.topic, status=200, reason=None, outcome="captured", payload=PAYLOAD,
        id="6f0c2e5a-4c1b-4b6e-9d6f-0a3f5e7c9b1d",
        claims={"alg": "ES256", "kid": postrider.key_id, "iss": postrider.team},
    )
    assert capture.headers["authorization"].endswith(".(masked)")
    assert capture.raw["connection"]["peer"].startswith("127.0.0.1:")
    assert capture.raw["connection"]["tls"]["version"] == "TLSv1.3"
    assert capture.raw["connection"]["tls"]["cipher"].startswith("TLS_")
    assert capture.raw["environment"] == "production"


def test_requests_are_told_apart_by_connection_and_stream(postrider, provider):
    other = Provider(postrider, port=postrider.development_port)
    assert [provider.send(), provider.send(), other.send()] == [200, 200, 200]
    other.close()
    first, second, third = postrider.captures.wait(3)
    assert (first.raw["stream"], second.raw["stream"], third.raw["stream"]) == (1, 3, 1)
    assert first.raw["connection"] == second.raw["connection"] != third.raw["connection"]
    assert first.raw["connection"]["alpn"] == "h2"
    assert third.raw["environment"] == "development"


def test_refusals_are_kept_with_their_reasons(postrider, provider):
    cases = [
        ({"apns_priority": "7"}, 400, "BadPriority"), ({"token": "ab"}, 400, "BadDeviceToken"),
        ({"payload": b"no JSON"}, 400, "PayloadEmpty"), ({"authorization": "bearer a.b.c"}, 403, "InvalidProviderToken"),
        ({"apns_topic": "org.example.stranger"}, 400, "TopicDisallowed"), ({"token": "ab" * 101}, 400, "BadDeviceToken"),
    ]
    for fields, status, _ in cases:
        assert provider.send(**fields) == status
    captures = postrider.captures.wait(len(cases))
    assert [(each.status, each.reason, each.outcome) for each in captures] == [
        (status, reason, "refused") for _, status, reason in cases
    ]
    assert captures[2].payload is None and captures[2].raw["body"] == "bm8gSlNPTg=="


@pytest.mark.parametrize("digits", [64, 66, 200])
def test_tokens_of_one_s_own_are_taken(provider, digits):
    assert provider.send(token="c" * digits) == 200


def test_captures_are_found_by_filters(postrider, provider):
    provider.send(token="aa" * 32)
    provider.send(token="bb" * 32, apns_priority="7")
    provider.send(token="bb" * 32)
    found = postrider.captures
    assert [each.raw["stream"] for each in found.all(token="bb")] == [3, 5]
    assert [each.raw["stream"] for each in found.all(token="bb" * 32, status=200)] == [5]
    assert [each.raw["stream"] for each in found.all(outcome="refused")] == [3]
    assert [each.raw["stream"] for each in found.all(since=found.all()[2].raw["at"] + 1)] == []
    with pytest.raises(Refused, match="not with 'topc'"):
        found.all(topc="a")
    found.clear()
    assert found.all() == []


def test_whoever_waits_is_answered_when_enough_have_come(postrider, provider):
    pushes = threading.Thread(target=lambda: (provider.send(), provider.send()))
    pushes.start()
    assert len(postrider.captures.wait(2, timeout=30)) == 2
    pushes.join()


def test_a_push_that_does_not_come_is_told_with_what_came_instead(postrider, provider):
    provider.send(token="aa" * 32)
    with pytest.raises(AssertionError) as failure:
        postrider.captures.wait(1, timeout=0.1, token="bb")
    assert "0 of 1 requests came within 0.1 seconds, token='bb'; all that came:" in str(failure.value)
    assert ": 200 (captured) alert com.example.app aaaaaaaaaaaaaaaa {" in str(failure.value)


def test_what_differs_is_told_member_by_member(postrider, provider):
    provider.send()
    capture, = postrider.captures.wait()
    expected = {"aps": {"alert": {"title": "Coffee", "body": "is ready"}, "sound": "default"}}
    assert capture.differences(topic=postrider.topic, payload=expected) == [
        '- payload.aps.alert.title: "Coffee"', '+ payload.aps.alert.title: "Tea"',
        '- payload.aps.sound: "default"', "+ payload.aps.sound: (missing)",
    ]
    with pytest.raises(AssertionError, match="request .* is otherwise"):
        capture.expect(payload=expected)
    with pytest.raises(TypeError, match="a capture has no titel"):
        capture.expect(titel="a")


def test_a_push_that_its_provider_gives_up_is_told(postrider, provider):
    postrider.rules([{"do": {"delay": "1h"}}])
    provider.reset(provider.push())
    provider.wait_until_read()
    provider.close()
    capture, = postrider.captures.wait()
    assert (capture.status, capture.outcome) == (None, "abandoned")
