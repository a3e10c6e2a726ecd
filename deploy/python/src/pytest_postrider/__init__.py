"""A relay that speaks APNs, for the tests of code that pushes."""

from .captures import Capture, Captures
from .relay import Relay, RelayError

__all__ = ["Capture", "Captures", "Relay", "RelayError"]
