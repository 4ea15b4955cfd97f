"""The user's settings: a flat camelCase object in the editor, frozen dataclasses with defaults here.

An invalid value is reported once and replaced by its default. No user setting stops the server.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from infill_engine.engine.remote.address import KEY_VARIABLE
from infill_engine.types import Eagerness

SECTION = "infill"
MOST_CANDIDATES = 16
LEAST_BUDGET_MS, MOST_BUDGET_MS = 10, 60_000
# The patterns of files that tend to hold secrets, after a comment.
DEFAULT_EXCLUDES = tuple(Path(__file__).with_name("secrets.gitignore").read_text("utf-8").splitlines()[1:])


class Fallback(StrEnum):
    """Whether to offer ordinary completion as well."""

    AUTO = "auto"  # only to clients without inline completion
    ALWAYS = "always"
    NEVER = "never"


class Precision(StrEnum):
    """The number format the model computes in.

    For published models, `int8` and `int4` store the matrices in that format and unpack them to compute. The default
    model multiplies in `int8` directly and has no `int4`.
    """

    AUTO = "auto"  # the fastest on the device
    BF16 = "bf16"
    FP16 = "fp16"
    FP32 = "fp32"
    INT8 = "int8"
    INT4 = "int4"


@dataclass(frozen=True, slots=True)
class EngineChoice:
    """Which engine runs. A change restarts it."""

    model: str = "default"
    device: str = "auto"
    precision: Precision = Precision.AUTO
    key_variable: str = KEY_VARIABLE  # environment variable that holds the key for a remote engine


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """All user settings. Everything except `engine` applies from the next request.

    `budget_ms` is the time for an answer while the user types, `explicit_budget_ms` for one that they asked for.
    `languages` maps LSP language identifiers to yes or no; "*" covers the rest. `further_excludes` are patterns in
    .gitignore syntax, matched against paths inside the workspace. `eagerness` says how sure a best candidate must be to
    appear unasked; `show_threshold`, the lowest such confidence from 0 to 1, takes its place unless it is None.
    `search_project` also looks for similar text in workspace files that are not open. `next_edits` proposes what an
    edit makes necessary elsewhere, and `next_edit_model` lets the model propose what else may follow. `late_answers`
    shows what is found after an answer that showed nothing, in editors that support it. `completion_fallback` is read
    at `initialize`; afterwards it can only be switched off.
    """

    enable: bool = True
    languages: Mapping[str, bool] = field(default_factory=lambda: {"*": True})
    budget_ms: int = 150
    explicit_budget_ms: int = 600
    candidates: int = 4
    eagerness: Eagerness = Eagerness.BALANCED
    show_threshold: float | None = None
    further_excludes: tuple[str, ...] = ()
    search_project: bool = True
    next_edits: bool = True
    next_edit_model: bool = True
    late_answers: bool = True
    completion_fallback: Fallback = Fallback.AUTO
    engine: EngineChoice = field(default_factory=EngineChoice)

    def budget_for(self, *, explicit: bool) -> int:
        """Return the milliseconds for an answer. An explicit request never gets less than a keystroke."""
        return max(self.budget_ms, self.explicit_budget_ms) if explicit else self.budget_ms

    @property
    def show_from(self) -> float | Eagerness:
        """From which confidence on candidates appear unasked, or how eager the user wants it."""
        return self.eagerness if self.show_threshold is None else self.show_threshold

    @property
    def excludes(self) -> tuple[str, ...]:
        """The patterns of excluded files. The user's come last, so that `!PATTERN` cancels a built-in one."""
        return (*DEFAULT_EXCLUDES, *self.further_excludes)

    def allows_language(self, language: str) -> bool:
        """Return whether documents with this LSP language identifier are completed."""
        return self.languages.get(language, self.languages.get("*", True))


def read_settings(user: object) -> tuple[ServerSettings, tuple[str, ...]]:
    """Convert an editor's settings object. Returns the settings and one warning per invalid entry.

    `user` is the object as received: flat, or nested under "infill". Missing and null entries get their defaults.
    """
    user = section_of(user)
    if user is None:
        return ServerSettings(), ()
    if not isinstance(user, Mapping):
        return ServerSettings(), (f"infill-ls: settings are {_shown(user)}; expected an object. Using the defaults.",)
    ours: dict[str, Any] = {}
    warnings = []
    for key, value in user.items():
        if key not in SETTINGS and key != SECTION:
            warnings.append(
                f"infill-ls: unknown setting {_shown(key)} is ignored. Known are {', '.join(sorted(SETTINGS))}."
            )
        elif value is not None:
            setting = SETTINGS[key]
            try:
                ours[setting.field] = setting.read(value)
            except msgspec.ValidationError:
                warnings.append(
                    f"infill-ls: setting {key} is {_shown(value, key)}; expected {setting.expected}. Using the "
                    f"default, {_shown(setting.default)}."
                )
    engine = {item.name: ours.pop(item.name) for item in fields(EngineChoice) if item.name in ours}
    return ServerSettings(**ours, engine=EngineChoice(**engine)), tuple(warnings)


