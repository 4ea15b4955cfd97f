"""On a CPU, the default model answers in a process that never imports torch."""

import subprocess
import sys

PROGRAM = """
import sys
from infill_engine import Deadline, InfillRequest, load_engine
engine = load_engine("default", device="cpu")
engine.prefetch(InfillRequest("total = sum(", ")\\n"), Deadline.after_ms(20_000))
answer = engine.answer(InfillRequest("total = sum(val", ")\\n"), Deadline.after_ms(20_000))
assert engine.profile.startswith("int8"), engine.profile
assert answer.candidates
assert "torch" not in sys.modules
"""


def test_the_default_model_needs_no_torch() -> None:
    subprocess.run([sys.executable, "-c", PROGRAM], check=True)
