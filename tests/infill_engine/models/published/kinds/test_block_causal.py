"""Stable-DiffCoder in miniature, against a stock Llama under a written-out block mask, and on a synthetic task."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812
from toy import LANGUAGE, PAIRS, answer, share_right, sides

from bench.families.stable_diffcoder import (
    BLOCK,
    CONFIG,
    END,
    MASK,
    NAMES,
    TOKENIZER,
    new_network,
    own_and_earlier_blocks,
    prompt_of,
    publish,
    reference,
)
from bench.families.tiny import byte_level, ids_of, write
from infill_engine import Deadline, InfillRequest, load_engine
from infill_engine.budget.work import Costs, finished
from infill_engine.errors import ModelDamagedError
from infill_engine.models.canvas.canvas import lay_out
from infill_engine.models.canvas_loading import load_canvas_model
from infill_engine.models.published.kinds.prompted import PromptedModel
from infill_engine.sampling.canvas.constraints import constraints_for
from infill_engine.sampling.canvas.denoise import DenoisingTask, Row, denoise
from infill_engine.settings import ModelSettings
from infill_engine.types import Draft, Hole, HoleKind

EXACT = ModelSettings(dtype="fp32")
SOME_PAIRS = PAIRS[::5]
TEXT = ("x = [1:", ":2]\nfor i in range(10):\n")
LINE = Hole(HoleKind.LINE)


def loaded(folder: Path) -> PromptedModel:
    family = load_canvas_model(str(folder), "cpu", EXACT)
    assert isinstance(family, PromptedModel)
    return family


@pytest.fixture(scope="module")
def network() -> nn.Module:
    return new_network()


@pytest.fixture(scope="module")
def family(network: nn.Module, tmp_path_factory: pytest.TempPathFactory) -> PromptedModel:
    return loaded(publish(network, tmp_path_factory.mktemp("random") / "m"))


@pytest.fixture(scope="module")
def synthetic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a network that has learnt the toy language, one masked block a batch, all before it clean."""
    network: Any = new_network().requires_grad_(True)
    whole = []
    for pair in PAIRS:
        ids = [*prompt_of(sides(*pair)), *ids_of(TOKENIZER, answer(*pair))]
        whole.append([*ids, *[END] * (BLOCK - len(ids) % BLOCK)])
    target = torch.tensor(whole)
    start, length = len(prompt_of(sides(0, 0))), target.shape[1]
    random, steps = torch.Generator().manual_seed(0), 140
    optimiser = torch.optim.Adam(network.parameters(), lr=6e-3, fused=True)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, 6e-3, total_steps=steps)
    place = torch.arange(length)
    for step in range(steps):
        block = start // BLOCK + step % (length // BLOCK - start // BLOCK)
        inside = (place // BLOCK == block) & (place >= start)
        masked = inside & (torch.rand(target.shape, generator=random) < 0.8)
        end = (block + 1) * BLOCK
        given = torch.where(masked, MASK, target)[:, :end]
        logits = network(
            input_ids=given, attention_mask=own_and_earlier_blocks(end).expand(len(given), -1, -1, -1), use_cache=False
        ).logits
        loss = F.cross_entropy(logits.flatten(0, 1), torch.where(masked, target, -100)[:, :end].flatten())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        schedule.step()
    network.eval().requires_grad_(False)
    return publish(network, tmp_path_factory.mktemp("synthetic") / "m")


def predictions(family: PromptedModel, rows: list[list[int]], text: tuple[str, str] = TEXT) -> Tensor:
    canvas = lay_out(rows, family.info.mask_id)
    return family.denoise(finished(family.encode(*text)), canvas, np.arange(canvas.slots))


@pytest.mark.parametrize("before", ["", "x", "xy", "x = [1:", "value = 1\n" * 30])
def test_logits_are_those_of_the_reference(before: str, family: Any, network: nn.Module) -> None:
    rows = [[70, MASK, MASK], [70, 71, 72, 73, MASK, MASK], [MASK]]
    expected = torch.cat([reference(network, row, (before, TEXT[1])) for row in rows])
    torch.testing.assert_close(predictions(family, rows, (before, TEXT[1])), expected, atol=1e-4, rtol=1e-4)


def test_typing_reads_whole_blocks_that_are_new(family: Any, network: nn.Module) -> None:
    for typed in ("value", "value1", "value12", "value123", "value12", "other"):
        text = ("x = 1\n" * 30 + typed, TEXT[1])
        context = finished(family.encode(*text))
        canvas = lay_out([[70, MASK]], MASK)
        found = family.denoise(context, canvas, np.arange(2))
        torch.testing.assert_close(found, reference(network, [70, MASK], text), atol=1e-4, rtol=1e-4)
        if typed != "value":
            assert context.encoded <= 3 * BLOCK


def filled(family: PromptedModel, before: str, behind: str) -> str | None:
    canvas, hole = lay_out([5], MASK), Hole(HoleKind.EXPRESSION)
    context, rules = finished(family.encode(before, behind)), constraints_for(family, hole, canvas, "")
    finished(denoise(family, DenoisingTask(context, canvas, [Row(5)], rules), Costs()))
    ids = canvas.ids.tolist()
    return family.vocabulary.decode(ids[: ids.index(END)] if END in ids else ids)


def test_the_synthetic_task_is_solved_and_only_with_the_right_blocks_and_shift(
    synthetic: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    family = loaded(synthetic)
    assert share_right(partial(filled, family)) >= 0.95
    see = family._backbone.states

    def shifted(*arguments: Any) -> Tensor:
        return see(*arguments).roll(1, 1)

    monkeypatch.setattr(family._backbone, "states", shifted)
    assert share_right(partial(filled, family), SOME_PAIRS) < 0.2

    def see_left(ids: Tensor, places: Tensor, visible: Tensor, memory: Any = None) -> Tensor:
        key = torch.arange(visible.shape[-1])
        return see(ids, places, visible & (key <= places[0][:, None]), memory)

    monkeypatch.setattr(family._backbone, "states", see_left)
    assert share_right(partial(filled, family), SOME_PAIRS) < 0.8  # what a block's end tells its beginning is missing


def test_the_whole_engine_answers_with_it(synthetic: Path) -> None:
    settings = ModelSettings(dtype="fp32", prefix_tokens=64, suffix_tokens=64)
    engines = [load_engine(str(synthetic), device="cpu", settings=settings) for _ in range(2)]
    requests = [InfillRequest(*sides(*pair), LANGUAGE, drafts=(Draft("kx", 5),)) for pair in SOME_PAIRS]
    answers = [[each.infill(request, Deadline.after_ms(60_000)) for request in requests] for each in engines]
    assert answers[0] == answers[1]
    texts = [{candidate.text for candidate in found} for found in answers[0]]
    assert sum(answer(*pair) in found for pair, found in zip(SOME_PAIRS, texts, strict=True)) >= 0.95 * len(SOME_PAIRS)


def test_a_tokenizer_without_its_tokens_is_refused(network: nn.Module, tmp_path: Path) -> None:
    with pytest.raises(ModelDamagedError, match="fim-suffix"):
        loaded(write(tmp_path / "m", CONFIG, network, byte_level(NAMES[:1])))


@pytest.mark.parametrize("model_type", ["sdar", "sdar_moe", "Fast_dLLM_Qwen", "llada2_moe"])
def test_families_that_cannot_see_behind_a_hole_are_refused(model_type: str, tmp_path: Path) -> None:
    config = {"model_type": model_type, "auto_map": {"AutoModel": "modeling.Model"}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelDamagedError, match=r"block after block.*Dream"):
        load_canvas_model(str(tmp_path), "cpu", EXACT)
