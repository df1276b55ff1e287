"""What a crowd adds to its members' own protection: certified bounds for mixed reports."""

from deniable.crowds.crowd import Crowd, checked_delta, crowd, shown

__all__ = ["Crowd", "checked_delta", "crowd", "shown"]
