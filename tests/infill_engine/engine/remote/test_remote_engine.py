"""Engines elsewhere: the texts, the deadline, and all that can go wrong, over real connections."""

import socket
import ssl
import threading
from pathlib import Path
from typing import Any

import pytest
import trustme
from servers import SECONDS, Say, Teller, Visit, telling

from infill_engine import Deadline, Draft, InfillRequest, Reason, Source
from infill_engine.engine.remote.address import read_address
from infill_engine.engine.remote.dialects import Question, prompt_of
from infill_engine.engine.remote.engine import RemoteEngine
from infill_engine.engine.remote.server import SILENCES, Server
from infill_engine.errors import InputError
from infill_engine.models.published.fim_tokens import DEEPSEEK_CODER, QWEN_CODER

DRAFT = Draft("copied(1)", 12)
REQUEST = InfillRequest("value = ", "\nprint(value)\n", drafts=(DRAFT,))


class Hand:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.time = 0.0

    def __call__(self) -> float:
        return self.time


def engine_of(server: Teller, clock: Any = None) -> RemoteEngine:
    about = Server(read_address(server.name), **({"clock": clock} if clock else {}))
    return RemoteEngine(server.name, about)


def soon() -> Deadline:
    return Deadline.after_ms(SECONDS * 1000)


def texts(answer: Any, source: Source = Source.MODEL) -> list[str]:
    return [candidate.text for candidate in answer.candidates if candidate.source is source]


def tell(visit: Visit) -> None:
    """Three different texts in two pieces each, that of the first question being the surest."""
    number = min(visit.asked["seed"], 2)
    visit.begin()
    visit.piece("alpha" if number == 0 else "beta", logprobs={"token_logprobs": [-0.01 - number]})
    visit.piece(f"({number})", logprobs={"token_logprobs": [-0.01 - number]})
    visit.piece("", last=True)
    visit.close()


def in_one(body: bytes, content_type: str = "application/json") -> Say:
    return lambda visit: visit.status(200, body, Content_Type=content_type)


def test_several_candidates_the_surest_first() -> None:
    with telling(tell) as server:
        answer = engine_of(server).answer(REQUEST, soon())
        assert texts(answer) == ["alpha(0)", "beta(1)", "beta(2)"]
        assert {candidate.steps for candidate in answer.candidates if candidate.source is Source.MODEL} == {2}
        asked = sorted((question for _, question, _ in server.questions), key=lambda question: question["seed"])
        assert [question["temperature"] > 0 for question in asked] == [False, True, True, True]
        assert {path for path, _, _ in server.questions} == {"/v1/completions"}
        assert asked[0]["prompt"] == "<|fim_prefix|>value = <|fim_suffix|>\nprint(value)\n<|fim_middle|>"
        assert not any("Authorization" in headers for _, _, headers in server.questions)


def test_an_equal_request_and_typing_through_ask_nobody() -> None:
    with telling(tell) as server:
        engine = engine_of(server)
        engine.answer(REQUEST, soon())
        assert engine.answer(REQUEST, soon()).cached
        typed = InfillRequest("value = al", REQUEST.suffix)
        assert texts(engine.answer(typed, soon()), Source.TYPED_THROUGH) == ["pha(0)"]
        assert len(server.questions) == 4


def test_connections_are_kept_and_stale_ones_replaced() -> None:
    with telling(tell) as server:
        about = Server(read_address(server.name))
        question = Question("a = ", "\n", True, 8, 0.0, 0)
        for _ in range(3):
            assert [text.text for text in about.ask([question], soon(), 0).texts] == ["alpha(0)"]
            until(lambda: bool(about._connections._idle))
        assert len(server.clients) == 1
        (kept,) = about._connections._idle
        kept.sock.shutdown(2)
        assert about.ask([question], soon(), 0).texts
        assert len(server.clients) == 2


