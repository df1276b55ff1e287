# %% [markdown]
# # The same people every day
#
# A browser reports its start page once a day. Devices stay for weeks and repeat their noise, so that nobody can average
# it away. What do 28 days of the same devices tell you, and how do you see a change?

# %%
import numpy as np

import deniable as dn

pages = ["search", "news", "mail", "shop", "empty", "other"]
survey = dn.krr(symbols=pages, epsilon=2, name="start page", participation="window")
usual = np.array([0.40, 0.20, 0.15, 0.10, 0.10, 0.05])
after = np.array([0.33, 0.20, 0.15, 0.10, 0.17, 0.05])  # an update empties some start pages
DEVICES, UPDATE, TURNOVER = 4_000, 18, 0.03

# %% [markdown]
# `dn.lab.panel` lets devices live: 3 % of them are new each day, the others answer again, with the same noise.

# %%
rng = np.random.default_rng(11)
path = [usual] * UPDATE + [after] * (28 - UPDATE)
tallies = dn.lab.panel(survey, path, DEVICES, rng, turnover=TURNOVER)
days = {f"2026-11-{day + 1:02}": tally for day, tally in enumerate(tallies)}

# %% [markdown]
# A sum of days remembers its windows. Its error bars are those of people who took part again, not of 72,000 others.

# %%
before = sum(tallies[1:UPDATE], start=tallies[0].copy())
bound, known = dn.decode(before), dn.decode(before, turnover=TURNOVER)
print(bound.shared_noise)
print(known.shared_noise)
for page, share, (low, high) in zip(pages, known.probabilities, known.intervals(0.95), strict=True):
    print(f"{page:7} {share:6.1%} ({low:.1%} to {high:.1%})")
assert (known.standard_errors < bound.standard_errors).all()

# %% [markdown]
# Two days of the same devices differ by less than two days of different people do: they share most of their noise.

# %%
change = dn.difference(dn.decode(tallies[9]), dn.decode(tallies[8]))
print(change.shared_noise)
apart = np.hypot(change.first.standard_errors, change.second.standard_errors)
print("error bars are", " ".join(f"{part:.0%}" for part in change.standard_errors / apart), "of those of other people")
assert (change.standard_errors < apart / 2).all()

# %% [markdown]
# `dn.track` follows all days at once: smooth shares, the day of the change, and today against a normal day.

# %%
tracked = dn.track(days, turnover=TURNOVER)
for one in tracked.changes():
    print(one.window, one.symbol, f"{one.size:+.1%} ({one.interval[0]:+.1%} to {one.interval[1]:+.1%})")
assert {one.window for one in tracked.changes()} == {"2026-11-19"}
today = tracked.against_normal()
print("today against a normal day:", " ".join(f"{value:+.1%}" for value in today.values))
tracked
