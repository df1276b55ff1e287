"""What a survey and a form have in common: a canonical JSON text, the digest of that text, files, and taking part."""

import hashlib
import json
import math
import os
from fractions import Fraction
from pathlib import Path
from typing import Self

from deniable.errors import SurveyError
from deniable.survey.outputs import write_atomically
from deniable.survey.participation import change_of, every_of, turnover_of
from deniable.survey.reading import strict_json

__all__ = ["PublicAgreement", "canonical_json"]


def canonical_json(fields: dict[str, object]) -> bytes:
    """Sorted keys, no blanks, UTF-8, integers only: the same bytes from every JSON writer."""
    return json.dumps(fields, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()


class PublicAgreement:
    """The base of `Survey` and `Form`, which have fields, a digest of these, bounds and a way to take part."""

    __slots__ = ()

    name: str
    participation: str
    digest: str

    def _fields(self) -> dict[str, object]:
        """All that clients need, without the digest."""
        raise NotImplementedError

    @classmethod
    def from_fields(cls, fields: object) -> Self:
        """The same in a JSON object that is already parsed."""
        raise NotImplementedError

    @property
    def bounds(self) -> tuple[Fraction, Fraction]:
        """The epsilon of all reports of an answer, and of one report, as they were asked for."""
        raise NotImplementedError

    @property
    def permanent_responses(self) -> int | None:
        """How many permanent responses a memoising device can have; None where nothing bounds them."""
        raise NotImplementedError

    def _fields_digest(self) -> str:
        return hashlib.sha256(canonical_json(self._fields())).hexdigest()

    def _check_digest(self, given: object) -> None:
        """Refuse fields that are not those that a file's digest is of."""
        if given != self.digest:
            raise SurveyError(
                f"digest must be {self.digest[:8]}... for these fields, got {str(given)[:8]}...; "
                f"the {type(self).__name__.lower()} was altered after it was made"
            )

    def to_json(self, *, indent: int | None = None) -> str:
        """The JSON text, with the digest.

        Parameters
        ----------
        indent : int, optional
            Spaces of each level. Without it the text is on one line, in canonical form plus the digest.

        Returns
        -------
        str
            What `from_json` reads.
        """
        fields = self._fields() | {"digest": self.digest}
        if indent is None:
            return canonical_json(fields).decode()
        return json.dumps(fields, ensure_ascii=False, indent=indent) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read a JSON text.

        Parameters
        ----------
        text : str or bytes
            What `to_json` wrote.

        Returns
        -------
        Survey or Form
            The same again.

        Raises
        ------
        SurveyError
            If the text has unknown or repeated fields, wrong types, wrong thresholds or a wrong digest.
        """
        return cls.from_fields(strict_json(text))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write indented JSON.

        A plain file is replaced atomically; links, pipes and devices are written through.

        Parameters
        ----------
        path : str or path
            Where to write.
        """
        write_atomically(path, self.to_json(indent=2).encode())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a file that `save` wrote.

        Parameters
        ----------
        path : str or path
            The file.

        Returns
        -------
        Survey or Form
            What is in it.

        Raises
        ------
        SurveyError
            As `from_json`; the message begins with the path.
        """
        try:
            return cls.from_json(Path(path).read_bytes())
        except SurveyError as problem:
            raise SurveyError(f"{os.fspath(path)}: {problem}") from None

    @property
    def epsilon_worst(self) -> float:
        """The epsilon of all memoised reports of a device, however many and however often its answers change.

        That is `permanent_responses` times epsilon; infinite where nothing bounds their number. O-RR has one permanent
        response a cell, whatever the number of answers (LOLOHA: Arcolezi, Pinzon, Palamidessi and Gambs, EDBT 2023).
        It is about what was answered, not about when that changed: the times at which the cell changes are
        not covered, in any memoised survey.

        Claim: between two histories of answers whose cells, in the device's cohort, are equal at the same times,
            the laws of all reports together differ by at most e**epsilon_worst.
        Proof: tests/exact/test_cells.py::test_no_history_spends_more_than_epsilon_a_cell

        >>> import deniable as dn
        >>> dn.orr(epsilon=2, epsilon_report=1, cells=4, cohorts=64).epsilon_worst
        8.0
        >>> dn.krr(symbols=360, epsilon=2).epsilon_worst
        720.0
        """
        count = self.permanent_responses
        return math.inf if count is None else float(count * self.bounds[0])

    @property
    def window(self) -> str | None:
        """The window in which a device reports once: "hour", "day" or "week"; None where there is none.

        >>> import deniable as dn
        >>> dn.warner(epsilon=1.0, participation="window").window
        'day'
        """
        return self.participation.split(":")[1] if ":" in self.participation else None

    @property
    def every(self) -> int:
        """How many windows there are to one turn of a device: 1, unless a share of the devices reports in each.

        A device draws its turn before any answer is known. Its reports have fresh noise, and each spends epsilon.

        >>> import deniable as dn
        >>> dn.warner(epsilon=1.0, participation="window:day:share=1/7").every
        7
        """
        return every_of(self.participation)

    @property
    def turnover(self) -> float | None:
        """The part of the devices that is replaced from one window to the next, where the survey says it.

        `decode`, `difference` and `track` use it where they are not given another.

        >>> import deniable as dn
        >>> dn.warner(epsilon=1.0, participation="window:day:turnover=0.05").turnover
        0.05
        """
        return turnover_of(self.participation)

    @property
    def change(self) -> float | None:
        """The part of the devices that draws its answer anew before each window, where the survey says it.

        `decode`, `difference` and `track` use it where they are not given another.

        >>> import deniable as dn
        >>> dn.warner(epsilon=1.0, participation="window:day:turnover=0.05:change=0.1").change
        0.1
        """
        return change_of(self.participation)

    @property
    def repeats_noise(self) -> bool:
        """Whether devices take part again and repeat their noise, so that several windows share it.

        >>> import deniable as dn
        >>> [dn.warner(epsilon=1.0, participation=how).repeats_noise for how in ("once", "window", "event")]
        [False, True, True]
        """
        return self.participation != "once" and self.every == 1
