# %% [markdown]
# # What a crowd adds
#
# A survey's epsilon holds against everyone. Whoever sees only the counts of many people learns much less about any one
# of them: a second number, certified, beside the first. All data is invented.

# %%
import deniable as dn

survey = dn.krr(symbols=20, epsilon=2, name="favourite fruit")
found = dn.crowd(survey, n=20_000, delta=1e-7)
print(found.words)

# %% [markdown]
# The bound is certified from above, and from below: where the two are close, nothing better can be said.

# %%
assert 0.99 * found.epsilon < found.lower <= found.epsilon < found.local
found

# %% [markdown]
# Only honest people hide anyone. If most of the crowd tells what it sent, or was made up, little is left:

# %%
curve = found.curve((0, 0.5, 0.9, 0.99, 0.9999))
for share, epsilon in curve:
    print(f"{100 * share:6g} % collude or are made up: epsilon at most {epsilon:.3f}")
assert curve[0][1] < curve[-1][1] <= found.local

# %% [markdown]
# Larger crowds hide better: four times as many people halve it.

# %%
larger = dn.crowd(survey, n=80_000, delta=1e-7)
print(f"{found.epsilon / larger.epsilon:.2f} times smaller with four times as many people")
assert 1.9 < found.epsilon / larger.epsilon < 2.2
