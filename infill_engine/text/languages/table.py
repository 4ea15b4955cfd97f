"""Read one table of a record key by key, so that an error names the key that is unknown, missing or malformed."""

import re
from enum import StrEnum
from typing import Any, NoReturn, TypeVar

from infill_engine.errors import InfillError

_T = TypeVar("_T")
_E = TypeVar("_E", bound=StrEnum)


class RecordError(InfillError):
    """A record has a key that is unknown, missing or malformed."""


class Table:
    """One table of a record. Keys that nobody has read at the end are unknown."""

    def __init__(self, source: str, name: str, values: dict[str, Any]) -> None:
        self._source, self._name, self._left = source, name, dict(values)

    def within(self, key: str, values: dict[str, Any]) -> "Table":
        """Return the table at `key` of this one."""
        return Table(self._source, self._path(key), values)

    def take(self, key: str, kind: type[_T]) -> _T:
        """Return the value of a required key. Raises RecordError, as all of these methods do."""
        if key not in self._left:
            self.fail(key, "is missing")
        value = self._left.pop(key)
        if not isinstance(value, kind):
            self.fail(key, f"must be of type {kind.__name__}, not {type(value).__name__}")
        return value

    def take_or(self, key: str, default: _T) -> _T:
        """Return the value of an optional key."""
        return self.take(key, type(default)) if key in self._left else default

    def words(self, key: str) -> tuple[str, ...]:
        """Return a list of nonempty texts."""
        found = self.take(key, list)
        for number, word in enumerate(found):
            if not isinstance(word, str) or not word:
                self.fail(f"{key}[{number}]", "must be text that is not empty")
        return tuple(found)

    def mapping(self, key: str) -> dict[str, str]:
        """Return a table of texts."""
        found = self.take(key, dict)
        for name, value in found.items():
            if not isinstance(value, str):
                self.fail(f"{key}.{name}", "must be text")
        return found

    def pattern(self, key: str, flags: int = 0) -> re.Pattern[str] | None:
        """Return a regular expression; None for an empty one."""
        text = self.take(key, str)
        return self.compiled(key, text, flags) if text else None

    def needed(self, key: str) -> re.Pattern[str]:
        """Return a regular expression that may not be empty."""
        return self.pattern(key) or self.fail(key, "must not be empty")

    def compiled(self, key: str, text: object, flags: int = 0) -> re.Pattern[str]:
        """Return the compiled regular expression `text`, the value of `key`."""
        if not isinstance(text, str):
            self.fail(key, f"must be text, not {type(text).__name__}")
        try:
            return re.compile(text, flags)
        except re.error as fault:
            self.fail(key, f"is no regular expression: {fault}")

    def one_of(self, key: str, kinds: type[_E]) -> _E:
        """Return a member of an enumeration."""
        text = self.take(key, str)
        try:
            return kinds(text)
        except ValueError:
            self.fail(key, f"must be one of {', '.join(kinds)}, not {text!r}")

    def table(self, key: str) -> "Table":
        """Return the table at a key."""
        return self.within(key, self.take(key, dict))

    def tables(self, key: str) -> list["Table"]:
        """Return the list of tables at an optional key."""
        found = self._left.pop(key, [])
        if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
            self.fail(key, "must be a list of tables")
        return [self.within(f"{key}[{number}]", each) for number, each in enumerate(found)]

    def has(self, key: str) -> bool:
        """Return whether the key exists and has not been read."""
        return key in self._left

    def done(self) -> None:
        """Raise RecordError if a key has not been read."""
        for key in self._left:
            self.fail(key, "is unknown")

    def fail(self, key: str, fault: str) -> NoReturn:
        """Raise RecordError for a key."""
        raise RecordError(f"{self._source}: {self._path(key)} {fault}; correct the record or install infill-ls again")

    def _path(self, key: str) -> str:
        return f"{self._name}.{key}" if self._name else key
