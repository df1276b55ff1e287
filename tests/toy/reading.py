"""survey/reading.py: how a survey file spells it."""

from deniable.survey.reading import Stored, mechanisms

from .band import Band
from .plain import Plain

mechanisms.add(Band)(Stored("far", lambda fields, on: Band(on.cells, fields["epsilon"])))
mechanisms.add(Plain)(Stored("other", lambda fields, on: Plain(on.cells, fields["epsilon"])))
