"""What is suggested before each character of a missing text, and what it costs to type the text with it."""

from collections import deque
from collections.abc import Callable
from dataclasses import astuple, dataclass, replace

from bench.quality.problems.holes import Task
from bench.quality.reports.acceptance import is_acceptable
from bench.quality.systems.product import ObservedEngine, Question, ask, copy
from infill_engine.budget.deadline import Clock, Deadline, now
from infill_engine.settings import USUAL_WINDOW, WindowSettings
from infill_engine.text.lines import is_one_key

WARM_MS = 10_000  # to read the text above, before the first character


@dataclass(frozen=True, slots=True)
class Look:
    """The best text for a place ("" for none), its confidence, its time, and whether a person would accept it."""

    text: str
    confidence: float = 1.0
    ms: float = 0.0
    right: bool = False


NOTHING = Look("")


@dataclass(frozen=True, slots=True)
class Looks:
    """One system's suggestions before each character of a hole's gold text."""

    id: str
    cluster: str
    kind: str
    system: str
    gold: str
    looks: list[Look]


@dataclass(frozen=True, slots=True)
class Typing:
    """The cost of typing a gold text: keys pressed, suggestions shown, suggestions accepted, answers requested."""

    keystrokes: int = 0
    shown: int = 0
    taken: int = 0
    fresh: int = 0

    def __add__(self, other: "Typing") -> "Typing":
        both = zip(astuple(self), astuple(other), strict=True)
        return Typing(*(one + more for one, more in both))


@dataclass(frozen=True, slots=True)
class Sight:
    """What somebody sees who accepts nothing: keys pressed, at how many something is shown, at how many it is right.

    `wrong_starts` are the keys at which the very first character shown is wrong.
    """

    keystrokes: int = 0
    visible: int = 0
    right: int = 0
    wrong_starts: int = 0

    def __add__(self, other: "Sight") -> "Sight":
        both = zip(astuple(self), astuple(other), strict=True)
        return Sight(*(one + more for one, more in both))


Looker = Callable[[Question], Look]


@dataclass(slots=True)
class Product:
    """The engine, queried at every place: anew, or with `pause_ms` for going on with the search after each answer."""

    engine: ObservedEngine
    budget_ms: float
    clock: Clock = now
    pause_ms: float | None = None
    show_from: float = 0.0  # the model's own threshold, known after its first answer
    _task: tuple[str, str] = ("", "")

    def __call__(self, question: Question) -> Look:
        task = question.task
        is_new = (task.id, task.cluster) != self._task
        if is_new:
            self._task = task.id, task.cluster
            deque(self.engine.index_project(question.project_text), maxlen=0)
            self.engine.prefetch(question.request, self._within(WARM_MS))
        if is_new or self.pause_ms is None:
            self.engine.forget()
        else:
            self.engine.forget_answers()
        began = self.clock()
        answer = self.engine.answer(question.request, self._within(self.budget_ms))
        took_ms = round(1000 * (self.clock() - began), 2)
        self.show_from = answer.show_from
        if self.pause_ms is not None:
            deque(self.engine.continue_search(question.request, self._within(self.pause_ms)), maxlen=0)
        if not answer.candidates:
            return Look("", ms=took_ms)
        best = answer.candidates[0]
        return Look(best.text, round(best.confidence, 5), took_ms)

    def _within(self, ms: float) -> Deadline:
        return Deadline.after_ms(ms, clock=self.clock)


def first_copy(question: Question) -> Look:
    """Return what followed the same text elsewhere, with no regard to its likelihood here."""
    reply = copy(question)
    return Look(reply.texts[0] if reply.texts else "", ms=round(reply.elapsed_ms, 2))


def look_everywhere(
    task: Task, system: str, look: Looker, candidates: int, window: WindowSettings = USUAL_WINDOW
) -> Looks:
    """Return what `look` suggests before each character of the task's gold text."""
    around = "\n".join(task.sides)
    looks = []
    for at in range(len(task.gold)):
        found = look(ask(_after(task, at), candidates, window))
        gold = task.gold[at:]
        right = bool(found.text) and (gold.startswith(found.text) or is_acceptable(found.text, gold, around))
        looks.append(replace(found, right=right))
    return Looks(task.id, task.cluster, task.kind, system, task.gold, looks)


def typed(found: Looks, show_from: float) -> Typing:
    """Simulate typing the gold text. Suggestions are shown from `show_from` confidence on, if they save a key."""
    at = keystrokes = shown = taken = fresh = 0
    rest = NOTHING  # remainder of the shown suggestion after its beginning was typed
    while at < len(found.gold):
        keystrokes += 1
        suggestion = rest
        if not rest.text:
            fresh += 1
            suggestion = _shown(found.looks[at], show_from)
            shown += bool(suggestion.text)
        if suggestion.right:
            taken += 1
            # What is not the gold text itself is as good as all of it.
            at = at + len(suggestion.text) if found.gold.startswith(suggestion.text, at) else len(found.gold)
            rest = NOTHING
        else:
            rest = _rest(suggestion, found.gold[at])
            at += 1
    return Typing(keystrokes, shown, taken, fresh)


def seen(found: Looks, show_from: float) -> Sight:
    """Simulate typing the gold text without accepting anything."""
    visible = right = wrong_starts = 0
    rest = NOTHING
    for character, look in zip(found.gold, found.looks, strict=True):
        suggestion = rest if rest.text else _shown(look, show_from)
        visible += bool(suggestion.text)
        right += suggestion.right
        wrong_starts += not suggestion.right and suggestion.text[:1] not in ("", character)
        rest = _rest(suggestion, character)
    return Sight(len(found.gold), visible, right, wrong_starts)


def _shown(look: Look, show_from: float) -> Look:
    return look if look.confidence >= show_from and not is_one_key(look.text) else NOTHING


def _rest(suggestion: Look, typed_character: str) -> Look:
    """Return what is left of a suggestion if its first character is typed, and nothing if another is."""
    if suggestion.text[:1] != typed_character or len(suggestion.text) == 1:
        return NOTHING
    return replace(suggestion, text=suggestion.text[1:])


def unwritten(task: Task) -> Task:
    """Return the task in a file that ends with its line."""
    return replace(task, text="\n".join(task.text.split("\n")[: task.row + 1]) + "\n")


def _after(task: Task, at: int) -> Task:
    """Return the task after the first `at` characters of its gold text have been typed."""
    lines = task.text.split("\n")
    line = lines[task.row]
    lines[task.row] = line[: task.column] + task.gold[:at] + line[task.column :]
    return replace(task, text="\n".join(lines), column=task.column + at)
