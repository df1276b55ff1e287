"""Repeated surveys: estimates of a distribution that changes, from windows that share devices and noise."""

from deniable.tracking.tracking import Change, Contrast, Tracked, TrackedWindow, track

__all__ = ["Change", "Contrast", "Tracked", "TrackedWindow", "track"]
