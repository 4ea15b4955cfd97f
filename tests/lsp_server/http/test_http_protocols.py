"""Each client's request gets the answer that the client reads."""

import json
import re

from clients import ZED, cursortab, llama_vim, llama_vscode, minuet, ollama, tabby, zed, zed_ollama
from http_server import Server

TEXT = "a = 1\nx = │\nb = 2\n"


def test_llama_vim(server: Server) -> None:
    answer = server.post("/infill", llama_vim(TEXT))
    assert re.search(r'"content"\s*:"', answer.body.decode())  # what llama.vim looks for before it decodes
    assert b"\n" not in answer.body  # Vim hands the plugin one line at a time
    assert answer.headers["content-type"] == "application/json"
    found = answer.json
    assert found.pop("content") == "alpha(1)"
    assert found.pop("truncated") is False
    assert sorted(found) == sorted([*llama_vim(TEXT)["response_fields"][1:-2], "tokens_cached"])
    assert all(isinstance(value, int | float) for value in found.values())
    warm_up = {
        "n_predict": 0,
        "samplers": [],
        "response_fields": [""],
        "input_extra": [{"text": "t", "filename": "a.py"}],
    }
    assert server.post("/infill", warm_up).json == {}


def test_llama_vscode(server: Server) -> None:
    found = server.post("/infill", llama_vscode(TEXT)).json
    assert [each["content"] for each in found] == ["alpha(1)", "beta(2)", "gamma"]
    assert all(each["generation_settings"]["n_ctx"] > 0 and each["timings"]["predicted_ms"] > 0 for each in found)
    assert server.post("/infill", llama_vscode(TEXT, n_cmpl=1)).json["content"] == "alpha(1)"
    assert [each["content"] for each in server.post("/infill", llama_vscode("nothing = │\n")).json] == [""]
    # A blank line's indentation is known from `n_indent` only, and the client removes it from what it is sent.
    indented = server.post("/infill", llama_vscode("def f():\n    │\n", language="python")).json
    assert indented[0]["content"] == "    one = 1\n    return one"


def test_llama_cpp_s_other_addresses(server: Server) -> None:
    assert server.get("/health").json == {"status": "ok"}
    assert server.get("/props").json["default_generation_settings"]["n_ctx"] > 0
    assert server.get("/v1/models").json["data"][0]["object"] == "model"


def test_streams_of_infill(server: Server) -> None:
    (event,) = server.post("/infill", llama_vim(TEXT, stream=True)).events
    assert (event["content"], event["stop"]) == ("alpha(1)", True)


def test_minuet(server: Server) -> None:
    """It asks three times for three texts, and reads one from each answer."""
    found = []
    for _ in range(3):
        answer = server.post("/v1/completions", minuet(TEXT))
        assert answer.headers["content-type"].startswith("text/event-stream")
        found.append("".join(event["choices"][0]["text"] for event in answer.events))
        assert answer.events[-1]["choices"][0]["finish_reason"] == "stop"
    assert found == ["alpha(1)", "beta(2)", "gamma"]
    lines = server.post("/v1/completions", minuet("def f():\n    │\n"))  # the first line names the language
    assert lines.events[0]["choices"][0]["text"] == "one = 1\n    return one"
    empty = server.post("/v1/completions", minuet("nothing = │\n"))
    assert [event["choices"][0]["text"] for event in empty.events] == ["", ""]
    assert b"error" not in empty.body  # which minuet would show


def test_openai(server: Server) -> None:
    same = [server.post("/v1/completions", minuet(TEXT, stream=False, temperature=0)).json for _ in range(2)]
    assert [each["choices"][0]["text"] for each in same] == ["alpha(1)"] * 2
    several = server.post("/v1/completions", minuet(TEXT, stream=False, n=2, stop=["("])).json
    assert [choice["text"] for choice in several["choices"]] == ["alpha", "beta"]
    assert [choice["index"] for choice in several["choices"]] == [0, 1]
    streamed = server.post("/v1/completions", minuet(TEXT, n=2)).events
    assert [(event["choices"][0]["index"], event["choices"][0]["text"]) for event in streamed] == [
        *[(0, "alpha(1)"), (0, "")],
        *[(1, "beta(2)"), (1, "")],
    ]


