"""What a plain installation does, which has neither torch nor transformers: here, importing them fails."""

import pkgutil
import subprocess
import sys
import tomllib
from pathlib import Path

REPOSITORY = Path(__file__).parents[3]
WITHOUT = "import sys\nsys.modules |= dict.fromkeys(['torch', 'transformers'])\n"
ANSWERS = """
from infill_engine import Deadline, InfillRequest, load_engine
engine = load_engine("default")
engine.prefetch(InfillRequest("total = sum(", ")\\n"), Deadline.after_ms(20_000))
answer = engine.answer(InfillRequest("total = sum(val", ")\\n"), Deadline.after_ms(20_000))
assert engine.profile.startswith("int8"), engine.profile
assert answer.candidates
"""
NOT_INSTALLED = ("lsp_server.http.ray_serve",)  # needs Ray


def run_without_torch(program: str) -> None:
    subprocess.run([sys.executable, "-c", WITHOUT + program], check=True)


def test_the_default_model_answers() -> None:
    run_without_torch(ANSWERS)


def test_modules_that_use_no_torch_can_be_imported() -> None:
    """Neither they nor what they import at once needs it. The contract checks only what they name themselves."""
    contracts = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    (contract,) = (each for each in contracts if each["name"] == "Torch stays where tensors live")
    names = [name for source in contract["source_modules"] for name in modules_in(source)]
    assert len(names) > 200
    run_without_torch("\n".join(f"import {name}" for name in names if name not in NOT_INSTALLED))


def modules_in(name: str) -> list[str]:
    """A module and all modules inside it, except programs."""
    folder = REPOSITORY / name.replace(".", "/")
    inside = [each.name for each in pkgutil.iter_modules([str(folder)])]
    return [name, *(each for one in inside if one != "__main__" for each in modules_in(f"{name}.{one}"))]
