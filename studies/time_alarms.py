"""False alarms where nothing changes, and how many windows pass before a jump is noticed."""

from collections.abc import Iterator

import numpy as np

import deniable as dn
from studies.time_rows import SHARES, Row, row

WINDOWS, DEVICES, ASKED = 30, 2000, 200.0
LIVES = (("fresh", 1.0, "once"), ("memoised", 0.1, "window"), ("memoised", 0.0, "window"))


def alarms(repeats: int, rng: np.random.Generator) -> Iterator[Row]:
    """Histories in which nothing changes."""
    truth = np.tile(SHARES, (WINDOWS, 1))
    for case, turnover, how in LIVES:
        survey = dn.krr(6, epsilon=2.0, participation=how)
        named, raised = [], []
        for _ in range(repeats):
            tracked = dn.track(dn.lab.panel(survey, truth, DEVICES, rng, turnover=turnover), turnover=turnover)
            named.append(float(bool(tracked.changes(0.95))))
            raised.append(len(tracked.alarms(ASKED)) / (WINDOWS - 1))
        yield row("alarms", case, "histories with a false change, 0.05 asked for", named, turnover=turnover)
        yield row("alarms", case, f"false alarms a window, {1 / ASKED:g} asked for", raised, turnover=turnover)


def delays(repeats: int, rng: np.random.Generator) -> Iterator[Row]:
    """A jump after ten windows: when an alarm is raised, whether it is named, and whether its size is covered."""
    miss, gap = dn.krr(6, epsilon=2.0).mechanism.affine
    chance = miss + gap * SHARES[1]
    error = float(np.sqrt(chance * (1 - chance) / DEVICES) / gap)  # of the share of one window
    for size in (1.0, 2.0, 5.0):
        after = SHARES.copy()
        after[:2] += (-size * error, size * error)
        path = np.vstack([np.tile(SHARES, (10, 1)), np.tile(after, (WINDOWS - 10, 1))])
        for case, turnover, how in LIVES:
            survey = dn.krr(6, epsilon=2.0, participation=how)
            windows, found, covered = [], [], []
            for _ in range(repeats):
                tracked = dn.track(dn.lab.panel(survey, path, DEVICES, rng, turnover=turnover), turnover=turnover)
                late = [int(str(window)) for symbol, window in tracked.alarms(1000.0) if symbol in (0, 1)]
                late = [window for window in late if window >= 10]
                windows.append(late[0] - 9 if late else WINDOWS - 10)
                near = [one for one in tracked.changes() if one.symbol == 1 and abs(int(str(one.window)) - 10) <= 2]
                found.append(float(bool(near)))
                covered += [float(one.interval[0] <= size * error <= one.interval[1]) for one in near[:1]]
            told = f"a jump of {size:g} standard errors"
            yield row("delay", case, f"{told}: windows until an alarm", windows, turnover=turnover)
            yield row("delay", case, f"{told}: named in the history", found, turnover=turnover)
            if len(covered) > repeats // 2:
                yield row("delay", case, f"{told}: its size is covered", covered, turnover=turnover)
