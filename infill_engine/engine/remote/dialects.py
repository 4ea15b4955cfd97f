"""Requests to servers, and how the pieces of their answers are read."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from infill_engine.engine.remote.address import Address, Api
from infill_engine.models.published.fim_tokens import PREFIX, SUFFIX, FimTokens
from infill_engine.text.lines import last_line

UNFINISHED: tuple[object, ...] = (None, "", "null")  # finish reasons that servers send before they have finished
# How to request log-probabilities of tokens: the form of vLLM and OpenAI, the form of mlx-lm, and not at all.
LOGPROBS: tuple[object, ...] = (1, True, None)


@dataclass(frozen=True, slots=True)
class FimRequest:
    """A request for one text between two others; at temperature 0 the most probable one."""

    prefix: str
    suffix: str
    one_line: bool
    max_tokens: int
    temperature: float
    seed: int


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of an answer: text, log-probabilities of its tokens if reported, and whether it is the last piece."""

    text: str
    logprobs: tuple[float, ...] = ()
    last: bool = False


class Dialect(Protocol):
    """One kind of API. `simplify` drops a detail that a server may have refused; False if none is left to drop."""

    @property
    def path(self) -> str: ...

    def body(self, request: FimRequest) -> dict[str, object]: ...

    def chunk(self, said: Mapping[str, Any]) -> Chunk:
        """Parse one event of the answer. Raises ValueError, TypeError or LookupError if it is not valid."""
        ...

    def simplify(self) -> bool: ...


def dialect_of(address: Address) -> Dialect:
    """Return the dialect of a server."""
    return Llama(address) if address.api is Api.LLAMA else OpenAI(address)


class OpenAI:
    """`POST …/completions`. The prompt is in the format of the model's family; if unknown, a `suffix` is sent."""

    def __init__(self, address: Address) -> None:
        self.path = f"{address.path}/completions"
        self._model = address.model
        self._fim = address.fim
        self._logprobs = 0

    def body(self, request: FimRequest) -> dict[str, object]:
        asked: dict[str, object] = {
            "model": self._model,
            "max_tokens": request.max_tokens,
            "temperature": request.temperature,
            "seed": request.seed,
            "stream": True,
        }
        if self._fim is None:
            asked |= {"prompt": request.prefix, "suffix": request.suffix}
        else:
            asked["prompt"] = prompt_of(self._fim, request)
        if request.one_line:
            asked["stop"] = ["\n"]
        if LOGPROBS[self._logprobs] is not None:
            asked["logprobs"] = LOGPROBS[self._logprobs]
        return asked

    def chunk(self, said: Mapping[str, Any]) -> Chunk:
        if not said["choices"]:  # the usage statistics at the end
            return Chunk("")
        choice = said["choices"][0]
        told = choice.get("logprobs") or {}
        logprobs = told.get("token_logprobs")
        if logprobs is None:
            logprobs = [token["logprob"] for token in told.get("content") or ()]
        text = "" if choice["text"] is None else _text(choice["text"])
        return Chunk(text, _numbers(logprobs), choice.get("finish_reason") not in UNFINISHED)

    def simplify(self) -> bool:
        self._logprobs += 1
        if self._logprobs < len(LOGPROBS):
            return True
        self._logprobs = 0  # they were not the reason for the refusal
        return False


class Llama:
    """llama.cpp's `POST /infill`. The line so far is its `prompt`, which comes last.

    So the server keeps what it has computed of both sides while the line is typed.
    """

    def __init__(self, address: Address) -> None:
        self.path = f"{address.path}/infill"
        self._model = address.model

    def body(self, request: FimRequest) -> dict[str, object]:
        line = last_line(request.prefix)
        asked: dict[str, object] = {
            "input_prefix": request.prefix.removesuffix(line),
            "input_suffix": request.suffix,
            "prompt": line,
            "n_predict": request.max_tokens,
            "temperature": request.temperature,
            "seed": request.seed,
            "n_probs": 1,
            "cache_prompt": True,
            "stream": True,
        }
        if request.one_line:
            asked["stop"] = ["\n"]
        return asked | ({"model": self._model} if self._model else {})

    def chunk(self, said: Mapping[str, Any]) -> Chunk:
        told = [token["logprob"] for token in said.get("completion_probabilities") or () if "logprob" in token]
        return Chunk(_text(said["content"]), _numbers(told), bool(said.get("stop")))

    def simplify(self) -> bool:
        return False


def prompt_of(fim: FimTokens, request: FimRequest) -> str:
    """Return the two sides between the family's tokens. Servers themselves add the tokens that every text begins with.

    A server cannot distinguish a token from its name in the user's code, so the sides are cut at any such name.
    """
    sides = {PREFIX: request.prefix, SUFFIX: request.suffix}
    for name in (*fim.tokens, fim.end, *fim.ends):
        sides[PREFIX] = sides[PREFIX].rpartition(name)[2]
        sides[SUFFIX] = sides[SUFFIX].partition(name)[0]
    return "".join(sides.get(part, part) for part in fim.prompt)


def _text(value: object) -> str:
    match value:
        case str(text):
            return text
    raise ValueError


def _numbers(values: list[Any]) -> tuple[float, ...]:
    numbers = tuple(float(value) for value in values if value is not None)
    return numbers if all(map(math.isfinite, numbers)) else ()
