"""What a device has spent: per survey and in all, in exact arithmetic, from the number of its reports alone.

A ledger that knew how many different answers were given would need a table of them, and whoever read it would learn
whether, and how often, an answer changed. So a ledger counts reports, and states two bounds that need nothing else:

    spent   if the answer to each survey stayed the same: however many memoised reports, at most epsilon
    worst   however often it changed: as if every report had been of another answer, up to epsilon for each permanent
            response that the device can have; in O-RR that is one a cell, however many answers there are

The truth lies between them: answers with m different sets of cells spend at most m epsilon. Both are about what was
answered, not about when that changed: memoised bytes that change show that the answer did, whatever epsilon is
(blurred, but not covered, where reports are randomised again). Only fresh noise covers that too, at a price for each
report.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from deniable.survey import Agreement

__all__ = ["Account", "Ledger"]


@dataclass(frozen=True, slots=True)
class Account:
    """What one survey has cost this device.

    Parameters
    ----------
    survey : str
        The survey's digest.
    epsilon : Fraction
        The survey's, in nats, for all memoised reports of one answer: what was asked for, never below what is spent.
    epsilon_report : Fraction
        The same for one report.
    answers : int or None
        How many permanent responses the device can have (`Survey.permanent_responses`), if that is bounded. Answers
        that share their cells share their response.
    memoised : int
        Reports whose noise repeats for the same answer.
    fresh : int
        Reports with noise of their own.

    Examples
    --------
    >>> account = Account("18ca4d86", epsilon=Fraction(2), epsilon_report=Fraction(1), answers=10, memoised=5)
    >>> account.spent, account.worst, account.exact()
    (2.0, 5.0, (Fraction(2, 1), Fraction(5, 1)))
    """

    survey: str
    epsilon: Fraction
    epsilon_report: Fraction
    answers: int | None
    memoised: int = 0
    fresh: int = 0

    @classmethod
    def of(cls, survey: Agreement) -> "Account":
        """An empty account of a survey.

        Parameters
        ----------
        survey : Survey
            The survey.

        Examples
        --------
        >>> import deniable as dn
        >>> Account.of(dn.warner(epsilon=1.0)).answers
        2
        """
        return cls(survey.digest, *survey.bounds, survey.permanent_responses)

    def exact(self) -> tuple[Fraction, Fraction]:
        """`spent` and `worst` as rationals.

        Claim: between two histories whose cells change at the same times, n_1, n_2, ... memoised reports of different
            cells spend at most the sum of min(epsilon, n_i epsilon_report): `spent` if there is one answer, never more
            than `worst`. Between any two histories, fresh reports spend epsilon_report each.
        Proof: tests/exact/test_ledger.py::test_the_bounds_hold_for_every_history
        """
        one_by_one = self.memoised * self.epsilon_report
        fresh = self.fresh * self.epsilon_report
        most = one_by_one if self.answers is None else min(one_by_one, self.answers * self.epsilon)
        return min(self.epsilon, one_by_one) + fresh, most + fresh

    @property
    def spent(self) -> float:
        """Epsilon, if the answer to this survey stayed the same."""
        return float(self.exact()[0])

    @property
    def worst(self) -> float:
        """Epsilon, however often the answer changed."""
        return float(self.exact()[1])


@dataclass(frozen=True, slots=True, repr=False)
class Ledger:
    """The accounts of all surveys that this device has answered.

    Parameters
    ----------
    accounts : tuple of Account
        One for each survey.

    Examples
    --------
    >>> import deniable as dn
    >>> client = dn.Client(dn.warner(epsilon=1.0))
    >>> _ = client.report("yes"), client.report("yes")
    >>> client.ledger
    <Ledger: 2 reports to 1 survey; spent 1 if answers stayed the same, at most 2>
    >>> client.ledger.exact()
    (Fraction(1, 1), Fraction(2, 1))
    """

    accounts: tuple[Account, ...]

    def exact(self) -> tuple[Fraction, Fraction]:
        """`spent` and `worst` as rationals: epsilons of different surveys add up."""
        pairs = [account.exact() for account in self.accounts]
        return sum((spent for spent, _ in pairs), Fraction(0)), sum((worst for _, worst in pairs), Fraction(0))

    @property
    def spent(self) -> float:
        """Epsilon over all surveys, if the answer to each stayed the same."""
        return float(self.exact()[0])

    @property
    def worst(self) -> float:
        """Epsilon over all surveys, however often answers changed."""
        return float(self.exact()[1])

    def __getitem__(self, survey: Agreement) -> Account:
        for account in self.accounts:
            if account.survey == survey.digest:
                return account
        return Account.of(survey)

    def __iter__(self) -> Iterator[Account]:
        return iter(self.accounts)

    def __len__(self) -> int:
        return len(self.accounts)

    def __repr__(self) -> str:
        reports = sum(account.memoised + account.fresh for account in self.accounts)
        what = f"{reports} report{'s' * (reports != 1)} to {len(self)} survey{'s' * (len(self) != 1)}"
        return f"<Ledger: {what}; spent {self.spent:g} if answers stayed the same, at most {self.worst:g}>"
