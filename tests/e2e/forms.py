"""A store with a form that was answered on three days, for the pages' tests and pictures."""

import time
from pathlib import Path

import numpy as np

import deniable as dn
from deniable.service.entries import Rules, Upload
from deniable.service.sqlite import SQLiteStore

PEOPLE = 900  # a day
FORM = dn.form(
    {
        "smokes": dn.warner(epsilon=1, name="Do you smoke?"),
        "often": dn.ordered(["never", "seldom", "often", "daily"], 1, name="How often do you drink?"),
        "age": dn.number(18, 90, 1, bins=24, name="How old are you?"),
        "town": dn.orr(epsilon=1, cells=8, cohorts=16, seed=bytes(16), text="folded", name="Where do you live?"),
        "sport": dn.krr(["none", "some", "much"], epsilon=1, name="How much sport do you do?"),
        "likes": dn.krr(["=tea", "coffee"], epsilon=1, name="What do you drink?"),
    },
    epsilon=12,
    skip=["smokes"],
    relate=[("sport", "likes")],
    name="Habits <b>of</b> adults",
)


def answered_store(place: Path, form: dn.Form = FORM, *, minimum: int = 100, results: str = "private") -> None:
    """The form in a new store, with reports of today and of the two days before."""
    store = SQLiteStore(place)
    rules = Rules.read({"minimum": minimum, "results": results, "introduction": "For a study.", "thanks": "Thank you!"})
    entry, _ = store.create(form, rules)
    today = 24 * int(time.time() // 86_400)
    rng = np.random.default_rng(1)
    for day in range(3):
        packed = []
        for one in range(PEOPLE):
            number = day * PEOPLE + one
            answers: dict[str, object] = {
                "smokes": [None, "no", "no", "yes"][rng.integers(4)],
                "often": rng.choice(["never", "seldom", "often", "daily"], p=[0.3, 0.4, 0.2, 0.1]),
                "age": float(rng.integers(18, 90)),
                "town": rng.choice(["Oslo", "Bergen", "Voss"], p=[0.6, 0.3, 0.1]),
                "sport": rng.choice(["none", "some", "much"]),
                "likes": rng.choice(["=tea", "coffee"]),
            }
            packed.append(number.to_bytes(16, "little") + dn.Client(form).report(answers).pack())
        store.write([Upload(entry, b"".join(packed))], hours=today - 24 * (2 - day))
    store.close()
