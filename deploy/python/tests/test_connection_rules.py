"""What rules do to a connection, as its provider sees it."""

import ssl

import pytest
from h2.events import RemoteSettingsChanged
from h2.settings import SettingCodes
from provider import PAYLOAD, Provider


@pytest.fixture
def provider(postrider):
    provider = Provider(postrider)
    yield provider
    provider.close()


def settings_change(provider):
    """Reads the next SETTINGS frame."""
    provider.read(lambda event: isinstance(event, RemoteSettingsChanged))


def do(postrider, **effect):
    postrider.rules([{"match": {"nth": 1}, "do": effect}])


def test_a_goaway_may_say_that_the_push_was_not_processed(postrider, provider):
    assert provider.send() == 200
    do(postrider, goaway={"when": "before", "lastStream": "previous"})
    provider.push()
    frames = provider.frames_to_end()
    assert [kind for kind, _ in frames] == ["GOAWAY"]
    assert frames[0][1][:8] == (1).to_bytes(4, "big") + bytes(4)
    answered, unprocessed = postrider.captures.wait(2)
    assert (answered.outcome, unprocessed.outcome, unprocessed.status) == ("captured", "reset", None)
    assert postrider.rule_counts()[0]["matched"] == 1


def test_a_goaway_may_name_a_stream_that_was_answered_long_ago(postrider, provider):
    do(postrider, goaway={"when": "after", "lastStream": 0})
    provider.push()
    frames = provider.frames_to_end()
    assert [kind for kind, _ in frames] == ["HEADERS", "GOAWAY"]
    assert frames[1][1][:4] == bytes(4)
    assert postrider.captures.wait()[0].status == 200


def test_settings_change_and_are_restored(postrider, provider):
    settings_change(provider)
    values = {"maxConcurrentStreams": 0, "initialWindowSize": 1, "maxFrameSize": 20_000, "headerTableSize": 0}
    do(postrider, settings={**values, "maxHeaderListSize": 500, "for": "100ms"})
    assert provider.send() == 200
    while provider.streams.remote_settings.max_concurrent_streams != 1000:
        settings_change(provider)
    first, changed, restored = provider.settings()
    assert changed == {
        SettingCodes.MAX_CONCURRENT_STREAMS: 0, SettingCodes.INITIAL_WINDOW_SIZE: 1, SettingCodes.MAX_FRAME_SIZE: 20_000,
        SettingCodes.HEADER_TABLE_SIZE: 0, SettingCodes.MAX_HEADER_LIST_SIZE: 500,
    }
    assert restored == {code: first[code] for code in changed}
    assert [provider.send() for _ in range(3)] == [200, 200, 200]


def test_a_smaller_header_table_is_kept_to(postrider, provider):
    do(postrider, settings={"headerTableSize": 0})
    assert [provider.send() for _ in range(4)] == [200, 200, 200, 200]
    assert provider.streams.remote_settings.header_table_size == 0


def test_bodies_wait_for_a_window(postrider, provider):
    do(postrider, window={"bytes": 0, "for": "300ms"})
    assert provider.send() == 200
    while provider.streams.remote_settings.initial_window_size != 0:
        settings_change(provider)
    stream = provider.begin()
    assert provider.streams.local_flow_control_window(stream) == 0
    while provider.streams.remote_settings.initial_window_size == 0:
        settings_change(provider)
    provider.end(stream, PAYLOAD)
    assert provider.answer(stream)[0] == 200
    # That is more than the connection's window, so that it opens again too.
    assert {provider.send(payload={"text": "x" * 4000}) for _ in range(300)} == {200}


def test_nothing_is_read_for_a_while(postrider, provider):
    do(postrider, stopReading="forever")
    assert provider.send() == 200
    provider.push(apns_collapse_id="unread")
    other = Provider(postrider)
    assert other.send(apns_collapse_id="other") == 200
    other.close()
    assert [each.headers.get("apns-collapse-id") for each in postrider.captures.all()] == [None, "other"]


def test_reading_goes_on_when_the_time_is_over(postrider, provider):
    do(postrider, stopReading="300ms")
    assert [provider.send() for _ in range(3)] == [200, 200, 200]


def test_the_next_connections_see_an_expired_certificate(postrider, provider):
    do(postrider, expiredCertificate=2, goaway="after")
    provider.push()
    assert [kind for kind, _ in provider.frames_to_end()] == ["HEADERS", "GOAWAY"]
    for _ in range(2):
        with pytest.raises(ssl.SSLCertVerificationError, match="certificate has expired"):
            Provider(postrider)
    again = Provider(postrider)
    assert again.send() == 200
    again.close()


def test_other_rules_show_the_good_certificate_again(postrider, provider):
    do(postrider, expiredCertificate="next")
    assert provider.send() == 200
    postrider.rules([])
    Provider(postrider).close()
