# %% [markdown]
# # Only some answers are sensitive
#
# A clinic asks what people were treated for. Two of the answers need hiding, the others do not. What does marking them
# save, and what does it give away?

# %%
import numpy as np

import deniable as dn

answers = ["nothing", "flu", "back pain", "allergy", "hepatitis", "hiv"]
shares = np.array([0.45, 0.25, 0.15, 0.12, 0.02, 0.01])
hidden = ["hepatitis", "hiv"]
marked = dn.sensitive(answers, sensitive=hidden, epsilon=1, name="What were you treated for?")
everything = dn.krr(symbols=answers, epsilon=1)

# %% [markdown]
# Each row is the answer that was given, each column the one that is claimed instead. "hiv" is deniable against every
# other answer; "flu" may be seen for what it is.

# %%
print(marked.privacy())

# %% [markdown]
# 5,000 people answer on their devices. The collector sees reports alone.

# %%
rng = np.random.default_rng(4)
given = rng.choice(answers, 5_000, p=shares)
estimates = {
    name: dn.decode(dn.count(s, dn.privatize(s, given))) for name, s in (("marked", marked), ("all", everything))
}
for name, estimate in estimates.items():
    print(name, {a: f"{estimate[a]:.1%}" for a in answers}, "errors", estimate.standard_errors.round(3).tolist())

# %% [markdown]
# Marking the two saves most of the noise of the others, and some of their own: fewer answers compete with them.

# %%
saved = estimates["marked"].standard_errors / estimates["all"].standard_errors
print(dict(zip(answers, saved.round(2).tolist(), strict=True)))
assert (saved < 0.9).all()

# %% [markdown]
# What it gives away: a report that names a harmless answer is the truth, so whoever sent it is known not to have given
# a sensitive one. Tell people before you ask; `deniable survey notice` has the words.

# %%
estimates["marked"].chart()
