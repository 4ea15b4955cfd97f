"""Cases: real code with one mechanical fault, and the place where an editor would ask for a repair."""

import ast
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bench.edits.case import Module
from bench.replay.sources import SourceFile

MOST_BETWEEN = 250  # characters between two misspelled names


@dataclass(frozen=True, slots=True)
class Fault:
    """A broken text. `spans` are where another server has diagnostics; without any, the syntax is broken at `at`.

    `original` is None for code that is intact, whose alternatives must be intact, too.
    """

    file: SourceFile
    kind: str
    text: str
    at: int
    spans: tuple[tuple[int, int], ...] = ()
    original: str | None = None


def faults_in(module: Module, chance: random.Random) -> Iterator[Fault]:
    """Yield at most one case of each kind."""
    text, makers = module.text, (_colon, _bracket, _equals, _operand)
    starts = [module.offset(node.lineno, node.col_offset) for node in _statements(module.tree)]
    chance.shuffle(starts)
    for make in makers:
        for start in starts:
            end = text.find("\n", start)
            line = text[start : end if end >= 0 else len(text)]
            broken = make(line)
            if broken is not None and not parses(text[:start] + broken + text[start + len(line) :]):
                changed = text[:start] + broken + text[start + len(line) :]
                yield Fault(module.file, make.__doc__ or "", changed, start, original=text)
                break
    yield from _misspelled(module, chance)
    yield from _intact(module, chance)


def _colon(line: str) -> str | None:
    """colon missing"""
    return line[:-1] if re.fullmatch(r"(if|for|while|def|with|elif) .*[^:]:", line) else None


def _bracket(line: str) -> str | None:
    """bracket missing"""
    balanced = line.count("(") == line.count(")") and line.endswith(")")
    return line[:-1] if balanced else None


def _equals(line: str) -> str | None:
    """= for =="""
    return line.replace(" == ", " = ", 1) if re.match(r"(if|while|return|assert) .* == ", line) else None


def _operand(line: str) -> str | None:
    """operand missing"""
    found = re.fullmatch(r"(.* (?:\+|-|==|<|>|and|or|in) )[\w.]+(:?)", line)
    return None if found is None else found[1] + found[2]


def _statements(tree: ast.Module) -> list[ast.stmt]:
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    return [node for function in functions for node in ast.walk(function) if isinstance(node, ast.stmt)]


def _misspelled(module: Module, chance: random.Random) -> Iterator[Fault]:
    names: dict[str, list[tuple[int, int]]] = {}
    functions = [node for node in ast.walk(module.tree) if isinstance(node, ast.FunctionDef)]
    for function in chance.sample(functions, min(len(functions), 5)):
        for node in ast.walk(function):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and len(node.id) > 4:
                names.setdefault(node.id, []).append(module.span(node))
    words = sorted(names)
    chance.shuffle(words)
    for count, kind in ((1, "name misspelled"), (2, "name misspelled twice")):
        for word in words:
            wrong = word[:2] + word[3] + word[2] + word[4:]
            places = sorted(set(names[word]))[:count]
            near = len(places) == count and places[-1][0] - places[0][1] <= MOST_BETWEEN
            if near and wrong != word and wrong not in module.text:
                yield Fault(
                    module.file, kind, _replaced(module.text, places, wrong), places[0][0], tuple(places), module.text
                )
                break


def _intact(module: Module, chance: random.Random) -> Iterator[Fault]:
    conditions = [node.test for node in ast.walk(module.tree) if isinstance(node, ast.If | ast.While)]
    if conditions:
        start, end = module.span(chance.choice(conditions))
        yield Fault(module.file, "condition, intact", module.text, start, ((start, end),))


def _replaced(text: str, places: Sequence[tuple[int, int]], new: str) -> str:
    for start, end in reversed(places):
        text = text[:start] + new + text[end:]
    return text


def parses(text: str) -> bool:
    """Return whether a text is valid Python."""
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return False
    return True
