"""survey/reading.py: how a survey file spells it."""

from deniable.survey.reading import Stored, mechanisms

from .band import Band

mechanisms.add(Band)(Stored("far", lambda fields, on: Band(on.cells, fields["epsilon"])))
