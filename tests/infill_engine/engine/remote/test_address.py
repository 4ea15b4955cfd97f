"""The names of engines elsewhere: what they mean, and what is refused before anything is sent."""

import pytest

from infill_engine.engine.remote.address import Api, disclosure, is_remote, read_address
from infill_engine.errors import InputError
from infill_engine.models.published.fim_tokens import MELLUM, QWEN_CODER, STARCODER


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "openai:https://gpu.example.com/v1#Qwen/Qwen2.5-Coder-7B",
            (Api.OPENAI, True, "gpu.example.com", 443, "/v1", "Qwen/Qwen2.5-Coder-7B", QWEN_CODER),
        ),
        (
            "openai:http://localhost:8000/v1/#coder?fim=starcoder2",
            (Api.OPENAI, False, "localhost", 8000, "/v1", "coder", STARCODER),
        ),
        ("openai:http://[::1]:80/v1#JetBrains/Mellum-4b-base", (Api.OPENAI, False, "::1", 80, "/v1", None, MELLUM)),
        ("openai:https://h/v1#some-model", (Api.OPENAI, True, "h", 443, "/v1", "some-model", None)),
        ("llama:http://127.0.0.1:8012", (Api.LLAMA, False, "127.0.0.1", 8012, "", "", None)),
        ("llama+unencrypted:http://gpu.lan:8012", (Api.LLAMA, False, "gpu.lan", 8012, "", "", None)),
    ],
)
def test_what_a_name_means(name: str, expected: tuple[object, ...]) -> None:
    found = read_address(name)
    facts = (found.api, found.encrypted, found.host, found.port, found.path, found.model, found.fim)
    assert [ours for ours, theirs in zip(facts, expected, strict=True) if theirs is not None and ours != theirs] == []


def test_a_server_that_makes_the_prompt_itself() -> None:
    assert read_address("openai:http://localhost:11434/v1#qwen2.5-coder:7b").fim is QWEN_CODER
    found = read_address("openai:http://localhost:11434/v1#qwen2.5-coder:7b?fim=suffix")
    assert (found.model, found.fim) == ("qwen2.5-coder:7b", None)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("openai:http://gpu.example.com/v1#qwen2.5-coder", "unencrypted"),
        ("openai:http://127.0.0.1.example.com/v1#m", "unencrypted"),
        ("llama:http://192.168.0.7:8012", "llama+unencrypted:http://192.168.0.7:8012"),
        ("openai:https://gpu.example.com/v1", "names no model"),
        ("openai:https://gpu.example.com/v1#m?fim=unheard-of", "qwen2.5-coder, starcoder2"),
        ("openai:https://user:secret@gpu.example.com/v1#m", "INFILL_API_KEY"),
        ("openai:https://gpu.example.com/v1?key=secret#m", "INFILL_API_KEY"),
        ("openai:https://gpu.example.com:99999/v1#m", "port"),
        ("openai:https://[::1/v1#m", "host"),
        ("openai:ftp://gpu.example.com/v1#m", "https://HOST"),
        ("openai:gpu.example.com", "https://HOST"),
        ("openai:https://gpu.example.com/v1\r\nX: y#m", "form"),
        ("llama:http://localhost:8012#m?fim=starcoder2", "leave ?fim= out"),
    ],
)
def test_what_is_refused_and_what_to_do(name: str, said: str) -> None:
    assert is_remote(name)
    with pytest.raises(InputError) as refusal:
        read_address(name)
    assert said in str(refusal.value)
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize("name", ["default", "scripted", "scripted:x.json", "/models/x", "C:/models/x", "Qwen/Qwen2.5"])
def test_other_names_are_of_models_here(name: str) -> None:
    assert not is_remote(name)


def test_the_user_is_told_where_the_text_goes() -> None:
    assert "gpu.example.com " in disclosure(read_address("openai:https://gpu.example.com/v1#m"))
    assert "gpu.lan:8012, unencrypted" in disclosure(read_address("llama+unencrypted:http://gpu.lan:8012"))
