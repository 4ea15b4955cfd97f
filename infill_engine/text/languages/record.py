"""The facts about one language, as frozen values. `record_files` reads them from a record."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from infill_engine.text.languages.forms import Form


class Support(StrEnum):
    """How well a language is supported."""

    FIRST = "first"  # all kinds of holes
    SECOND = "second"  # holes by line and value, and a syntax check
    TEXT = "text"  # plain text with known comments and strings


class Bodies(StrEnum):
    """What delimits the statements of a body."""

    BRACES = "braces"
    INDENTATION = "indentation"
    WORDS = "words"  # from a header to `end`, `fi` and the like
    TAGS = "tags"
    VALUE = "value"  # no bodies: a file is one value
    NONE = "none"


class Braces(StrEnum):
    """What a pair of braces contains."""

    MIXED = "mixed"
    BODIES = "bodies"
    VALUES = "values"


@dataclass(frozen=True, slots=True)
class Identity:
    """How files and editors name the language. Languages of one `family` are searched together for text to copy.

    `ambiguous` are suffixes of another language. A file with such a suffix is in this language if its beginning matches
    `content`.
    """

    aliases: tuple[str, ...]
    suffixes: tuple[str, ...]
    file_names: tuple[str, ...]
    shebangs: tuple[str, ...]
    family: str
    ambiguous: tuple[str, ...] = ()
    content: re.Pattern[str] | None = None


@dataclass(frozen=True, slots=True)
class Grammar:
    """The module of a tree-sitter wheel, its function that returns the grammar, and the folder of the queries.

    `refuses` matches text that would crash the parser. `opening` is the text that a part of a file needs in front of it
    to be parsed as code, unless `opened` matches the part.
    """

    module: str
    function: str
    queries: str
    refuses: re.Pattern[str] | None = None
    opening: str = ""
    opened: re.Pattern[str] | None = None


@dataclass(frozen=True, slots=True)
class Lexical:
    """Marks, words and names.

    `forms` are comments and strings, in the order in which they are tried. `comment_marks` begin a line that is only a
    comment. `whole` matches text that opens and closes nothing, such as a character literal or a regular expression.
    `restart` matches text that cannot be inside brackets. `word` matches a name or a number.
    """

    comment_marks: tuple[str, ...]
    comment_after_blank: bool
    forms: tuple[Form, ...]
    whole: str
    restart: str
    word: re.Pattern[str]
    keywords: frozenset[str]
    parts_names: bool  # whether capitals and hyphens separate the words of a name, as in `userName` and `user-name`


@dataclass(frozen=True, slots=True)
class Layout:
    """How bodies are laid out.

    `opens` matches the end of a line above a body, `continues` the end of a line whose next line is indented for
    another reason. `ends` matches the line that closes a body, `top_level` a line at the outermost level, and `leaves`
    a statement that ends its body. `closing_words` close bodies that no brace opened. Where braces may contain
    statements or values, a brace contains statements after one of `brace_words` and in a line that begins with one of
    `header_words`, and values if `value_brace` matches the line up to it. `outermost` are the characters, besides
    letters, with which a line at the outermost level may begin. `hard_breaks` says that two spaces at a line's end have
    a meaning, `documents` that a string at the start of a body is a docstring.
    """

    indent: str
    bodies: Bodies
    braces: Braces
    opens: re.Pattern[str]
    continues: re.Pattern[str]
    ends: re.Pattern[str] | None
    closing_words: tuple[str, ...]
    top_level: re.Pattern[str]
    leaves: re.Pattern[str]
    brace_words: tuple[str, ...]
    header_words: tuple[str, ...]
    value_brace: re.Pattern[str]
    outermost: str
    hard_breaks: bool
    documents: bool


@dataclass(frozen=True, slots=True)
class Nodes:
    """Node types of the grammar."""

    strings: frozenset[str]
    comments: frozenset[str]
    interpolations: frozenset[str]
    bodies: frozenset[str]
    values: frozenset[str]


@dataclass(frozen=True, slots=True)
class Syntax:
    """Node types and fields of the grammar that next edits use. A type is empty if the grammar has none.

    `calls` maps the type of a call to the field of its callee. `members` are the types of `object.name`. `shorthands`
    maps the type of a name with two meanings, such as a key that is its own value, to its long form: `{outside}:
    {inside}`. `receivers` are parameters that are the object of a method; `implicit_self` says that the first parameter
    of every method is its object. `defaults` are parameters that a call may omit, `rests` parameters that take any
    number of arguments, `splats` arguments that stand for any number. `constructors` are the names of constructors,
    `classes` the nodes whose functions are methods, `declarations` the words that begin a line with a shape of its own.
    `sigils` precede a name without being part of it. At most one of the branches `clauses` runs or is built; `loops`
    repeat their bodies. `constructs` matches an initial value, and one of its groups is the class. `variants` is
    searched before a declared name for what distinguishes it from other declarations of the name; its group `part`
    marks one of several parts. `overloads` says that functions of one name may differ by their parameters, `redefines`
    that an assignment is written like a definition, `dynamic_scope` that a function sees the locals of its callers.
    """

    functions: frozenset[str]
    classes: frozenset[str]
    calls: Mapping[str, str]
    shorthands: Mapping[str, str]
    members: frozenset[str]
    assignments: frozenset[str]
    numbers: frozenset[str]
    string_parts: frozenset[str]
    parameter_lists: frozenset[str]
    argument_lists: frozenset[str]
    receivers: frozenset[str]
    defaults: frozenset[str]
    rests: frozenset[str]
    splats: frozenset[str]
    markers: frozenset[str]
    branchings: frozenset[str]
    clauses: frozenset[str]
    loops: frozenset[str]
    declarations: frozenset[str]
    sigils: frozenset[str]
    self_names: frozenset[str]
    constructors: frozenset[str]
    named_arguments: frozenset[str]
    constructs: re.Pattern[str] | None
    variants: re.Pattern[str] | None
    keyword_arguments: bool
    explicit_self: bool
    overloads: bool
    redefines: bool
    dynamic_scope: bool


@dataclass(frozen=True, slots=True)
class Code:
    """Patterns for lines by what they define.

    `definitions` and `constants` match a line that defines the name in a group. `owners` matches the first line of a
    class or the like, `fields` a line within it that declares a member, `members` a line elsewhere that defines one.
    `starts` matches a line from which a part of a file can be parsed alone.
    """

    definitions: tuple[re.Pattern[str], ...]
    constants: re.Pattern[str] | None
    owners: re.Pattern[str]
    fields: re.Pattern[str]
    members: re.Pattern[str] | None
    starts: re.Pattern[str] | None

    def defined(self, line: str) -> str | None:
        """Return the name that `line` defines; None if it defines none."""
        for pattern in self.definitions:
            if (found := pattern.match(line)) is not None:
                return found[1]
        return None

    def constant(self, line: str) -> str | None:
        """Return the constant that `line` defines; None if it defines none."""
        found = None if self.constants is None else self.constants.match(line)
        return None if found is None else found[1]

    def is_member(self, line: str) -> bool:
        """Return whether `line` defines a member of a class that is declared elsewhere."""
        return self.members is not None and self.members.match(line) is not None


@dataclass(frozen=True, slots=True)
class Project:
    """Files that mark a project's root, and folders with third-party code or build output."""

    marks: tuple[str, ...]
    skipped_folders: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Embedded:
    """Code of another language within this one: the text that opens it in the line above, and the text that closes it.

    If `open` matches an empty text, the code begins there. The group `language` of `open` names the language; without
    it, `language` does.
    """

    open: re.Pattern[str]
    close: re.Pattern[str]
    language: str


@dataclass(frozen=True, slots=True)
class Entry:
    """The facts about a language that are needed before a file is open. Equal if the LSP language identifiers are.

    `triggers` are the characters after which an editor asks for completions.
    """

    id: str
    name: str = field(compare=False)
    support: Support = field(compare=False)
    identity: Identity = field(compare=False)
    grammar: Grammar | None = field(compare=False)
    triggers: tuple[str, ...] = field(compare=False)
    project: Project = field(compare=False)


@dataclass(frozen=True, slots=True)
class Language:
    """One language. Equal if the entries are."""

    entry: Entry
    lexical: Lexical = field(compare=False)
    layout: Layout = field(compare=False)
    nodes: Nodes = field(compare=False)
    syntax: Syntax = field(compare=False)
    code: Code = field(compare=False)
    embedded: tuple[Embedded, ...] = field(compare=False, default=())

    @property
    def id(self) -> str:
        """The LSP language identifier."""
        return self.entry.id

    @property
    def name(self) -> str:
        """The language's usual name."""
        return self.entry.name
