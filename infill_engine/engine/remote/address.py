"""The name of a remote engine, as a user writes it.

    openai:https://gpu.example.com/v1#Qwen/Qwen2.5-Coder-7B    an OpenAI-compatible /completions: vLLM, llama.cpp, …
    openai:http://localhost:8000/v1#coder?fim=starcoder2       a model whose name does not contain its family
    openai:http://localhost:11434/v1#coder?fim=suffix          a server that makes the prompt itself, as Ollama does
    llama:http://localhost:8012                                llama.cpp's /infill, which knows its model's tokens
    openai+unencrypted:http://gpu.lan:8000/v1#…                text and key are readable by anyone on the network path

Any other name is not a remote engine, so nothing is ever sent by default.
"""

import ipaddress
import re
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import SplitResult, urlsplit

from infill_engine.errors import InputError
from infill_engine.models.published.fim_tokens import KNOWN, FimTokens, known_by_name

UNENCRYPTED = "+unencrypted"
KEY_VARIABLE = "INFILL_API_KEY"
SUFFIX_FIELD = "suffix"  # instead of a family: the two sides are sent to the server unchanged
_NAME = re.compile(r"(?P<api>openai|llama)(?P<plain>\+unencrypted)?:(?P<url>.*)", re.DOTALL)
_MODEL = re.compile(r"(?P<model>.*?)(?:\?fim=(?P<fim>.*))?", re.DOTALL)
_SHOWABLE = re.compile(r"[\x21-\x7e]+")


class Api(StrEnum):
    """The API of a server."""

    OPENAI = "openai"  # POST …/completions
    LLAMA = "llama"  # POST …/infill


@dataclass(frozen=True, slots=True)
class Address:
    """A server and its model. `path` is the prefix of its paths; `fim` None means that it makes the prompt itself."""

    api: Api
    encrypted: bool
    host: str
    port: int
    path: str
    model: str
    fim: FimTokens | None

    @property
    def place(self) -> str:
        """Host and port, as a user writes them."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.encrypted else 80) else f"{host}:{self.port}"


def is_remote(model: str) -> bool:
    """Return whether a model's name is that of a remote engine, valid or not."""
    return _NAME.fullmatch(model) is not None


def read_address(name: str) -> Address:
    """Return the address that a name means. Raises InputError if it is incomplete or would send text unencrypted."""
    found = _NAME.fullmatch(name)
    if found is None or not _SHOWABLE.fullmatch(found["url"]):
        raise _wrong(name, "it is not of the form openai:URL#MODEL or llama:URL")
    try:
        url = urlsplit(found["url"])
        port = url.port
    except ValueError:
        raise _wrong(name, "its host or its port cannot be read") from None
    if url.scheme not in ("http", "https") or not url.hostname:
        raise _wrong(name, "after the first colon, write https://HOST (or http://HOST for this machine)")
    if url.username is not None or url.password is not None or url.query:
        raise _wrong(
            name, f"it contains a user name or query; put the key into the environment variable {KEY_VARIABLE} instead"
        )
    encrypted = url.scheme == "https"
    if not encrypted and not found["plain"] and not is_this_machine(url.hostname):
        raise InputError(
            f"`{name}` would send your text to {url.hostname} unencrypted, for anyone on the way to read. Use https, "
            f"or, if that network is yours, say so: {found['api']}{UNENCRYPTED}:{found['url']}"
        )
    api = Api(found["api"])
    model, fim = _model_of(name, api, url)
    return Address(api, encrypted, url.hostname, port or (443 if encrypted else 80), url.path.rstrip("/"), model, fim)


def disclosure(address: Address) -> str:
    """Return the notice to the user about what is sent."""
    how = "" if address.encrypted or is_this_machine(address.host) else ", unencrypted"
    return (
        f"infill-ls: the text around the cursor is sent to {address.place}{how} whenever you type, because the model "
        "that was chosen is on that server. Excluded files are not sent."
    )


def _model_of(name: str, api: Api, url: SplitResult) -> tuple[str, FimTokens | None]:
    found = _MODEL.fullmatch(url.fragment)
    assert found is not None  # the pattern matches any text
    model, wanted = found["model"], found["fim"]
    if api is Api.LLAMA:
        if wanted is not None:
            raise _wrong(name, "a llama.cpp server knows its model's tokens itself; leave ?fim= out")
        return model, None
    if not model:
        raise _wrong(name, "it names no model; add # and the name that the server uses for the model")
    if wanted is None:
        return model, known_by_name(model)
    families: dict[str, FimTokens | None] = {known.name: known for known in KNOWN} | {SUFFIX_FIELD: None}
    if wanted not in families:
        raise _wrong(name, f"the family `{wanted}` is not known; known are {', '.join(families)}")
    return model, families[wanted]


def is_this_machine(host: str) -> bool:
    """Return whether a host name or an address reaches this machine only."""
    try:
        return host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _wrong(name: str, why: str) -> InputError:
    shown = re.sub(r"\?(?!fim=)[^#]*", "?…", re.sub(r"//[^/#]*@", "//…@", name))  # it may contain a password or a key
    return InputError(f"`{shown}` names no server: {why}. For instance openai:http://localhost:8000/v1#MODEL")
