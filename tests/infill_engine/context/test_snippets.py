"""What is retrieved for a hole: the right snippets, no others, and the same ones while a line is typed."""

from collections import deque
from collections.abc import Sequence
from dataclasses import replace

import pytest

from infill_engine.context import snippets
from infill_engine.context.project_text import joined
from infill_engine.context.snippets import CANDIDATES, CHUNK_LINES, KEPT, Snippet, SnippetRetriever
from infill_engine.types import InfillRequest, ProjectText

NET = "def open_connection(host, port, timeout=3):\n" + "    step()\n" * 9
MODEL = "class Account:\n    owner: str\n\n    def deposit(self, amount):\n" + "        step()\n" * 9
LIKE = "total = sum(item.price for item in basket)\ndiscount = rebate(total, customer)\nsend(invoice)\n"
NOISE = "".join(f"def unrelated_{n}(argument_{n}):\n    something_{n}()\n    other_{n}()\n\n" for n in range(80))
PREFIX = "from app.net import open_connection\n\ndef run(host):\n    "
REQUEST = InfillRequest(PREFIX, "\n    return 1\n", path="app/here.py")


def everything(snippets: Sequence[Snippet]) -> tuple[Snippet, ...]:
    return tuple(snippets)


def first_two(snippets: Sequence[Snippet]) -> tuple[Snippet, ...]:
    return tuple(snippets[:2])


def project(**files: str) -> ProjectText:
    return joined((f"app/{name}.py", text) for name, text in files.items())


def knowing(project_text: ProjectText) -> SnippetRetriever:
    retriever = SnippetRetriever()
    deque(retriever.index(project_text), maxlen=0)
    return retriever


NEAR = project(net=NET, model=MODEL, like=LIKE, noise=NOISE)


def asked(prefix: str, suffix: str = "\n", near: ProjectText = NEAR) -> list[Snippet]:
    return list(
        knowing(near).retrieve(InfillRequest(prefix, suffix, project_name=near.name, path="app/here.py"), everything)
    )


@pytest.mark.parametrize(
    ("prefix", "path", "text"),
    [
        (PREFIX, "app/net.py", "def open_connection(host, port, timeout=3):"),
        ("    x = open_connection(\n        ", "app/net.py", "def open_connection(host, port, timeout=3):"),
        (
            "def f(one: Account):\n    ",
            "app/model.py",
            "class Account:\n    owner: str\n    def deposit(self, amount):",
        ),
        ("one.deposit(3)\n", "app/model.py", "class Account:\n    def deposit(self, amount):"),
        ("total = sum(item.cost for item in basket)\ndiscount = 1\n", "app/like.py", LIKE.rstrip()),
    ],
)
def test_the_first_snippet_is_the_useful_one(prefix: str, path: str, text: str) -> None:
    first = asked(prefix)[0]
    assert (first.path, first.text) == (path, text)


@pytest.mark.parametrize(
    "prefix",
    [
        "deposit = 3\n",  # no member is meant
        "def open_connection(host):\n    pass\n\nopen_connection(1)\n",  # its definition is to be seen
        "open_connection(",  # on the line that is typed
        "zzz(yyy)\n",
        "",
    ],
)
def test_nothing_is_retrieved_without_a_reason(prefix: str) -> None:
    assert asked(prefix) == []


def test_a_name_that_is_defined_everywhere_says_nothing() -> None:
    near = project(**{f"file{n}": "def handle(request):\n    pass\n" for n in range(9)}, noise=NOISE)
    assert asked("handle(x)\n", near=near) == []


def test_the_far_text_of_the_document_itself_is_searched() -> None:
    request = InfillRequest(
        "draw_box(1)\n", "", path="app/here.py", wider_context=(NOISE, "def draw_box(width):\n    pass\n")
    )
    (first, *_) = SnippetRetriever().retrieve(request, everything)
    assert first == Snippet("app/here.py", "def draw_box(width):\n    pass")


