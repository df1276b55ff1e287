# %% [markdown]
# # A population that is not all alike
#
# Three kinds of people answer one question, in very different ways. What does the whole say, what do the groups say,
# and what goes wrong if a group is small?

# %%
import numpy as np

import deniable as dn

answers = ["never", "sometimes", "often", "daily"]
survey = dn.krr(symbols=answers, epsilon=2, name="How often do you work at night?")
people = {
    "office": (20_000, [0.70, 0.22, 0.06, 0.02]),
    "hospital": (4_000, [0.10, 0.30, 0.40, 0.20]),
    "pilots": (150, [0.02, 0.18, 0.50, 0.30]),
}

# %% [markdown]
# The group is not sensitive here, so each group has a tally of its own. (A group that is sensitive itself must be
# part of the question: make one survey whose answers are all pairs.)

# %%
rng = np.random.default_rng(3)
tallies = {name: dn.simulate(survey, shares, n=n, rng=rng) for name, (n, shares) in people.items()}
estimates = {name: dn.decode(tally) for name, tally in tallies.items()}
for name, estimate in estimates.items():
    low, high = estimate.intervals(0.95)[3]
    print(
        f"{name:9} {estimate.n:6,} people: daily {max(low, 0):.1%} to {high:.1%} (the truth: {people[name][1][3]:.0%})"
    )

# %% [markdown]
# 150 pilots are too few: the interval is wide, and that is what it should say. Groups can be compared, each with its
# noise.

# %%
change = dn.difference(estimates["hospital"], estimates["office"])
print("hospital - office:", change)
assert change.changed().all()

# %% [markdown]
# Everybody together is the sum of the tallies. It describes this mixture of people, and nobody in it: no group works
# like the average does.

# %%
whole = tallies["office"].copy()
for name in ("hospital", "pilots"):
    whole += tallies[name]
together = dn.decode(whole)
expected = np.average([shares for _, shares in people.values()], axis=0, weights=[n for n, _ in people.values()])
print({a: f"{together[a]:.1%} (truth {t:.1%})" for a, t in zip(answers, expected, strict=True)})

# %%
together

# %%
change.chart()
