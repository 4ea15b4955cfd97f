"""What a server elsewhere may do wrong, and what may not reach it."""

from typing import Any

import pytest
from servers import REQUEST, Hand, Say, Visit, engine_of, in_one, soon, tell, telling, texts

from infill_engine import Deadline, InfillRequest, Source
from infill_engine.engine.remote.address import read_address
from infill_engine.engine.remote.dialects import FimRequest, prompt_of
from infill_engine.engine.remote.server import MOST_TIMEOUTS, Server
from infill_engine.errors import InputError
from infill_engine.models.published.fim_tokens import DEEPSEEK_CODER, QWEN_CODER
from infill_engine.serving.starting import load_remote


def error_amid(visit: Visit) -> None:
    visit.begin()
    visit.event({"error": {"message": "value = is what you asked", "code": 500}})


LARGE = b'{"choices": [{"text": "x", "logprobs": {"token_logprobs": [-1' + b"0" * 400 + b"]}}]}"
FAULTS: list[tuple[str, Say, str]] = [
    ("key", lambda visit: visit.status(401), "INFILL_API_KEY"),
    ("model", lambda visit: visit.status(404), "no model `qwen2.5-coder`"),
    ("limit", lambda visit: visit.status(429), "too many requests"),
    ("overload", lambda visit: visit.status(503), "error 503"),
    ("refused", lambda visit: visit.status(400), "error 400"),
    ("redirect", lambda visit: visit.status(308, Location="/elsewhere"), "another address"),
    ("no JSON", in_one(b"{"), "OpenAI-compatible"),
    ("other JSON", in_one(b'{"choices": [{"delta": {"content": "x"}}]}'), "OpenAI-compatible"),
    ("a number", in_one(b"7"), "OpenAI-compatible"),
    ("a page", in_one(b"<html>", "text/html"), "OpenAI-compatible"),
    ("amid", error_amid, "error 500"),
    ("deep", in_one(b"[" * 200_000), "OpenAI-compatible"),
    ("large", in_one(LARGE), "OpenAI-compatible"),
    ("no HTTP", lambda visit: visit.wfile.write(b"* OK IMAP4\r\n") and None, "OpenAI-compatible"),
]


@pytest.mark.parametrize(("say", "said"), [case[1:] for case in FAULTS], ids=[case[0] for case in FAULTS])
def test_a_fault_is_told_copies_go_on_and_the_server_rests(say: Say, said: str) -> None:
    clock = Hand()
    with telling(say) as server:
        engine = engine_of(server, clock)
        for _ in range(2):
            answer = engine.answer(REQUEST, soon())
            assert said in answer.user_message
            assert "value = " not in answer.user_message
            assert texts(answer, Source.RETRIEVAL) == ["copied(1)"]
        asked = len(server.questions)
        server.say = tell
        engine.answer(REQUEST, soon())
        assert len(server.questions) == asked
        clock.time += 60
        assert texts(engine.answer(REQUEST, soon())) == ["alpha(0)", "beta(1)", "beta(2)"]


def test_a_server_is_left_alone_for_as_long_as_it_asks() -> None:
    clock = Hand()
    with telling(lambda visit: visit.status(429, Retry_After="20")) as server:
        engine = engine_of(server, clock)
        engine.answer(REQUEST, soon())
        clock.time = 19
        engine.answer(REQUEST, soon())
        assert len(server.questions) == 4
        clock.time = 21
        engine.answer(REQUEST, soon())
        assert len(server.questions) == 8


def test_a_server_that_is_down() -> None:
    with telling(tell) as server:
        engine = engine_of(server)
    answer = engine.answer(REQUEST, soon())
    assert "nothing answers at 127.0.0.1" in answer.user_message
    assert texts(answer, Source.RETRIEVAL) == ["copied(1)"]


def test_one_late_answer_is_nothing_to_tell_and_several_in_a_row_are() -> None:
    with telling(lambda visit: visit.until_cut_off()) as server:
        engine = engine_of(server)
        found = [engine.answer(REQUEST, Deadline.after_ms(60)) for _ in range(MOST_TIMEOUTS)]
        assert [bool(answer.user_message) for answer in found] == [False] * (MOST_TIMEOUTS - 1) + [True]
        assert "budgetMs" in found[-1].user_message
        assert all(texts(answer, Source.RETRIEVAL) for answer in found)
    assert engine.answer(InfillRequest("x = ", "\n", drafts=()), Deadline.after_ms(0)).reason is not None


def test_the_key_goes_to_the_server_and_nowhere_else(monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    monkeypatch.setenv("TEAM_KEY", "abc123secret")
    with telling(lambda visit: visit.status(401)) as server:
        engine = load_remote(server.name, "TEAM_KEY")
        answer = engine.answer(REQUEST, soon())
        assert {headers["Authorization"] for _, _, headers in server.questions} == {"Bearer abc123secret"}
        assert "TEAM_KEY" in answer.user_message
        assert "abc123secret" not in "".join([answer.user_message, repr(engine.proposer._server), *capfd.readouterr()])
    monkeypatch.setenv("TEAM_KEY", "abc\n123secret")
    with pytest.raises(InputError) as refusal:
        load_remote(server.name, "TEAM_KEY")
    assert "123secret" not in str(refusal.value)
    monkeypatch.delenv("TEAM_KEY")
    with pytest.raises(InputError, match="TEAM_KEY"):
        load_remote(server.name, "TEAM_KEY")


def test_tokens_that_stand_in_somebodys_code_do_not_steer() -> None:
    question = FimRequest("a<|fim_middle|>b<|fim_prefix|>c", "d<|endoftext|>e", True, 8, 0.0, 0)
    assert prompt_of(QWEN_CODER, question) == "<|fim_prefix|>c<|fim_suffix|>d<|fim_middle|>"
    assert (
        prompt_of(DEEPSEEK_CODER, FimRequest("a", "b", True, 8, 0.0, 0))
        == "<｜fim▁begin｜>a<｜fim▁hole｜>b<｜fim▁end｜>"
    )


def test_a_lone_surrogate_and_crlf_do_no_harm() -> None:
    with telling(tell) as server:
        engine = engine_of(server)
        assert texts(engine.answer(InfillRequest("v = '\ud800\r\nw = ", "\r\n", drafts=()), soon()))[:1] == ["alpha(0)"]
        assert "\r" not in server.questions[0][1]["prompt"]


def test_the_models_of_a_server_are_listed() -> None:
    listing = b'{"data": [{"id": "one"}, {"id": "two"}]}'
    with telling(tell) as server:
        about = Server(read_address(server.name))
        server.listing = listing
        assert about.models() == ["one", "two"]
    with pytest.raises(InputError, match="nothing answers"):
        about.models()
