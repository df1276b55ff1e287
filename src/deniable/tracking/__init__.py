"""The same question again and again: windows that share devices and noise, and distributions that move."""

from deniable.tracking.tracking import Change, Contrast, Tracked, TrackedWindow, track

__all__ = ["Change", "Contrast", "Tracked", "TrackedWindow", "track"]
