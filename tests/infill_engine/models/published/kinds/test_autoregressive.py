"""Fill-in-the-middle models, against the library's own forward pass and on a synthetic task."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from jobs import limited, states
from torch import Tensor, nn
from toy import LANGUAGE, PAIRS, answer, learn_to_continue, share_right, sides

from bench.families import fim
from bench.families.fim import PUBLISHED, new_network, reference
from bench.families.tiny import byte_level
from infill_engine import Deadline, InfillRequest, Source, load_engine
from infill_engine.budget.work import Costs, OutOfTime, finished
from infill_engine.errors import ModelDamagedError
from infill_engine.models.canvas.canvas import lay_out
from infill_engine.models.canvas_loading import load_canvas_model
from infill_engine.models.published.kinds.prompted import PromptedModel
from infill_engine.models.published.kinds.prompts import PART
from infill_engine.sampling.canvas.constraints import constraints_for
from infill_engine.sampling.canvas.denoise import DenoisingTask, Row, Step, denoise
from infill_engine.sampling.canvas.read_canvas import proposals_of
from infill_engine.settings import ModelSettings
from infill_engine.types import Draft, Hole, HoleKind

EXACT = ModelSettings(dtype="fp32")
SOME_PAIRS = PAIRS[::5]
LINE = Hole(HoleKind.LINE)
BEFORE, BEHIND = "x = [1:", ":2]\nfor i in range(10):\n"


every_family = pytest.mark.parametrize("name", PUBLISHED)
# One with the suffix first, and one with the prefix first and tokens that are pieces of words. The logits of every
# family are compared with the reference, so a network need not be trained for each.
taught_families = pytest.mark.parametrize("name", ["mellum", "codegemma"])


def loaded(folder: Path) -> PromptedModel:
    family = load_canvas_model(str(folder), "cpu", EXACT)
    assert isinstance(family, PromptedModel)
    return family


@pytest.fixture(scope="module")
def publish(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, nn.Module], Path]:
    return lambda name, network: fim.publish(name, network, tmp_path_factory.mktemp(name) / name)


@pytest.fixture(scope="module")
def families(publish: Callable[[str, nn.Module], Path]) -> Callable[[str], tuple[PromptedModel, nn.Module]]:
    made: dict[str, tuple[PromptedModel, nn.Module]] = {}

    def family(name: str) -> tuple[PromptedModel, nn.Module]:
        if name not in made:
            network = new_network(name).requires_grad_(False)
            made[name] = loaded(publish(name, network)), network
        return made[name]

    return family


@every_family
def test_logits_are_those_of_the_reference(name: str, families: Callable[[str], Any]) -> None:
    family, network = families(name)
    rows = [[70, 71, 72], [73, 74, 75, 76, 77], [78]]
    context = finished(family.encode(BEFORE, BEHIND))
    canvas = lay_out(rows, family.info.mask_id)
    at_once = family.denoise(context, canvas, np.arange(canvas.slots))
    expected = torch.cat([reference(name, network, row, (BEFORE, BEHIND)) for row in rows])
    torch.testing.assert_close(at_once, expected, atol=1e-4, rtol=1e-4)
    canvas.ids[4], rows[1][1] = 90, 90  # what stood there was remembered; a change must be seen
    for slot in (2, 3, 4):
        wanted = np.array([canvas.span(1).start + slot])
        expected = reference(name, network, rows[1], (BEFORE, BEHIND))[slot : slot + 1]
        torch.testing.assert_close(family.denoise(context, canvas, wanted), expected, atol=1e-4, rtol=1e-4)


@every_family
def test_rows_do_not_see_each_other_and_steps_add_up(name: str, families: Callable[[str], Any]) -> None:
    family, _ = families(name)

    def written(rows: list[list[int] | int]) -> list[list[int]]:
        canvas = lay_out(rows, family.info.mask_id)
        context = finished(family.encode(BEFORE, BEHIND))
        for slot in range(4):
            wanted = np.array([canvas.span(row).start + slot for row in range(canvas.rows)])
            canvas.ids[wanted] = family.denoise(context, canvas, wanted)[:, 64:].argmax(-1).numpy() + 64
        return [canvas.ids[canvas.span(row)].tolist()[:4] for row in range(canvas.rows)]

    assert written([4, 4, 6]) == [written([length])[0] for length in (4, 4, 6)]


@every_family
def test_typing_reads_only_what_is_new(name: str, families: Callable[[str], Any]) -> None:
    family, network = families(name)
    before = "".join(f"value_{number} = {number}\n" for number in range(30))
    cold = loaded_again(family)
    finished(cold.encode(before, BEHIND))
    again = finished(cold.encode(before + "v", BEHIND))
    assert again.encoded <= 4
    warm = cold.denoise(again, lay_out([[70]], 0), np.arange(1))
    expected = reference(name, network, [70], (before + "v", BEHIND))
    torch.testing.assert_close(warm, expected, atol=1e-4, rtol=1e-4)


def test_reading_that_was_stopped_goes_on_where_it_was(families: Callable[[str], Any]) -> None:
    family = loaded_again(families("mellum")[0])
    asked: list[int] = []

    with pytest.raises(OutOfTime):
        limited(family.encode("x = 1\n" * 60, BEHIND), 1, asked)
    assert asked[0] == PART
    context = finished(family.encode("x = 1\n" * 60, BEHIND))
    assert context.encoded == context.tokens - 1 - PART


def loaded_again(family: PromptedModel) -> PromptedModel:
    return PromptedModel(family._fim, family._backbone, family.vocabulary, EXACT)


def run(family: PromptedModel, rows: list[Row], text: tuple[str, str]) -> list[Step]:
    canvas = lay_out([row.slots if row.tokens is None else row.tokens for row in rows], family.info.mask_id)
    context, rules = finished(family.encode(*text)), constraints_for(family, LINE, canvas, "")
    return list(states(denoise(family, DenoisingTask(context, canvas, rows, rules), Costs())))


@pytest.fixture(scope="module")
def synthetic(publish: Callable[[str, nn.Module], Path]) -> Callable[[str], Path]:
    made: dict[str, Path] = {}

    def folder(name: str) -> Path:
        if name not in made:
            about, network = PUBLISHED[name], new_network(name)
            tokenizer = about.tokenizer
            learn_to_continue(network, tokenizer, partial(about.ids, tokenizer), tokenizer.token_to_id(about.end))
            made[name] = publish(name, network)
        return made[name]

    return folder


def first_text(family: PromptedModel, before: str, behind: str) -> str | None:
    row = Row(4)
    steps = run(family, [row], (before, behind))
    proposals = proposals_of(family, steps[-1], [row], "")
    return proposals[0].text if proposals else None


@taught_families
def test_the_synthetic_task_is_solved_and_only_with_the_right_prompt(
    name: str, synthetic: Callable[[str], Path]
) -> None:
    family = loaded(synthetic(name))
    assert share_right(partial(first_text, family)) >= 0.95
    fim = family._fim
    swapped = tuple({"{prefix}": "{suffix}", "{suffix}": "{prefix}"}.get(part, part) for part in fim.prompt)
    wrong = PromptedModel(replace(fim, prompt=swapped), family._backbone, family.vocabulary, EXACT)
    assert share_right(partial(first_text, wrong), SOME_PAIRS) < 0.5
    see = family._backbone.states

    def see_last(ids: Tensor, places: Tensor, visible: Tensor, memory: Any = None) -> Tensor:
        seen = torch.arange(visible.shape[-1]) >= places[:, None, :, None] - 2
        return see(ids, places, visible & seen | (torch.arange(visible.shape[-1]) == 0), memory)

    blind = loaded(synthetic(name))
    blind._backbone.states = see_last  # type: ignore[method-assign]
    assert share_right(partial(first_text, blind), SOME_PAIRS) < 0.5


@taught_families
def test_the_whole_engine_answers_with_it(name: str, synthetic: Callable[[str], Path]) -> None:
    folder = synthetic(name)
    short = replace(EXACT, prefix_tokens=64, suffix_tokens=64)
    engines = [load_engine(str(folder), device="cpu", settings=short) for _ in range(2)]

    def first_candidate(before: str, behind: str) -> str | None:
        found = engines[0].infill(InfillRequest(before, behind, LANGUAGE, drafts=()), Deadline.after_ms(60_000))
        return found[0].text if found else None

    assert share_right(first_candidate, SOME_PAIRS) >= 0.95
    left, right = SOME_PAIRS[1]
    drafts = (Draft(answer(left, right), 5), Draft("zz", 4))
    request = InfillRequest(*sides(left, right), LANGUAGE, drafts=drafts)
    answers = [each.infill(request, Deadline.after_ms(60_000)) for each in engines]
    assert [candidate.text for candidate in answers[0]] == [candidate.text for candidate in answers[1]]
    assert answers[0][0].text == answer(left, right)
    assert {candidate.source for candidate in answers[0]} <= {Source.MODEL, Source.RETRIEVAL}


def test_a_copy_is_read_in_one_step_and_corrected_from_its_first_mistake(synthetic: Callable[[str], Path]) -> None:
    family = loaded(synthetic("mellum"))
    left, right = SOME_PAIRS[2]
    correct = (*family.vocabulary.encode(answer(left, right)), family.info.eos_id)
    wrong = (correct[0], *family.vocabulary.encode("z"), family.info.eos_id)
    taken_over = run(family, [Row(3, tokens=correct)], sides(left, right))
    corrected = run(family, [Row(3, tokens=correct), Row(3, tokens=wrong)], sides(left, right))
    assert (len(taken_over), len(corrected)) == (1, 3)
    assert taken_over[-1].canvas.ids.tolist() == list(correct)
    assert corrected[-1].canvas.ids.tolist() == [*correct, *correct]


def test_a_tokenizer_without_the_tokens_is_refused(publish: Callable[[str, nn.Module], Path]) -> None:
    folder = publish("mellum", new_network("mellum"))
    byte_level(["<|endoftext|>", "<fim_suffix>", "<fim_prefix>"]).save(str(folder / "tokenizer.json"))
    with pytest.raises(ModelDamagedError, match=r"fim▁begin.*\(deepseek-coder\).*<fim_middle> \(mellum\).*trained to"):
        load_canvas_model(str(folder))
