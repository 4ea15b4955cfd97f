"""What a user may write, what comes of it, and what they are told."""

from dataclasses import replace
from pathlib import Path

import pytest

from infill_engine.context.window import WIDER_CONTEXT_CHARS
from infill_engine.types import Eagerness
from lsp_server.documents.snapshots import Documents, TextChange, snapshot_after
from lsp_server.project.excludes import bad_patterns, is_excluded
from lsp_server.server import create_server
from lsp_server.settings.schema import (
    DEFAULT_EXCLUDES,
    SETTINGS,
    EngineChoice,
    Fallback,
    Precision,
    ServerSettings,
    read_settings,
)
from lsp_server.suggestions.request_content import BEFORE_CHARS, build_request

DEFAULTS = ServerSettings()

GOOD = [
    (None, DEFAULTS),
    ({}, DEFAULTS),
    ({"infill": {}}, DEFAULTS),
    ({"enable": False}, ServerSettings(enable=False)),
    ({"infill": {"enable": False}, "python": {"a": 1}}, ServerSettings(enable=False)),
    ({"budgetMs": 80}, ServerSettings(budget_ms=80)),
    ({"budgetMs": 80, "model": "scripted"}, ServerSettings(budget_ms=80, engine=EngineChoice("scripted"))),
    ({"budgetMs": 80.0}, ServerSettings(budget_ms=80)),
    ({"candidates": 1, "showThreshold": 1}, ServerSettings(candidates=1, show_threshold=1.0)),
    ({"showThreshold": None}, ServerSettings()),
    ({"eagerness": "eager"}, ServerSettings(eagerness=Eagerness.EAGER)),
    ({"languages": ["python"]}, ServerSettings(languages={"*": False, "python": True})),
    ({"languages": {"markdown": False}}, ServerSettings(languages={"*": True, "markdown": False})),
    ({"excludes": []}, DEFAULTS),
    ({"excludes": ["*.sql", "!.npmrc"]}, ServerSettings(further_excludes=("*.sql", "!.npmrc"))),
    ({"model": " ./m ", "device": "cuda:1"}, ServerSettings(engine=EngineChoice("./m", "cuda:1"))),
    ({"precision": "int4"}, ServerSettings(engine=EngineChoice(precision=Precision.INT4))),
    ({"apiKeyVariable": "TEAM_KEY"}, ServerSettings(engine=EngineChoice(key_variable="TEAM_KEY"))),
    ({"completionFallback": "auto"}, DEFAULTS),
    ({"completionFallback": "always"}, ServerSettings(completion_fallback=Fallback.ALWAYS)),
    ({"completionFallback": "never"}, ServerSettings(completion_fallback=Fallback.NEVER)),
    ({"completionFallback": True}, ServerSettings(completion_fallback=Fallback.ALWAYS)),
    ({"completionFallback": False}, ServerSettings(completion_fallback=Fallback.NEVER)),
    (dict.fromkeys(SETTINGS), DEFAULTS),
    ({"infill": None}, DEFAULTS),
]


@pytest.mark.parametrize(("user", "expected"), GOOD, ids=str)
def test_settings_are_read(user: object, expected: ServerSettings) -> None:
    assert read_settings(user) == (expected, ())


BAD = [
    # the entry, what the warning must name beside the key and the value
    ("enable", "yes", "true or false"),
    ("enable", 1, "true or false"),
    ("languages", "python", "list"),
    ("languages", {"python": 1}, "list"),
    ("languages", ["python", 3], "list"),
    ("budgetMs", "200", "milliseconds"),
    ("budgetMs", 9, "from 10"),
    ("budgetMs", 10.5, "whole"),
    ("budgetMs", True, "whole"),
    ("budgetMs", float("inf"), "whole"),
    ("budgetMs", float("nan"), "whole"),
    ("explicitBudgetMs", 9, "from 10"),
    ("candidates", 0, "from 1 to 16"),
    ("candidates", -1, "from 1 to 16"),
    ("showThreshold", 1.01, "0 to 1"),
    ("eagerness", "loud", "quiet"),
    ("eagerness", 0.5, "quiet"),
    ("excludes", ".env", "list of patterns"),
    ("excludes", [None], "list of patterns"),
    ("model", "", "name"),
    ("model", "a\0b", "name"),
    ("device", 0, "device"),
    ("apiKeyVariable", "hf_abcSECRET", "environment variable"),
    ("completionFallback", "sometimes", '"auto", "always", "never", or true or false'),
    ("completionFallback", 1, '"auto", "always", "never", or true or false'),
    ("budgetms", 100, "unknown"),
    ("x" * 500, 1, "unknown"),
]


