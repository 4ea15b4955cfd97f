"""What becomes of a suggestion, as the edits after it tell. │ is the cursor, where "alpha(1)" and "beta" are shown."""

from collections import Counter

import pytest
import pytest_asyncio
from capabilities import NEOVIM, VSCODE
from editor import Editor, editor
from lsprotocol import types

from lsp_server.documents.snapshots import Documents, Snapshot, TextChange, change_to
from lsp_server.protocol.messages import AnswerPart, read_argument
from lsp_server.suggestions.outcomes import SuggestionTracker
from lsp_server.suggestions.unwanted import Dismissals

URI = "file:///project/a.py"
TEXTS = ("alpha(1)", "beta", "if x:\n    y = 1\n")


class Following:
    """A document whose suggestion is followed; edits are made as an editor makes them."""

    def __init__(self, marked: str, texts: tuple[str, ...] = TEXTS, held: str = "") -> None:
        self.counts: Counter[str] = Counter()
        self.documents = Documents()
        self.suggestions = SuggestionTracker(self._count, Dismissals())
        self.left, _, self.right = marked.partition("│")
        self.documents.open(URI, "python", self.left + self.right, 1)
        self.version = 1
        self.show(texts, held)

    def _count(self, name: str, number: int) -> None:
        self.counts[name] += number

    def place(self) -> tuple[int, int]:
        return self.left.count("\n"), len(self.left) - self.left.rfind("\n") - 1

    def show(self, texts: tuple[str, ...], held: str = "") -> None:
        row, column = self.place()
        self.suggestions.shown(self.snapshot(), (row, column), (row, column + len(held)), texts)

    def snapshot(self) -> Snapshot:
        snapshot = self.documents.get(URI)
        assert snapshot is not None
        return snapshot

    def insert(self, text: str, replacing: int = 0) -> None:
        (row, column), self.version = self.place(), self.version + 1
        change = TextChange(text, (row, column), (row, column + replacing))
        self.left, self.right = self.left + text, self.right[replacing:]
        self.suggestions.changed(self.documents.change(URI, change, self.version))

    def erase(self, characters: int) -> None:
        row, column = self.place()
        self.version += 1
        self.left = self.left[:-characters]
        change = TextChange("", (row, column - characters), (row, column))
        self.suggestions.changed(self.documents.change(URI, change, self.version))

    def told(self) -> dict[str, int]:
        return {name: number for name, number in self.counts.items() if number and name != "shown"}


SAVED = "charactersSaved"
EDITS = [
    # inserted one after the other (numbers: erased), and what came of it
    ([], {}),
    (["alpha(1)"], {"accepted": 1, SAVED: 8}),
    (["beta"], {"accepted": 1, SAVED: 4}),
    (["if x:\n    y = 1\n"], {"accepted": 1, SAVED: 16}),
    (["if x:\r\n    y = 1\r\n"], {"accepted": 1, SAVED: 16}),  # as the document ends its lines
    (["alpha"], {"partial": 1, SAVED: 5}),
    (["alpha", "(1)"], {"accepted": 1, SAVED: 8}),  # part after part is the whole after all
    (["alpha", "!"], {"partial": 1, SAVED: 5}),
    (["a"], {}),
    (["a", "l"], {}),
    (["a", "lpha(1)"], {"accepted": 1, SAVED: 7}),
    (["a", "lp"], {"partial": 1, SAVED: 2}),
    (["a", "z"], {"rejected": 1}),
    (["z"], {"rejected": 1}),
    (["z", "alpha(1)"], {"rejected": 1}),
    (list("beta"), {"typed": 1}),
    (list("betas"), {"typed": 1}),
    (["b", 1], {}),  # taken back
    (["b", 1, "alpha(1)"], {"accepted": 1, SAVED: 8}),
    ([1], {"rejected": 1}),
    (["\n"], {"rejected": 1}),
    (["something else entirely"], {"rejected": 1}),
    (["alpha(1)al"], {"accepted": 1, SAVED: 8}),  # together with what came after it
    (["alpha(1)", "alpha(1)"], {"accepted": 1, SAVED: 8}),
    (["alpha(1)", 8], {"accepted": 1, SAVED: 8}),
]


def test_nothing_is_left_of_another_text_once_one_is_typed_whole() -> None:
    following = Following("total │", (":= 0.0", ":= 0.00", "+= x"))
    rests = []
    for key in ":= 0.0":
        following.insert(key)
        rests.append(following.suggestions.rest(following.snapshot(), following.place()))
    assert rests == ["= 0.0", " 0.0", "0.0", ".0", "0", ""]


@pytest.mark.parametrize("marked", ["x = │", "x = │)\nrest()\n", "a\n\n  😀 = │ # behind\r\n", "│"])
@pytest.mark.parametrize(("edits", "expected"), EDITS, ids=str)
def test_what_edits_tell(edits: list[str | int], expected: dict[str, int], marked: str) -> None:
    if marked == "│" and 1 in edits[:1]:
        return  # nothing to erase
    following = Following(marked)
    for edit in edits:
        following.insert(edit) if isinstance(edit, str) else following.erase(edit)
    assert following.told() == expected
    assert following.counts["shown"] == 1


def test_a_document_that_is_replaced_as_a_whole() -> None:
    following = Following("a = 1\nx = │)\n")
    change = change_to(following.documents.get(URI), "a = 1\nx = alpha(1))\n")
    following.suggestions.changed(following.documents.change(URI, change, 2))
    assert following.told() == {"accepted": 1, SAVED: 8}


def test_an_edit_elsewhere_says_nothing() -> None:
    following = Following("a = 1\nx = │\n")
    following.suggestions.changed(following.documents.change(URI, TextChange("2", (0, 4), (0, 5)), 2))
    assert following.told() == {}
    following.insert("alpha(1)")
    assert following.told() == {"accepted": 1, SAVED: 8}


