"""*Infill: Choose Eagerness* in a real VS Code: what it offers, and that the server goes by the choice at once."""

from driver.workbench import Workbench


def rows(code: Workbench) -> list[str]:
    """The levels as they are offered now."""
    code.command("Infill: Choose Eagerness")
    code.until(lambda: len(code.rows()) == 3, "levels", code.rows)
    return list(code.rows())


def choose(code: Workbench, level: str) -> None:
    offered = zip(rows(code), ("quiet", "balanced", "eager"), strict=True)
    assert all(row.startswith(name) for row, name in offered)
    code.type_text(level)
    code.press("Enter")

    def told() -> bool:
        now = [row for row in rows(code) if "now" in row]
        code.press("Escape")
        return len(now) == 1 and now[0].startswith(level)

    code.until(told, f"the server to go by {level}")


def test_the_server_goes_by_the_level_that_is_chosen(code: Workbench) -> None:
    code.open("level.py", "x =│\n")
    choose(code, "eager")
    choose(code, "balanced")
    code.offered("after.py", "x =│\n", " ", "alpha(1)")
