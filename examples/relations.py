# %% [markdown]
# # How an answer depends on what you know
#
# Do people who work nights sleep worse, and does it depend on age? Plan how many people that takes, ask them, tabulate,
# and fit a regression on reports of which none can be believed.

# %%
import numpy as np

import deniable as dn

plan = dn.plan(effect=0.05, share=0.30, power=0.9, epsilon=2, group=0.25, name="Do you sleep badly?")
print(f"{plan.n:,} people, or {plan.people_without_noise:,} without noise: nine of ten surveys see 5 points")

# %%
plan.chart()

# %% [markdown]
# The survey is run with that many people. Whether somebody works nights, and how old they are, is known; how they sleep
# is randomised before it leaves their device.

# %%
rng = np.random.default_rng(4)
nights = rng.random(plan.n) < 0.25
age = rng.integers(20, 65, plan.n)
truth = rng.random(plan.n) < 1 / (1 + np.exp(1.6 - 0.3 * nights - 0.02 * (age - 20)))
reports = dn.privatize(plan.survey, np.where(truth, "yes", "no")).responses

# %% [markdown]
# A cross-table of two groups that are known in the clear: shares within each, with intervals, and whether they differ
# by more than chance.

# %%
groups = {
    name: dn.Tally(plan.survey, [np.bincount(reports[rows], minlength=2).tolist()])
    for name, rows in (("days", ~nights), ("nights", nights))
}
table = dn.crosstab(groups, "works", "sleeps badly")
print(table)
value, low, high = table.difference("nights", "days", "yes")
print(f"nights - days: {value:+.3f} ({low:+.3f} to {high:+.3f})")

# %% [markdown]
# The regression holds age fixed. Its standard errors know of the noise; the true coefficients are 0.3 and 0.02.

# %%
fit = dn.regress(
    "sleep ~ nights + age", {"sleep": reports, "nights": nights.astype(int), "age": age}, survey=plan.survey
)
print(fit)
low, high = fit.conf_int(1e-6).T["nights"]
assert low < 0.3 < high

# %%
table.chart()
