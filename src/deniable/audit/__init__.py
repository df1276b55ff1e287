"""Tests any client from outside: asks it many times, and tests the joint distribution of the bytes it sends."""

from deniable.audit.auditing import audit
from deniable.audit.certificate import Certificate, Finding
from deniable.audit.sources import Command, Devices, Source, own_devices

__all__ = ["Certificate", "Command", "Devices", "Finding", "Source", "audit", "own_devices"]
