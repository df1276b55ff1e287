# %% [markdown]
# # The same devices, every day for a month
#
# An app asks each device once a day how its owner came to work. Whatever the answers do, a device may spend epsilon 6
# in all, and 1 with a single report. What should it do?

# %%
import numpy as np

import deniable as dn

ways = ["walk", "bike", "bus", "tram", "train", "car", "scooter", "at home"]
shares = np.array([0.10, 0.14, 0.12, 0.08, 0.16, 0.30, 0.02, 0.08])
DEVICES, DAYS, CHANGE = 20_000, 30, 0.05

plan = dn.plan(
    n=DEVICES, symbols=ways, epsilon=6, epsilon_report=1, reports=DAYS, change=CHANGE, shape=shares, name="to work"
)
for way in plan.strategies:
    print(f"{way.name:18} {way.mechanism:14} {way.people:7,} people a day, l1 error {way.error:.3f}")
plan.survey

# %% [markdown]
# Memoised by cell: answers share few cells, and a device has one permanent response a cell. So thirty different answers
# spend no more than the cells do; with a cell for each answer they could spend twice as much.

# %%
print("at most", plan.survey.epsilon_worst, "in", plan.survey.cells, "cells; without them", 8 * plan.survey.epsilon)

# %% [markdown]
# What somebody who sees all reports of a device can do with them: name an answer that stayed the same, or find the
# device's report among those of everyone. Guessing alone would name one in eight.

# %%
for reports in (1, 7, 30):
    print(f"{reports:2} reports: named with probability {dn.theory.naming_probability(plan.survey, reports):.2f}")
print(f"linked with probability {dn.theory.linking_probability(plan.survey, DEVICES):.4f}")
assert dn.theory.naming_probability(plan.survey, 30) < 0.35

# %% [markdown]
# A month of devices that live and change their minds, tracked.

# %%
days = dn.lab.panel(plan.survey, np.tile(shares, (DAYS, 1)), DEVICES, np.random.default_rng(3), change=CHANGE)
alone = dn.decode(days[-1])
tracked = dn.track(days)
errors = [float(np.abs(found.probabilities - shares).sum()) for found in (alone, tracked[-1])]
print(f"the last day alone {errors[0]:.3f}, with all days {errors[1]:.3f}")
assert errors[0] < plan.bound * 1.5
