# %% [markdown]
# # Hours a week
#
# 40,000 people are asked how many hours they work in a week. Many say 40. Each device randomises the number so that it
# is likely to be near the truth; what everyone answers together comes out with its mean, median and the peak at 40.

# %%
import numpy as np

import deniable as dn

survey = dn.number(0, 80, epsilon=2, step=1, name="How many hours do you work in a week?")
print(survey)

# %% [markdown]
# The answers are invented here. Numbers outside of the scale count as 0 or 80, before any noise.

# %%
rng = np.random.default_rng(7)
hours = np.where(rng.random(40_000) < 0.35, 40, rng.normal(34, 11, 40_000).round())
reports = dn.privatize(survey, hours)
tally = dn.count(survey, reports)
print(tally)

# %% [markdown]
# Mean, median and shares, each with an interval. The true ones are known here, because the answers were invented.

# %%
estimate = dn.decode(tally)
truth = np.clip(hours, 0, 80)
for name, figure, true in (
    ("mean", estimate.mean(), truth.mean()),
    ("median", estimate.quantile(0.5), np.median(truth)),
    ("35 to 45 hours", estimate.share(35, 45), ((truth >= 35) & (truth <= 45)).mean()),
):
    low, high = figure.interval(0.99)
    print(f"{name}: {figure.value:.3g} (99 % interval {low:.3g} to {high:.3g}), in truth {true:.3g}")
    assert low - 0.05 * abs(true) <= true <= high + 0.05 * abs(true)

# %% [markdown]
# The peak at 40 hours is found as one, although a report of someone who works 40 hours seldom says so.

# %%
print(f"exactly 40 hours: {estimate[40]:.1%}, in truth {(truth == 40).mean():.1%}")
assert abs(estimate[40] - (truth == 40).mean()) < 0.15

# %% [markdown]
# The density as a chart; the boxes are 95 % intervals of ranges.

# %%
estimate.chart()

# %% [markdown]
# How many people would know the mean to a quarter of an hour, at half the epsilon?

# %%
plan = dn.plan(number=(0, 80), step=1, epsilon=1, max_mean_error=0.25)
print(f"{plan.n:,} people")
