"""A function was made asynchronous: propose `await` at its calls, and that their functions become asynchronous, too.

async def load(path): …          and so     async def show(path): print(await load(path))
"""

import re
from collections.abc import Iterator, Sequence

from tree_sitter import Node

from infill_engine.edits.changes import inserted
from infill_engine.edits.constructs.calls import calls_of, name_of
from infill_engine.edits.constructs.constructors import is_constructor
from infill_engine.edits.constructs.parameters import decorators_of, parameter_list_of
from infill_engine.edits.parsed_edit import ParsedEdit
from infill_engine.edits.parsed_text import ParsedText, enclosing, first_child, innermost
from infill_engine.edits.types import Edit, Kind, Proposal, Span, counted

CONFIDENCE = 0.7
MOST_CALLS = 24
MOST_FUNCTIONS = 8

_ASYNC = re.compile(r"\basync\b")
_PROMISES = ("Promise", "Task", "ValueTask", "IAsyncEnumerable", "Awaitable", "AsyncIterator", "AsyncGenerator")
_FIXED = re.compile(
    r"\s*(?:(?:static|override|public|private|protected)\s+)*(?:get|set)\s+[\w$#]|.*(?:__\w+__|[~*])\s*\Z"
)
# Functions that take an asynchronous call as it is.
_TAKES_CALLS = re.compile(
    r"(?:\brun|run_until_complete|create_task|ensure_future|gather|wait_for|WhenAll|WhenAny|\ball|allSettled|race|spawn|"
    r"block_on|join)\Z"
)


def propose_awaits(edit: ParsedEdit) -> Iterator[Proposal]:
    """Yield a proposal for each function that the changes make asynchronous."""
    source = edit.after
    for change, start, end in inserted(edit.changes) if edit.syntax.awaits else ():
        word = _ASYNC.search(source.text, start, end)
        function = None if word is None else _function_at(source, word.start())
        if function is not None and not _ASYNC.search(edit.before.text, change.start, change.end):
            yield from _proposal(source, function)


def _function_at(source: ParsedText, at: int) -> Node | None:
    """Return the function whose head has a place."""
    function = innermost(source.node_at(at, at + 1), source.syntax.functions)
    head = None if function is None else _head(source, function)
    return function if head is not None and head[0] <= at < head[1] else None


def _head(source: ParsedText, function: Node) -> tuple[int, int] | None:
    """Return the text of a function up to its parameters."""
    holder = parameter_list_of(source.syntax, function)
    return None if holder is None else (source.start_of(function), source.start_of(holder))


def _proposal(source: ParsedText, function: Node) -> list[Proposal]:
    """Return the edits for the calls of a function, and of those that call it; none if one cannot be asynchronous."""
    edits: set[Edit] = set()
    waiting, known, awaited, remain = [function], {function.id}, 0, 0
    while waiting:
        calls = [call.arguments for call in calls_of(source, waiting.pop()) if call.certain]
        for arguments in calls:
            call = arguments.parent
            if call is None or _is_taken(source, call):
                continue
            caller = enclosing(call, source.syntax.functions)
            if caller is None or name_of(caller) is None:
                remain += 1
                continue
            edits.update(_awaited(source, call))
            awaited += 1
            if caller.id in known:
                continue
            known.add(caller.id)
            made = _made_async(source, caller)
            if made is None:
                return []
            if made:
                edits.update(made)
                waiting.append(caller)
    if not awaited or awaited > MOST_CALLS or len(known) > MOST_FUNCTIONS:
        return []
    label = f"await {counted(awaited, 'call')}"
    label += f", {remain} more remain{'s' if remain == 1 else ''}" if remain else ""
    return [Proposal(tuple(sorted(edits)), label, CONFIDENCE, Kind.SIGNATURE)]


def _is_taken(source: ParsedText, call: Node) -> bool:
    """Return whether a call is awaited, or taken as it is."""
    above = call.parent
    if above is None or "await" in above.type:
        return True
    holder = enclosing(call, source.syntax.argument_lists)
    outer = None if holder is None else holder.parent
    functions = source.syntax.functions
    if holder is None or outer is None or enclosing(call, functions) != enclosing(outer, functions):
        return False
    before = source.text[source.start_of(outer) : source.start_of(holder)].rstrip()
    return _TAKES_CALLS.search(before) is not None


def _awaited(source: ParsedText, call: Node) -> Sequence[Edit]:
    """Return the edits that await a call; in brackets if a member of its result is used."""
    start, end = source.span_of(call)
    left, right = source.syntax.awaits.split("{call}")
    above = call.parent
    if left and above is not None and above.named_children[0] == call and source.text[end : end + 1] in (".", "[", "?"):
        left, right = f"({left}", f"{right})"
    return [Edit.insertion(at, new) for at, new in ((start, left), (end, right)) if new]


def _made_async(source: ParsedText, function: Node) -> Sequence[Edit] | None:
    """Return the edits that make a function asynchronous, none if it is; None if that is impossible."""
    head = _head(source, function)
    if head is None or source.syntax.async_at is None:
        return None
    text = source.text[slice(*head)]
    if _ASYNC.search(text):
        return ()
    body, place = function.child_by_field_name("body"), source.syntax.async_at.search(text)
    decorated = any("property" in source.text_of(node) for node in decorators_of(function))
    if decorated or _FIXED.match(text) or is_constructor(source, function):
        return None
    if place is None or body is None or re.search(r"\byield\b", source.text_of(body)):
        return None
    return [Edit.insertion(head[0] + place.start(), "async "), *_promised(source, function)]


def _promised(source: ParsedText, function: Node) -> Sequence[Edit]:
    """Return the edit that turns a declared result into that of an asynchronous function."""
    fields = (function.child_by_field_name(name) for name in ("return_type", "returns"))
    node = next((one for one in fields if one is not None), None)
    if node is None or not source.syntax.promised:
        return ()
    inner = (first_child(node) if node.type == "type_annotation" else node) or node
    old = source.text_of(inner)
    new = source.syntax.promised.format(type=old).replace("Task<void>", "Task")
    return () if old.startswith(_PROMISES) else [Edit(Span(*source.span_of(inner), old), new)]
