"""What names stand for and what edits are followed by, in each language of `cases/`."""

import re
import tomllib
from pathlib import Path

import pytest

from infill_engine.edits.by_model.regions import past_edits
from infill_engine.edits.find import find_consequences
from infill_engine.edits.parsed_text import ParsedText
from infill_engine.edits.resolution.names import Names
from infill_engine.edits.types import EditedText, Proposal, applied
from infill_engine.text import syntax
from tests.infill_engine.edits.marked_edits import NOT_CERTAIN, proposed
from tests.infill_engine.edits.test_find import edited

FOLDER = Path(__file__).parent / "cases"
MARK = re.compile(r"[«»]")
PROPOSAL = re.compile(r"<<(.*?) -> (.*?)>>", re.DOTALL)
ALL = {path.stem: tomllib.loads(path.read_text("utf-8")) for path in sorted(FOLDER.glob("*.toml"))}


def cases(section: str) -> list[object]:
    return [
        pytest.param(language, case, id=f"{language}: {case['what']}")
        for language, found in ALL.items()
        for case in found.get(section, ())
    ]


@pytest.mark.parametrize(("language", "case"), cases("names"))
def test_a_name_is_resolved(language: str, case: dict[str, str]) -> None:
    marked = case["text"]
    text = MARK.sub("", marked)
    assert is_right(text, language)
    marks = enumerate(MARK.finditer(marked))
    expected = [found.start() - before for before, found in marks if found.group() == "«"]
    name = marked[marked.index("«") + 1 : marked.index("»")]
    source = ParsedText.parse(text, language)
    assert source is not None
    names = Names.of(source, name)
    for place in expected:
        one = names.at(place)
        assert one is not None
        assert [each.start for each in names.owned(one.owner)] == expected
    assert not names.opaque
    assert not any(names.at(place).unsure for place in expected)  # type: ignore[union-attr]


@pytest.mark.parametrize(("language", "case"), cases("follows"))
def test_what_follows_is_proposed_first(language: str, case: dict[str, str]) -> None:
    edit = edited(case["text"], language)
    assert is_right(edit.before, language)
    assert is_right(case["result"], language)
    found = find_consequences(edit)
    assert [applied(edit.after, proposal.edits) for proposal in found.proposals[:1]] == [case["result"]]
    assert found.proposals[0].kind.value == case["kind"]
    assert all(case.get("keeps", "") in (applied(edit.after, one.edits) or "") for one in found.proposals)


@pytest.mark.parametrize(("language", "case"), cases("refused"))
def test_a_model_may_not_propose_what_breaks_a_name(language: str, case: dict[str, str]) -> None:
    assert proposed_by_model(case["text"], language) == ()


@pytest.mark.parametrize(("language", "case"), cases("allowed"))
def test_a_model_may_propose_what_breaks_no_name(language: str, case: dict[str, str]) -> None:
    assert proposed_by_model(case["text"], language)


def proposed_by_model(marked: str, language: str) -> tuple[Proposal, ...]:
    """What is left of a model's proposal, marked as `<<old -> new>>` in the text around the user's edits."""
    proposal = PROPOSAL.search(marked)
    assert proposal is not None
    edit = edited(marked.replace(proposal[0], proposal[1]), language)
    new = edited(marked.replace(proposal[0], proposal[2]), language)
    assert is_right(edit.after, language)
    assert is_right(new.after, language)
    return proposed(edit.after, language, new.after, past_edits("", edit.before, edit.changes))


@pytest.mark.parametrize(("language", "case"), cases("silent"))
def test_what_is_not_certain_is_followed_by_silence(language: str, case: dict[str, str]) -> None:
    edit = edited(case["text"], language)
    assert is_right(edit.before, language)
    found = find_consequences(edit)
    assert found.proposals == ()
    assert found.reason in NOT_CERTAIN


@pytest.mark.parametrize(("language", "case"), cases("elsewhere"))
def test_what_an_edit_of_another_file_makes_necessary_is_proposed(language: str, case: dict[str, str]) -> None:
    text, other = case["text"], edited(case["other"], language)
    assert is_right(text, language)
    assert is_right(other.before, language)
    found = find_consequences(EditedText(text, text, (), language, elsewhere=(other,)))
    made = [applied(text, proposal.edits) for proposal in found.proposals]
    assert made == ([case["result"]] if "result" in case else [])


def is_right(text: str, language: str) -> bool:
    """Whether a case is code of its language at all."""
    tree = syntax.parse(text, language)
    return tree is not None and syntax.faults(tree) == 0
