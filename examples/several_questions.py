# %% [markdown]
# # Several questions, one report
#
# A health survey of three questions, answered by 60,000 invented people. Each person answers one question, which their
# device draws before it knows any answer; so every answer has the whole budget.

# %%
import numpy as np

import deniable as dn

form = dn.form(
    smokes=dn.warner(epsilon=1, name="Do you smoke?"),
    sport=dn.krr(["none", "some", "much"], epsilon=1, name="How much sport do you do?"),
    sleep=dn.ordered(["bad", "fair", "good", "very good"], epsilon=1, name="How do you sleep?"),
    epsilon=2,
    spend="sample",
    name="health",
)
print(form)

# %% [markdown]
# A device asks only what it drew.

# %%
client = dn.Client(form)
answers = {"smokes": "no", "sport": "some", "sleep": "good"}
report = client.report({name: answers[name] for name in client.questions})
print(client.questions, len(report.pack()), "bytes")

# %% [markdown]
# A table of answers goes through in one call; what comes out is randomised, and counted question by question.

# %%
rng = np.random.default_rng(7)
people = 60_000
table = {
    "smokes": rng.choice(["no", "yes"], people, p=[0.8, 0.2]),
    "sport": rng.choice(["none", "some", "much"], people, p=[0.3, 0.5, 0.2]),
    "sleep": rng.choice(["bad", "fair", "good", "very good"], people, p=[0.1, 0.2, 0.4, 0.3]),
}
tally = dn.count(form, dn.privatize(form, table))
estimate = dn.decode(tally)
print(estimate)
assert abs(estimate["smokes"]["yes"] - 0.2) < 0.05

# %%
estimate["sport"].chart()
