"""Whatever is selected and whatever the model says, text outside the announced ranges stays as it is."""

from hypothesis import given, settings
from hypothesis import strategies as st

from infill_engine.types import Answer, Candidate
from lsp_server.documents.snapshots import Documents, text_between
from lsp_server.suggestions.alternatives.offers import applied, valid_offers
from lsp_server.suggestions.alternatives.targets import targets_at
from lsp_server.suggestions.request_content import build_rewrite

PIECES = (
    "def f(a, b):\n",
    "    return a + b\n",
    "x = f(1, [2, 'é😀'])\n",
    "if x >= 1:\n",
    "# a comment\n",
    "    x = (\n",
    "\r\n",
    "\n",
    "s = 'text'",
    ")]}",
)
SAID = ("1", "g(y)", "", "a\nb", "'", ")", "return 2", "é")


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_text_outside_the_announced_ranges_is_untouched(data: st.DataObject) -> None:
    text = "".join(data.draw(st.lists(st.sampled_from(PIECES), min_size=1, max_size=8)))
    snapshot = Documents().open("file:///a.py", "python", text)
    rows = st.integers(0, len(snapshot.lines) - 1)

    def place() -> tuple[int, int]:
        row = data.draw(rows)
        return row, data.draw(st.integers(0, len(snapshot.lines[row].rstrip("\r\n"))))

    spans = [tuple(sorted((place(), place()))) for _ in range(3)]
    found = targets_at(snapshot, spans[0], spans[1:])
    assert found.found or found.refusal
    for target in found.found:
        request = build_rewrite(snapshot, target.spans, 4, repeats=target.repeats)
        assert request.holes.replaced == tuple(text_between(snapshot.lines, *span) for span in target.spans)
        assert all(request.holes.replaced)
        middle = request.holes.middle(request.holes.replaced)
        assert text_between(snapshot.lines, target.spans[0][0], target.spans[-1][1]) == middle
        fills = tuple(data.draw(st.sampled_from(SAID)) for _ in target.spans)
        candidate = Candidate(request.holes.middle(fills), 0.5, fills=fills if len(fills) > 1 else ())
        for offer in valid_offers(snapshot, target, Answer((candidate,))):
            changed = applied(snapshot, offer.edits)
            assert changed.replace("\r\n", "\n") == expected(snapshot.lines, target.spans, fills)
            assert all(edit.old == text_between(snapshot.lines, *edit.span) for edit in offer.edits)


def expected(lines, spans, fills) -> str:
    """The text with each span replaced, made from the right to the left."""
    text = "".join(lines)
    starts = [sum(map(len, lines[:row])) for row in range(len(lines))]
    for (start, end), fill in reversed(list(zip(spans, fills, strict=True))):
        text = text[: starts[start[0]] + start[1]] + fill + text[starts[end[0]] + end[1] :]
    return text.replace("\r\n", "\n")
