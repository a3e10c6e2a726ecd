"""The fixtures and options of this package for pytest."""

import os
import tempfile

import pytest

from .relay import Relay

_SCOPES = ("session", "package", "module", "class", "function")


def pytest_addoption(parser):
    help_of_program = "the program postrider, if it is not on the PATH"
    parser.getgroup("postrider").addoption("--postrider", metavar="PROGRAM", help=help_of_program)
    parser.addini("postrider_program", help_of_program)
    parser.addini("postrider_scope", "for how long one relay serves: " + ", ".join(_SCOPES), default="session")
    parser.addini("postrider_topics", "the apps to push to; com.example.app if not given", type="args", default=[])
    parser.addini("postrider_options", "further options of 'postrider dev'", type="args", default=[])


def _scope(fixture_name, config):
    scope = config.getini("postrider_scope")
    if scope not in _SCOPES:
        raise pytest.UsageError(f"postrider_scope must be one of {', '.join(_SCOPES)}, not '{scope}'")
    return scope


@pytest.fixture(scope="session")
def _postrider_keys():
    with tempfile.TemporaryDirectory(prefix="pr-") as folder:
        yield folder


@pytest.fixture(scope=_scope)
def postrider_relay(request, _postrider_keys):
    """The relay, with everything that earlier tests have left in it."""
    config = request.config
    program = config.getoption("--postrider") or config.getini("postrider_program") or "postrider"
    relay = Relay(program, config.getini("postrider_topics"), config.getini("postrider_options"), keys=_postrider_keys)
    if not os.listdir(_postrider_keys):
        relay.keep_keys(_postrider_keys)
    yield relay
    relay.close()


@pytest.fixture
def postrider(postrider_relay):
    """A relay that speaks APNs, without captures and rules."""
    postrider_relay.reset()
    yield postrider_relay
    postrider_relay.close_devices()
