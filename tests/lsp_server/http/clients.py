"""The requests of other people's clients, with the fields that their sources send. │ is the cursor."""

import json
from typing import Any

ZED = {"Content-Type": "application/json"}  # further headers depend on its HTTP library
CURSOR = "│"


def llama_vim(marked: str, extra: tuple[tuple[str, str], ...] = (), **others: Any) -> dict[str, Any]:
    """llama.vim a1c8e6e: `llama#fim`. The prefix ends with a line break, the prompt is the line so far."""
    before, after = marked.split(CURSOR)
    prefix, _, prompt = before.rpartition("\n")
    return {
        "id_slot": 0,
        "input_prefix": f"{prefix}\n",
        "input_suffix": after,
        "input_extra": [{"text": text, "time": [1, 2], "filename": name} for name, text in extra],
        "prompt": prompt,
        "n_predict": 128,
        "stop": [],
        "n_indent": len(prompt) - len(prompt.lstrip()),
        "top_k": 40,
        "top_p": 0.9,
        "samplers": ["top_k", "top_p", "infill"],
        "stream": False,
        "cache_prompt": True,
        "t_max_prompt_ms": 500,
        "t_max_predict_ms": 5000,
        "response_fields": [
            "content",
            "timings/prompt_n",
            "timings/prompt_ms",
            "timings/prompt_per_token_ms",
            "timings/prompt_per_second",
            "timings/predicted_n",
            "timings/predicted_ms",
            "timings/predicted_per_token_ms",
            "timings/predicted_per_second",
            "truncated",
            "tokens_cached",
        ],
        "model": "",
        **others,
    }


def llama_vscode(marked: str, **others: Any) -> dict[str, Any]:
    """llama.vscode 0.0.63: `createRequestPayload`. The prompt of a blank line is empty."""
    asked = llama_vim(marked, **others)
    del asked["response_fields"], asked["stop"], asked["model"]
    if not asked["prompt"].strip():
        asked["prompt"] = ""
    return {**asked, "n_cmpl": others.get("n_cmpl", 3)}


def minuet(marked: str, **others: Any) -> dict[str, Any]:
    """minuet 479487c: `openai_fim_compatible` with `suffix`."""
    before, after = marked.split(CURSOR)
    return {
        "model": "m",
        "stream": True,
        "max_tokens": 56,
        "top_p": 0.9,
        "prompt": f"# language: python\n{before}",
        "suffix": after,
        **others,
    }


def zed(marked: str) -> bytes:
    """Zed 09512d2: `fim.rs`, provider `open_ai_compatible_api` with the format `qwen`; the whole body."""
    return serde({"model": "default", "prompt": _qwen(marked), "max_tokens": 128, "stop": ZED_STOPS})


def zed_ollama(marked: str) -> bytes:
    """The same with the provider `ollama`, as `make_request` of `ollama.rs` sends it."""
    options = {"num_predict": 128, "temperature": 0.2, "stop": ZED_STOPS}
    asked = {"model": "qwen2.5-coder", "prompt": _qwen(marked), "raw": True, "stream": False, "options": options}
    return serde(asked)


ZED_STOPS = ["<|endoftext|>", "<|fim_prefix|>", "<|fim_middle|>", "<|fim_suffix|>"]


def _qwen(marked: str) -> str:
    before, after = marked.split(CURSOR)
    return f"<|fim_prefix|>{before}<|fim_suffix|>{after}<|fim_middle|>"


def serde(content: object) -> bytes:
    """What Rust's serde_json writes."""
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode()


def cursortab(marked: str, path: str, others: tuple[tuple[str, str], ...]) -> dict[str, Any]:
    """cursortab.nvim b9f9b0a: `fim` with the tokens of a repository."""
    files = "".join(f"<|file_sep|>{name}\n{text}\n" for name, text in others)
    sides = "<|fim_prefix|>" + marked.replace(CURSOR, "<|fim_suffix|>") + "<|fim_middle|>"
    prompt = f"<|repo_name|>project\n{files}<|file_sep|>{path}\n{sides}"
    return {
        "model": "m",
        "prompt": prompt,
        "temperature": 0.0,
        "max_tokens": 64,
        "n": 1,
        "echo": False,
        "stream": False,
    }


def tabby(marked: str, **others: Any) -> dict[str, Any]:
    """tabby-agent 21b2904: `fetchCompletion`."""
    before, after = marked.split(CURSOR)
    segments = {
        "prefix": before,
        "suffix": after,
        "filepath": "src/example.py",
        "git_url": "git@host:project.git",
        "declarations": [{"filepath": "src/other.py", "body": "def other(): ..."}],
        "relevant_snippets_from_changed_files": [{"filepath": "src/new.py", "body": "n = 1", "score": 1.5}],
    }
    return {"language": "python", "segments": segments, "user": "u", **others}


def ollama(marked: str, **others: Any) -> dict[str, Any]:
    """Ollama's documented request."""
    before, after = marked.split(CURSOR)
    return {"model": "m", "prompt": before, "suffix": after, "options": {"temperature": 0, "num_predict": 64}, **others}
