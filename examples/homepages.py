# %% [markdown]
# # Homepages of a million browsers
#
# A browser maker wants to know which homepages are set, above all those that malware puts there. Nobody can write
# down all homepages beforehand: the alphabet is open. Answers are hashed, in many cohorts, and candidates are named
# afterwards.

# %%
import numpy as np

import deniable as dn

PEOPLE = 1_000_000
survey = dn.orr(epsilon=3, cells=16, cohorts=256, name="homepage", seed=bytes(16))
print(survey)

# %% [markdown]
# The people are invented. 300 homepages follow Zipf's law; one of them, which malware sets, is missing from every
# list that we start with.

# %%
rng = np.random.default_rng(1)
MALWARE = "search.malware.example"
pages = [f"site-{rank}.example" for rank in range(1, 301)]
pages[4] = MALWARE
shares = dn.lab.zipf(300, 1.2)
answers = rng.choice(pages, size=PEOPLE, p=shares)

# %%
reports = dn.privatize(survey, answers)  # on the devices; a million at once here
tally = dn.count(survey, reports)  # at the collector: 256 x 16 counts
print(reports, tally, sep="\n")

# %% [markdown]
# At the analyst's desk: which of these candidates are there? The true list has 299 known pages; we add 700 that
# nobody has.

# %%
known = [page for page in pages if page != MALWARE]
known += [f"nobody-{i}.example" for i in range(700)]
estimate = dn.decode(tally, candidates=known)
found = estimate.significant(0.95)
print(f"{found.sum()} of {len(known)} candidates are significantly above zero")
names = [name for name, there in zip(estimate.symbols, found, strict=True) if there]
print(f"of those, {sum(name.startswith('nobody') for name in names)} that nobody has")

# %% [markdown]
# Is anything missing from the list? Reports of an answer that is not on it fall into cells that no candidate explains,
# and the fit over all cohorts shows that.

# %%
print(estimate.diagnostics.fit)
low, high = estimate.unallocated.interval(0.95)
print(f"not explained by any candidate: {low:.1%} to {high:.1%}")
assert estimate.diagnostics.fit.p_value < 1e-6

# %% [markdown]
# Something is. A security team suggests one more candidate.

# %%
again = dn.decode(tally, candidates=[*known, MALWARE])
error = again.standard_errors[-1]
print(f"{MALWARE}: {again[MALWARE]:.2%} +- {error:.2%} (the truth: {shares[4]:.2%})")
low, high = again.unallocated.interval(0.95)
print(f"not explained by any candidate now: {low:.1%} to {high:.1%}")
print(again.diagnostics.fit)
assert abs(again.raw[-1] - shares[4]) < 6 * error

# %%
again

# %% [markdown]
# The fifteen largest shares, with their intervals:

# %%
again.chart(top=15)
