"""A relay that speaks APNs, for the tests of code that pushes."""

from .captures import Capture, Captures
from .device import Device, DeviceError, Notification
from .relay import Relay, RelayError

__all__ = ["Capture", "Captures", "Device", "DeviceError", "Notification", "Relay", "RelayError"]
