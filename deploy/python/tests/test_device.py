"""Devices that the fixture registers."""

import json

import pytest
from provider import PAYLOAD, Provider

from pytest_postrider import DeviceError
from pytest_postrider.control import Refused


@pytest.fixture
def provider(postrider):
    provider = Provider(postrider)
    yield provider
    provider.close()


def devices(postrider):
    return json.loads(postrider._ask("GET", "/v1/devices"))


def test_a_device_has_a_token_and_receives_what_is_pushed_to_it(postrider, provider):
    device = postrider.device()
    assert provider.send(token=device.token, apns_collapse_id="c") == 200
    notification, = device.wait()
    notification.expect(
        topic=postrider.topic, push_type="alert", priority=10, collapse_id="c", payload={"aps": {"alert": {"title": "Tea"}}}
    )
    capture, = postrider.captures.wait(outcome="accepted")
    assert (capture.token, capture.id.lower()) == (device.token, notification.id.lower())
    assert notification.payload == PAYLOAD


def test_several_devices_receive_their_own(postrider, provider):
    one, other = postrider.device(), postrider.device()
    assert one.token != other.token
    assert [provider.send(token=other.token, payload={"n": n}) for n in (1, 2)] == [200, 200]
    assert [each.payload["n"] for each in other.wait(2)] == [1, 2]
    assert one.all() == []


def test_a_device_may_be_of_the_development_environment(postrider):
    device = postrider.device(environment="development")
    provider = Provider(postrider, port=postrider.development_port)
    assert provider.send(token=device.token) == 200
    provider.close()
    assert len(device.wait()) == 1


def test_a_device_that_was_away_gets_what_came_meanwhile(postrider, provider):
    device = postrider.device()
    token = device.token
    device.stop()
    assert provider.send(token=token) == 200
    assert device.all() == []
    device.start()
    assert device.token == token
    assert len(device.wait()) == 1


def test_what_does_not_come_fails_with_what_came(postrider, provider):
    device = postrider.device()
    provider.send(token=device.token)
    device.wait()
    with pytest.raises(AssertionError, match=r"(?s)1 of 2 notifications came to device \d+ within 0.1 seconds.*\"Tea\""):
        device.wait(2, timeout=0.1)
    with pytest.raises(AssertionError, match=r"(?s)is otherwise:\n- payload.aps.badge: 4\n\+ payload.aps.badge: 3"):
        device.wait()[0].expect(payload={"aps": {"badge": 4}})


def test_a_topic_that_the_relay_does_not_have_is_told(postrider):
    with pytest.raises(DeviceError, match="did not register no.such.topic.*(?s:.)*no.such.topic"):
        postrider.device("no.such.topic", timeout=10)


def test_devices_end_with_the_test(postrider):
    postrider.device()
    postrider.close_devices()
    assert all(not each["isConnected"] for each in devices(postrider))


def test_a_rule_keeps_a_device_away_and_the_push_waits(postrider, provider):
    device = postrider.device()
    postrider.rules([{"match": {"nth": 1}, "do": {"device": {"offline": "200ms"}}}])
    assert provider.send(token=device.token) == 200
    assert len(device.wait()) == 1
    capture, = postrider.captures.wait(outcome="accepted")
    assert capture.rule["number"] == 1
    assert postrider.rule_counts()[0]["matched"] == 1


def test_a_rule_makes_a_device_slow(postrider, provider):
    device = postrider.device()
    postrider.rules([{"match": {"nth": 2}, "do": {"device": {"slow": "200ms"}}}])
    for number in range(3):
        assert provider.send(token=device.token, payload={"n": number}) == 200
    assert [each.payload["n"] for each in device.wait(3)] == [0, 1, 2]


def test_a_rule_makes_acknowledgements_late(postrider, provider):
    device = postrider.device()
    postrider.rules([{"do": {"device": {"acknowledgesLate": "1h"}}}])
    assert provider.send(token=device.token) == 200
    assert len(device.wait()) == 1
    capture, = postrider.captures.all()
    assert "acknowledged" not in capture.events
    # The link has ended before that counts, so the relay delivers the push again, and the device knows it.
    device.stop()
    postrider.rules([])
    device.start()
    while "acknowledged" not in postrider.captures.all()[0].events:
        pass


def test_a_rule_cuts_a_delivery_and_the_push_comes_with_the_next_link(postrider, provider):
    device = postrider.device()
    postrider.rules([{"match": {"nth": 1}, "do": {"device": {"disconnects": True}}}])
    for number in range(2):
        assert provider.send(token=device.token, payload={"n": number}) == 200
    assert [each.payload["n"] for each in device.wait(2, timeout=60)] == [0, 1]


def test_a_rule_about_a_device_that_ends_the_push_is_refused(postrider):
    with pytest.raises(Refused, match="is about a push that is delivered"):
        postrider.rules([{"do": {"lose": True, "device": {"slow": "1s"}}}])
