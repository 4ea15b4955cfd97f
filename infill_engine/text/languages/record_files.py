"""Read a language's record. An error names the file and the key.

A record has only what differs from the record it `extends`, by default `generic`. The names in `identity` and the
support are never inherited.
"""

import re
import tomllib
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

from infill_engine.text.languages.forms import Escapes, Form
from infill_engine.text.languages.record import (
    Bodies,
    Braces,
    Code,
    Embedded,
    Entry,
    Grammar,
    Identity,
    Language,
    Layout,
    Lexical,
    Nodes,
    Project,
    Support,
    Syntax,
)
from infill_engine.text.languages.table import RecordError, Table

GENERIC = "generic"
FOLDER = Path(__file__).parent / "records"
_OWN = ("identity", "embedded")  # not inherited
_OF_SYNTAX = (
    "calls",
    "shorthands",
    "constructs",
    "variants",
    "keyword_arguments",
    "explicit_self",
    "overloads",
    "redefines",
    "dynamic_scope",
)  # the keys of `[syntax]` whose values are not lists


def record_ids(folder: Path = FOLDER) -> tuple[str, ...]:
    """Return the ids of all records, `generic` aside."""
    names = (entry.name for entry in folder.iterdir() if entry.name.endswith(".toml"))
    return tuple(sorted({name.removesuffix(".toml") for name in names} - {GENERIC}))


def load(name: str, folder: Path = FOLDER) -> Language:
    """Return the language of the record `<name>.toml`, checked completely; takes 2 to 6 ms. Raises RecordError."""
    table = Table(f"{name}.toml", "", _merged(name, folder))
    language = _language(name, table)
    table.done()
    return language


def load_entry(name: str, folder: Path = FOLDER) -> Entry:
    """Return the facts that are needed before a file is open; takes 0.6 ms. Raises RecordError."""
    return _entry(name, Table(f"{name}.toml", "", _merged(name, folder)))


@cache
def _merged(name: str, folder: Path) -> dict[str, Any]:
    source = f"{name}.toml"
    try:
        own = tomllib.loads((folder / source).read_text("utf-8"))
    except tomllib.TOMLDecodeError as fault:
        raise RecordError(f"{source}: not valid TOML ({fault}); correct it or install infill-ls again") from fault
    except OSError as fault:
        raise RecordError(f"{source}: cannot be read; install infill-ls again") from fault
    if name == GENERIC:
        return own
    base = own.pop("extends", GENERIC)
    if not isinstance(base, str) or base == name:
        raise RecordError(f"{source}: extends must name another record; correct the record or install infill-ls again")
    inherited = _merged(base, folder)
    merged = {key: value for key, value in inherited.items() if key not in (*_OWN, "name", "support")}
    defaults = _merged(GENERIC, folder)["identity"]
    merged["identity"] = defaults
    if own.get("support") == Support.TEXT:
        merged.pop("grammar", None)
    for key, value in own.items():
        both = isinstance(value, dict) and isinstance(merged.get(key), dict)
        merged[key] = {**merged[key], **value} if both else value
    return merged


def _language(name: str, table: Table) -> Language:
    return Language(
        entry=_entry(name, table),
        lexical=_lexical(table.table("lexical")),
        layout=_layout(table.table("layout")),
        nodes=_nodes(table.table("nodes")),
        syntax=_syntax(table.table("syntax")),
        code=_code(table.table("code")),
        embedded=tuple(_embedded(each) for each in table.tables("embedded")),
    )


def _entry(name: str, table: Table) -> Entry:
    return Entry(
        id=name,
        name=table.take("name", str),
        support=table.one_of("support", Support),
        identity=_identity(name, table.table("identity")),
        grammar=_grammar(name, table.table("grammar")) if table.has("grammar") else None,
        triggers=table.words("triggers"),
        project=_project(table.table("project")),
    )


def _identity(name: str, table: Table) -> Identity:
    lists = {key: table.words(key) for key in ("aliases", "suffixes", "file_names", "shebangs", "ambiguous")}
    family = table.take_or("family", name)
    content = table.pattern("content", re.MULTILINE)
    if bool(lists["ambiguous"]) != (content is not None):
        table.fail("content", "and `ambiguous` belong together: give both or neither")
    table.done()
    return Identity(**lists, family=family, content=content)


def _grammar(name: str, table: Table) -> Grammar:
    grammar = Grammar(
        table.take("module", str),
        table.take_or("function", "language"),
        table.take_or("queries", name),
        table.pattern("refuses", re.MULTILINE) if table.has("refuses") else None,
        table.take_or("opening", ""),
        table.pattern("opened", re.DOTALL) if table.has("opened") else None,
    )
    if bool(grammar.opening) != (grammar.opened is not None):
        table.fail("opened", "and `opening` belong together: give both or neither")
    table.done()
    return grammar


def _lexical(table: Table) -> Lexical:
    after_blank = table.take("comment_after_blank", bool)
    before = r"(?<!\S)" if after_blank else ""
    comments = [*_block_comments(table), *_line_comments(table, before)]
    forms = [*(form for _, form in comments), *_strings(table)]
    lexical = Lexical(
        comment_marks=tuple(mark for mark, _ in comments),
        comment_after_blank=after_blank,
        forms=tuple(forms),
        whole=_source_of(table.pattern("whole", re.MULTILINE)),
        restart=_source_of(table.pattern("restart", re.MULTILINE)),
        word=table.needed("word"),
        keywords=frozenset(table.words("keywords")),
        parts_names=table.take("parts_names", bool),
    )
    table.done()
    return lexical


