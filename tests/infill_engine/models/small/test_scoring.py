"""Texts scored all at once, as a tree, against the same network reading them one token at a time."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from jobs import limited

from infill_engine.budget.work import OutOfTime, finished
from infill_engine.context.ngrams import SEPARATOR
from infill_engine.models.cached_lines import CACHED_LINES
from infill_engine.models.small.backends.torch_writer import TorchWriter
from infill_engine.models.small.drafting import ends_at
from infill_engine.models.small.encoded import Prompt
from infill_engine.models.small.model import SmallModel
from infill_engine.models.small.scoring import MOST_TOKENS, ROOT, Tree
from infill_engine.text.lines import first_line

PREFIX = "def area(radius):\n    pi = 3.14\n    return "
SUFFIX = "\n\nprint(area(2))\n"
NOWHERE = ("", "")  # a text in which nothing can be counted
TEXTS = ["pi * radius", "pi * radius ** 2", "pi", "radius", "3.14 * radius * radius", "(pi)"]


def asked(family: SmallModel, prefix: str = PREFIX, suffix: str = SUFFIX) -> Prompt:
    return finished(family.prompt(finished(family.encode(prefix, suffix))))


def scored(
    family: SmallModel, prompt: Prompt, partial_word: str, around: tuple[str, str], texts: list[str]
) -> list[float]:
    near = finished(family.count(around))
    return finished(family.score(prompt, partial_word, first_line(around[1]), texts, near, None))


@torch.inference_mode()
def one_by_one(family: SmallModel, prompt: Prompt, text: str, right: str) -> float:
    """The log-probability of a text and its end, each token asked for by itself."""
    ids = family.vocabulary.encode(text)
    network, encoder = family.backend.network, prompt.encoder
    writer = TorchWriter(network, network.write, encoder, prompt.states[:, -1:], prompt.ids, 1, len(ids))
    following = [writer.first()[0], *(writer.after([ids[: n + 1]])[0] for n in range(len(ids)))]
    end = following[-1][torch.from_numpy(ends_at(family.vocabulary, right))].logsumexp(-1)
    return float(sum(logprobs[token] for logprobs, token in zip(following, ids, strict=False)) + end)


@pytest.mark.parametrize("right", ["", ")"])
def test_a_tree_is_read_as_its_texts_one_by_one(family: SmallModel, right: str) -> None:
    prompt = asked(family)
    found = scored(family, prompt, "", ("", right), TEXTS)
    assert found == pytest.approx([one_by_one(family, prompt, text, right) for text in TEXTS], abs=1e-3)


def test_at_the_start_of_a_file_too(family: SmallModel) -> None:
    prompt = asked(family, "", "x = 1\n")
    expected = [one_by_one(family, prompt, text, "x = 1") for text in TEXTS]
    assert scored(family, prompt, "", ("", "x = 1\n"), TEXTS) == pytest.approx(expected, abs=1e-3)


def test_texts_begin_with_the_cut_word(family: SmallModel) -> None:
    prompt = asked(family)
    assert scored(family, prompt, "rad", NOWHERE, ["ius", "ii"]) == pytest.approx(
        [one_by_one(family, prompt, text, "") for text in ("radius", "radii")], abs=1e-3
    )


def test_what_stands_around_counts(family: SmallModel) -> None:
    prompt = asked(family)
    before, (after, other) = (
        scored(family, prompt, "", around, ["pi * radius", "pi * tau"])
        for around in (NOWHERE, ("    return pi * radius\n" * 3 + PREFIX, SUFFIX))
    )
    assert after > before[0] + 1
    assert after - other > before[0] - before[1] + 1


def test_windows_and_unix_line_ends_are_the_same(family: SmallModel) -> None:
    prompt = asked(family)
    unix, windows = (
        scored(family, prompt, "", (text.replace("\n", end), f"{end}{end}x"), TEXTS)
        for text in ["    return pi * radius\n" * 3 + PREFIX]
        for end in ("\n", "\r\n")
    )
    assert unix == windows


def test_lines_are_tokenised_as_the_text_they_are_of(family: SmallModel) -> None:
    text = Path(__file__).read_text() + "\n\n  \n\tx\n\n\n"
    found = finished(family.count((text, "")))
    assert found._tokens.tolist() == [*family.vocabulary.encode(text), SEPARATOR, SEPARATOR]


def test_lines_are_tokenised_once(family: SmallModel) -> None:
    asked_for: list[int] = []
    for text in ("a = 1\nb = 2\n", "a = 1\nb = 3\n"):
        limited(family.count((text, text)), 1, asked_for)
    assert asked_for == [3, 1]


def test_without_time_nothing_is_counted(family: SmallModel) -> None:
    with pytest.raises(OutOfTime):
        limited(family.count((PREFIX, SUFFIX)), 0)


def test_more_lines_are_counted_than_are_kept(family: SmallModel) -> None:
    text = "".join(f"{number}\n" for number in range(CACHED_LINES + 100))
    assert finished(family.count((text, "")))._tokens.tolist()[:-2] == family.vocabulary.encode(text)


def test_what_texts_have_in_common_is_in_the_tree_once() -> None:
    tree = Tree.of([[5, 6, 7], [5, 6], [5, 8], [9], []])
    assert tree.tokens.tolist() == [5, 6, 7, 8, 9]
    assert tree.parents == (ROOT, 0, 1, 0, ROOT)
    assert tree.depths.tolist() == [0, 1, 2, 1, 0]
    assert tree.paths == ((0, 1, 2), (0, 1), (0, 3), (4,), ())
    assert [np.flatnonzero(row).tolist() for row in tree.seen()] == [[0], [0, 1], [0, 1, 2], [0, 3], [4]]
    assert tree.histories([1, 2], 3) == [[1, 2, 5], [2, 5, 6], [5, 6, 7], [2, 5, 8], [1, 2, 9]]


def test_a_long_text_is_judged_by_its_beginning(family: SmallModel) -> None:
    asked_for: list[int] = []
    text = "radius + " * 40
    near = finished(family.count(NOWHERE))
    limited(family.score(asked(family), "", "", [text], near, None), 1, asked_for)
    assert asked_for == [MOST_TOKENS]


def test_nothing_to_judge_is_no_error(family: SmallModel) -> None:
    assert scored(family, asked(family), "", NOWHERE, []) == []


def test_without_time_nothing_is_judged(family: SmallModel) -> None:
    with pytest.raises(OutOfTime):
        limited(family.score(asked(family), "", "", TEXTS, finished(family.count(NOWHERE)), None), 0)


def test_judging_leaves_the_prompt_as_it_was(family: SmallModel) -> None:
    prompt = asked(family)
    before = replace(prompt, encoder=tuple((keys.clone(), values.clone()) for keys, values in prompt.encoder))
    scored(family, prompt, "", NOWHERE, TEXTS)
    torch.testing.assert_close(prompt.encoder, before.encoder)