@pytest.mark.parametrize(("key", "value", "expected"), BAD)
def test_a_bad_entry_is_named_and_replaced_by_its_default(key: str, value: object, expected: str) -> None:
    read, warnings = read_settings({key: value, "candidates" if key != "candidates" else "budgetMs": 11})
    (warning,) = warnings
    assert key[:20] in warning
    assert expected in warning
    assert len(warning) < 400
    assert 11 in (read.candidates, read.budget_ms)


def test_the_time_that_is_promised() -> None:
    assert (DEFAULTS.budget_ms, DEFAULTS.candidates) == (150, 4)


@pytest.mark.parametrize(
    ("user", "typing", "explicit"),
    [
        ({}, 150, 600),
        ({"budgetMs": 400}, 400, 600),
        ({"budgetMs": 900}, 900, 900),
        ({"budgetMs": 900, "explicitBudgetMs": 50}, 900, 900),
        ({"explicitBudgetMs": 2000}, 150, 2000),
    ],
)
def test_an_explicit_request_never_has_less_time_than_a_keystroke(user: object, typing: int, explicit: int) -> None:
    settings, _ = read_settings(user)
    assert (settings.budget_for(explicit=False), settings.budget_for(explicit=True)) == (typing, explicit)


@pytest.mark.parametrize("user", ["text", 5, ["enable"], True, {"infill": "text"}])
def test_settings_that_are_no_object(user: object) -> None:
    read, warnings = read_settings(user)
    assert read == DEFAULTS
    assert "object" in warnings[0]


def test_a_key_in_the_place_of_its_variable_is_not_repeated() -> None:
    (warning,) = read_settings({"apiKeyVariable": "hf_abcSECRET"})[1]
    assert "SECRET" not in warning


LANGUAGES = [
    ({"*": True}, "python", True),
    ({}, "python", True),
    ({"*": False, "go": True}, "python", False),
    ({"*": False, "go": True}, "go", True),
    ({"*": True, "markdown": False}, "markdown", False),
]


@pytest.mark.parametrize(("languages", "language", "expected"), LANGUAGES)
def test_languages(languages: dict[str, bool], language: str, expected: bool) -> None:
    assert ServerSettings(languages=languages).allows_language(language) is expected


EXCLUDED = [
    ("file:///w/.env", DEFAULT_EXCLUDES, True),
    ("file:///w/deep/.env.production", DEFAULT_EXCLUDES, True),
    ("file:///w/.env.example", DEFAULT_EXCLUDES, False),
    ("file:///w/certificate.pem", DEFAULT_EXCLUDES, True),
    ("file:///elsewhere/id_rsa.pub", DEFAULT_EXCLUDES, True),
    ("file:///home/me/.ssh/config", DEFAULT_EXCLUDES, True),
    ("file:///w/config/secrets.yaml", DEFAULT_EXCLUDES, True),
    ("file:///w/environment.py", DEFAULT_EXCLUDES, False),
    ("file:///w/prod.env", DEFAULT_EXCLUDES, True),
    ("file:///w/.ENV", DEFAULT_EXCLUDES, True),
    ("file:///w/.env.Sample", DEFAULT_EXCLUDES, False),
    ("file:///w/.envrc", DEFAULT_EXCLUDES, True),
    ("file:///home/me/.git-credentials", DEFAULT_EXCLUDES, True),
    ("file:///w/terraform.tfvars", DEFAULT_EXCLUDES, True),
    ("file:///w/terraform.tfstate.backup", DEFAULT_EXCLUDES, True),
    ("file:///w/main.tf", DEFAULT_EXCLUDES, False),
    ("file:///home/me/.Renviron", DEFAULT_EXCLUDES, True),
    ("file:///home/me/.kube/config", DEFAULT_EXCLUDES, True),
    ("file:///w/kube/config", DEFAULT_EXCLUDES, False),
    ("file:///home/me/.docker/config.json", DEFAULT_EXCLUDES, True),
    ("file:///w/config.json", DEFAULT_EXCLUDES, False),
    ("file:///w/Service-Account-prod.json", DEFAULT_EXCLUDES, True),
    ("file:///w/.my.cnf", DEFAULT_EXCLUDES, True),
    ("file:///w/release.JKS", DEFAULT_EXCLUDES, True),
    ("file:///w/A.PY", ("*.py",), False),  # the user's patterns are as written
    ("file:///w/keys.py", DEFAULT_EXCLUDES, False),
    ("file:///w/a%20b/%2Eenv", DEFAULT_EXCLUDES, True),
    ("file:///c%3A/w/.env", DEFAULT_EXCLUDES, True),
    ("vscode-notebook-cell:/w/.env#1", DEFAULT_EXCLUDES, True),
    ("untitled:Untitled-1", DEFAULT_EXCLUDES, False),
    ("", DEFAULT_EXCLUDES, False),
    ("file:///w/generated/a.py", ("/generated/",), True),  # anchored in the workspace folder
    ("file:///w/sub/generated/a.py", ("/generated/",), False),
    ("file:///w/a.py", ("*.py", "!a.py"), False),
    ("file:///w/a.py", (), False),
]


