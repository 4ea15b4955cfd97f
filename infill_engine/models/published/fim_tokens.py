"""The prompt format of each known fill-in-the-middle model: token names and their order. Needs no torch.

The order is that of the model's training, from its card or report: Qwen2.5-Coder (arXiv 2409.12186), StarCoder2 (arXiv
2402.19173), DeepSeek-Coder (arXiv 2401.14196), CodeGemma (arXiv 2406.11409) and Mellum (arXiv 2510.05788), the only one
whose suffix comes first.
"""

import re
from dataclasses import dataclass

PREFIX, SUFFIX = "{prefix}", "{suffix}"  # placeholders for the two sides in a prompt
_OTHER_CHARACTERS = re.compile(r"[^a-z0-9]")


@dataclass(frozen=True, slots=True)
class FimTokens:
    """The facts about one family.

    `prompt` is the order of its tokens, by name, and of PREFIX and SUFFIX; the last item is a token. `end` and `ends`
    are the tokens that end a text; so do the tokens of the prompt. `begin` is the token that starts every text, if the
    model has one. `called` are names of models with this format.
    """

    name: str
    prompt: tuple[str, ...]
    end: str
    ends: tuple[str, ...] = ()
    begin: str = ""
    called: tuple[str, ...] = ()

    @property
    def whole(self) -> tuple[str, ...]:
        """The prompt including its `begin` token."""
        return (self.begin, *self.prompt) if self.begin else self.prompt

    @property
    def tokens(self) -> tuple[str, ...]:
        """The special tokens of the whole prompt."""
        return tuple(part for part in self.whole if part not in (PREFIX, SUFFIX))


QWEN_CODER = FimTokens(
    "qwen2.5-coder",
    ("<|fim_prefix|>", PREFIX, "<|fim_suffix|>", SUFFIX, "<|fim_middle|>"),
    "<|endoftext|>",
    ("<|fim_pad|>", "<|repo_name|>", "<|file_sep|>", "<|im_end|>"),
    called=("qwen3-coder", "codeqwen"),
)
STARCODER = FimTokens(
    "starcoder2",
    ("<fim_prefix>", PREFIX, "<fim_suffix>", SUFFIX, "<fim_middle>"),
    "<|endoftext|>",
    ("<fim_pad>", "<file_sep>", "<repo_name>"),
    called=("starcoder",),
)
DEEPSEEK_CODER = FimTokens(
    "deepseek-coder",
    ("<｜fim▁begin｜>", PREFIX, "<｜fim▁hole｜>", SUFFIX, "<｜fim▁end｜>"),
    "<｜end▁of▁sentence｜>",
    ("<|EOT|>",),
    begin="<｜begin▁of▁sentence｜>",
)
CODEGEMMA = FimTokens(
    "codegemma",
    ("<|fim_prefix|>", PREFIX, "<|fim_suffix|>", SUFFIX, "<|fim_middle|>"),
    "<eos>",
    ("<|file_separator|>", "<end_of_turn>"),
    begin="<bos>",
)
MELLUM = FimTokens(
    "mellum",
    ("<fim_suffix>", SUFFIX, "<fim_prefix>", PREFIX, "<fim_middle>"),
    "<|endoftext|>",
    ("<fim_pad>", "<filename>", "<reponame>"),
)
KNOWN = (QWEN_CODER, STARCODER, DEEPSEEK_CODER, CODEGEMMA, MELLUM)


def known_by_name(model: str) -> FimTokens | None:
    """Return the format of a model by the family's name in it (`Qwen/Qwen2.5-Coder-7B`); None if unknown."""
    plain = _plain(model)
    return next(
        (tokens for tokens in KNOWN if any(_plain(name) in plain for name in (tokens.name, *tokens.called))), None
    )


def _plain(name: str) -> str:
    return _OTHER_CHARACTERS.sub("", name.lower())
