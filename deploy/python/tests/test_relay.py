"""The program that the fixture starts."""

import json
import os
import select
import signal
import ssl
import subprocess
import sys
from pathlib import Path

import pytest
from provider import Provider

from pytest_postrider import Relay, RelayError


@pytest.fixture
def program(pytestconfig):
    return pytestconfig.getoption("--postrider") or "postrider"


def test_a_program_that_is_not_there_is_told():
    with pytest.raises(RelayError, match="name the program with --postrider"):
        Relay("no-such-postrider")


def test_a_relay_that_does_not_start_says_why(program):
    with pytest.raises(RelayError, match="--address must be an address of this machine"):
        Relay(program, options=["--address", "push.test"])


def test_its_certificate_is_for_the_names_that_it_is_given(program):
    relay = Relay(program, options=["--name", "push.test", "--name", "stranger.example"])
    try:
        provider = Provider(relay, name="push.test")
        assert provider.send() == 200
        provider.close()
        with pytest.raises(ssl.SSLCertVerificationError):
            Provider(relay, name="another.example")
        assert relay.values["names"] == ["push.test", "stranger.example"]
    finally:
        relay.close()


def test_a_relay_starts_with_the_keys_of_an_earlier_one_and_has_nothing_else_of_it(program, tmp_path):
    first = Relay(program)
    first.keep_keys(tmp_path)
    token = first.device().token
    authority = Path(first.ca).read_bytes()
    first.close()
    second = Relay(program, keys=tmp_path)
    try:
        assert Path(second.ca).read_bytes() == authority
        provider = Provider(second)
        assert provider.send() == 200
        provider.close()
        assert len(second.captures.all()) == 1 and second.captures.all(token=token) == []
        assert second.device().token != token
    finally:
        second.close()


def test_rules_come_from_a_file_and_those_that_never_matched_are_told_at_the_end(program, tmp_path):
    rules = tmp_path / "rules.yaml"
    rules.write_text("rules:\n  - {match: {nth: 1}, do: {status: 503}}\n  - {name: idle, match: {nth: 9}, do: {lose: true}}\n")
    relay = Relay(program, options=["--rules", str(rules)])
    provider = Provider(relay)
    assert [provider.send(), provider.send()] == [503, 200]
    provider.close()
    relay.close()
    told = [line for line in relay.log() if "never matched" in line]
    assert len(told) == 1 and "rule 2 'idle' never matched: 1 push fulfilled its conditions" in told[0]


def test_a_file_of_wrong_rules_ends_the_command(program, tmp_path):
    rules = tmp_path / "rules.yaml"
    rules.write_text("rules:\n  - match: {topc: a}\n    do: {lose: true}\n")
    command = [program, "dev", "--directory", str(tmp_path / "dev"), "--rules", str(rules)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert "rules.yaml:2:" in ended.stderr and "did you mean 'topic'?" in ended.stderr


def test_tokens_that_nobody_gave_out_are_refused_unless_they_are_wanted(program, tmp_path):
    command = [program, "dev", "--json", "--directory", str(tmp_path / "dev")]
    command += [word for port in ("provider", "development", "device") for word in (f"--{port}-port", "0")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        values = json.loads(process.stdout.readline())
        relay = type("Values", (), {
            "host": values["host"], "port": values["providerPort"], "ca": values["authorityFile"],
            "key": values["keyFile"], "key_id": values["keyIdentifier"], "team": values["team"], "topic": values["topics"][0],
        })
        provider = Provider(relay)
        status, _, body = provider.answer(provider.push())
        provider.close()
        process.terminate()
    assert (status, body) == (400, {"reason": "BadDeviceToken"})


def test_an_accepted_push_tells_what_becomes_of_it(postrider, program):
    folder = Path(postrider.values["authorityFile"]).parent
    command = [program, "device", "--json", "--directory", folder, "--topic", postrider.topic]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as device:
        events = map(json.loads, device.stdout)
        token = next(event["token"] for event in events if event["event"] == "registered")
        provider = Provider(postrider)
        assert provider.send(token=token, apns_collapse_id="c") == 200
        provider.close()
        shown = next(event for event in events if event["event"] == "notification")
        capture, = postrider.captures.wait(outcome="accepted")
        while "acknowledged" not in capture.events:
            capture, = postrider.captures.all()
        device.terminate()
    assert capture.events[0] in ("sent", "stored")
    names = {"event", "topic", "id", "pushType", "priority", "collapseId", "acceptedAt", "payload"}
    assert shown.keys() == names and shown["id"].lower() == capture.id.lower()


def test_the_command_lists_and_filters(postrider, program):
    provider = Provider(postrider)
    provider.send()
    provider.send(apns_priority="7")
    provider.close()
    postrider.captures.wait(2)

    def lines(*options):
        command = [program, "captures", "--control", postrider.values["controlAddress"], *options]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()

    assert [" 200 " in line for line in lines()] == [True, False]
    refused, = lines("--outcome", "refused")
    assert "400 BadPriority" in refused and "refused" in refused
    assert json.loads("".join(lines("--json", "--last", "1")))["captures"][0]["answer"]["status"] == 400


def test_the_command_follows(postrider, program):
    command = [program, "captures", "--follow", "--json", "--control", postrider.values["controlAddress"]]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        provider = Provider(postrider)
        # It says nothing when it begins: pushes go on until one is shown.
        shown = []
        while not shown:
            provider.send()
            postrider.captures.wait()
            if _has_line(process):
                shown.append(json.loads(process.stdout.readline()))
        provider.close()
        process.kill()  # A parent may have blocked SIGTERM.
    assert shown[0]["answer"]["status"] == 200 and shown[0]["payload"]["aps"]["badge"] == 3


def _has_line(process):
    return bool(select.select([process.stdout], [], [], 0.1)[0])


def test_a_relay_ends_when_the_test_process_is_killed(program):
    script = f"import pytest_postrider, signal; print(pytest_postrider.Relay({program!r}).values['process'], flush=True); signal.pause()"
    tests = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    relay = os.pidfd_open(int(tests.stdout.readline()))
    assert select.select([relay], [], [], 0) == ([], [], [])
    tests.send_signal(signal.SIGKILL)
    tests.wait()
    assert select.select([relay], [], [], 60)[0] == [relay], "the relay still runs"
    os.close(relay)
    tests.stdout.close()
