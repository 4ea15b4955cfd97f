"""Prompts with the tokens of each known family."""

import pytest

from lsp_server.http.protocols.sentinels import split_prompt

BEFORE, AFTER = "def f(a):\n    return ", "\n\n\nf(1)\n"


@pytest.mark.parametrize(
    "prompt",
    [
        f"<|fim_prefix|>{BEFORE}<|fim_suffix|>{AFTER}<|fim_middle|>",  # Qwen, CodeGemma
        f"<bos><|fim_prefix|>{BEFORE}<|fim_suffix|>{AFTER}<|fim_middle|>",
        f"<fim_prefix>{BEFORE}<fim_suffix>{AFTER}<fim_middle>",  # StarCoder, Granite
        f"<fim_suffix>{AFTER}<fim_prefix>{BEFORE}<fim_middle>",  # Mellum
        f"<｜begin▁of▁sentence｜><｜fim▁begin｜>{BEFORE}<｜fim▁hole｜>{AFTER}<｜fim▁end｜>",  # DeepSeek-Coder
        f"<PRE> {BEFORE} <SUF>{AFTER} <MID>",  # Code Llama
        f"[SUFFIX]{AFTER}[PREFIX]{BEFORE}",  # Codestral
        f"<|code_prefix|>{BEFORE}<|code_suffix|>{AFTER}<|code_middle|>",  # GLM
    ],
)
def test_families(prompt: str) -> None:
    assert split_prompt(prompt) == (BEFORE, AFTER, (), "")


def test_files_before_the_document() -> None:
    sides = "<|fim_prefix|>b<|fim_suffix|>a<|fim_middle|>"
    files = "<|repo_name|>project\n<|file_sep|>one.py\n1\n<|file_sep|>two.py\n2\n"
    pieces = (("two.py", "2\n"), ("one.py", "1\n"))  # the last is nearest
    assert split_prompt(files + sides) == ("b", "a", pieces, "")
    assert split_prompt(f"{files}<|file_sep|>own.py\n{sides}") == ("b", "a", pieces, "own.py")
    assert split_prompt(f"Context:\n\nx = 1\n{sides}") == ("b", "a", (("", "Context:\n\nx = 1\n"),), "")


@pytest.mark.parametrize(
    "prompt", ["", "x = ", "<|fim_prefix|>b", "<|fim_prefix|>b<|fim_middle|>", "[SUFFIX]", "a [PREFIX] b"]
)
def test_a_prompt_without_all_tokens_is_text(prompt: str) -> None:
    assert split_prompt(prompt) == (prompt, "", (), "")
