"""While the model loads, text of the other files that clients send is offered, and health says so."""

from pathlib import Path

from clients import cursortab, llama_vim, tabby
from http_server import SCRIPT, Server, serving

CALL = "compute_the_sum_of_all_elements(values, weights)"
OTHER = f"def total(values, weights):\n    total_of_everything = {CALL}\n    return total_of_everything\n"
ASKED = "def other(values, weights):\n    total_of_everything = │\n"


def test_what_is_offered_while_the_model_loads(tmp_path: Path) -> None:
    with serving(tmp_path, script={**SCRIPT, "load_ms": 60_000}) as server:
        assert server.get("/health").status == 503
        assert server.get("/health").json["error"]["message"] == "Loading model"
        assert server.get("/v1/health").json["status"] == "loading"
        check_what_is_used(server)


def check_what_is_used(server: Server) -> None:
    assert server.post("/infill", llama_vim(ASKED, (("other.py", OTHER),))).json["content"] == CALL
    found = server.post("/v1/completions", cursortab(ASKED, "own.py", (("other.py", OTHER),))).json
    assert found["choices"][0]["text"] == CALL
    asked = tabby(ASKED)
    asked["segments"]["declarations"] = [{"filepath": "src/other.py", "body": OTHER}]
    assert server.post("/v1/completions", asked).json["choices"][0]["text"] == CALL
    # Text of files that hold secrets, or of another language, is not used.
    for name in (".env", "config/.env", "file:///home/user/.ssh/id_rsa", "C:\\Users\\me\\.aws\\credentials"):
        assert server.post("/infill", llama_vim(ASKED, ((name, OTHER),), language="python")).json["content"] == ""
    notes = (("notes.md", OTHER), ("other.py", "a = 1\n"), ("another.py", "b = 1\n"))
    assert server.post("/infill", llama_vim(ASKED, notes)).json["content"] == ""
    # Nor is a document that is excluded itself completed.
    asked["segments"]["filepath"] = "config/.env"
    assert server.post("/v1/completions", asked).json["choices"] == []
