"""Repeated surveys: estimates of a distribution that changes, from windows that share devices and noise."""

from deniable.tracking.contrast import Change, Contrast
from deniable.tracking.form_tracking import TrackedForm
from deniable.tracking.tracked import Tracked
from deniable.tracking.tracking import track
from deniable.tracking.window import TrackedWindow

__all__ = ["Change", "Contrast", "Tracked", "TrackedForm", "TrackedWindow", "track"]
