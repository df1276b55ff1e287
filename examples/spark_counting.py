# %% [markdown]
# # Counting on Spark
#
# Reports that lie in a data lake are counted where they are. The result is the same tally as on one machine, to the
# last count. Here Spark runs on this machine; on a cluster only the session differs. Needs `deniable[spark]` and Java
# 17.

# %%
import os
import sys
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

import deniable as dn
from deniable.engines import spark

os.environ["PYSPARK_PYTHON"] = sys.executable  # the workers need deniable, too
builder = SparkSession.builder.master("local[2]").appName("deniable").config("spark.ui.enabled", "false")
session = builder.getOrCreate()
session.sparkContext.setLogLevel("ERROR")
folder = Path(tempfile.mkdtemp())
survey = dn.krr(symbols=["card", "cash", "transfer"], epsilon=2, name="How did you pay?")

# %% [markdown]
# Answers become reports on the executors, each with the randomness of its own operating system. Write the result
# once, at once: Spark computes a DataFrame again whenever it is used again, and everybody would get fresh noise.

# %%
paid = "CASE id % 10 WHEN 0 THEN 'cash' WHEN 1 THEN 'transfer' ELSE 'card' END AS paid"
people = session.range(200_000).selectExpr(paid)
spark.privatize(survey, people, "paid").write.parquet(f"{folder}/reports")

# %%
reports = session.read.parquet(f"{folder}/reports")
tally, refused = spark.count(survey, reports)
print(tally, refused)
assert (tally.counts == dn.count(survey, f"{folder}/reports").counts).all()
print("the same counts on one machine")

# %%
estimate = dn.decode(tally)
print({name: f"{share:.1%}" for name, share in estimate})
assert abs(estimate["card"] - 0.8) < 0.02
session.stop()

# %%
estimate
