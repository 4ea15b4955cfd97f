"""What next edits know of a language's syntax: the types and fields of its grammar's nodes, and its idioms."""

from collections.abc import Mapping

from infill_engine.text.languages.lexical import Pattern, Table, Word


class ImportForm(Table, frozen=True, kw_only=True):
    """A way to write imports.

    `pattern` matches a statement at a line that begins with `start`. Its group `list` has elements with a `comma` or a
    line break between them, to which another can be added, or its group `name` has the only one. The last word of an
    element is the imported name, or a group of `bound` is. `write` is the statement for one element, `{spec}`, and the
    other groups. With `object`, the name has members and no other use.
    """

    start: Word
    pattern: Pattern
    write: Word
    bound: Pattern | None = None
    comma: bool = True
    object: bool = False


class Stubs(Table, frozen=True, kw_only=True):
    """How a method is implemented that has no body yet.

    `methods` are the nodes of methods in interfaces and base classes. One is abstract if it has no body, or if `marked`
    is found in it. A class leaves out `modifiers` or has its own, and `statement` is the body. With `structural`, a
    class implements what has methods of the same names.
    """

    methods: frozenset[Word]
    marked: Pattern | None = None
    modifiers: Pattern | None = None
    statement: Word
    structural: bool = False


class Syntax(Table, frozen=True, kw_only=True):
    """Node types and fields of the grammar that next edits use. A type is empty if the grammar has none.

    `calls` maps the type of a call to the field of its callee. `members` are the types of `object.name`. `shorthands`
    maps the type of a name with two meanings, such as a key that is its own value, to its long form: `{outside}:
    {inside}`. `receivers` are parameters that are the object of a method; `explicit_self` says that the first parameter
    of every method is its object. `defaults` are parameters that a call may omit, `rests` parameters that take any
    number of arguments, `splats` arguments that stand for any number. `constructors` are the names of constructors,
    `classes` the nodes whose functions are methods, `declarations` the words that begin a line with a shape of its own.
    `sigils` precede a name without being part of it. In a class, `self_names` are its object or the class itself,
    `base_names` its base, and `own_member` a member `{name}` of the object where its methods do not write the name
    alone. Behind `last_arguments` and `last_parameters`, a list has no others; calls always name `keyword_parameters`,
    as `named_argument` says. `maker` is the method of a class that calls its constructor. At most one of the branches
    `clauses` runs or is built; `loops` repeat their bodies. `constructs` matches an initial value, and one of its
    groups is the class. `records` is found in the head of a class whose constructor takes its fields by name; `heads`
    are classes whose parameters are those of a constructor. `required` matches the declaration of a field that needs a
    value, in one of the bodies `field_lists`; `entries` set a field in a literal. `choices` list variants, and `arms`
    are cases whose first node says which variant they are for; `chained` are branches with a condition, which may have
    others for their alternatives. `imports` are statements, and `preamble` what stands above them. `private` is found
    in a line that declares a field which only its class reads. `variants` is searched before a declared name for what
    distinguishes it from other declarations of the name; its group `part` marks one of several parts. `overloads` says
    that functions of one name may differ by their parameters, `prototypes` that one may be declared without its body
    elsewhere, `redefines` that an assignment is written like a definition, `dynamic_scope` that a function sees the
    locals of its callers. `several` are the brackets around several variables that take the values of a call, "," if
    they stand without brackets, and "" if not all values have to be taken. `builtins` are functions, types and objects
    that every file knows without an import. `awaits` is how the result of an asynchronous `{call}` is awaited; `async`
    precedes what `async_at` finds in the text of a function up to its parameters, and the `{type}` of its result
    becomes `promised`. One of `documents` matches a line that documents a parameter: its groups are `lead`, `type`,
    `sigil`, `name` and `end`, of which only the first and the name must be there. `typed_above` is found in a comment
    that declares the type of the function below it.
    """

    functions: frozenset[Word]
    classes: frozenset[Word]
    calls: Mapping[str, str]
    shorthands: Mapping[str, str]
    members: frozenset[Word]
    assignments: frozenset[Word]
    numbers: frozenset[Word]
    string_parts: frozenset[Word]
    parameter_lists: frozenset[Word]
    argument_lists: frozenset[Word]
    receivers: frozenset[Word]
    defaults: frozenset[Word]
    rests: frozenset[Word]
    splats: frozenset[Word]
    markers: frozenset[Word]
    branchings: frozenset[Word]
    clauses: frozenset[Word]
    loops: frozenset[Word]
    declarations: frozenset[Word]
    sigils: frozenset[Word]
    self_names: frozenset[Word]
    base_names: frozenset[Word]
    own_member: str
    constructors: frozenset[Word]
    named_arguments: frozenset[Word]
    last_arguments: frozenset[Word]
    last_parameters: frozenset[Word]
    keyword_parameters: frozenset[Word]
    constructs: Pattern | None = None
    records: Pattern | None = None
    required: Pattern | None = None
    heads: frozenset[Word]
    field_lists: frozenset[Word]
    entries: frozenset[Word]
    choices: frozenset[Word]
    arms: frozenset[Word]
    chained: frozenset[Word]
    stubs: Stubs | None = None
    imports: frozenset[Word]
    import_forms: tuple[ImportForm, ...] = ()
    preamble: frozenset[Word] = frozenset()
    private: Pattern | None = None
    variants: Pattern | None = None
    named_argument: str
    maker: str
    explicit_self: bool
    overloads: bool
    prototypes: bool
    redefines: bool
    dynamic_scope: bool
    several: str
    builtins: frozenset[Word]
    awaits: str
    async_at: Pattern | None = None
    promised: str
    documents: tuple[Pattern, ...] = ()
    typed_above: Pattern | None = None
