"""*Infill: Choose Eagerness* in a real VS Code: a level takes the place of a number, and holds at once."""

from driver.workbench import Workbench


def test_a_level_holds_at_once(code: Workbench) -> None:
    code.configure(showThreshold=1)
    code.open("number.py", "x =│\n")
    code.type_text(" ")
    code.wait_for_status("Infill: not sure enough")
    code.command("Infill: Choose Eagerness")
    code.until(lambda: [row.split()[0] for row in code.rows()] == ["quiet", "balanced", "eager"], "levels", code.rows)
    code.type_text("eager")
    code.press("Enter")
    code.open("level.py", "x =│\n")
    code.type_text(" ")
    code.wait_for_ghost("alpha(1)")
    code.command("Infill: Choose Eagerness")
    code.until(lambda: any("eager" in row and "now" in row for row in code.rows()), "the level", code.rows)
    code.press("Escape")
