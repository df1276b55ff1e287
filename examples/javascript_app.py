# %% [markdown]
# # An app with the JavaScript client
#
# A collector, and a small app in JavaScript that asks its users which theme they have. `javascript_app.mjs` beside
# this file is the app: 300 devices, each with a state of its own. Needs Node 18 and `deniable[serve]`.

# %%
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import deniable as dn

here = Path(__file__).parent if "__file__" in globals() else Path.cwd()
folder = Path(tempfile.mkdtemp())
survey = dn.krr(symbols=["light", "dark", "system"], epsilon=2, name="theme")
survey.save(folder / "survey.json")

# %% [markdown]
# The collector, on a free port. It says on standard error where it listens.

# %%
serve = [sys.executable, "-m", "deniable", "serve", "--store", str(folder / "collector"), "--port", "0"]
collector = subprocess.Popen(serve, stderr=subprocess.PIPE, text=True)
url = next(found[1] for line in collector.stderr if (found := re.search(r'"address": "(http://[^"]+)"', line)))
register = [sys.executable, "-m", "deniable", "survey", "register", str(folder / "survey.json"), "--minimum", "100"]
register += ["--collector", url, "--token-file", str(folder / "collector" / "admin-token")]
done = subprocess.run(register, check=True, capture_output=True, text=True)
print(done.stdout.splitlines()[0])

# %% [markdown]
# The app. It randomises on the device and sends; what it prints is what the collector answered.

# %%
app = ["node", str(here / "javascript_app.mjs"), str(folder / "survey.json"), url, "300"]
said = subprocess.run(app, check=True, capture_output=True, text=True).stdout
told = json.loads(said)
print(told)
assert told["accepted"] == 300

# %% [markdown]
# The administrator takes the tally, and stops the collector.

# %%
collector.terminate()
collector.wait()
collector.stderr.close()
export = [sys.executable, "-m", "deniable", "store", "export", str(folder / "collector"), survey.digest]
subprocess.run([*export, "-o", str(folder / "day.tally")], check=True, capture_output=True)
estimate = dn.decode(dn.Tally.load(folder / "day.tally"))
print(estimate.n, "reports")
assert estimate.n == 300

# %%
estimate
