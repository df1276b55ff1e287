# %% [markdown]
# # Planted reports
#
# Nobody can check a randomised answer, so an attacker may send whatever a collector accepts. What would that cost,
# would a check notice, and what is left to do? All data is invented.

# %%
import numpy as np

import deniable as dn

survey = dn.oue(symbols=100, epsilon=1, name="favourite song")
shares = dn.lab.geometric(100, 20)
rng = np.random.default_rng(0)
before = dn.decode(dn.simulate(survey, shares, n=100_000, rng=rng))
rare = [40, 50, 60, 70, 80]
for share in (0.001, 0.01, 0.05):
    print(before.planted(rare, share=share).words)

# %% [markdown]
# Now somebody does it: 5,000 reports, each of which names all five.

# %%
honest = dn.simulate(survey, shares, n=95_000, rng=rng)
bits = np.zeros((1, 100), int)
bits[0, rare] = 5_000
tally = dn.Tally(survey, honest.counts + bits, honest.reports + 5_000)
estimate = dn.decode(tally)
for alarm in estimate.diagnostics.alarms:
    print(alarm)
assert len(estimate.diagnostics.alarms) == 2

# %% [markdown]
# A mixture of honest reports and a few planted patterns explains most of it. It cannot know which of the tallest shares
# were planted, so it lowers them alike.

# %%
mended = dn.decode(tally, decoder=dn.Contaminated())
gains = {
    "unbiased": estimate.raw,
    "default": estimate.probabilities,
    "contaminated": mended.probabilities,
}
for name, found in gains.items():
    print(f"{name:13} the five have {found[rare].sum():.2f} of all, truly {shares[rare].sum():.2f}")
assert mended.probabilities[rare].sum() < 0.5 * estimate.probabilities[rare].sum()

# %%
mended.chart(top=15)