def section_of(settings: object) -> object:
    """Return our section of a client's settings; all of them if they have none."""
    ours = settings.get(SECTION) if isinstance(settings, Mapping) else None
    return settings if ours is None else ours


def _languages(value: list[str] | dict[str, bool]) -> Mapping[str, bool]:
    return {"*": True, **value} if isinstance(value, dict) else {"*": "*" in value, **dict.fromkeys(value, True)}


def _fallback(value: Fallback | bool) -> Fallback:
    if isinstance(value, bool):
        return Fallback.ALWAYS if value else Fallback.NEVER
    return value


def _named(values: Iterable[str]) -> str:
    return ", ".join(f'"{value}"' for value in values)


@dataclass(frozen=True, slots=True)
class Setting:
    """One entry of the editor's object: the field it sets, a description of valid values, and their type in JSON."""

    field: str  # of ServerSettings, or of its EngineChoice
    expected: str
    form: Any
    bounds: tuple[int, int] | None = None
    adapt: Callable[[Any], object] | None = None  # turns a value of this type into the field's

    def read(self, value: object) -> object:
        """Return the field's value. Raises ValidationError."""
        if isinstance(value, str):
            value = value.strip()
        elif isinstance(value, float) and value.is_integer():
            value = int(value)
        found = msgspec.convert(value, self.form)
        return found if self.adapt is None else self.adapt(found)

    @property
    def default(self) -> object:
        """The default as it would appear in JSON."""
        value = getattr(EngineChoice() if self.field in EngineChoice.__slots__ else ServerSettings(), self.field)
        return list(value) if isinstance(value, tuple) else dict(value) if isinstance(value, Mapping) else value


def _between(field: str, of: str, least: int, most: int) -> Setting:
    form = Annotated[int, Meta(ge=least, le=most)]
    return Setting(field, f"a whole number {of}from {least} to {most}", form, (least, most))


def _switch(field: str) -> Setting:
    return Setting(field, "true or false", bool)


_NAME = Annotated[str, Meta(pattern=r"\A[^\0]+\Z")]
_VARIABLE = Annotated[str, Meta(pattern=r"\A[A-Z_][A-Z0-9_]*\Z")]  # a key entered here by mistake is not in capitals

SETTINGS: Mapping[str, Setting] = {
    "enable": _switch("enable"),
    "languages": Setting(
        "languages",
        'a list of language identifiers, or an object such as {"*": true, "markdown": false}',
        list[str] | dict[str, bool],
        adapt=_languages,
    ),
    "budgetMs": _between("budget_ms", "of milliseconds ", LEAST_BUDGET_MS, MOST_BUDGET_MS),
    "explicitBudgetMs": _between("explicit_budget_ms", "of milliseconds ", LEAST_BUDGET_MS, MOST_BUDGET_MS),
    "candidates": _between("candidates", "", 1, MOST_CANDIDATES),
    "eagerness": Setting("eagerness", _named(Eagerness), Eagerness),
    "showThreshold": Setting(
        "show_threshold",
        "a number from 0 to 1, or null for that of eagerness",
        Annotated[float, Meta(ge=0, le=1)],
        (0, 1),
    ),
    "excludes": Setting("further_excludes", "a list of patterns in .gitignore syntax", tuple[str, ...]),
    "searchProject": _switch("search_project"),
    "nextEdits": _switch("next_edits"),
    "nextEditModel": _switch("next_edit_model"),
    "lateAnswers": _switch("late_answers"),
    "completionFallback": Setting(
        "completion_fallback", f"{_named(Fallback)}, or true or false", Fallback | bool, adapt=_fallback
    ),
    "model": Setting(
        "model",
        'a name such as "default", the path of a model\'s folder, OWNER/NAME, or a server such as '
        "openai:https://host/v1#MODEL",
        _NAME,
    ),
    "device": Setting("device", 'a device such as "auto", "cpu" or "cuda"', _NAME),
    "precision": Setting("precision", _named(Precision), Precision),
    "apiKeyVariable": Setting("key_variable", "the name of an environment variable, in capitals", _VARIABLE),
}


def _shown(value: object, key: str = "") -> str:
    if key == "apiKeyVariable":  # it may be the key itself
        return "something else"
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
