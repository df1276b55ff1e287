"""A device that sends its outbox and dies again and again: `python -m tests.sending SURVEY STATE URL SEED GATE`.

Each life opens the state and sends in small batches until SIGKILL meets it at a random system call that touches the
disk, which sending does once for every acknowledgement; the next life goes on with what is left. One line of JSON at
the end says how many lives it took. The last twelve reports wait until the file `GATE` is there, so that a test can be
sure to meet the device on its way, however fast the machine is. With one more word, waiting reports get new ids in each
life, as no client may do.
"""

import json
import os
import random
import signal
import sys
import time
from dataclasses import replace

import deniable as dn
from tests.crashing import Bomb
from tests.waiting import PATIENCE

__all__ = ["main"]


def live(survey: dn.Survey, state: str, url: str, at: int, gate: str) -> None:
    """Send until nothing waits, or until the bomb goes off."""
    client = dn.Client(survey, state=state)
    Bomb(at).arm()
    while client.outbox:
        if len(client.outbox) <= 12 and not os.path.exists(gate):
            time.sleep(0.02)
            continue
        client.send(url, batch=3, attempts=2, timeout=PATIENCE, wait=lambda seconds: time.sleep(min(seconds, 0.05)))


def rename(survey: dn.Survey, state: str, chance: random.Random) -> None:
    client = dn.Client(survey, state=state)
    assert client._file is not None
    with client._file.change(survey) as kept:
        names = {name: chance.randbytes(16).hex() for name in kept.outbox}
        kept.outbox = {names[name]: replace(waiting, id=names[name]) for name, waiting in kept.outbox.items()}


def main(survey_path: str, state: str, url: str, seed: str, gate: str, mutant: str = "") -> None:
    survey, chance, lives = dn.Survey.load(survey_path), random.Random(seed), 0
    while True:
        lives += 1
        if mutant:
            rename(survey, state, chance)
        at = chance.randrange(1, 90)
        if (child := os.fork()) == 0:
            code = 1
            try:
                live(survey, state, url, at, gate)
                code = 0
            finally:
                os._exit(code)
        status = os.waitpid(child, 0)[1]
        if not os.WIFSIGNALED(status):
            assert os.WEXITSTATUS(status) == 0, "sending failed with an error"
            break
        assert os.WTERMSIG(status) == signal.SIGKILL
    print(json.dumps({"lives": lives}))


if __name__ == "__main__":
    main(*sys.argv[1:])
