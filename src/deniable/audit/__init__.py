"""Tests any client from outside: asks it many times, and tests the joint distribution of the bytes it sends."""

from deniable.audit.auditing import audit
from deniable.audit.certificate import Certificate, Finding
from deniable.audit.sources import Command, Devices, Source, own_devices
from deniable.audit.whole_forms import FormCertificate, audit_form

__all__ = [
    "Certificate",
    "Command",
    "Devices",
    "Finding",
    "FormCertificate",
    "Source",
    "audit",
    "audit_form",
    "own_devices",
]
