"""One respondent of one survey: randomises answers, stores none, and by default repeats its bytes for the same answer.

Fresh noise on an unchanged answer averages out: at epsilon 1 and ten symbols, 90 daily reports name the answer with
probability 0.97. So answers are memoised by default. The words that randomise an answer are derived from a secret that
never leaves the device, the survey and the answer's cells, so repeating it repeats the bytes. No answer, and nothing
that was not made to be sent, is kept: not in the state file, an attribute, a log or an error.
"""

import contextlib
import os
import struct
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, ClassVar, NoReturn

from deniable.client.delivery import Delivery, deliver
from deniable.client.forgetting import forgetting
from deniable.client.ledger import Account, Ledger
from deniable.client.outbox import settle, this_window, today, unknown_days
from deniable.client.state import Contents, StateFile, Waiting
from deniable.client.status import Status
from deniable.errors import AlphabetError, BudgetError, StateError
from deniable.mechanisms import epsilon_text, parse_epsilon
from deniable.noise import DerivedEntropy, Entropy, OsEntropy
from deniable.reports import Report
from deniable.survey import Agreement, check_agreement

__all__ = ["Client"]

MAX_WAITING = 10_000  # reports in the outbox of a device: a state file of a few megabytes


class Client:
    """One respondent of one survey.

    A state file that is damaged, open to others or gone is an error, never a fresh start: a device that started afresh
    would give old answers new noise.

    Parameters
    ----------
    survey : Survey or Form
        What the collector and this device agree on.
    state : str or path, optional
        A file in which the device's cohort, secret, ledger and outbox survive a restart. Several surveys of a device
        share one file. Without it they live in memory.
    memoize : bool
        Whether the same answer gives the same bytes again. False, for one-shot use, draws fresh noise for
        every report, each of which spends epsilon. So do surveys that a share of the devices answers in each window.
    cap : float, str or Fraction, optional
        Epsilon, in nats: reports past this total of `ledger.spent` are refused. A bound while the answer to each survey
        stays the same.
    hard_cap : float, str or Fraction, optional
        The same for `ledger.worst`: a bound however often answers change.
    entropy : Entropy, optional
        For tests, and for platforms with their own randomness. It must give fresh, uniform 64-bit words.

    Raises
    ------
    StateError
        If the state is foreign, damaged, lost, in use or open to others.

    Examples
    --------
    >>> import deniable as dn
    >>> client = dn.Client(dn.warner(epsilon=1.0))
    >>> client
    <Client of survey 18ca4d86, cohort 0 of 1, memoised in memory only>
    >>> client.report("yes") == client.report("yes")
    True
    """

    __slots__ = (
        "_caps",
        "_cohort",
        "_entropy",
        "_failed",
        "_file",
        "_mechanism",
        "_memory",
        "_payload_bytes",
        "_secret",
        "_survey",
        "_uncounted",
    )

    _kinds: ClassVar[dict[type, type["Client"]]] = {}  # the client of each kind of agreement that has its own

    def __new__(cls, survey: object = None, *_: object, **__: object) -> "Client":
        """A client of a form is a `FormClient`."""
        return object.__new__(cls._kinds.get(type(survey), cls) if cls is Client else cls)

    def __init__(
        self,
        survey: Agreement,
        *,
        state: str | os.PathLike[str] | None = None,
        memoize: bool = True,
        cap: object = None,
        hard_cap: object = None,
        entropy: Entropy | None = None,
    ) -> None:
        self._survey: Any = check_agreement(survey)
        self._prepare(survey)
        self._entropy = OsEntropy() if entropy is None else entropy
        if self._entropy.width != survey.width:
            raise ValueError(f"entropy must give {survey.width}-bit words, got {self._entropy.width}-bit words")
        if (memoize or state is not None) and survey.width != DerivedEntropy.width:
            # Wider words would hardly ever fall below the thresholds: the truth would leave unrandomised.
            raise ValueError(
                f"a memoised survey must use {DerivedEntropy.width}-bit words, got {survey.width}-bit words; "
                "pass memoize=False"
            )
        self._caps = (_cap("cap", cap), _cap("hard_cap", hard_cap))
        self._file = None if state is None else StateFile(state)
        self._memory = Contents(b"")
        self._failed = 0  # calls of `send` in a row that failed
        self._uncounted = [0]  # reports made in memory that are not in the account yet
        if self._file is None or not os.path.lexists(self._file.path):
            self._join(self._memory)
            if memoize or self._file is not None:
                self._memory.secret = struct.pack("<4Q", *self._entropy.words(4))
        if self._file is not None:
            # If two processes start at once, both use what one of them wrote.
            with self._file.change(survey, create=self._memory if self._memory.secret else None) as kept:
                if survey.digest not in kept.cohorts:
                    self._join(kept)
                self._memory = Contents(kept.secret, dict(kept.cohorts))
        self._cohort = self._memory.cohorts[survey.digest]
        self._secret = self._memory.secret if memoize and survey.every == 1 else None

    def _join(self, kept: Contents) -> None:
        """What a device draws once for a survey, before any answer: its cohort, and its turn where it has one."""
        survey = self._survey
        kept.cohorts[survey.digest] = survey.draw_cohort(self._entropy)
        if survey.every > 1:
            kept.turns[survey.digest] = self._entropy.uniform_below(survey.every)
        kept.accounts[survey.digest] = Account.of(survey)

    def _prepare(self, survey: Any) -> None:
        """Look up what every report needs. A client of a form has no one mechanism, and does not."""
        self._mechanism = survey.mechanism
        self._payload_bytes = survey.mechanism.payload_bytes

    @property
    def survey(self) -> Any:
        """The survey, or the form, that this client answers."""
        return self._survey

    @property
    def cohort(self) -> int:
        """Drawn once, before any answer, and kept: it travels in the clear with every report."""
        return self._cohort

    @property
    def ledger(self) -> Ledger:
        """What this device has spent so far, over all surveys in its state; without a state, what this client has."""
        return Ledger(tuple(self._kept().accounts.values()))

    @property
    def outbox(self) -> tuple[Waiting, ...]:
        """The reports of this survey that no collector has acknowledged yet, in the order of their random ids."""
        waiting = [w for w in self._kept().outbox.values() if w.survey == self._survey.digest]
        return tuple(sorted(waiting, key=lambda w: w.id))

    def status(self) -> Status:
        """How this device stands with this survey, and what it has spent; JavaScript's `status()` says the same.

        >>> import deniable as dn
        >>> dn.Client(dn.warner(epsilon=1.0)).status()
        Status(cohort=0, waiting=0, refused={}, spent=0.0, worst=0.0, total_spent=0.0, total_worst=0.0)
        """
        kept, digest = self._kept(), self._survey.digest
        ledger = Ledger(tuple(kept.accounts.values()))
        account = ledger[self._survey]
        waiting = sum(w.survey == digest for w in kept.outbox.values())
        refused = dict(kept.refused.get(digest, {}))
        return Status(self._cohort, waiting, refused, account.spent, account.worst, ledger.spent, ledger.worst)

    def report(self, value: object) -> Report:
        """Randomise one answer. The result is all that may leave the device; sending it is up to you (or see `queue`).

        With a state the ledger is on disk before this returns.

        Claim: the law of `report(value).pack()` is 1 / cohorts times the published channel, exactly.
        Proof: tests/exact/test_client.py::test_law_of_the_bytes_is_the_published_channel

        Parameters
        ----------
        value : str, int or bytes, or a mapping
            The true answer; to a form, the answers by the names of its questions. Nothing of it is kept.

        Returns
        -------
        Report
            The randomised answer.

        Raises
        ------
        AlphabetError
            If the value is outside a closed alphabet without a catch-all; the message never shows the value.
        BudgetError
            If the report would exceed `cap` or `hard_cap`; nothing is said of the value.
        ParticipationError
            If this device has answered in this window of a survey that takes one answer a window, if it is not its
            turn, or its clock went back since; nothing is said of the value. Without a state that holds for this client
            alone.

        Examples
        --------
        >>> import deniable as dn
        >>> len(dn.Client(dn.warner(epsilon=1.0)).report("yes").pack())
        10
        """
        answer = [value]
        del value  # a traceback that shows local names must not show an answer
        if self._file is None and self._caps == (None, None) and self._survey.window is None:
            report = forgetting(self._randomized, answer.pop())
            if isinstance(report, str):
                raise AlphabetError(report)
            self._uncounted[0] += 1
            return report
        return self._made(answer)

    def queue(self, value: object) -> Report:
        """Randomise one answer and write it to the outbox, where it waits for `send`; no network is needed.

        The report, its id and the day are on disk before this returns (with a state), so whatever happens to the
        process or the network, the same bytes are sent under the same id until a collector acknowledges them. The day,
        in UTC, is sent along and is all that is said about the time: a collector forgets ids by it.

        Parameters
        ----------
        value : str, int or bytes
            The true answer. Nothing of it is kept.

        Returns
        -------
        Report
            The randomised answer, which waits in the outbox.

        Raises
        ------
        AlphabetError, BudgetError, ParticipationError
            As `report` does.
        StateError
            If the outbox is full.

        Examples
        --------
        >>> import deniable as dn
        >>> client = dn.Client(dn.warner(epsilon=1.0))
        >>> client.queue("yes") and len(client.outbox)
        1
        """
        answer = [value]
        del value
        return self._made(answer, queue=True)

    def send(
        self,
        url: str,
        *,
        token: str | None = None,
        batch: int = 500,
        attempts: int = 1,
        timeout: float = 10.0,
        wait: Callable[[float], None] = time.sleep,
    ) -> Delivery:
        """Deliver this survey's outbox to a collector, in batches; what it acknowledges leaves the outbox.

        Without an answer, or after 408, 425, 429 and 5xx, it returns at once with the rest still waiting: `problem`
        says why, `retry_after` when to call again. Reports that a closed survey refuses, or one that has been unknown
        for 30 days, are dropped, counted, and told in `refused`. A batch holds reports of one day; to a collector that
        has not reached that day they are sent again without one.

        Parameters
        ----------
        url : str
            Where the collector is: http:// or https://, and a host.
        token : str, optional
            An upload token, for surveys that ask for one.
        batch : int
            Reports in one request, at most.
        attempts : int
            With more than 1 it stays for answers that say later: it waits (longer each time, at random, or as long as
            the collector asks for) and sends the same bytes again.
        timeout : float
            Seconds to wait for the network.
        wait : callable
            Called with the seconds between two attempts.

        Returns
        -------
        Delivery
            What became of the outbox.

        Raises
        ------
        DeliveryError
            If the collector does not take these reports, or the address is none; nothing leaves the outbox.

        Examples
        --------
        >>> import deniable as dn
        >>> dn.Client(dn.warner(epsilon=1.0)).send("http://127.0.0.1:9")
        Delivery(accepted=0, duplicate=0, refused=(), waiting=0, problem=None, retry_after=None)
        """

        found = deliver(
            self.outbox,
            self._settle,
            self._unknown_days,
            url=url,
            digest=self._survey.digest,
            token=token,
            batch=batch,
            attempts=attempts,
            timeout=timeout,
            failed=self._failed,
            jitter=lambda longest: longest * (0.5 + self._entropy.uniform_below(1 << 32) / (1 << 33)),
            wait=wait,
        )
        self._failed = 0 if found.retry_after is None else self._failed + 1
        return found

    def _randomized(self, value: object) -> Report | str:
        """The report, or what is wrong with the value: an error raised here would carry frames that hold the value."""
        encoding = self._survey.encoding
        try:
            cells = encoding.encode(self._cohort, encoding.key(self._survey.alphabet, value))
        except AlphabetError as error:
            return str(error)
        except Exception:  # a value's own methods may raise anything, with the value in it
            return "symbol must be text, an integer or bytes, got one that cannot be read"
        entropy = self._entropy if self._secret is None else self._permanent_words(cells)
        permanent = self._mechanism.permanent.randomize(cells, entropy)
        response = self._mechanism.refresh(permanent, self._entropy)
        return Report(self._survey, self._cohort, response.to_bytes(self._payload_bytes, "little"))

    def _permanent_words(self, cells: tuple[int, ...]) -> Entropy:
        """The words for this answer on this device: HMAC(secret, survey digest, cohort, cells)."""
        assert self._secret is not None
        parts = [bytes.fromhex(self._survey.digest), *(n.to_bytes(4, "little") for n in (self._cohort, *cells))]
        return DerivedEntropy(self._secret, b"permanent" + b"".join(parts))

    def _kept(self) -> Contents:
        if self._file is not None:
            return self._same(self._file.look(self._survey))
        digest = self._survey.digest
        self._memory.accounts[digest] = self._with(self._memory.accounts[digest], self._uncounted[0])
        self._uncounted[0] = 0
        return self._memory

    def _with(self, account: Account, reports: int) -> Account:
        if self._secret is None:
            return replace(account, fresh=account.fresh + reports)
        return replace(account, memoised=account.memoised + reports)

    def _same(self, kept: Contents) -> Contents:
        """Refuse a file that was replaced by another device's since this client read it."""
        if kept.secret != self._memory.secret or kept.cohorts.get(self._survey.digest) != self._cohort:
            assert self._file is not None
            raise StateError(
                f"client state {self._file.path} must stay the one that this client read, got another device's; "
                "make a new Client"
            )
        return kept

    def _made(self, answer: list[object], *, queue: bool = False) -> Report:
        """The report of the one answer in the list, which is empty then: on the account, and in the outbox if it waits.

        Whether there may be one more report is asked before the answer is looked at: a refusal must not say anything
        about it. All of it is durable before anyone sees the report, or none is.
        """
        try:
            with self._changing() as kept:
                account, window = self._charged(kept, queue=queue)
                report = forgetting(self._randomized, answer.pop())
                if isinstance(report, str):
                    raise AlphabetError(report)
                if queue:
                    name = struct.pack("<2Q", *self._entropy.words(2)).hex()
                    kept.outbox[name] = Waiting(self._survey.digest, name, report.pack(), today())
                kept.accounts[self._survey.digest] = account
                if window is not None:
                    kept.windows[self._survey.digest] = window
        finally:
            answer.clear()  # a traceback that shows local names must not show it
        return report

    @contextlib.contextmanager
    def _changing(self) -> Iterator[Contents]:
        """What this device keeps; changes are durable when the block ends, all of them or none."""
        if self._file is None:
            yield self._kept()
        else:
            with self._file.change(self._survey) as kept:
                yield self._same(kept)

    def _charged(self, kept: Contents, *, queue: bool) -> tuple[Account, int | None]:
        """The account with one report more, and the window that it is made in, if there may be one."""
        before = kept.accounts[self._survey.digest]
        account = self._with(before, 1)
        if self._caps != (None, None):
            self._check_caps(Ledger((*(a for a in kept.accounts.values() if a is not before), account)))
        if queue and len(kept.outbox) >= MAX_WAITING:
            raise StateError(f"the outbox must hold at most {MAX_WAITING} reports; send them first")
        digest = self._survey.digest
        return account, this_window(self._survey, kept.windows.get(digest), kept.turns.get(digest, 0))

    def _check_caps(self, after: Ledger) -> None:
        for name, cap, total in zip(("cap", "hard_cap"), self._caps, after.exact(), strict=True):
            if cap is not None and total > cap:
                raise BudgetError(
                    f"{name} must not be exceeded: this report would bring the total to epsilon {float(total):g} of "
                    f"{epsilon_text(cap)}; ask this device no more"
                )

    def _settle(self, ids: Sequence[str], refused: Mapping[str, str]) -> int:
        """Take these reports out of the outbox and count the refused ones, in one write; how many are left."""
        with self._changing() as kept:
            settle(kept, self._survey.digest, ids, refused)
        return len(self.outbox)

    def _unknown_days(self) -> int:
        with self._changing() as kept:
            return unknown_days(kept, self._survey.digest)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a client is one device and holds its secret: it must not be pickled or copied")

    def __repr__(self) -> str:
        kept = "not memoised" if self._secret is None else "memoised"
        if self._file is not None:
            kept += f", state in {self._file.path}"
        elif self._secret is not None:
            kept += " in memory only"
        return f"<Client of {self._whose}, {kept}>"

    @property
    def _whose(self) -> str:
        return f"survey {self._survey.digest[:8]}, cohort {self._cohort} of {self._survey.cohorts}"


def _cap(name: str, value: object) -> Fraction | None:
    return None if value is None else parse_epsilon(value, name)
