# %% [markdown]
# # A yes/no question
#
# 2,000 people are asked whether they ever lied to get a day off. Nobody would say so openly. With randomised response
# each device answers for its owner, and lies with a known probability.

# %%
import deniable as dn

question = "Have you ever lied to get a day off?"
survey = dn.warner(epsilon=1, name=question)
print(survey)
print(f"the true answer is sent with probability {float(survey.mechanism.keep) / 2**64:.3f}")

# %% [markdown]
# Every person's device makes one report. Here they are invented: 30 % of them did it.

# %%
answers = ["yes"] * 600 + ["no"] * 1400
tally = dn.Tally(survey)
for answer in answers:
    client = dn.Client(survey, memoize=False)  # a device of its own, asked once
    tally.accumulate(client.report(answer))
print(tally)
print("said yes:", int(tally.counts[0, 1]), "of", tally.n)

# %% [markdown]
# The counts alone are wrong, because of the noise. Decoding takes it out again, and says how sure the result is.

# %%
estimate = dn.decode(tally)
low, high = estimate.intervals(0.95)[1]
print(f"estimated: {estimate['yes']:.1%}, with 95 % confidence {low:.1%} to {high:.1%}")
assert abs(estimate["yes"] - 0.3) < 0.15

# %% [markdown]
# How wide would the interval be with other numbers of people? Ask before you collect.

# %%
for n in (100, 1_000, 10_000, 100_000):
    plan = dn.plan(n=n, symbols=2, epsilon=1, metric="max")
    print(f"{n:>7,} people: nine of ten surveys are within {plan.errors['max'].bound:.1%}")

# %%
estimate

# %% [markdown]
# What the dice of this survey do, as a picture:

# %%
survey.chart()
