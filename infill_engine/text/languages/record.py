"""What is known of one language. Frozen values; `loading` reads them from a record."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from infill_engine.text.languages.forms import Form


class Support(StrEnum):
    """How much a language gets."""

    FIRST = "first"  # all kinds of holes
    SECOND = "second"  # holes by line and value, and a syntax check
    TEXT = "text"  # completed as plain text: comments and strings are known, and nothing else


class Bodies(StrEnum):
    """What holds the statements of a body together."""

    BRACES = "braces"
    INDENTATION = "indentation"
    WORDS = "words"  # from a header to `end`, `fi` and the like
    TAGS = "tags"
    VALUE = "value"  # there are none: a file is one value
    NONE = "none"


class Braces(StrEnum):
    """What a brace holds."""

    MIXED = "mixed"
    BODIES = "bodies"
    VALUES = "values"


@dataclass(frozen=True, slots=True)
class Identity:
    """How files and editors name the language. Ids of one `family` are searched together for text to copy.

    A file whose suffix is one of `ambiguous`, another language's, is of this one if its beginning matches `content`.
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
    """The module of a tree-sitter wheel, the function that hands the grammar out, and the folder of its queries.

    `refuses` matches text that the grammar must not be given because its parser would crash. `opening` is what a part
    of a file needs in front of it to be read as code, unless `opened` matches the part.
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

    `forms` are comments and strings in the order in which they are tried. `comment_marks` are the marks that a line
    which is nothing but a comment begins with. `whole` matches what opens and closes nothing
    (a character literal, a regular expression). `restart` matches what cannot stand inside brackets. `word` matches a
    name or a number.
    """

    comment_marks: tuple[str, ...]
    comment_after_blank: bool
    forms: tuple[Form, ...]
    whole: str
    restart: str
    word: re.Pattern[str]
    keywords: frozenset[str]
    parts_names: bool  # whether capitals and hyphens part a name into words, as in `userName` and `user-name`


@dataclass(frozen=True, slots=True)
class Layout:
    """How bodies are laid out.

    `opens` matches the end of a line below which a body begins, `continues` one that goes on further right for another
    reason. `ends` matches the line that closes a body. `top_level` matches a line that stands at the outermost level,
    `leaves` a statement behind which a body ends. A brace holds statements behind one of `brace_words` and in a line
    that begins with one of `header_words`, values where `value_brace` matches the line up to it; this decides only
    where braces are mixed. `outermost` are the characters
    beside letters that a line at the outermost level begins with. `hard_breaks`: two blanks at a line's end mean
    something. `documents`: a string at a body's start is no part of its code.
    """

    indent: str
    bodies: Bodies
    braces: Braces
    opens: re.Pattern[str]
    continues: re.Pattern[str]
    ends: re.Pattern[str] | None
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
    """Node types and fields of the grammar that next edits read. Types are empty where the grammar has none.

    `calls` maps the type of a call to the field of what is called; `members` are the types of `object.name`.
    `shorthands` maps the type of a name that means one thing outside and another inside, such as a key that is its own
    value, to how both are written: `{outside}: {inside}`. `receivers` are parameters that are the object of a method,
    and `implicit_self` says that every method has its object as the first parameter. `defaults` are parameters that a
    call may leave out, `rests` those that take any number of arguments, `splats` the arguments that stand for any
    number. `constructors` are the names of constructors, `classes` the nodes whose functions are methods,
    `declarations` what begins a line that is different from others of its shape. `sigils` begin a name without being
    part of it. `clauses` are branches of which at most one runs or is built; `loops` run their bodies again.
    `constructs` matches an initial value; one of its groups is the class. `variants` is searched for in front of a
    declared name, for what tells the declaration from others of the name; its group `part` says that the declaration
    is one of several. `overloads`: functions of one name may differ by their parameters. `redefines`: another value
    for a variable is written like its definition. `dynamic_scope`: a function sees the locals of its callers.
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
    """Lines of code by what they define.

    `definitions` and `constants` match a line that defines the name in a group. `owners` matches the first line of
    something with members, `fields` a line within it that declares one, `members` a line elsewhere that defines one.
    `starts` matches where a part of a file parses by itself.
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
        """Return whether `line` defines a member of what is declared elsewhere."""
        return self.members is not None and self.members.match(line) is not None


@dataclass(frozen=True, slots=True)
class Project:
    """Files that mark a project's root, and folders of what others wrote or a build made."""

    marks: tuple[str, ...]
    skipped_folders: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Embedded:
    """Code of another language within this one: what opens it in the line above, and what closes it.

    Where `open` matches an empty text, the code begins there.

    `open` names the language in a group `language`; where it names none, it is `language`.
    """

    open: re.Pattern[str]
    close: re.Pattern[str]
    language: str


@dataclass(frozen=True, slots=True)
class Entry:
    """What must be known of a language before a file in it is open. Equal by the id, an LSP language identifier.

    `triggers` are the characters behind which an editor asks.
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
    """One language. Equal by its entry."""

    entry: Entry
    lexical: Lexical = field(compare=False)
    layout: Layout = field(compare=False)
    nodes: Nodes = field(compare=False)
    syntax: Syntax = field(compare=False)
    code: Code = field(compare=False)
    embedded: tuple[Embedded, ...] = field(compare=False, default=())

    @property
    def id(self) -> str:
        """Its LSP language identifier."""
        return self.entry.id

    @property
    def name(self) -> str:
        """As people call it."""
        return self.entry.name
