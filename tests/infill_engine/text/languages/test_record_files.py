"""Records that are right, and what is said of those that are not."""

import re
from pathlib import Path

import pytest

from infill_engine.text.languages import all_entries
from infill_engine.text.languages.record import RecordError
from infill_engine.text.languages.record_files import FOLDER, load, load_entry

GOOD = 'name = "Klingon"\nsupport = "text"\n[identity]\nsuffixes = [".tlh"]\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "generic.toml").write_text((FOLDER / "generic.toml").read_text())
    return tmp_path


@pytest.mark.parametrize("name", [entry.id for entry in all_entries()])
def test_every_record_is_right(name: str) -> None:
    assert load(name).id == name


def test_what_a_record_does_not_say_is_inherited(folder: Path) -> None:
    (folder / "klingon.toml").write_text(GOOD)
    known = load("klingon", folder)
    assert known.lexical.comment_marks == ("/*", "//")
    assert (known.identity.suffixes, known.identity.family) == ((".tlh",), "klingon")
    (folder / "vulcan.toml").write_text(f'extends = "klingon"\n{GOOD}[lexical]\nline_comments = ["#"]\n')
    assert load("vulcan", folder).lexical.comment_marks == ("/*", "#")
    (folder / "romulan.toml").write_text('extends = "klingon"\nname = "Vulcan"\nsupport = "text"\n')
    assert load_entry("romulan", folder).identity.suffixes == ()


@pytest.mark.parametrize(
    ("added", "message"),
    [
        ("[lexical]\nline_coments = []", "unknown field `line_coments` - at `$.lexical`"),
        ("[identity2]", "unknown field `identity2`"),
        ("[layout]\nindent = 4", "Expected `str`, got `int` - at `$.layout.indent`"),
        ("[layout]\nopens = '('", "Expected a regular expression: missing )"),
        ("[layout]\nopens = ''", "Expected a regular expression - at `$.layout.opens`"),
        ("[layout]\nbodies = 'curly'", "Invalid enum value 'curly' - at `$.layout.bodies`"),
        ("[lexical]\nkeywords = ['a', 1]", "Expected `str`, got `int` - at `$.lexical.keywords[1]`"),
        ("[lexical]\nkeywords = ['']", "Expected `str` of length >= 1 - at `$.lexical.keywords[0]`"),
        ("[lexical]\nstrings = [{open = 'a'}]", "missing required field `close` - at `$.lexical.strings[0]`"),
        ("[lexical]\nstrings = [{open = 'a', close = 'b', x = 1}]", "field `x` - at `$.lexical.strings[0]`"),
        ("[lexical]\nstrings = [1]", "got `int` - at `$.lexical.strings[0]`"),
        ("[lexical]\nblock_comments = ['/*']", "got `str` - at `$.lexical.block_comments[0]`"),
        ("[lexical]\nline_comments = [{mark = '#'}]", "field `open` - at `$.lexical.line_comments[0]`"),
        ("[grammar]\nmodule = 'm'\nopening = 'a'", "`opened` and `opening` belong together: give both or neither"),
        ("[[embedded]]\nopen = 'a'", "missing required field `close` - at `$.embedded[0]`"),
        ("embedded = 1", "Expected `array`, got `int` - at `$.embedded`"),
    ],
)
def test_what_is_wrong_is_named(folder: Path, added: str, message: str) -> None:
    text = f"{added}\n{GOOD}" if added.startswith("embedded") else f"{GOOD}\n{added}\n"
    (folder / "klingon.toml").write_text(text)
    with pytest.raises(RecordError, match=rf"klingon\.toml: .*{re.escape(message)}"):
        load("klingon", folder)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name = ", "klingon.toml: not valid TOML"),
        ('support = "text"', "klingon.toml: Object missing required field `name`"),
        ('name = "K"', "klingon.toml: Object missing required field `support`"),
        ('name = "K"\nsupport = "third"', "klingon.toml: Invalid enum value 'third' - at `$.support`"),
        ('name = "K"\nsupport = "text"\nextends = "klingon"', "klingon.toml: extends must name another record"),
        ('name = "K"\nsupport = "text"\nextends = "vulcan"', "vulcan.toml: cannot be read"),
    ],
)
def test_a_record_that_is_none(folder: Path, text: str, message: str) -> None:
    (folder / "klingon.toml").write_text(text)
    with pytest.raises(RecordError, match=re.escape(message)):
        load("klingon", folder)