def test_zed(server: Server) -> None:
    found = server.send("POST", "/v1/completions", zed("y = '😀'\nx = │\nrest"), ZED).json
    assert (found["choices"][0]["text"], found["choices"][0]["finish_reason"]) == ("alpha(1)", "stop")
    assert {"id", "object", "created", "model", "usage"} <= set(found)  # Zed fails without any of them
    assert set(found["usage"]) == {"prompt_tokens", "completion_tokens", "total_tokens"}
    found = server.send("POST", "/api/generate", zed_ollama("x = │\nrest"), ZED).json
    assert found["response"] == "alpha(1)"
    assert found["created_at"]


def test_cursortab(server: Server) -> None:
    others = (("other.py", "def other(): ...\n"), ("context/diagnostics", "line 1: nothing\n"))
    found = server.post("/v1/completions", cursortab("x = │\n", "src/own.py", others)).json
    assert (found["choices"][0]["text"], found["choices"][0]["finish_reason"]) == ("alpha(1)", "stop")


def test_tabby(server: Server) -> None:
    health = server.get("/v1/health").json
    assert health["model"]
    assert health["version"]["git_describe"].startswith("infill-ls ")
    found = server.post("/v1/completions", tabby("x = │\n")).json
    assert found["choices"] == [{"index": 0, "text": "alpha(1)"}]
    # Asked to suggest explicitly, the plugin asks again with a temperature.
    texts = [
        server.post("/v1/completions", tabby("x = │\n", temperature=0.8)).json["choices"][0]["text"] for _ in "123"
    ]
    assert texts == ["alpha(1)", "beta(2)", "gamma"]
    assert server.post("/v1/completions", tabby("nothing = │\n")).json["choices"] == []
    event = {"type": "select", "completion_id": found["id"], "choice_index": 0, "view_id": "v", "elapsed": 12}
    assert server.post("/v1/events?select_kind=line", event).status == 200
    assert 'infill_http_events_total{type="select"} 1.0' in server.get("/metrics").body.decode()


def test_ollama(server: Server) -> None:
    answer = server.post("/api/generate", ollama(TEXT))
    assert answer.headers["content-type"] == "application/x-ndjson"
    first, last = map(json.loads, answer.body.splitlines())
    assert (first["response"], first["done"]) == ("alpha(1)", False)
    assert (last["response"], last["done"], last["done_reason"]) == ("", True, "stop")
    whole = server.post("/api/generate", ollama(TEXT, stream=False)).json
    assert (whole["response"], whole["done"]) == ("alpha(1)", True)
    assert whole["total_duration"] > 0
    assert server.post("/api/generate", {"model": "m"}).status == 200  # only loads the model


def test_characters_outside_the_basic_plane_and_line_ends(server: Server) -> None:
    assert server.post("/infill", llama_vim("s = 😀 + │\r\nb = 2\r\n")).json["content"] == "'ünï'"
    assert server.post("/infill", llama_vim("def f():\r\n    │\r\n")).json["content"] == ""


def test_a_large_document(server: Server) -> None:
    lines = "".join(f"value_{number} = {number}\n" for number in range(20_000))
    assert server.post("/infill", llama_vim(f"{lines}x = │\n{lines}")).json["content"] == "alpha(1)"


def test_the_description(server: Server) -> None:
    described = server.get("/openapi.json").json
    assert {"/infill", "/v1/completions", "/api/generate", "/health"} <= set(described["paths"])
    for path, name in (("/v1/edit/completions", "EditRequest"), ("/v1/events", "Event"), ("/feedback", "Event")):
        schema = described["paths"][path]["post"]["requestBody"]["content"]["application/json"]["schema"]
        assert schema["$ref"].rpartition("/")[2].endswith(name)
    assert "t_max_predict_ms" in described["components"]["schemas"]["InfillBody"]["properties"]
