"""A real VS Code with the extension and the server's wheel, used as a person uses it. The model is scripted.

What was typed and taken is read from the file on the disk.
"""

import json
from pathlib import Path

import pytest
from driver.browser import SIZE
from driver.scripts_said import scripted
from driver.workbench import IMAGES, Workbench

STATUS = "[id='infill-ls.infill.infill.status']"
[WALKTHROUGH] = json.loads((IMAGES.parent / "package.json").read_text())["contributes"]["walkthroughs"]
PICTURED = """from dataclasses import dataclass


@dataclass
class Box:
    width: float
    height: float
    depth: float


def volume(box: Box) -> float:
    return area│) * box.depth
"""
DEFAULT = "result = compute(alpha, beta)\nprint(result)\nresult =│\n"


def test_one_click_installs_the_server(code: Workbench, offer: str) -> None:
    assert "Install it into an environment of its own?" in offer
    assert len(code.server_processes()) == 1


# what stands in the file, what is typed, the ghost text, then what Tab leaves on the disk
ACCEPTED = {
    "at_the_end": ("x =│\nrest()\n", " ", "alpha(1)", "x = alpha(1)\nrest()\n"),
    "mid_line": ("y = join│) + 1\n", "(", "left, right", "y = join(left, right) + 1\n"),
    "after_emoji": ("a = '😀é'; x =│  # 😀\n", " ", "alpha(1)", "a = '😀é'; x = alpha(1)  # 😀\n"),
    "after_rtl": ("ברכה = 'שלום ' +│  # א\n", " ", "שם + 'a'", "ברכה = 'שלום ' + שם + 'a'  # א\n"),
    "after_cjk": ("a = '你好' +│\n", " ", "'世界'", "a = '你好' + '世界'\n"),
    "after_joined_emoji": ("a = '👩‍👩‍👧' +│\n", " ", "'👍🏽' + tail", "a = '👩‍👩‍👧' + '👍🏽' + tail\n"),
    "several_lines": (
        "def lines():\n   │\n\n\nlines()\n",
        " ",
        "total = 0    return total",
        "def lines():\n    total = 0\n    return total\n\n\nlines()\n",
    ),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_ghost_text_is_shown_and_tab_takes_it(code: Workbench, name: str) -> None:
    marked, typed, ghost, expected = ACCEPTED[name]
    path = code.open(f"{name}.py", marked)
    code.type_text(typed)
    code.wait_for_ghost(ghost)
    code.press("Tab")
    assert code.saved(path).decode() == expected


def test_a_file_with_crlf_stays_one(code: Workbench) -> None:
    path = code.open("crlf.py", "def lines():\n   │\n\n\nlines()\n", newline="\r\n")
    code.type_text(" ")
    code.wait_for_ghost("total = 0    return total")
    code.press("Tab")
    assert code.saved(path) == b"def lines():\r\n    total = 0\r\n    return total\r\n\r\n\r\nlines()\r\n"


def test_next_and_previous(code: Workbench) -> None:
    path = code.offered("cycle.py", "x =│\n", " ", "alpha(1)")
    for key, ghost in (("Alt+]", "beta(2, 3)"), ("Alt+]", "gamma"), ("Alt+]", "alpha(1)"), ("Alt+[", "gamma")):
        code.press(key)
        code.wait_for_ghost(ghost)
    code.press("Tab")
    assert code.saved(path) == b"x = gamma\n"


def test_accept_a_word(code: Workbench) -> None:
    path = code.offered("word.py", "words =│\n", " ", "one two three")
    code.press("Control+ArrowRight")
    code.wait_for_ghost(" two three")
    code.command("Infill: Accept Word")
    code.wait_for_ghost("two three")
    assert code.saved(path) == b"words = one \n"


def test_accept_a_line(code: Workbench) -> None:
    path = code.offered("line.py", "def lines():\n   │\n", " ", "total = 0    return total")
    code.press("Control+Alt+ArrowRight")
    code.until(lambda: "total = 0" in code.text() and "total" in code.ghost(), "the first line taken", code.text)
    assert code.saved(path).startswith(b"def lines():\n    total = 0\n")
    assert b"return" not in path.read_bytes()


def test_typing_along_keeps_the_ghost_text(code: Workbench) -> None:
    path = code.offered("along.py", "x =│\n", " ", "alpha(1)")
    code.type_text("al")
    code.wait_for_ghost("pha(1)")
    code.press("Tab")
    assert code.saved(path) == b"x = alpha(1)\n"


def test_what_the_open_suggest_widget_has_selected_is_built_upon(code: Workbench) -> None:
    path = code.open("widget.py", "printer = 1\nvalue =│\n")
    code.type_text(" pri")
    code.press("Control+Space")
    code.wait_for_ghost("nter(text)")
    code.press("Tab")  # the widget's
    code.press("Tab")
    code.until(lambda: "printer(text)" in code.text(), "the ghost text taken", code.text)
    assert code.saved(path) == b"printer = 1\nvalue = printer(text)\n"


def test_pick_from_the_list(code: Workbench) -> None:
    path = code.offered("pick.py", PICTURED, "(", "box.width, box.height")
    code.press("Control+Alt+Enter")
    code.until(lambda: len(code.rows()) == 3, "three candidates", code.rows)
    assert "3 candidates" in code.title()
    assert [row.split("%")[0].rstrip("0123456789") for row in code.rows()] == [
        " box.width, box.height",
        " box.height, box.width",
        " box",
    ]
    assert all("model" in row and " ms" in row for row in code.rows())
    assert code.preview() == "box.width, box.height"
    code.press("ArrowDown")
    code.until(lambda: code.preview() == "box.height, box.width", "the second one in place", code.preview)
    code.press("Enter")
    code.until(lambda: not code.rows() and code.preview() == "", "the list to close", code.preview)
    assert code.saved(path).decode() == PICTURED.replace("│", "(box.height, box.width")


def test_leaving_the_list_leaves_the_text(code: Workbench) -> None:
    path = code.open("leave.py", "x = │\n")
    code.command("Infill: Pick Candidate")
    code.until(lambda: code.preview() == "alpha(1)", "a preview", code.preview)
    code.press("Escape")
    code.until(lambda: code.preview() == "", "no preview", code.preview)
    code.type_text("1")
    assert code.saved(path) == b"x = 1\n"


def test_a_selection_is_filled_anew(code: Workbench) -> None:
    path = code.open("selection.py", "y = join(│wrong)\n")
    for _ in "wrong":
        code.press("Shift+ArrowRight")
    code.press("Control+Alt+Enter")
    code.until(lambda: code.preview() == "left, right", "a preview", code.preview)
    code.press("Enter")
    code.until(lambda: "left, right" in code.text(), "the choice in the text", code.text)
    assert code.saved(path) == b"y = join(left, right)\n"


def test_an_untitled_document(code: Workbench) -> None:
    code.close()
    code.press("F8")
    code.until(lambda: code.tab().startswith("Untitled"), "a new document", code.tab)
    code.type_text("x = ")
    code.wait_for_ghost("alpha(1)")
    code.press("Tab")
    code.type_text("\nwords = ")
    code.wait_for_ghost("one two three")
    code.press("Tab")
    code.until(lambda: code.text() == "x = alpha(1)\nwords = one two three", "both taken", code.text)


def test_silence_has_its_reason(code: Workbench) -> None:
    code.open("silence.py", "x = a│\n")
    code.press("Backspace")
    code.wait_for_status("Infill: after a deletion")
    code.browser.call("hover", STATUS)
    code.until(lambda: any("right after a deletion" in text for text in code.texts(".monaco-hover")), "the sentence")
    code.picture("silent", {"x": SIZE[0] - 560, "y": SIZE[1] - 120, "width": 560, "height": 120})
    assert code.ghost() == ""
    code.command("Infill: Trigger")
    code.wait_for_ghost("alpha(1)")
    code.wait_for_status("Infill")
    code.open(".env", "x =│\n")
    code.type_text(" ")
    code.wait_for_status("Infill: file excluded")


def test_off_and_on(code: Workbench) -> None:
    code.open("off.py", "x =│\n")
    code.command("Infill: Toggle")
    code.wait_for_status("Infill: off")
    code.command("Infill: Toggle")
    code.wait_for_status("Infill")
    code.command("Infill: Toggle for Language")
    code.wait_for_status("Infill: off for this language")
    code.type_text(" ")
    assert code.ghost() == ""
    code.command("Infill: Toggle for Language")
    code.wait_for_status("Infill")
    code.command("Infill: Trigger")
    code.wait_for_ghost("alpha(1)")


def test_restarting_the_engine_replaces_its_process(code: Workbench) -> None:
    code.open("restart.py", "x =│\n")
    engine = code.engine_processes()
    code.command("Infill: Restart Engine")
    code.until(lambda: not any(one.is_running() for one in engine), "the old engine to end", code.status)
    code.until(lambda: bool(code.engine_processes()) and code.status() == "Infill", "a new engine", code.status)


def test_the_menu_and_the_reports(code: Workbench) -> None:
    code.open("menu.py", "x = │\n")
    code.browser.call("click", STATUS)
    code.until(lambda: any("Switch Off for python" in row for row in code.rows()), "the menu", code.rows)
    code.type_text("Show Status")
    code.press("Enter")
    code.until(lambda: "Device    cpu" in code.text(), "the status", code.text)
    assert "from the environment that Infill made for itself" in code.text()
    assert code.status() == "Infill"
    code.command("Infill: Pick Candidate")
    assert "infill-report" in code.wait_for_message("Infill works on files")
    code.close_messages()
    code.command("Infill: Show Statistics")
    code.until(lambda: "Accepted from the list  2" in code.text(), "the statistics", code.text)
    assert "On this machine" in code.text()
    code.command("Infill: Doctor")
    code.until(lambda: "All checks passed." in code.text() or "It works" in code.text(), "the findings", code.text)
    assert "✓ engine" in code.text()


def test_what_is_typed_while_the_model_loads_and_the_canvas(code: Workbench, scratch: Path) -> None:
    # The model takes longer to load than the budget allows, and is slow enough to be watched.
    code.configure(model=scripted(scratch, "slow", load_ms=2000, steps=5, step_ms=200), budgetMs=2000)
    code.until(lambda: "%" in code.status(), "the model to be loaded", code.status)
    path = code.open("slow.py", "x =│\n")
    code.type_text(" ")
    code.until(lambda: "%" in code.status(), "the model to be loaded still", code.status)
    code.wait_for_ghost("alpha(1)")
    code.wait_for_model("slow.json")
    code.configure(budgetMs=5000)
    code.type_text("1; x = ")
    code.press("Control+Alt+Enter")
    code.until(lambda: "computing" in code.title(), "a canvas", code.title)
    code.until(lambda: any("▒" in row for row in code.rows()), "open slots", code.rows)
    code.until(lambda: "3 candidates" in code.title(), "the candidates", code.title)
    code.press("Enter")
    code.until(lambda: code.text().startswith("x = 1; x = alpha(1)"), "the first one taken", code.text)
    assert code.saved(path) == b"x = 1; x = alpha(1)\n"


def test_a_read_only_file(code: Workbench) -> None:
    path = code.open("read_only.py", "x = │\n")
    code.command("Infill: Pick Candidate")
    code.until(lambda: code.preview() == "alpha(1)", "a preview", code.preview)
    code.press("Enter")
    code.wait_for_message("It may be read-only.")
    assert path.read_bytes() == b"x = \n"


def test_the_walkthrough(code: Workbench) -> None:
    code.command("Welcome: Open Walkthrough")
    code.until(lambda: any("Get Started with Infill" in row for row in code.rows()), "the walkthrough", code.rows)
    code.type_text("Get Started with Infill")
    code.press("Enter")
    titles = [step["title"] for step in WALKTHROUGH["steps"]]
    code.until(lambda: code.texts(".getting-started-step .step-title") == titles, "its steps")
    code.browser.call("click", f".getting-started-step:has-text('{titles[-1]}')")
    code.browser.call("click", ".getting-started-step.expanded .monaco-button:has-text('Open the Menu')")
    code.until(lambda: any("Pick Candidate" in row for row in code.rows()), "the menu", code.rows)
    code.press("Escape")


def test_a_misspelt_setting_is_told_once(code: Workbench) -> None:
    code.configure(budgetMs="fast", candidats=3)
    assert "whole number of milliseconds" in code.wait_for_message("setting budgetMs")
    code.wait_for_message('unknown setting "candidats"')
    code.configure(budgetMs="fast", candidats=3, candidates=3)
    path = code.offered("typo.py", "x =│\n", " ", "alpha(1)")
    code.press("Tab")
    assert code.saved(path) == b"x = alpha(1)\n"
    assert sum("setting budgetMs" in message for message in code.messages()) == 1


def test_a_server_that_dies_is_started_again(code: Workbench) -> None:
    [server] = code.server_processes()
    server.kill()
    code.wait_for_message("stopped unexpectedly and is being started again")
    code.until(lambda: len(code.server_processes()) == 1 and code.status() == "Infill", "a new server", code.status)
    path = code.offered("again.py", "x =│\n", " ", "alpha(1)")
    code.press("Tab")
    assert code.saved(path) == b"x = alpha(1)\n"


def test_a_failed_installation_leaves_the_server_that_works(code: Workbench) -> None:
    [server] = code.server_processes()
    code.configure(installFrom="/nowhere/infill_ls-9-py3-none-any.whl")
    code.command("Infill: Install Server")
    told = code.wait_for_message("Infill could not install its server")
    assert "/nowhere/infill_ls-9" in told
    assert code.server_processes() == [server]
    code.configure(installFrom="--upgrade")
    code.close_messages()
    code.command("Infill: Install Server")
    code.wait_for_message("must be a package's name or the path of a wheel")
    assert code.server_processes() == [server]


def test_retrieved_texts_without_the_files_of_the_default_model(code: Workbench) -> None:
    code.configure(model="default", showThreshold=0)
    code.wait_for_model("retrieval")
    path = code.offered("default.py", DEFAULT, " ", "compute(alpha, beta)")
    code.press("Tab")
    assert code.saved(path).decode() == DEFAULT.replace("│", " compute(alpha, beta)")
