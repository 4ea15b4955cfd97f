"""A server elsewhere as the model: requests, streams and deadlines."""

import socket
import ssl
import threading
from pathlib import Path

import pytest
import trustme
from servers import REQUEST, SECONDS, Visit, engine_of, soon, tell, telling, texts, until

from infill_engine import Deadline, InfillRequest, Reason, Source
from infill_engine.engine.remote.address import read_address
from infill_engine.engine.remote.dialects import FimRequest
from infill_engine.engine.remote.server import Server


def test_several_candidates_the_surest_first() -> None:
    with telling(tell) as server:
        answer = engine_of(server).answer(REQUEST, soon())
        assert texts(answer) == ["alpha(0)", "beta(1)", "beta(2)"]
        assert {candidate.passes for candidate in answer.candidates if candidate.source is Source.MODEL} == {2}
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


def test_connections_are_kept_and_closed_ones_replaced() -> None:
    with telling(tell) as server:
        about = Server(read_address(server.name))
        question = FimRequest("a = ", "\n", True, 8, 0.0, 0)
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
            reply = about.ask([FimRequest("a = ", "\n", True, 8, 0.0, 0)], soon(), 0)
            assert ([text.text for text in reply.texts], reply.user_message) == (["alpha(0)"], "")
            until(lambda: bool(about._connections._idle))
            assert len(server.clients) == times + 1


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
        question = FimRequest("a = ", "\n", True, 8, 0.0, 0)
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
