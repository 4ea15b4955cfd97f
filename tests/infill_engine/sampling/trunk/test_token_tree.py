"""The search over a tree of tokens, with a model that is a table."""

from collections.abc import Mapping

import numpy as np
import pytest

from infill_engine.models.trunk.continuations import Prediction
from infill_engine.sampling.trunk.middle import EndRules, stands_in_brackets
from infill_engine.sampling.trunk.token_tree import TokenTree
from infill_engine.sampling.trunk.tree_growth import learn_pass

WORDS = ["<end>", "\n", "self", ".width", ".height", " = ", "1", "(", ")", ".wi", "dth", "):\n", ", 2"]
IDS = {word: number for number, word in enumerate(WORDS)}
NONE = np.empty(0, np.int64)


class Words:
    """A vocabulary of a few words."""

    def bytes_of(self, token):
        return b"" if token == 0 else WORDS[token].encode()

    def completions_of(self, start):
        data = [self.bytes_of(token) for token in range(len(WORDS))]
        longer = [token for token, text in enumerate(data) if text.startswith(start)]
        shorter = [token for token, text in enumerate(data) if text and start.startswith(text) and text != start]
        return np.array(longer, np.int64), np.array(shorter, np.int64)


def tree_of(start="", *, last=(), in_brackets=False):
    ends = np.array([IDS["<end>"], IDS["\n"]])
    forbidden = np.array([IDS["<end>"], IDS["\n"], *(IDS[word] for word in last)])
    rules = EndRules(ends, np.array([IDS[word] for word in last], np.int64), forbidden, in_brackets)
    return TokenTree(Words(), rules, start.encode())


def after(shares: Mapping[str, float]):
    """Log-probabilities of all words; those that are not named share what is left."""
    rest = (1 - sum(shares.values())) / (len(WORDS) - len(shares))
    return np.log(np.array([shares.get(word, max(rest, 1e-9)) for word in WORDS], np.float32))


def learn(tree, number, logprobs):
    learn_pass(tree, {number: Prediction(logprobs, np.argsort(-logprobs, kind="stable"), -1)})


def texts(tree):
    return {one.text.decode(): round(float(np.exp(one.logprob)), 3) for one in tree.texts()}


def test_an_inserted_text_is_scored_token_by_token():
    tree = tree_of()
    first, second = tree.insert([IDS["self"], IDS[".width"]])
    learn(tree, 0, after({"self": 0.5}))
    learn(tree, first, after({".width": 0.8, "<end>": 0.1}))
    learn(tree, second, after({"<end>": 0.6, "\n": 0.2}))
    assert texts(tree)["self.width"] == pytest.approx(0.5 * 0.8 * 0.8, abs=2e-3)


def test_texts_with_one_beginning_share_its_nodes():
    tree = tree_of()
    one, other = tree.insert([IDS["self"], IDS[".width"]]), tree.insert([IDS["self"], IDS[".height"]])
    assert one[0] == other[0]
    assert len(tree.nodes) == 4


def test_where_an_inserted_text_is_wrong_the_search_goes_on_from_there():
    tree = tree_of()
    first, second = tree.insert([IDS["self"], IDS[".width"]])
    learn(tree, 0, after({"self": 0.9}))
    learn(tree, first, after({".height": 0.85, ".width": 0.05}))
    learn(tree, second, after({"<end>": 0.9}))
    best = tree.worthwhile(4)[0]
    assert tree.nodes[best].text == b"self.height"


def test_the_likeliest_nodes_come_first_and_behind_their_parents():
    tree = tree_of()
    inserted = tree.insert([IDS["self"], IDS[".width"], IDS[" = "]])
    assert tree.worthwhile(4) == inserted
    learn(tree, 0, after({"1": 0.6, "self": 0.3}))
    order = [tree.nodes[number].text for number in tree.worthwhile(4)]
    assert order[0] == b"1"
    assert order.index(b"self") < order.index(b"self.width")


def test_what_is_far_behind_finished_texts_is_not_worth_a_row():
    tree = tree_of()
    learn(tree, 0, after({"1": 0.98}))
    (one,) = [number for number in tree.worthwhile(1) if tree.nodes[number].text == b"1"]
    learn(tree, one, after({"<end>": 0.99}))
    assert tree.worthwhile(1) == []


def test_an_empty_text_is_none():
    tree = tree_of()
    learn(tree, 0, after({"<end>": 0.99}))
    assert tree.texts() == []