@pytest.mark.parametrize(("uri", "patterns", "expected"), EXCLUDED)
def test_excludes(uri: str, patterns: tuple[str, ...], expected: bool) -> None:
    assert is_excluded(uri, patterns, ("/w",)) is expected


ROOTS = [
    # a file, the workspace's folders, what the user excludes, whether it is left alone
    ("/home/me/.ssh/config", ["/home/me/.ssh"], [], True),
    ("/home/me/.aws/credentials", ["/home/me/.aws"], [], True),
    ("/home/me/.gnupg/private/a.py", ["/home/me/.gnupg/private"], [], True),
    ("/home/me/.ssh/config", ["/home/me/.ssh"], ["!.ssh/"], False),
    ("/home/me/private/a.py", ["/home/me/private"], ["private/"], False),  # the user's are for what lies inside
    ("/w/inner/generated/a.py", ["/w", "/w/inner"], ["/generated/"], True),  # the innermost folder counts
    ("/w/generated/a.py", ["/w/inner", "/w"], ["/generated/"], True),
]


@pytest.mark.parametrize(("path", "roots", "excludes", "expected"), ROOTS)
def test_a_folder_of_secrets_stays_one_when_it_is_the_workspace(
    path: str, roots: list[str], excludes: list[str], expected: bool
) -> None:
    patterns = (*DEFAULT_EXCLUDES, *excludes)
    assert is_excluded(f"file://{path}", patterns, tuple(roots)) is expected


ADDED = [
    # what the user excludes, a file, whether it is left alone
    (["*.sql"], "dump.sql", True),
    (["*.sql"], ".env", True),
    (["*.sql"], ".ssh/config", True),
    (["*.sql"], "a.py", False),
    ([], "server.pem", True),
    (["!*.pem"], "server.pem", False),
    (["!*.pem"], "server.key", True),
    (["!.ssh/"], ".ssh/config", False),
    (["!.env.test"], ".env.test", False),
]


@pytest.mark.parametrize(("excludes", "path", "expected"), ADDED)
def test_excludes_are_added_to_those_of_secrets(excludes: list[str], path: str, expected: bool) -> None:
    settings, warnings = read_settings({"excludes": excludes})
    assert (is_excluded(f"file:///w/{path}", settings.excludes, ("/w",)), warnings) == (expected, ())


