"""Prompts that are kept from one keystroke to the next, and passes over texts that continue them."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from jobs import limited
from tiny_trunk import tiny_model

from infill_engine.budget.work import OutOfTime, finished
from infill_engine.context.snippets import Snippet
from infill_engine.models.trunk.model import MOST_ROWS
from infill_engine.models.trunk.network import UNSEEN, attention, forward, normed
from infill_engine.models.trunk.prompt import HEAD_TOKENS, SNIPPET_TOKENS, Prompt, build_head, build_prompt, fitting
from infill_engine.models.trunk.prompt_cache import HURRIED_ROWS

ABOVE = "class Box:\n    def __init__(self, width, height):\n        self.width = width\n"
SUFFIX = "\n\n    def area(self):\n        return self.width * self.height\n"


@pytest.fixture
def model(tmp_path):
    return tiny_model(tmp_path)


def alone(model, tokens):
    """What follows each token of a plain sequence, computed from nothing."""
    rows = len(tokens)
    with torch.inference_mode():
        network = model.backend.network
        mask = torch.full((rows, rows), UNSEEN).triu(1)
        embedded, positions = network.embed(torch.tensor(tokens)), torch.arange(rows)
        states = forward(network, embedded, positions, lambda _layer, *each: attention(*each, mask))
        return torch.log_softmax(network.logits(normed(network, states)), -1).numpy()


def following(model, prefix, suffix, head=(), **how):
    reading = finished(model.read(model.prompt(prefix, suffix, head), **how))
    return reading, reading.after_prompt().logprobs


def expected(model, prefix, suffix, head=()):
    return alone(model, build_prompt(model.vocabulary, prefix, suffix, head).tokens)[-1]


def head_of(model, *texts):
    return build_head(model.vocabulary, "app/box.py", [Snippet("app/other.py", text) for text in texts])


def test_a_prompt_read_at_once_is_the_plain_sequence(model):
    _, root = following(model, ABOVE + "        self", SUFFIX)
    np.testing.assert_allclose(root, expected(model, ABOVE + "        self", SUFFIX), atol=1e-4)


@pytest.mark.parametrize(
    "edits",
    [
        ["        s", "        se", "        self", "        self.hei", "        se"],  # typing, and taking back
        ["        self.height = height\n        re", "        x", ""],  # a new line, and undoing it
        ["        self", "        self"],  # the same again
    ],
)
def test_what_is_kept_gives_what_reading_everything_gives(model, edits):
    for line in edits:
        _, root = following(model, ABOVE + line, SUFFIX)
        np.testing.assert_allclose(root, expected(model, ABOVE + line, SUFFIX), atol=1e-4)


def test_another_suffix_is_read_again(model):
    following(model, ABOVE + "        self", SUFFIX)
    other = ")" + SUFFIX
    _, root = following(model, ABOVE + "        self", other)
    np.testing.assert_allclose(root, expected(model, ABOVE + "        self", other), atol=1e-4)


def test_a_typed_character_reads_a_row_or_two(model):
    following(model, ABOVE + "        self", SUFFIX)
    reading = finished(model.read(model.prompt(ABOVE + "        self.", SUFFIX)))
    assert len(reading.waiting) <= 2


def test_hurried_reading_uses_the_suffix_as_it_is_and_says_so(model):
    following(model, ABOVE + "        self", SUFFIX)
    longer = ABOVE + "        self.height = height\n        re"
    reading = finished(model.read(model.prompt(longer, SUFFIX), hurried=True))
    assert reading.outdated_suffix
    assert len(reading.waiting) < len(model.vocabulary.encode(SUFFIX))
    reading.after_prompt()
    calm, root = following(model, longer, SUFFIX)
    assert not calm.outdated_suffix
    np.testing.assert_allclose(root, expected(model, longer, SUFFIX), atol=1e-4)


def test_an_outdated_suffix_is_near_to_a_fresh_one(model):
    """Its keys are rotated to their new places: elsewhere they would be worth less than nothing."""
    following(model, ABOVE + "        self", SUFFIX)
    longer = ABOVE + "        self.height = height\n        re"
    _, outdated_suffix = following(model, longer, SUFFIX, hurried=True)
    fresh = expected(model, longer, SUFFIX)
    unrelated = expected(model, longer, SUFFIX[::-1])
    assert np.abs(outdated_suffix - fresh).mean() < 0.5 * np.abs(unrelated - fresh).mean()


def test_an_outdated_suffix_serves_until_it_has_been_read_again(model):
    prefix = ABOVE
    following(model, prefix + "        s", SUFFIX)
    for line in ("        self.height = height\n", "        self.depth = 1\n", "        self.x = 1\n"):
        prefix += line
        for allowed in (0, 1, 2):
            with pytest.raises(OutOfTime):
                limited(model.read(model.prompt(prefix + "        s", SUFFIX), part=2, large_part=2), allowed)
            hurried = finished(model.read(model.prompt(prefix + "        s" + "." * allowed, SUFFIX), hurried=True))
            assert hurried.outdated_suffix
            assert len(hurried.waiting) <= len(model.vocabulary.encode(line)) + 8
            hurried.after_prompt()
        following(model, prefix + "        self.", SUFFIX, part=2, large_part=2)
        hurried, root = following(model, prefix + "        self.x", SUFFIX, hurried=True)
        assert not hurried.outdated_suffix
        np.testing.assert_allclose(root, expected(model, prefix + "        self.x", SUFFIX), atol=1e-4)


def test_reading_stops_between_parts_and_goes_on_later(model):
    prefix = ABOVE * 6 + "        self"
    with pytest.raises(OutOfTime):
        limited(model.read(model.prompt(prefix, SUFFIX)), 1)
    parts = []
    reading = limited(model.read(model.prompt(prefix, SUFFIX)), 100, parts)
    root = reading.after_prompt().logprobs
    total = len(build_prompt(model.vocabulary, prefix, SUFFIX).tokens)
    assert sum(parts) <= total - MOST_ROWS
    np.testing.assert_allclose(root, expected(model, prefix, SUFFIX), atol=1e-4)


@pytest.mark.parametrize("line", ["", "        self", "        self.height = width + height * (width - 1)"])
def test_parts_are_large_while_nobody_could_be_answered_and_small_near_the_end(model, line):
    parts = []
    left = len(build_prompt(model.vocabulary, ABOVE * 6 + line, SUFFIX).tokens)
    reading = limited(model.read(model.prompt(ABOVE * 6 + line, SUFFIX), part=8, large_part=48), 100, parts)
    assert parts[0] == 48
    for rows in parts:
        assert (rows == 8) if left <= HURRIED_ROWS else (8 < rows <= 48)
        left -= rows
    assert left == len(reading.waiting) <= 8
    reading.after_prompt()
    parts.clear()
    limited(
        model.read(model.prompt(ABOVE * 6 + line, SUFFIX, head_of(model, "width = 1")), part=8, large_part=48),
        100,
        parts,
    )
    assert set(parts) == {8}  # the prompt without a head serves meanwhile


def test_rows_that_were_never_run_are_not_taken_for_read(model):
    finished(model.read(model.prompt(ABOVE + "        self", SUFFIX)))  # and no pass follows
    _, root = following(model, ABOVE + "        self", SUFFIX)
    np.testing.assert_allclose(root, expected(model, ABOVE + "        self", SUFFIX), atol=1e-4)


def after(model, reading, tokens, depths, parents):
    """Return the log-probabilities after tokens of one pass [T, V]."""
    return np.stack([one.logprobs for one in reading.run_pass(tokens, depths, parents)[0]])


def test_texts_in_a_tree_are_what_they_are_one_by_one(model):
    reading = finished(model.read(model.prompt(ABOVE + "        self", SUFFIX)))
    one, other = model.vocabulary.encode(".width = 3"), model.vocabulary.encode(".width * 2")
    shared = next(at for at, pair in enumerate(zip(one, other, strict=True)) if pair[0] != pair[1])
    tokens = [*one, *other[shared:]]
    parents = [[~before for before in range(at)] for at in range(len(one))]
    parents += [
        [*(~before for before in range(shared)), *(~(len(one) + k) for k in range(at))]
        for at in range(len(other) - shared)
    ]
    depths = [*range(len(one)), *range(shared, len(other))]
    found = after(model, reading, tokens, depths, parents)
    root = reading.after_prompt().logprobs
    prompt = list(build_prompt(model.vocabulary, ABOVE + "        self", SUFFIX).tokens)
    for text, rows in ((one, range(len(one))), (other, [*range(shared), *range(len(one), len(tokens))])):
        np.testing.assert_allclose(found[list(rows)], alone(model, prompt + text)[len(prompt) :], atol=1e-4)
    np.testing.assert_allclose(root, alone(model, prompt)[-1], atol=1e-4)


def test_a_later_pass_goes_on_from_tokens_of_an_earlier_one(model):
    reading = finished(model.read(model.prompt(ABOVE + "        self", SUFFIX)))
    text = model.vocabulary.encode(".width = 3")
    slots = [one.slot for one in reading.run_pass(text[:2], [0, 1], [[], [~0]])[0]]
    later = after(model, reading, text[2:3], [2], [slots])
    prompt = list(build_prompt(model.vocabulary, ABOVE + "        self", SUFFIX).tokens)
    np.testing.assert_allclose(later[0], alone(model, prompt + text[:3])[-1], atol=1e-4)


def test_two_documents_keep_their_prompts(model):
    following(model, ABOVE + "        self", SUFFIX)
    following(model, "def other():\n" * 12 + "    return", "\n")
    reading = finished(model.read(model.prompt(ABOVE + "        self.", SUFFIX)))
    assert len(reading.waiting) <= 2


@pytest.mark.parametrize(
    ("line", "so_far", "piece"),
    [
        ("self.", "self", "."),
        ("self.wi", "self", ".wi"),
        ("foo(ba", "foo", "(ba"),
        ("foo((ba", "foo((", "ba"),
        ("return ", "return", " "),
        ("    ", "   ", " "),
        ("\t\t", "\t", "\t"),
        ("x = 12", "x = 12", ""),
        ("x1", "x1", ""),
        ("unicode_da", "unicode", "_da"),
        ("", "", ""),
        ("naïve", "", "naïve"),
        ("a" * 40, "a" * 40, ""),
        ("above\n", "above\n", ""),
    ],
)
def test_the_cut_word_takes_along_what_its_token_would(model, line, so_far, piece):
    assert model.vocabulary.split_partial_word(line) == (so_far, piece)


def test_windows_line_ends_are_read_as_plain_ones(model):
    plain = build_prompt(model.vocabulary, "a\nb", "\nc\n")
    assert build_prompt(model.vocabulary, "a\r\nb", "\r\nc\r\n") == plain


def test_a_prompt_of_a_huge_line_is_cut(model):
    prompt = build_prompt(model.vocabulary, "x" * 5_000, "y" * 5_000)
    assert max(len(prompt.prefix), len(prompt.suffix), len(prompt.middle)) <= 449
    assert replace(prompt, suffix=()) == Prompt(prompt.prefix, (), prompt.middle)


def test_a_prompt_with_a_head_is_the_plain_sequence(model):
    head = head_of(model, "def width():\n    return 1", "height = 2")
    prefix = ABOVE + "        self"
    reading, root = following(model, prefix, SUFFIX, head=head)
    np.testing.assert_allclose(root, expected(model, prefix, SUFFIX, head), atol=1e-4)
    assert np.abs(root - expected(model, prefix, SUFFIX)).max() > 0.01
    text = model.vocabulary.encode(".width")
    found = after(
        model, reading, text, range(len(text)), [[~before for before in range(at)] for at in range(len(text))]
    )
    prompt = list(reading.prompt.tokens)
    np.testing.assert_allclose(found, alone(model, prompt + text)[len(prompt) :], atol=1e-4)


@pytest.mark.parametrize(
    "lines", [["        s", "        self.", "        se"], ["        re", "        x = 1\n        re"]]
)
def test_what_is_kept_behind_a_head_gives_what_reading_everything_gives(model, lines):
    head = head_of(model, "def width():\n    return 1")
    for line in lines:
        _, root = following(model, ABOVE + line, SUFFIX, head=head)
        np.testing.assert_allclose(root, expected(model, ABOVE + line, SUFFIX, head), atol=1e-4)


def test_a_hurried_request_goes_on_with_the_head_that_was_read(model):
    head = head_of(model, "def width():\n    return 1")
    following(model, ABOVE + "        self", SUFFIX, head=head)
    reading, root = following(model, ABOVE + "        self.", SUFFIX, head=head_of(model), hurried=True)
    assert reading.prompt.head == head
    assert not reading.outdated_suffix
    np.testing.assert_allclose(root, expected(model, ABOVE + "        self.", SUFFIX, head), atol=1e-4)


def test_a_typed_character_reads_a_row_or_two_behind_a_head(model):
    following(model, ABOVE + "        self", SUFFIX, head=head_of(model, "width = 1"))
    reading = finished(model.read(model.prompt(ABOVE + "        self.", SUFFIX), hurried=True))
    assert len(reading.waiting) <= 2


def test_a_new_head_is_read_beside_the_old_one_which_serves_until_then(model):
    old, new = head_of(model, "width = 1"), head_of(model, "def height():\n    return 1", "x = 1\n" * 9)
    prefix = ABOVE * 4 + "        self"
    following(model, prefix, SUFFIX, head=old)
    for allowed in (0, 1, 2, 3):
        with pytest.raises(OutOfTime):
            limited(model.read(model.prompt(prefix, SUFFIX, new), part=16), allowed)
        hurried = finished(model.read(model.prompt(prefix + ".", SUFFIX), hurried=True))
        assert hurried.prompt.head == old
        assert len(hurried.waiting) <= 2
    following(model, prefix, SUFFIX, head=new)
    hurried, root = following(model, prefix + ".", SUFFIX, hurried=True)
    assert hurried.prompt.head == new
    np.testing.assert_allclose(root, expected(model, prefix + ".", SUFFIX, new), atol=1e-4)


def test_an_outdated_suffix_behind_a_head_is_near_to_a_fresh_one(model):
    head = head_of(model, "def width():\n    return 1")
    following(model, ABOVE + "        self", SUFFIX, head=head)
    longer = ABOVE + "        self.height = height\n        re"
    reading, outdated_suffix = following(model, longer, SUFFIX, hurried=True)
    assert reading.outdated_suffix
    fresh, unrelated = (expected(model, longer, suffix, head) for suffix in (SUFFIX, SUFFIX[::-1]))
    assert np.abs(outdated_suffix - fresh).mean() < 0.5 * np.abs(unrelated - fresh).mean()


def test_snippets_fit_their_room_and_the_best_stands_last(model):
    vocabulary = model.vocabulary
    good, long, fair = (Snippet("a.py", text) for text in ("one = 1", "x" * 9_000, "two = 2"))
    assert fitting(vocabulary, [good, long, fair]) == (good, fair)
    many = fitting(vocabulary, [Snippet("a.py", f"value = {number}") for number in range(99)])
    head = build_head(vocabulary, "very/" * 99 + "long.py", many)
    assert SNIPPET_TOKENS // 2 < len(head) <= HEAD_TOKENS
    first, last = ([vocabulary.fim.file, *vocabulary.encode(f"a.py\n{one.text}\n")] for one in (fair, good))
    assert build_head(vocabulary, "", [good, fair]) == (*first, *last)
