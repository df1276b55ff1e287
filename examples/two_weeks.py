# %% [markdown]
# # Two weeks with a change in them
#
# An app asks once a day, of other people each day, which way of signing in was used. On the tenth day a release
# breaks one of them. When can you see it?

# %%
import numpy as np

import deniable as dn

ways = ["password", "passkey", "single sign-on", "code by mail"]
survey = dn.krr(symbols=ways, epsilon=2, name="sign-in")
usual = np.array([0.45, 0.30, 0.15, 0.10])
broken = np.array([0.52, 0.16, 0.15, 0.17])  # passkeys fail, people fall back
PEOPLE, CHANGE = 5_000, 9

# %% [markdown]
# One tally a day. `simulate` draws the counts of so many people at once, by their exact law.

# %%
rng = np.random.default_rng(7)
days = [dn.simulate(survey, broken if day >= CHANGE else usual, n=PEOPLE, rng=rng) for day in range(14)]
for day, tally in enumerate(days, start=1):
    estimate = dn.decode(tally)
    share, error = estimate["passkey"], estimate.standard_errors[1]
    print(f"day {day:2}: passkey {share:6.1%} +- {error:.1%}  " + "#" * round(100 * share))

# %% [markdown]
# Compare the two weeks. Tallies add, so a week is the sum of its days; `difference` knows the noise of both.

# %%
first, second = (dn.decode(sum(week[1:], start=week[0].copy())) for week in (days[:7], days[7:]))
change = dn.difference(second, first)
for way, value, moved, (low, high) in zip(ways, change.raw, change.changed(), change.intervals(0.95), strict=True):
    print(f"{way:15} {value:+.1%} ({low:+.1%} to {high:+.1%}) {'changed' if moved else ''}")
assert change.changed()[1]

# %% [markdown]
# The second week has five days with the fault in it and two without, so the change looks smaller than it is. Compare
# the days before and after the release instead.

# %%
before, after = (dn.decode(sum(part[1:], start=part[0].copy())) for part in (days[:CHANGE], days[CHANGE:]))
broke = dn.difference(after, before)
print(broke)

# %%
broke.chart()