def test_a_symbolic_link_counts_as_what_it_points_to(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text("TOKEN=1")
    (tmp_path / "plain.txt").write_text("text")
    for name, target in (("settings.txt", ".env"), ("notes.txt", "plain.txt")):
        (tmp_path / name).symlink_to(tmp_path / target)
    root = (str(tmp_path),)
    assert is_excluded((tmp_path / "settings.txt").as_uri(), DEFAULT_EXCLUDES, root)
    assert not is_excluded((tmp_path / "notes.txt").as_uri(), DEFAULT_EXCLUDES, root)


def test_patterns_that_are_none() -> None:
    assert bad_patterns(DEFAULT_EXCLUDES) == []
    assert bad_patterns(["ok", "!", "build-[9-0]/"]) == ["!", "build-[9-0]/"]
    assert is_excluded("file:///w/ok", ("!", "[z-a]", "ok"), ("/w",))


def request_at(marked: str, **options: object):
    left, right = marked.split("│")
    snapshot = Documents().open("file:///w/a.py", "python", left + right)
    place = (left.count("\n"), len(left) - left.rfind("\n") - 1)
    return build_request(snapshot, place, DEFAULTS, **options)


def test_a_request_holds_both_sides_hole_and_drafts() -> None:
    request = request_at("total = compute(alpha, beta)\n\nother = compute(alp│)\n")
    assert request.prefix.endswith("other = compute(alp")
    assert request.suffix == ")\n"
    assert (request.language, request.hole.closers, request.candidates) == ("python", ")", 4)
    assert [draft.text for draft in request.drafts] == ["ha, beta"]


def test_a_request_tells_from_where_on_the_user_is_shown_something() -> None:
    snapshot = Documents().open("file:///w/a.py", "python", "x = \n")
    quiet = ServerSettings(eagerness=Eagerness.QUIET)
    number = replace(quiet, show_threshold=0.4)
    found = [build_request(snapshot, (0, 4), settings).show_from for settings in (DEFAULTS, quiet, number)]
    assert found == [Eagerness.BALANCED, Eagerness.QUIET, 0.4]


def test_equal_places_give_equal_requests_whether_parsed_or_not() -> None:
    documents = Documents()
    first = documents.open("file:///w/a.py", "python", "def f(a):\n    return a\n")
    again = documents.open("file:///w/a.py", "python", "def f(a):\n    return a\n")
    assert build_request(first, (1, 11), DEFAULTS) == build_request(again, (1, 11), DEFAULTS)


def test_other_open_files_of_the_language_are_searched() -> None:
    documents = Documents()
    documents.open("file:///w/b.py", "python", "connection = open_connection(host, port)\n")
    documents.open("file:///w/c.md", "markdown", "connection = open_connection(markdown)\n")
    snapshot = documents.open("file:///w/a.py", "python", "connection = open_connection(")
    request = build_request(snapshot, (0, 29), DEFAULTS, documents.snapshots())
    assert [draft.text for draft in request.drafts] == ["host, port)"]


def test_what_is_excluded_is_not_shown_in_other_files_either() -> None:
    _, session = create_server()
    session.workspace.settings = ServerSettings(languages={"*": True, "markdown": False})
    for uri, language in (("a.py", "python"), ("secrets.py", "python"), ("b.md", "markdown"), ("c.py", "python")):
        session.workspace.documents.open(f"file:///w/{uri}", language, "text")
    here = session.workspace.documents.open("file:///w/d.py", "python", "text")
    assert [snapshot.uri[-4:] for snapshot in session.workspace.neighbours(here)] == ["d.py", "c.py", "a.py"]


def test_only_so_much_is_searched() -> None:
    far = "needle = thread_through(eye)\n" + "pass\n" * BEFORE_CHARS
    assert request_at(far + "needle = thread_through(│").drafts == ()


def test_a_request_holds_what_lies_beyond_its_windows() -> None:
    above, below = ("".join(f"{side}_{number} = 1\r\n" for number in range(9000)) for side in ("above", "below"))
    request = request_at(f"{above}here = │\r\n{below}")
    before, after = request.wider_context
    assert len(before) == len(after) == WIDER_CONTEXT_CHARS
    assert f"{above}here = ".endswith(before + request.prefix)
    assert f"\r\n{below}".startswith(request.suffix + after)
    assert request_at("x = │\n").wider_context == ("", "")


def test_a_selected_completion_goes_before_the_hole() -> None:
    snapshot = Documents().open("file:///w/a.py", "python", "x = [pri]\n")
    edited = snapshot_after(snapshot, TextChange("print", (0, 5), (0, 8)))
    request = build_request(edited, edited.cursor, DEFAULTS)
    assert (request.prefix, request.suffix) == ("x = [print", "]\n")
    assert snapshot.lines == ("x = [pri]\n", "")
