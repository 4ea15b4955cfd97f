"""The requests of clients of next-edit models, byte for byte as their sources build them.

In a marked text, │ is the cursor, and ⟦ ⟧ surround what may change.
"""

from typing import Any, NamedTuple

from clients import CURSOR, serde

OPEN, CLOSE = "⟦", "⟧"
CURSORTAB = {"Content-Type": "application/json", "Accept": "text/event-stream", "User-Agent": "Go-http-client/1.1"}


class Edit(NamedTuple):
    """Lines of a file that became others."""

    path: str
    old: str
    new: str
    above: str = ""
    below: str = ""


def parts(marked: str) -> tuple[str, str, str]:
    """The text above the region, the region with the cursor, and the text below."""
    above, rest = marked.split(OPEN)
    region, below = rest.split(CLOSE)
    return above, region, below


def signed(sign: str, text: str) -> str:
    return "".join(f"{sign}{line}\n" for line in text.split("\n")[:-1])


def patch_of_zed(edit: Edit) -> str:
    """`write_event` and `unified_diff_with_context`: a hunk with its context and true line numbers."""
    body = signed(" ", edit.above) + signed("-", edit.old) + signed("+", edit.new) + signed(" ", edit.below)
    old, new = (edit.above + side + edit.below for side in (edit.old, edit.new))
    head = f"@@ -1,{old.count(chr(10))} +1,{new.count(chr(10))} @@\n"
    return f"--- a/{edit.path}\n+++ b/{edit.path}\n{head}{body}"


def patch_of_cursortab(edit: Edit) -> str:
    """`DiffEntryToUnifiedDiff`: without context, and a blank line where there is none."""
    sides = [(sign, text.removesuffix("\n").split("\n")) for sign, text in (("-", edit.old), ("+", edit.new))]
    body = "".join(f"{sign}{line}\n" for sign, lines in sides for line in lines)
    head = f"@@ -1,{len(sides[0][1])} +1,{len(sides[1][1])} @@\n"
    return f"--- a/{edit.path}\n+++ b/{edit.path}\n{head}{body}"


def zeta2(path: str, marked: str, history: str, files: str = "") -> str:
    above, region, below = parts(marked)
    told = f"<filename>edit_history\n{history}\n" if history else ""
    region = region.replace(CURSOR, "<|user_cursor|>")
    return (
        f"<[fim-suffix]>{below}<[fim-prefix]>{files}{told}<filename>{path}\n{above}<<<<<<< CURRENT\n{region}"
        "=======\n<[fim-middle]>"
    )


def zed_zeta2(path: str, marked: str, *edits: Edit) -> bytes:
    """Zed 0438ace, `request_prediction_with_zeta` with the format `zeta2` and a server of one's own."""
    prompt = zeta2(path, marked, "".join(map(patch_of_zed, edits)), "<filename>project/other.py\nX = 1\n...\n\n")
    return serde({"model": "default", "prompt": prompt, "max_tokens": 512, "stop": []})


def zed_sweep(path: str, original: str, current: str, *edits: Edit) -> bytes:
    """Zed 24e24d8, `sweep_prompt.rs`. The windows are ten lines on either side of the cursor, which is not sent."""
    changes = "".join(
        f"<|file_sep|>{edit.path}.diff\noriginal:\n{edit.above + edit.old + edit.below}updated:\n"
        f"{edit.above + edit.new + edit.below}"
        for edit in edits
    )
    windows = f"<|file_sep|>original/{path}\n{original}<|file_sep|>current/{path}\n{current}"
    prompt = f"<|file_sep|>src/other.py\nX = 1\n{changes}{windows}<|file_sep|>updated/{path}\n"
    return serde({"model": "default", "prompt": prompt, "max_tokens": 512, "stop": ["<|file_sep|>", "</s>"]})


def cursortab_zeta2(path: str, marked: str, *edits: Edit) -> bytes:
    """cursortab.nvim b9f9b0a, `zeta2.go`."""
    files = "<filename>context/treesitter\nEnclosing scope: def f(): ...\n\n"
    prompt = zeta2(path, marked, "\n".join(map(patch_of_cursortab, edits)), files)
    return go({**_options(prompt), "stop": [">>>>>>> UPDATED\n", ">>>>>>> UPDATED"], **_END})


def cursortab_sweep(path: str, marked: str, *edits: Edit) -> bytes:
    """cursortab.nvim b9f9b0a, `sweep.go`. The region is the window; its lines before the cursor's are written ahead."""
    above, region, below = parts(marked)
    window = region.replace(CURSOR, "")
    whole = above + window + below
    first = above.count("\n") + 1
    rows = f"{first}:{first + window.count(chr(10))}"
    told = "".join(
        f"<|file_sep|>{edit.path}.diff\noriginal:\n{edit.old.removesuffix(chr(10))}\nupdated:\n{edit.new}"
        for edit in edits
    )
    ahead = region.split(CURSOR)[0].rpartition("\n")
    prompt = (
        f"<|file_sep|>{path}\n{whole}\n<|file_sep|>context/retrieval\n<|file_sep|>src/other.py\nX = 1\n{told}"
        f"<|file_sep|>original/{path}:{rows}\n{window}\n"
        f"<|file_sep|>current/{path}:{rows}\n{region.replace(CURSOR, '<|cursor|>')}\n"
        f"<|file_sep|>updated/{path}:{rows}\n{ahead[0] + ahead[1]}"
    )
    return go({**_options(prompt), "stop": ["<|file_sep|>", "<|endoftext|>"], **_END})


def cursortab_mercury(path: str, marked: str, *edits: Edit) -> bytes:
    """cursortab.nvim b9f9b0a, `mercuryapi.go`, which leaves out blank lines of edits. Go escapes < and >."""
    above, region, below = parts(marked)
    history = "".join(
        f"--- {edit.path}\n+++ {edit.path}\n@@ -1,{edit.old.count(chr(10))} +1,{edit.new.count(chr(10))} @@\n"
        f"{signed('-', edit.old)}{signed('+', edit.new)}\n"
        for edit in edits
    )
    snippet = "<|recently_viewed_code_snippet|>\ncode_snippet_file_path: src/other.py\nX = 1\n"
    prompt = (
        f"<|recently_viewed_code_snippets|>\n{snippet}<|/recently_viewed_code_snippet|>\n"
        f"<|/recently_viewed_code_snippets|>\n\n<|current_file_content|>\ncurrent_file_path: {path}\n{above}"
        f"<|code_to_edit|>\n{region.replace(CURSOR, '<|cursor|>')}<|/code_to_edit|>\n{below}"
        f"<|/current_file_content|>\n\n<|edit_diff_history|>\n{history}<|/edit_diff_history|>\n"
    )
    asked = {"model": "mercury-edit", "messages": [{"role": "user", "content": prompt}], "stream": False}
    return go(asked).rstrip().replace(b"<", rb"\u003c").replace(b">", rb"\u003e").replace(b"&", rb"\u0026")


_END = {"n": 1, "echo": False, "stream": True}


def _options(prompt: str) -> dict[str, Any]:
    return {"model": "", "prompt": prompt, "temperature": 0, "max_tokens": 512, "top_k": 50}


def go(content: object) -> bytes:
    """What Go's encoder writes with `SetEscapeHTML(false)`."""
    return serde(content) + b"\n"