def test_it_is_shown_anew_while_it_is_typed() -> None:
    following = Following("x = │")
    following.insert("a")
    following.show(("lpha(1)",))
    following.insert("l")
    following.show(("pha(1)",))
    following.insert("pha(1)")
    assert (following.told(), following.counts["shown"]) == ({"accepted": 1, SAVED: 6}, 1)
    following.show(("; y",))
    assert following.counts["shown"] == 2


def test_it_is_asked_for_again_at_its_place() -> None:
    following = Following("x = │")
    following.show(("gamma",))
    following.insert("beta")  # one of the first answer, which the editor has kept
    assert (following.told(), following.counts["shown"]) == ({"accepted": 1, SAVED: 4}, 1)


def test_the_cursor_goes_elsewhere_or_the_document() -> None:
    following = Following("x = │\n")
    following.left, following.right = "x = \n", ""
    following.show(("more",))
    assert (following.told(), following.counts["shown"]) == ({"rejected": 1}, 2)
    following.suggestions.left(URI)
    following.suggestions.left(URI)
    assert following.told() == {"rejected": 2}


def test_what_is_to_be_replaced_is_not_typed() -> None:
    following = Following("x = │old)", held="old")
    following.insert("alpha(1)", replacing=3)
    assert following.told() == {"accepted": 1, SAVED: 8}
    following = Following("value = │pri", ("print(x)", "private"), held="pri")
    following.insert("print(x)", replacing=3)
    assert following.told() == {"accepted": 1, SAVED: 5}


COMMANDS = [
    # edits before the command, edits after it, and what came of it
    (["alpha(1)"], [], {"accepted": 1, SAVED: 8}),
    ([], ["alpha(1)"], {"accepted": 1, SAVED: 8}),
    ([], [], {"accepted": 1, SAVED: 8}),
    (["al"], ["pha(1)"], {"accepted": 1, SAVED: 8}),
    (["a"], ["lpha(1)"], {"accepted": 1, SAVED: 7}),
    (["  alpha(1)"], [], {"accepted": 1, SAVED: 8}),  # an editor that indents what it inserts
]


@pytest.mark.parametrize(("before", "after", "expected"), COMMANDS, ids=str)
def test_the_command_is_not_counted_twice(before: list[str], after: list[str], expected: dict[str, int]) -> None:
    following = Following("x = │")
    for edit in before:
        following.insert(edit)
    following.suggestions.accepted(URI, 1, 0)
    following.suggestions.accepted(URI, 1, 0)
    for edit in after:
        following.insert(edit)
    assert following.told() == expected


def test_a_command_for_something_else() -> None:
    following = Following("x = │")
    following.suggestions.accepted(URI, 99, 0)
    following.suggestions.accepted("file:///other.py", 1, 0)
    assert following.told() == {}
    following.suggestions.accepted(URI, 1, 77)
    assert following.told() == {"accepted": 1}


ARGUMENTS = [
    ([{"uri": "u", "version": 3, "index": 1}], AnswerPart("u", 3, 1)),
    ([], None),
    ([None], None),
    (["u", 3, 1], None),
    ([[{"uri": "u", "version": 3, "index": 1}]], AnswerPart("u", 3, 1)),
    ([{"uri": 5, "version": 3, "index": 1}], None),
    ([{"uri": "u"}], None),
]


@pytest.mark.parametrize(("arguments", "expected"), ARGUMENTS, ids=str)
def test_arguments_of_the_command(arguments: list[object], expected: object) -> None:
    assert read_argument(arguments, AnswerPart) == expected


SCRIPT = {"rules": [{"before": "x = ", "candidates": ["alpha(1)", "beta(2)"]}]}


@pytest_asyncio.fixture(params=[NEOVIM, VSCODE], ids=["neovim", "vscode"])
async def made(request: pytest.FixtureRequest) -> Editor:
    async with editor(request.param, SCRIPT, options={"budgetMs": 5000}) as running:
        await running.ready()
        yield running


async def test_on_the_wire(made: Editor) -> None:
    uri = made.open("x = │\n", URI)
    result = await made.request(uri)
    first = result.items[0]
    assert (first.command.command, first.command.arguments[0]) == (
        "infill.accepted",
        {"uri": uri, "version": 0, "index": 0},
    )
    assert first.command.command in made.capabilities.execute_command_provider.commands
    made.type(uri, first.insert_text)
    params = types.ExecuteCommandParams(first.command.command, first.command.arguments)
    assert await made.client.workspace_execute_command_async(params) is None
    made.type(uri, "\nx = ")
    listed = await made.candidates(uri, range=types.Range(types.Position(1, 4), types.Position(1, 4)))
    assert listed.candidates[0].command.arguments[0].index == 0
    for odd in ([], [5], [{"uri": None}]):
        await made.client.workspace_execute_command_async(types.ExecuteCommandParams("infill.accepted", odd))
    made.type(uri, "nothing like it")
    counts = await made.leave()
    assert {name: counts[name] for name in ("requests", "answers", "shown", "accepted", "rejected")} == {
        "requests": 2,
        "answers": 2,
        "shown": 2,
        "accepted": 1,
        "rejected": 1,
    }
    assert counts["charactersSaved"] == len("alpha(1)")


def test_what_came_late_counts_once_among_the_others() -> None:
    document = Following("x = │", ("alpha",))
    for _ in range(2):
        document.suggestions.shown(document.snapshot(), (0, 4), (0, 4), ["alpha(1)"], late=True)
    document.insert("alpha(1)")
    assert document.counts["shown"] == 1
    assert document.told() == {"shownLate": 1, "accepted": 1, "acceptedLate": 1, SAVED: 8}