@pytest.mark.parametrize("encrypted", [False, True])
def test_a_connection_that_broke_while_it_was_kept(
    encrypted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def break_off(visit: Visit) -> None:
        tell(visit)
        # Not that of a TLS socket, which says goodbye.
        socket.socket.shutdown(visit.connection, socket.SHUT_RDWR)
        visit.close_connection = True

    tls = None
    if encrypted:
        authority, tls = trustme.CA(), ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert("127.0.0.1").configure_cert(tls)
        authority.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    with telling(break_off, tls) as server:
        about = Server(read_address(server.name))
        for times in range(3):
            reply = about.ask([Question("a = ", "\n", True, 8, 0.0, 0)], soon(), 0)
            assert ([text.text for text in reply.texts], reply.user_message) == (["alpha(0)"], "")
            until(lambda: bool(about._connections._idle))
            assert len(server.clients) == times + 1


def until(condition: Any) -> None:
    looks = threading.Event()
    for _ in range(SECONDS * 200):
        if condition():
            return
        looks.wait(0.005)
    pytest.fail("it did not come about")


def test_what_has_come_by_the_deadline_is_used_and_the_rest_cut_off() -> None:
    def drip(visit: Visit) -> None:
        visit.begin()
        visit.piece("alpha")
        visit.until_cut_off()

    with telling(drip) as server:
        answer = engine_of(server).answer(REQUEST, Deadline.after_ms(400))
        assert [(candidate.text, candidate.partial) for candidate in answer.candidates][:1] == [("alpha", True)]
        assert server.cut_off.wait(SECONDS)


def test_one_slow_row_costs_the_others_nothing() -> None:
    def some(visit: Visit) -> None:
        if visit.asked["seed"] == 1:  # the only one with that text
            visit.until_cut_off()
        tell(visit)

    with telling(some) as server:
        engine = engine_of(server)
        answer = engine.answer(REQUEST, Deadline.after_ms(400))
        assert texts(answer) == ["alpha(0)", "beta(2)"]
        assert not answer.user_message
        assert not engine.answer(REQUEST, Deadline.after_ms(400)).cached


def test_a_withdrawn_request_closes_its_connections() -> None:
    asked = threading.Event()

    def hang(visit: Visit) -> None:
        asked.set()
        visit.until_cut_off()

    with telling(hang) as server:
        due = soon()
        answer = engine_of(server).answer(REQUEST, Deadline(due.expires_at, cancelled=asked.is_set))
        assert answer.reason is Reason.CANCELLED
        assert server.cut_off.wait(SECONDS)


def test_a_withdrawn_question_opens_no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its kept one was broken off by ourselves and has not gone stale."""
    asked = threading.Event()

    def hang_at_last(visit: Visit) -> None:
        if len(visit.server.questions) == 1:
            tell(visit)
        else:
            asked.set()
            visit.until_cut_off()

    with telling(hang_at_last) as server:
        about = Server(read_address(server.name))
        question = Question("a = ", "\n", True, 8, 0.0, 0)
        about.ask([question], soon(), 0)
        until(lambda: bool(about._connections._idle))
        opened: list[float] = []
        monkeypatch.setattr(about._connections, "new", opened.append)
        about.ask([question], Deadline(soon().expires_at, cancelled=asked.is_set), 0)
        until(lambda: not any(thread.name == "question" for thread in threading.enumerate()))
        assert not opened


def test_half_a_stream_is_half_a_text() -> None:
    def break_off(visit: Visit) -> None:
        visit.begin()
        visit.piece("alpha.be")
        visit.close_connection = True

    with telling(break_off) as server:
        answer = engine_of(server).answer(REQUEST, soon())
        assert [(candidate.text, candidate.partial) for candidate in answer.candidates][:1] == [("alpha.be", True)]


def test_a_server_that_does_not_stream() -> None:
    with telling(
        lambda visit: visit.status(200, b'{"choices": [{"text": "alpha", "finish_reason": "stop"}]}')
    ) as server:
        assert texts(engine_of(server).answer(REQUEST, soon())) == ["alpha"]


def test_a_line_ends_at_its_end_whatever_the_server_thinks() -> None:
    def go_on(visit: Visit) -> None:
        visit.begin()
        visit.piece("alpha\nbe")
        visit.until_cut_off()

    with telling(go_on) as server:
        assert texts(engine_of(server).answer(REQUEST, soon())) == ["alpha"]


@pytest.mark.parametrize("not_yet", ["", "null"])
def test_a_reason_to_have_finished_that_is_none(not_yet: str) -> None:
    def unfinished(visit: Visit) -> None:
        visit.begin()
        for text in ("alpha", ".beta"):
            visit.event({"choices": [{"text": text, "finish_reason": not_yet}], "error": None})
        visit.event({"choices": [{"text": None, "finish_reason": "stop"}]})
        visit.close()

    with telling(unfinished) as server:
        (found, *_) = engine_of(server).answer(REQUEST, soon()).candidates
        assert (found.text, found.partial) == ("alpha.beta", False)


@pytest.mark.parametrize("accepted", [True, None])
def test_a_server_that_knows_log_probabilities_otherwise_or_not_at_all(accepted: object) -> None:
    def picky(visit: Visit) -> None:
        if visit.asked.get("logprobs") is accepted:
            tell(visit)
        else:
            visit.status(400)

    with telling(picky) as server:
        engine = engine_of(server)
        assert len(texts(engine.answer(REQUEST, soon()))) == 3
        server.questions.clear()
        engine.answer(InfillRequest("other = ", "\n"), soon())
        assert {question.get("logprobs") for _, question, _ in server.questions} == {accepted}


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
        found = [engine.answer(REQUEST, Deadline.after_ms(60)) for _ in range(SILENCES)]
        assert [bool(answer.user_message) for answer in found] == [False] * (SILENCES - 1) + [True]
        assert "budgetMs" in found[-1].user_message
        assert all(texts(answer, Source.RETRIEVAL) for answer in found)
    assert engine.answer(InfillRequest("x = ", "\n", drafts=()), Deadline.after_ms(0)).reason is not None


def test_the_key_goes_to_the_server_and_nowhere_else(monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    monkeypatch.setenv("TEAM_KEY", "abc123secret")
    with telling(lambda visit: visit.status(401)) as server:
        engine = RemoteEngine.load(server.name, "TEAM_KEY")
        answer = engine.answer(REQUEST, soon())
        assert {headers["Authorization"] for _, _, headers in server.questions} == {"Bearer abc123secret"}
        assert "TEAM_KEY" in answer.user_message
        assert "abc123secret" not in "".join([answer.user_message, repr(engine._server), *capfd.readouterr()])
    monkeypatch.setenv("TEAM_KEY", "abc\n123secret")
    with pytest.raises(InputError) as refusal:
        RemoteEngine.load(server.name, "TEAM_KEY")
    assert "123secret" not in str(refusal.value)
    monkeypatch.delenv("TEAM_KEY")
    with pytest.raises(InputError, match="TEAM_KEY"):
        RemoteEngine.load(server.name, "TEAM_KEY")


def test_tokens_that_stand_in_somebodys_code_do_not_steer() -> None:
    question = Question("a<|fim_middle|>b<|fim_prefix|>c", "d<|endoftext|>e", True, 8, 0.0, 0)
    assert prompt_of(QWEN_CODER, question) == "<|fim_prefix|>c<|fim_suffix|>d<|fim_middle|>"
    assert (
        prompt_of(DEEPSEEK_CODER, Question("a", "b", True, 8, 0.0, 0)) == "<｜fim▁begin｜>a<｜fim▁hole｜>b<｜fim▁end｜>"
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
