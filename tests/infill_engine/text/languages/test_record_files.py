"""Records that are right, and what is said of those that are not."""

import re
from pathlib import Path

import pytest

from infill_engine.text.languages import all_entries
from infill_engine.text.languages.record_files import FOLDER, load, load_entry
from infill_engine.text.languages.table import RecordError

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
    assert (known.entry.identity.suffixes, known.entry.identity.family) == ((".tlh",), "klingon")
    (folder / "vulcan.toml").write_text(f'extends = "klingon"\n{GOOD}[lexical]\nline_comments = ["#"]\n')
    assert load("vulcan", folder).lexical.comment_marks == ("/*", "#")
    (folder / "romulan.toml").write_text('extends = "klingon"\nname = "Vulcan"\nsupport = "text"\n')
    assert load_entry("romulan", folder).identity.suffixes == ()


@pytest.mark.parametrize(
    ("added", "message"),
    [
        ("[lexical]\nline_coments = []", "klingon.toml: lexical.line_coments is unknown"),
        ("[identity2]", "klingon.toml: identity2 is unknown"),
        ("[layout]\nindent = 4", "klingon.toml: layout.indent must be of type str, not int"),
        ("[layout]\nopens = '('", "klingon.toml: layout.opens is no regular expression"),
        ("[layout]\nopens = ''", "klingon.toml: layout.opens must not be empty"),
        ("[layout]\nbodies = 'curly'", "klingon.toml: layout.bodies must be one of braces, indentation"),
        ("[lexical]\nkeywords = ['a', 1]", "klingon.toml: lexical.keywords[1] must be text"),
        ("[lexical]\nstrings = [{open = 'a'}]", "klingon.toml: lexical.strings[0].close is missing"),
        ("[lexical]\nstrings = [{open = 'a', close = 'b', x = 1}]", "klingon.toml: lexical.strings[0].x is unknown"),
        ("[lexical]\nstrings = [1]", "klingon.toml: lexical.strings[0] must be a quote or a table"),
        ("[lexical]\nblock_comments = ['/*']", "klingon.toml: lexical.block_comments[0] must be"),
        ("[lexical]\nline_comments = [{mark = '#'}]", "klingon.toml: lexical.line_comments[0] must be"),
        ("[grammar]\nmodule = 'm'\nopening = 'a'", "klingon.toml: grammar.opened and `opening` belong together"),
        ("[[embedded]]\nopen = 'a'", "klingon.toml: embedded[0].close is missing"),
        ("embedded = 1", "klingon.toml: embedded must be a list of tables"),
    ],
)
def test_what_is_wrong_is_named(folder: Path, added: str, message: str) -> None:
    text = f"{added}\n{GOOD}" if added.startswith("embedded") else f"{GOOD}\n{added}\n"
    (folder / "klingon.toml").write_text(text)
    with pytest.raises(RecordError, match=re.escape(message)):
        load("klingon", folder)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name = ", "klingon.toml: not valid TOML"),
        ('support = "text"', "klingon.toml: name is missing"),
        ('name = "K"', "klingon.toml: support is missing"),
        ('name = "K"\nsupport = "third"', "klingon.toml: support must be one of first, second, text, not 'third'"),
        ('name = "K"\nsupport = "text"\nextends = "klingon"', "klingon.toml: extends must name another record"),
        ('name = "K"\nsupport = "text"\nextends = "vulcan"', "vulcan.toml: cannot be read"),
    ],
)
def test_a_record_that_is_none(folder: Path, text: str, message: str) -> None:
    (folder / "klingon.toml").write_text(text)
    with pytest.raises(RecordError, match=re.escape(message)):
        load("klingon", folder)