def test_a_cut_word_is_completed_and_nothing_else():
    tree = tree_of(".wi")
    learn(tree, 0, after({"1": 0.9, ".width": 0.05, ".wi": 0.02}))
    found = {tree.nodes[number].text: tree.probability(number) for number in tree.worthwhile(4)}
    assert set(found) == {b".width", b".wi"}
    assert found[b".width"] == pytest.approx(5 / 7, abs=0.01)  # of what completes the word


def test_a_word_may_be_completed_by_two_tokens():
    tree = tree_of(".width")
    learn(tree, 0, after({".wi": 0.5, ".width": 0.1}))
    part = next(number for number in tree.worthwhile(4) if tree.nodes[number].text == b".wi")
    assert tree.nodes[part].start == b"dth"
    learn(tree, part, after({"dth": 0.3, "1": 0.6, "<end>": 0.1}))
    assert b".width" in {tree.nodes[number].text for number in tree.worthwhile(4)}
    assert b".wi1" not in {node.text for node in tree.nodes}
    assert texts(tree) == {}  # no text ends inside the word


def test_inside_brackets_a_text_closes_what_it_opens_and_nothing_else():
    tree = tree_of(in_brackets=True)
    learn(tree, 0, after({"(": 0.4, ")": 0.3, "1": 0.2}))
    assert b")" not in {node.text for node in tree.nodes}
    opened = next(number for number, node in enumerate(tree.nodes) if node.text == b"(")
    learn(tree, opened, after({"<end>": 0.5, ")": 0.4}))
    assert texts(tree) == {}
    closed = next(number for number, node in enumerate(tree.nodes) if node.text == b"()")
    learn(tree, closed, after({"<end>": 0.9}))
    assert "()" in texts(tree)


@pytest.mark.parametrize("word", ["(", ")", ")("])
def test_brackets_of_the_word_at_the_cursor_are_none_of_the_text(word):
    """`f(█)` begins with the word `(`, and the second group of `(a)-(█)` with `)-(`."""
    tree = tree_of(word, in_brackets=True)
    number = 0
    for part in word:
        learn(tree, number, after({part: 0.9}))
        number = next(at for at, node in enumerate(tree.nodes) if node.parent == number)
    learn(tree, number, after({"1": 0.6, ")": 0.3, "<end>": 0.05}))
    one = next(at for at, node in enumerate(tree.nodes) if node.text == f"{word}1".encode())
    learn(tree, one, after({"<end>": 0.9}))
    assert set(texts(tree)) == {f"{word}1"}
    assert f"{word})".encode() not in {node.text for node in tree.nodes}


def test_a_token_with_a_line_break_behind_text_ends_a_text_of_one_line():
    tree = tree_of(last=["):\n"])
    learn(tree, 0, after({"1": 0.9}))
    one = next(number for number, node in enumerate(tree.nodes) if node.text == b"1")
    learn(tree, one, after({"):\n": 0.7}))
    assert texts(tree)["1):"] == pytest.approx(0.9 * 0.7, abs=2e-3)
    assert all(b"\n" not in node.text for node in tree.nodes)


def test_what_the_model_would_write_by_itself_is_told_apart():
    tree = tree_of()
    (unlikely,) = tree.insert([IDS[", 2"]])
    shares = {"self": 0.3, ".width": 0.2, "1": 0.2, "(": 0.1, ".height": 0.1, " = ": 0.05}
    learn(tree, 0, after(shares))
    learn(tree, unlikely, after({"<end>": 0.9}))
    likely = next(number for number, node in enumerate(tree.nodes) if node.text == b"self")
    learn(tree, likely, after({"<end>": 0.9}))
    assert {one.text: one.proposed for one in tree.texts()} == {b"self": True, b", 2": False}


def test_a_text_without_an_end_is_cut_at_its_first_doubtful_token():
    tree = tree_of()
    learn(tree, 0, after({"self": 0.9}))
    first = next(number for number, node in enumerate(tree.nodes) if node.text == b"self")
    learn(tree, first, after({".width": 0.8}))
    second = next(number for number, node in enumerate(tree.nodes) if node.text == b"self.width")
    learn(tree, second, after({" = ": 0.3, "1": 0.2}))
    assert tree.unfinished(float(np.log(0.5))).text == b"self.width"


@pytest.mark.parametrize(("right", "inside"), [("", False), ("  ", False), (", 2)", True), ('")', False), ("):", True)])
def test_what_stands_right_of_the_cursor_says_whether_it_is_between_brackets(right, inside):
    assert stands_in_brackets(right) is inside
