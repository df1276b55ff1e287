"""The respondent's side: one device, one cohort, randomised answers. Standard library only, to be copied to a device.

client = Client(survey)                     in memory; the same answer again gives the same bytes
client = Client(survey, state="me.json")    cohort, secret, ledger and outbox survive a restart
client = Client(survey, memoize=False)      one-shot use: fresh noise every time

client.report("firefox")                    randomise, and hand the report over: sending it is up to you
client.queue("firefox")                     randomise, and write the report to the outbox; no network is needed
client.send("https://collector.example")    deliver what is in the outbox; what it cannot now waits for the next time
client.status()                             what waits, what was refused, what was spent
"""

from deniable.client.client import Client
from deniable.client.delivery import Delivery, Refusal
from deniable.client.form_client import FormClient
from deniable.client.ledger import Account, Ledger
from deniable.client.state import Waiting
from deniable.client.status import Status

__all__ = ["Account", "Client", "Delivery", "FormClient", "Ledger", "Refusal", "Status", "Waiting"]