def test_snippets_stay_while_a_line_is_typed() -> None:
    retriever = knowing(NEAR)
    request = replace(REQUEST, project_name=NEAR.name)
    typed = "account = Account(owner).deposit(total)"
    found = {retriever.retrieve(replace(request, prefix=PREFIX + typed[:n]), first_two) for n in range(len(typed))}
    assert len(found) == 1
    assert found != {()}


def test_snippets_stay_as_long_as_they_are_nearly_as_good() -> None:
    retriever = knowing(NEAR)
    request = replace(REQUEST, project_name=NEAR.name)
    before = retriever.retrieve(request, first_two)
    assert retriever.retrieve(replace(request, prefix=PREFIX + "x = 1\n    y = 2\n    "), first_two) == before
    other = "one.deposit(3)\ntwo = Account(3)\ntotal = basket\n"
    after = retriever.retrieve(replace(request, prefix=other), first_two)
    assert {snippet.path for snippet in after} == {"app/model.py"}
    assert before != after


def test_a_snippet_that_has_been_changed_or_come_into_view_goes() -> None:
    retriever = SnippetRetriever()
    request = InfillRequest(
        "draw_box(1)\n", "", path="app/here.py", wider_context=(NOISE, "def draw_box(width):\n    pass\n")
    )
    assert "width" in retriever.retrieve(request, first_two)[0].text
    changed = replace(request, wider_context=(NOISE, "def draw_box(height):\n    pass\n"))
    assert "height" in retriever.retrieve(changed, first_two)[0].text


def test_a_text_is_known_when_all_of_it_was_indexed() -> None:
    retriever, request = SnippetRetriever(), replace(REQUEST, project_name=NEAR.name)
    pieces = retriever.index(NEAR)
    next(pieces)
    assert not retriever.has_indexed(NEAR.name)
    assert retriever.retrieve(request, everything) == ()
    deque(pieces, maxlen=0)
    assert retriever.has_indexed(NEAR.name)
    assert retriever.retrieve(request, everything)
    assert list(retriever.index(NEAR)) == []


def test_no_text_has_no_name_and_need_not_be_indexed() -> None:
    assert ProjectText.of("") == ProjectText()
    assert knowing(ProjectText()).has_indexed("")


def test_only_the_last_texts_are_kept() -> None:
    texts = [ProjectText.of("abc\n" * number) for number in range(1, KEPT + 2)]
    retriever = SnippetRetriever()
    for text in texts:
        deque(retriever.index(text), maxlen=0)
    assert [retriever.has_indexed(text.name) for text in texts] == [False] + [True] * KEPT


def test_equal_texts_have_equal_names() -> None:
    assert ProjectText.of(LIKE) == ProjectText.of(LIKE)
    assert ProjectText.of(LIKE).name != ProjectText.of(LIKE + " ").name
    assert ProjectText.of("half \ud83d of a pair").name


def test_only_the_named_text_is_searched() -> None:
    retriever = knowing(NEAR)
    assert retriever.retrieve(replace(REQUEST, project_name="another"), everything) == ()


def test_huge_files_are_indexed_in_small_pieces_and_snippets_stay_small(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    add = snippets.SnippetIndex._add_chunk
    monkeypatch.setattr(
        snippets.SnippetIndex, "_add_chunk", lambda self, path, lines: (seen.append(1), add(self, path, lines))[1]
    )
    huge = "word = other_word + third_word\n" * 3_000 + "x = '" + "long word " * 50_000 + "'\n"
    retriever, near, most = SnippetRetriever(), project(huge=huge), 0
    for _ in retriever.index(near):
        most, seen[:] = max(most, len(seen)), []
    assert most <= snippets.PIECE_LINES // snippets.CHUNK_STEP
    request = InfillRequest("word = other_word + third_word\n", "", project_name=near.name)
    found = retriever.retrieve(request, everything)
    assert len(found) <= 4 * CANDIDATES
    assert all(len(snippet.text.split("\n")) <= CHUNK_LINES and len(snippet.text) < 3_000 for snippet in found)
