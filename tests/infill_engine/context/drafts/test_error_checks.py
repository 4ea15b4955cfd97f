"""The check of an error in Go, at the cursor │."""

import pytest

from infill_engine.context.drafts.error_checks import error_check
from infill_engine.context.drafts.find_drafts import find_drafts
from infill_engine.context.hole import hole_at


def function(results: str, line: str = "\t│") -> str:
    return f"func load(p string) {results} {{\n\tb, err := os.ReadFile(p)\n{line}\n\treturn b, nil\n}}\n"


def check(marked: str) -> str:
    before, _, after = marked.partition("│")
    return error_check(before, after, "go")


@pytest.mark.parametrize(
    ("results", "returned"),
    [
        ("([]byte, error)", "nil, err"),
        ("(int, string, bool, error)", '0, "", false, err'),
        ("(n, m int, err error)", "0, 0, err"),
        ("(*Config, error)", "nil, err"),
        ("(pkg.Config, error)", "pkg.Config{}, err"),
        ("(map[string]int, interface{}, error)", "nil, nil, err"),
        ("error", "err"),
        ("", None),
        ("int", None),
    ],
)
def test_results(results: str, returned: str | None) -> None:
    whole = f"if err != nil {{\n\t\treturn {returned}\n\t}}"
    assert check(function(results)) == (whole if returned else "")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("│", "\tif err != nil {\n\t\treturn err\n\t}"),
        ("\tif │", "err != nil {\n\t\treturn err\n\t}"),
        ("\tfor │", ""),
        ("\tif err != nil {\n\t\t│", ""),
        ("\t│\n\tif err != nil {\n\t\treturn err\n\t}", ""),
        ("\t│\n\treturn err", ""),
        ("\tx := 1\n\t│", ""),
    ],
)
def test_places(line: str, expected: str) -> None:
    assert check(function("error", line)) == expected


def test_a_test_ends() -> None:
    text = "func TestLoad(t *testing.T) {\n\terr := load()\n\t│\n}\n"
    assert check(text) == "if err != nil {\n\t\tt.Fatal(err)\n\t}"


def test_it_comes_whole() -> None:
    before, _, after = function("error").partition("│")
    hole = hole_at(before, after, "go")
    first = find_drafts(before, after, (before, after), hole, "go")[0]
    assert (hole.max_lines, first.text, first.sure > 0.5) == (3, "if err != nil {\n\t\treturn err\n\t}", True)
    assert error_check(before, after, "python") == ""
