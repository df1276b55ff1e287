"""What a crowd adds to its members' own protection: certified bounds for mixed reports."""

from deniable.crowd.crowd import Crowd, crowd

__all__ = ["Crowd", "crowd"]
