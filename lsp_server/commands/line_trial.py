"""Rest-of-line holes in files that were held out, asked as an editor would ask, and how many came back exactly."""

import random
import re
import time
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from tree_sitter import Node

from infill_engine.context.surroundings import joined
from infill_engine.deadline import Deadline
from infill_engine.syntax import parse
from infill_engine.types import InfillRequest, Surroundings
from lsp_server.commands.place import open_text
from lsp_server.project_files import ProjectFile
from lsp_server.request import build_request
from lsp_server.settings import ServerSettings

if TYPE_CHECKING:
    from infill_engine.engine import Engine

BUDGET_MS = 1_000  # for each: what is compared is two models, not how busy the machine is
TRIES = 40  # draws for each hole wanted
LEAST_SIGNIFICANT = 3  # letters and digits of a text worth counting: closing brackets are no feat
_WORD_CHARACTER = re.compile(r"\w")


@dataclass(frozen=True, slots=True)
class LineHole:
    """The request for a cursor somewhere in a line of code, and the rest of the line that stood there.

    `surroundings` are what the request names of the project.
    """

    request: InfillRequest
    gold: str
    surroundings: Surroundings


@dataclass(frozen=True, slots=True)
class Score:
    """How many holes came back exactly: as the first or any of four candidates, of the engine or of the model alone."""

    holes: int = 0
    first: int = 0
    any: int = 0
    alone_first: int = 0
    alone_any: int = 0

    def __add__(self, other: "Score") -> "Score":
        both = zip(asdict(self).values(), asdict(other).values(), strict=True)
        return Score(*(one + more for one, more in both))


def draw_holes(files: Sequence[ProjectFile], wanted: int, others: Sequence[ProjectFile] = ()) -> list[LineHole]:
    """At most so many different holes, drawn from all lines of code with a fixed seed.

    `others` are the project's further files, which are at hand as they are in an editor: those of its language, in
    their order, as many as are searched.
    """
    texts: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for file in others:
        texts[file.language].append((str(file.path), file.text))
    around = {language: joined(each) for language, each in texts.items()}
    rng = random.Random(0)
    lines = [file.text.split("\n") for file in files]
    rows = [(number, row) for number, file in enumerate(files) for row in _code_rows(file, lines[number])]
    found: dict[tuple[int, int, int], LineHole] = {}
    for _ in range(TRIES * wanted if rows else 0):
        number, row = rng.choice(rows)
        line = lines[number][row]
        column = rng.choice([at for at, character in enumerate(line) if not character.isspace()])
        gold = line[column:].rstrip()
        if len(_WORD_CHARACTER.findall(gold)) >= LEAST_SIGNIFICANT and (number, row, column) not in found:
            text = "\n".join([*lines[number][:row], line[:column], *lines[number][row + 1 :]])
            snapshot = open_text("file:///held-out", files[number].language, text)
            project = around.get(files[number].language, Surroundings())
            path = str(files[number].path)
            request = build_request(snapshot, (row, column), ServerSettings(), project=project, path=path)
            found[number, row, column] = LineHole(request, gold, project)
        if len(found) == wanted:
            break
    return list(found.values())


def ask_all(engine: "Engine", holes: Sequence[LineHole], seconds: float) -> Score:
    """The score over as many of the holes, in their order, as there is time for.

    The model alone is given neither drafts nor what the project says elsewhere.
    """
    for surroundings in dict.fromkeys(hole.surroundings for hole in holes):
        deque(engine.surround(surroundings), maxlen=0)
    total = Score()
    ends = time.monotonic() + seconds
    for hole in holes:
        if time.monotonic() > ends:
            break
        bare = replace(hole.request, drafts=(), surroundings="", beyond=("", ""))
        everything, alone = (_exact(engine, request, hole.gold) for request in (hole.request, bare))
        total += Score(1, *everything, *alone)
    return total


def _exact(engine: "Engine", request: InfillRequest, gold: str) -> tuple[int, int]:
    candidates = engine.answer(request, Deadline.after_ms(BUDGET_MS)).candidates
    right = [candidate.text.rstrip() == gold for candidate in candidates]
    return int(any(right[:1])), int(any(right))


def _code_rows(file: ProjectFile, lines: Sequence[str]) -> Iterator[int]:
    """The rows that hold something and are no comment and no part of a text that spans lines."""
    prose: set[int] = set()
    tree = parse(file.text, file.language)
    waiting: list[Node] = [tree.root_node] if tree else []
    while waiting:
        node = waiting.pop()
        if "comment" in node.type or ("string" in node.type and node.end_point.row > node.start_point.row):
            prose.update(range(node.start_point.row, node.end_point.row + 1))
        else:
            waiting.extend(node.children)
    return (row for row, line in enumerate(lines) if line.strip() and row not in prose)
