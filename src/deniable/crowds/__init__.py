"""What a crowd adds to its members' own protection: certified bounds for mixed reports."""

from deniable.crowds.crowd import MAX_PEOPLE, Crowd, checked_delta, crowd, keeps, predicted, shown, upper_bound

__all__ = ["MAX_PEOPLE", "Crowd", "checked_delta", "crowd", "keeps", "predicted", "shown", "upper_bound"]
