"""What a room must know of each mechanism or encoding: registered in that room, by type, beside its siblings.

Rooms never ask which mechanism they have. They look up the entry of its type, so a new type is a few entries and no
change to what stands there (CONTRIBUTING.md, "A new mechanism").
"""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

Registered = TypeVar("Registered")

_EVERY: "list[Registry[Any]]" = []


class Registry(Generic[Registered]):
    """Entries by type. That of a type holds for its subclasses, too, unless they have their own.

    Parameters
    ----------
    name : str
        The full name of the registry, for messages.
    of : type
        Every subclass of it needs an entry.
    what : str
        What an entry is, in words.

    Examples
    --------
    >>> sounds = Registry[str]("deniable.example.sounds", float, "sound")
    >>> sounds.add(int)("hum")
    'hum'
    >>> sounds.of(3), sounds.of(True), sounds.find(str)
    ('hum', 'hum', None)
    >>> sounds.of("3")
    Traceback (most recent call last):
    ...
    TypeError: str has no sound; register one with deniable.example.sounds.add(str)
    """

    def __init__(self, name: str, of: type, what: str) -> None:
        self.name, self.base, self.what = name, of, what
        self.entries: dict[type, Registered] = {}
        _EVERY.append(self)

    def add(self, *types: type) -> Callable[[Registered], Registered]:
        """Register an entry for some types; a decorator for functions and classes.

        Parameters
        ----------
        *types : type
            The types that the entry is for.
        """

        def put(entry: Registered) -> Registered:
            self.entries.update(dict.fromkeys(types, entry))
            return entry

        return put

    def find(self, kind: type) -> Registered | None:
        """The entry of a type, its own or that of the nearest parent that has one, or None.

        Parameters
        ----------
        kind : type
            The type.
        """
        return next((self.entries[parent] for parent in kind.__mro__ if parent in self.entries), None)

    def of(self, value: object) -> Registered:
        """The entry of a value's type.

        Parameters
        ----------
        value : object
            A mechanism or an encoding.

        Raises
        ------
        TypeError
            If it has none; the message names the type and the registration it lacks.
        """
        found = self.find(type(value))
        if found is None:
            name = type(value).__name__
            raise TypeError(f"{name} has no {self.what}; register one with {self.name}.add({name})")
        return found


def missing(kind: type) -> list[str]:
    """The full names of all registries that need an entry for this type and have none; of rooms that are imported.

    Parameters
    ----------
    kind : type
        A type of mechanism or encoding.

    Examples
    --------
    >>> from deniable.mechanisms import KRR
    >>> missing(KRR)
    []
    """
    return sorted(each.name for each in _EVERY if issubclass(kind, each.base) and each.find(kind) is None)
