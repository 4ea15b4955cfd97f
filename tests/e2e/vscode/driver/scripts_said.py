"""What the scripted model says in these tests."""

import json
from pathlib import Path

SCRIPT = {
    "rules": [
        {"before": "import os\nos.getcwd()\n\nx = ", "candidates": ["below(1)"]},
        {"before": "x = ", "candidates": ["alpha(1)", "beta(2, 3)", "gamma"]},
        {"before": "'שלום ' + ", "candidates": ["שם + 'a'"]},
        {"before": "'你好' + ", "candidates": ["'世界'"]},
        {"before": "'👩‍👩‍👧' + ", "candidates": ["'👍🏽' + tail"]},
        {"before": "words = ", "candidates": ["one two three"]},
        {"before": "value = printer", "candidates": ["(text)"]},
        {"before": "join(", "candidates": ["left, right", "left"]},
        {"before": "area(", "candidates": ["box.width, box.height", "box.height, box.width", "box"]},
        {"before": "lines():\n    ", "candidates": ["total = 0\n    return total"]},
        {"before": "if w:\n", "candidates": ["    one()"]},
        {"before": "lines():\r\n    ", "candidates": ["total = 0\n    return total"]},
    ]
}


def scripted(folder: Path, name: str, **more: object) -> str:
    """A model that says what `SCRIPT` says."""
    path = folder / f"{name}.json"
    path.write_text(json.dumps({**SCRIPT, **more}))
    return f"scripted:{path}"
