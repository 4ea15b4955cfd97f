"""What must not disturb: texts that were dismissed, the Tab key, snippets, menus, and flicker."""

import time

from driver.workbench import Workbench

PAUSE = 1.0  # seconds, in which VS Code asks and is answered
# Notes the first line and the ghost text in every frame that is drawn.
_WATCH = """() => {
    const row = () => document.querySelector('.editor-instance .view-lines > .view-line');
    const words = parts => parts.map(part => part.textContent.replaceAll('\\u00a0', ' ')).join('');
    const is = part => ['ghost-text', 'ghost-text-decoration'].some(name => part.classList.contains(name));
    window.frames = [];
    const look = () => {
        const parts = [...row().querySelectorAll(':scope > span > span')];
        window.frames.push([words(parts.filter(part => !is(part))), words(parts.filter(is))]);
        requestAnimationFrame(look);
    };
    look();
}"""


def test_what_was_dismissed_stays_away(code: Workbench) -> None:
    code.offered("dismissed.py", "x =│\n", " ", "alpha(1)")
    code.press("Escape")
    code.wait_for_ghost("")
    code.type_text("al")
    code.wait_for_status("Infill: dismissed here")
    assert code.ghost() == ""
    assert "You dismissed the suggestion" in code.sentence()
    code.press("Backspace", "Backspace", "Backspace")
    code.wait_for_status("Infill: after an undo")
    code.type_text(" ")
    code.wait_for_status("Infill: dismissed here")
    code.command("Infill: Trigger")
    code.wait_for_ghost("alpha(1)")
    code.press("Escape")
    code.type_text("1\nx = ")
    code.wait_for_ghost("alpha(1)")


def test_what_was_typed_past_does_not_come_back(code: Workbench) -> None:
    code.offered("past.py", "words =│\n", " ", "one two three")
    code.type_text("z")
    code.wait_for_ghost("")
    code.press("Backspace", "Backspace")
    code.wait_for_status("Infill: after an undo")
    code.type_text(" ")
    code.wait_for_status("Infill: dismissed here")
    assert code.ghost() == ""


def test_tab_in_the_indentation_indents(code: Workbench) -> None:
    path = code.open("indented.py", "if w:\n│\n")
    code.command("Infill: Trigger")
    code.until(lambda: "one()" in code.ghost(), "ghost text", code.ghost)
    code.press("Tab")
    code.until(lambda: code.text().startswith("if w:\n    "), "the indentation", code.text)
    assert "one()" not in code.saved(path).decode()
    code.command("Infill: Trigger")
    code.wait_for_ghost("one()")
    code.press("Tab")
    assert code.saved(path) == b"if w:\n    one()\n"


def test_a_snippet_in_progress_is_left_alone(code: Workbench) -> None:
    path = code.open("snippet.py", "│\n")
    code.press("F6")
    code.until(lambda: code.text().startswith("f(a, b)"), "the snippet", code.text)
    code.type_text("x = ")
    time.sleep(PAUSE)
    assert code.ghost() == ""
    code.press("Tab")
    code.type_text("y")
    code.press("Tab")
    code.type_text("; x = ")
    code.wait_for_ghost("alpha(1)")
    assert code.saved(path) == b"f(x = , y); x = \n"


def test_nothing_flickers_while_typing_along(code: Workbench) -> None:
    code.offered("flicker.py", "x =│\n", " ", "alpha(1)")
    code.browser.call("evaluate", f"({_WATCH})()")
    for key in "alpha(":
        code.type_text(key)
        time.sleep(0.1)
    time.sleep(PAUSE)
    frames = [tuple(frame) for frame in code.browser.call("evaluate", "window.frames")]
    seen = list(dict.fromkeys(frames))
    assert [frame for frame in seen if "".join(frame).rstrip(")") != "x = alpha(1"] == [], seen


def test_nothing_flickers_while_words_are_accepted(code: Workbench) -> None:
    code.offered("words.py", "words =│\n", " ", "one two three")
    code.browser.call("evaluate", f"({_WATCH})()")
    for _ in range(2):
        code.press("Control+ArrowRight")
        time.sleep(PAUSE)
    frames = [tuple(frame) for frame in code.browser.call("evaluate", "window.frames")]
    seen = list(dict.fromkeys(frames))
    assert [frame for frame in seen if "".join(frame) != "words = one two three"] == [], seen
    assert len(seen) >= 3, seen


def test_ghost_text_that_vs_code_does_not_show_is_explained(code: Workbench) -> None:
    code.open("hidden.py", "x = │\n")
    code.prefer({"editor.inlineSuggest.enabled": False})
    code.until(
        lambda: "`editor.inlineSuggest.enabled` is off" in code.sentence().replace("'", "`"), "why", code.sentence
    )
    code.prefer({})
    code.wait_for_status("Infill")
