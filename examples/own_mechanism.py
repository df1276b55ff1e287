# %% [markdown]
# # A mechanism of your own, in the paper's figures
#
# The paper compares mechanisms by the expected l1 error against epsilon. This adds one to the comparison: answers
# that have an order (how many stars, how old), reported so that a neighbour of the truth is likelier than a far
# answer.

# %%
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import ClassVar

import altair as alt
import numpy as np

import deniable as dn
from deniable.charts import save_chart
from deniable.mechanisms import Channel, parse_epsilon, verify
from deniable.mechanisms.odds import at_most_exp
from deniable.survey import Alphabet, Direct, Survey

# %% [markdown]
# A `Channel` is a table of exact integer weights, one row for each true cell. Every row adds up to 2^64. Privacy is a
# statement about these integers: in each column, the largest weight is at most e^epsilon times the smallest.


# %%
@dataclass(frozen=True, slots=True, init=False)
class Neighbours(Channel):
    """The true cell gets what is left, its neighbours 2 * `far`, all others `far`."""

    kind: ClassVar[str] = "neighbours"
    cells: int
    epsilon: Fraction
    width: int
    far: int = field(repr=False)

    def __init__(self, cells: int, epsilon: object) -> None:
        put = object.__setattr__  # the class is frozen
        put(self, "cells", cells)
        put(self, "epsilon", parse_epsilon(epsilon))
        put(self, "width", 64)
        low, high = 1, (1 << 64) // cells  # the smallest `far` that keeps epsilon, by bisection
        while low < high:
            far = (low + high) // 2
            kept = at_most_exp(Fraction((1 << 64) - cells * far, far), self.epsilon)
            low, high = (low, far) if kept else (far + 1, high)
        put(self, "far", low)
        self.check_rows()

    def row(self, cell: int) -> list[int]:
        row = [self.far * (2 if abs(y - cell) == 1 else 1) for y in range(self.cells)]
        row[cell] += (1 << self.width) - sum(row)
        return row

    def thresholds(self) -> dict[str, int]:
        return {"far": self.far}

    def title(self, *, own_cells: bool) -> str:
        return "neighbours"


def neighbours(symbols: int, epsilon: float) -> Survey:
    return Survey(Alphabet.closed(symbols), Direct(symbols), Neighbours(symbols, epsilon), "")


# %% [markdown]
# Is it private? `verify` decides by exact arithmetic.

# %%
mechanism = Neighbours(16, 2)
rows = [mechanism.row(cell) for cell in range(16)]
print("within epsilon 2:", verify(rows, "2"), "- within 1.99:", verify(rows, "1.99"))
assert verify(rows, "2")

# %% [markdown]
# The comparison: mean l1 loss of 8 simulated surveys of 10,000 people, decoded with the default decoder, on the
# paper's geometric population. Nothing else had to be written: decoders, intervals and simulation work from the
# weights.

# %%
SYMBOLS, PEOPLE, REPEATS = 16, 10_000, 8
rng = np.random.default_rng(0)
population = dn.lab.geometric(SYMBOLS, mean=SYMBOLS / 5)
kinds = {"neighbours": neighbours, "k-RR": dn.krr, "k-RAPPOR": dn.krappor, "subset selection": dn.subset}
losses = []
for epsilon in (2.0, 3.0, 4.0):
    for name, preset in kinds.items():
        survey = preset(symbols=SYMBOLS, epsilon=epsilon)
        tallies = [dn.simulate(survey, population, PEOPLE, rng) for _ in range(REPEATS)]
        found = [dn.decode(tally).probabilities for tally in tallies]
        loss = float(np.mean([np.abs(shares - population).sum() for shares in found]))
        losses.append({"mechanism": name, "epsilon": epsilon, "loss": loss})
for epsilon in (2.0, 3.0, 4.0):
    here = [row for row in losses if row["epsilon"] == epsilon]
    print(f"epsilon {epsilon}:", ", ".join(f"{row['mechanism']} {row['loss']:.3f}" for row in here))

# %%
alt.renderers.enable("svg")  # a picture; Altair's default loads a script from another host
TITLE = "l1 loss, 16 symbols, 10,000 people"
chart = (
    alt.Chart(alt.InlineData(values=losses), width=480, height=300, title=TITLE)
    .mark_line(point=True)
    .encode(
        x="epsilon:Q",
        y=alt.Y("loss:Q", scale=alt.Scale(type="log", nice=False)),
        color=alt.Color("mechanism:N", legend=alt.Legend(title=None, orient="top")),
    )
)
save_chart(chart, Path("own-mechanism.svg"))
print("wrote own-mechanism.svg")

# %%
chart
