# %% [markdown]
# # What people wrote, when nobody had a list
#
# "Which app do you miss most?" Nobody can write down the answers beforehand. So devices report on beginnings of the
# answer: each draws a cohort once, which belongs to a level, and the level says how many bytes are looked at.

# %%
import numpy as np

import deniable as dn

survey = dn.discovery(epsilon=4, length=8, cohorts=512, name="Which app do you miss?", seed=bytes(16))
print(survey)
print("bytes and cohorts of each level:", survey.encoding.levels)

# %% [markdown]
# The people are invented: half of them want one of six apps, and each of the others one of two thousand.

# %%
rng = np.random.default_rng(3)
letters = list("abcdefghijklmnopqrstuvwxyz")
wanted = {"calendar": 0.14, "maps": 0.11, "mail": 0.09, "mailbox": 0.07, "camera": 0.05, "Übersetzer": 0.04}
rare = sorted({"".join(rng.choice(letters, 6)) for _ in range(2000)})
texts = [*wanted, *rare]
shares = [*wanted.values(), *[(1 - sum(wanted.values())) / len(rare)] * len(rare)]
tally = dn.simulate(survey, shares, 300_000, rng, symbols=texts)

# %% [markdown]
# The search begins with all pairs of bytes that text can begin with, keeps the promising ones, and extends them, level
# by level. What it finds at the last one is tested by that level's own people, who had no part in the search.

# %%
found = dn.discover(tally)
print(found)
for text, (low, high) in zip(found.symbols, found.intervals(0.95), strict=True):
    print(f"{text:10} {low:6.1%} to {high:6.1%}")

# %% [markdown]
# "Übersetzer" has eleven bytes and was cut at eight; the ellipsis says so. Nothing is there that nobody wrote:

# %%
known = {text.lower().encode()[:8] for text in texts}
assert {str(text).removesuffix("…").encode() for text in found.symbols} <= known
assert "calendar" in found

# %% [markdown]
# Who knows more about the answers finds more, and faster: an alphabet, or how all answers begin.

# %%
small = dn.discover(tally, alphabet="abcdefghijklmnopqrstuvwxyz", prefixes=["mai"])
print(small.symbols)

# %%
found.chart()
