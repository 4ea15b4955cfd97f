"""The facts about one language, as frozen values with the keys of its record. `record_files` reads them.

In a pattern, `^` and `$` match at the ends of every line.
"""

from enum import StrEnum

from infill_engine.errors import InfillError
from infill_engine.text.languages.lexical import Lexical, Pattern, Table, Word
from infill_engine.text.languages.node_types import Syntax


class RecordError(InfillError):
    """A record or a query has a fault."""


class Support(StrEnum):
    """How well a language is supported."""

    FIRST = "first"  # "full" in docs/languages.md: all kinds of holes
    SECOND = "second"  # "by line and value" there: such holes, and a syntax check
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


class Identity(Table, frozen=True):
    """How files and editors name the language. Languages of one `family` are searched together for text to copy.

    `ambiguous` are suffixes of another language. A file with such a suffix is in this language if its beginning matches
    `content`.
    """

    aliases: tuple[Word, ...]
    suffixes: tuple[Word, ...]
    file_names: tuple[Word, ...]
    shebangs: tuple[Word, ...]
    family: str
    ambiguous: tuple[Word, ...] = ()
    content: Pattern | None = None

    def __post_init__(self) -> None:
        if bool(self.ambiguous) != (self.content is not None):
            raise ValueError("`content` and `ambiguous` belong together: give both or neither")


class Grammar(Table, frozen=True, kw_only=True):
    """The module of a tree-sitter wheel, its function that returns the grammar, and the folder of the queries.

    `refuses` matches text that would crash the parser. `opening` is the text that a part of a file needs in front of it
    to be parsed as code, unless `opened` matches the part.
    """

    module: str
    function: str = "language"
    queries: str
    refuses: Pattern | None = None
    opening: str = ""
    opened: Pattern | None = None

    def __post_init__(self) -> None:
        if bool(self.opening) != (self.opened is not None):
            raise ValueError("`opened` and `opening` belong together: give both or neither")


class Layout(Table, frozen=True, kw_only=True):
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
    opens: Pattern
    continues: Pattern
    ends: Pattern | None = None
    closing_words: tuple[str, ...]
    top_level: Pattern
    leaves: Pattern
    brace_words: tuple[Word, ...]
    header_words: tuple[Word, ...]
    value_brace: Pattern
    outermost: str
    hard_breaks: bool
    documents: bool


class Nodes(Table, frozen=True):
    """Node types of the grammar."""

    strings: frozenset[Word]
    comments: frozenset[Word]
    interpolations: frozenset[Word]
    bodies: frozenset[Word]
    values: frozenset[Word]


class Code(Table, frozen=True, kw_only=True):
    """Patterns for lines by what they define.

    `definitions` and `constants` match a line that defines the name in a group. `owners` matches the first line of a
    class or the like, `fields` a line within it that declares a member, `members` a line elsewhere that defines one.
    `starts` matches a line from which a part of a file can be parsed alone. A group of `getters` is the name of a
    method without parameters, or the components of a record that are read like one. `method_values` says that such a
    method may be named without a call. A group of `error_check` is the variable of the error that a line assigns and
    the next one checks. `converted` matches a conversion of what a call has made already.
    """

    definitions: tuple[Pattern, ...]
    constants: Pattern | None = None
    owners: Pattern
    fields: Pattern
    members: Pattern | None = None
    starts: Pattern | None = None
    getters: tuple[Pattern, ...] = ()
    method_values: bool = False
    error_check: Pattern | None = None
    converted: Pattern | None = None

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


class Project(Table, frozen=True):
    """Files that mark a project's root, and folders with third-party code or build output."""

    marks: tuple[Word, ...]
    skipped_folders: tuple[Word, ...]


class Embedded(Table, frozen=True):
    """Code of another language within this one: the text that opens it in the line above, and the text that closes it.

    If `open` matches an empty text, the code begins there. The group `language` of `open` names the language; without
    it, `language` does.
    """

    open: Pattern
    close: Pattern
    language: str = ""


class Reference(Table, frozen=True, kw_only=True):
    """A place where a name that the file declares is due, and the pattern of such declarations.

    `at` matches the text up to the cursor; its group `part` is what is typed of the name. The first group of `names` is
    the name. With `siblings`, only names beside the one whose value is being written are due: at its indentation, and
    under the same parent. A name that is due `once` is left out if it stands between the same texts elsewhere.
    `suffix` follows the name.
    """

    at: Pattern
    names: Pattern
    siblings: bool = False
    once: bool = False
    suffix: str = ""


class Entry(Table, frozen=True, kw_only=True):
    """The facts about a language that are needed before a file is open. Equal if the LSP language identifiers are.

    `name` is the language's usual name. `support` is "first", "second" or "text", as `Support` explains. `triggers` are
    the characters after which an editor asks for completions.
    """

    id: str
    name: str
    support: Support
    identity: Identity
    grammar: Grammar | None = None
    triggers: tuple[Word, ...]
    project: Project

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Entry) and self.id == other.id

    def __hash__(self) -> int:
        return hash(self.id)


class Language(Entry, frozen=True, kw_only=True):
    """All facts about one language."""

    lexical: Lexical
    layout: Layout
    nodes: Nodes
    syntax: Syntax
    code: Code
    embedded: tuple[Embedded, ...] = ()
    references: tuple[Reference, ...] = ()
