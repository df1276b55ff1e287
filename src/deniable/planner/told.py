"""What plans in closed form have in common: JSON, and rows for people in which what was found is marked."""

from typing import Any, ClassVar

from deniable.survey import Survey, facts

__all__ = ["ToldPlan"]


class ToldPlan:
    """The base of plans whose `found` names what was looked for."""

    __slots__ = ()

    _named: ClassVar[tuple[str, ...]]  # attributes that JSON has
    survey: Survey
    found: str

    def to_json(self) -> dict[str, Any]:
        """The plan as a JSON object."""
        return {name: getattr(self, name) for name in self._named} | {"survey": self.survey.to_json()}

    def rows(self) -> list[tuple[str, str]]:
        """What it says, for people: a name and a value a row."""
        raise NotImplementedError

    def _marked(self, name: str, text: str) -> str:
        return f"{text} (found)" if self.found == name else text

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return facts("Plan", [("survey", repr(self.survey)), *self.rows()])