def _source_of(pattern: re.Pattern[str] | None) -> str:
    return "" if pattern is None else pattern.pattern


def _line_comments(table: Table, before: str) -> list[tuple[str, Form]]:
    """Read line comments: each is a mark, or a table with a mark and a pattern for what opens the comment."""
    found = []
    for number, each in enumerate(table.take("line_comments", list)):
        key = f"line_comments[{number}]"
        if isinstance(each, dict) and set(each) == {"mark", "open"}:
            found.append((each["mark"], Form(table.compiled(key, before + str(each["open"])), "", comment=True)))
        elif isinstance(each, str) and each:
            form = Form(re.compile(before + re.escape(each)), "", comment=True)
            found.append((each, form if before else Form.plain(each, "", comment=True)))
        else:
            table.fail(key, "must be a mark or a table of mark and open")
    return found


def _block_comments(table: Table) -> list[tuple[str, Form]]:
    """Read block comments: each is a pair of marks, or a table with a mark, a pattern for what opens it, and what
    closes it."""
    found = []
    for number, pair in enumerate(table.take("block_comments", list)):
        key = f"block_comments[{number}]"
        if isinstance(pair, list) and len(pair) == 2 and all(isinstance(mark, str) and mark for mark in pair):
            found.append((pair[0], Form.plain(*pair, multiline=True, comment=True)))
        elif isinstance(pair, dict) and set(pair) == {"mark", "open", "close"}:
            opening = table.compiled(key, pair["open"], re.MULTILINE)
            found.append((pair["mark"], Form(opening, pair["close"], multiline=True, comment=True)))
        else:
            table.fail(key, "must be [open, close] or a table of mark, open and close")
    return found


def _strings(table: Table) -> list[Form]:
    """Read strings: a quote stands for a one-line string with backslash escapes; a table describes any other."""
    found = []
    for number, each in enumerate(table.take("strings", list)):
        key = f"strings[{number}]"
        if isinstance(each, str) and each:
            found.append(Form.plain(each, each, Escapes.BACKSLASH, multiline=len(each) == 3))
        elif isinstance(each, dict):
            found.append(_string(table, key, each))
        else:
            table.fail(key, "must be a quote or a table")
    return found


def _string(table: Table, key: str, values: dict[str, Any]) -> Form:
    string = table.within(key, values)
    heredoc = string.take_or("heredoc", default=False)
    form = Form(
        open=string.compiled("open", string.take("open", str), re.MULTILINE),
        close=string.take("close", str),
        escapes=string.one_of("escapes", Escapes) if string.has("escapes") else Escapes.BACKSLASH,
        multiline=string.take_or("multiline", heredoc),
        heredoc=heredoc,
    )
    string.done()
    return form


def _layout(table: Table) -> Layout:
    layout = Layout(
        indent=table.take("indent", str),
        bodies=table.one_of("bodies", Bodies),
        braces=table.one_of("braces", Braces),
        opens=table.needed("opens"),
        continues=table.needed("continues"),
        ends=table.pattern("ends"),
        closing_words=table.words("closing_words"),
        top_level=table.needed("top_level"),
        leaves=table.needed("leaves"),
        brace_words=table.words("brace_words"),
        header_words=table.words("header_words"),
        value_brace=table.needed("value_brace"),
        outermost=table.take("outermost", str),
        hard_breaks=table.take("hard_breaks", bool),
        documents=table.take("documents", bool),
    )
    table.done()
    return layout


def _nodes(table: Table) -> Nodes:
    keys = ("strings", "comments", "interpolations", "bodies", "values")
    nodes = Nodes(*(frozenset(table.words(key)) for key in keys))
    table.done()
    return nodes


def _syntax(table: Table) -> Syntax:
    types = {item.name: frozenset(table.words(item.name)) for item in fields(Syntax) if item.name not in _OF_SYNTAX}
    syntax = Syntax(
        calls=table.mapping("calls"),
        shorthands=table.mapping("shorthands"),
        constructs=table.pattern("constructs"),
        variants=table.pattern("variants"),
        keyword_arguments=table.take("keyword_arguments", bool),
        explicit_self=table.take("explicit_self", bool),
        overloads=table.take("overloads", bool),
        redefines=table.take("redefines", bool),
        dynamic_scope=table.take("dynamic_scope", bool),
        **types,
    )
    table.done()
    return syntax


def _code(table: Table) -> Code:
    code = Code(
        definitions=tuple(table.compiled("definitions", each) for each in table.words("definitions")),
        constants=table.pattern("constants"),
        owners=table.needed("owners"),
        fields=table.needed("fields"),
        members=table.pattern("members"),
        starts=table.pattern("starts", re.MULTILINE),
    )
    table.done()
    return code


def _project(table: Table) -> Project:
    project = Project(table.words("marks"), table.words("skipped_folders"))
    table.done()
    return project


def _embedded(table: Table) -> Embedded:
    embedded = Embedded(
        open=table.compiled("open", table.take("open", str), re.MULTILINE),
        close=table.compiled("close", table.take("close", str), re.MULTILINE),
        language=table.take_or("language", ""),
    )
    table.done()
    return embedded
