"""A DiffusionGemma in miniature that has learnt the toy language, by the library's classes alone."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812
from toy import PAIRS, answer, sides
from transformers import DynamicCache

from bench.families.diffusion_gemma import (
    TURN_END,
    VOCABULARY,
    new_network,
    prompt_of,
    tokenizer,
)
from bench.families.tiny import ids_of

STEPS, BATCH = 150, len(PAIRS)


def learnt_network() -> nn.Module:
    """Train the network.

    An eighth of every batch is told, by self-conditioning, what another text would have been answered, and learns to
    believe it: so whoever tells it wrongly gets a wrong answer.
    """
    network: Any = new_network(
        0.05, num_experts=2, top_k_experts=1, moe_intermediate_size=16, global_head_dim=16
    ).requires_grad_(True)
    network.set_experts_implementation("eager")
    ids, behind, answers = _language()
    common = int((ids == ids[0]).all(0).long().cumprod(0).sum())
    random = torch.Generator().manual_seed(0)
    optimisers = _optimisers(network)
    schedules = [
        torch.optim.lr_scheduler.LambdaLR(each, lambda step: min(1, (step + 1) / 10, 2 - 2 * step / STEPS))
        for each in optimisers
    ]
    network.train()
    for step in range(STEPS):
        canvas, target, told, telling = _drawn((2, 4, 1)[step % 3], answers, behind, random)
        cache = DynamicCache(config=network.config.text_config)
        with torch.no_grad():
            network.model.encoder.language_model(input_ids=ids[:1, :common], past_key_values=cache)
        cache.batch_repeat_interleave(BATCH)
        network.model.encoder.language_model(input_ids=ids[:, common:], past_key_values=cache)
        logits = network(
            past_key_values=cache,
            decoder_input_ids=canvas,
            self_conditioning_logits=telling,
            self_conditioning_mask=told,
        ).logits[:, : target.shape[1]]
        F.cross_entropy(logits.flatten(0, 1), target.flatten()).backward()
        for optimiser, schedule in zip(optimisers, schedules, strict=True):
            optimiser.step()
            optimiser.zero_grad()
            schedule.step()
    made: nn.Module = network.eval().requires_grad_(False)
    return made


def _language() -> tuple[Tensor, Tensor, Tensor]:
    """Return the prompts, what is right of the holes, and the answers with two end tokens, all by pair."""
    prompts, given, answers = [], [], []
    for pair in PAIRS:
        prompt, behind = prompt_of(sides(*pair))
        prompts.append(prompt)
        given.append(behind)
        answers.append([*ids_of(tokenizer(), answer(*pair)), TURN_END, TURN_END])
    return torch.tensor(prompts), torch.tensor(given), torch.tensor(answers)


def _optimisers(network: nn.Module) -> list[torch.optim.Optimizer]:
    """Return Muon for matrices and Adam for the rest.

    By Adam alone every other seed, and every other processor's way of rounding, learns two thirds of the language.
    """
    weights = {name: value for name, value in network.named_parameters() if "vision" not in name}
    matrices = [name for name, value in weights.items() if value.ndim == 2 and "embed" not in name]
    return [
        torch.optim.Muon([weights.pop(name) for name in matrices], 1.5e-2, 0.0, 0.9, adjust_lr_fn="match_rms_adamw"),
        torch.optim.Adam(weights.values(), 8e-3, fused=True),
    ]


def _drawn(
    slots: int, answers: Tensor, behind: Tensor, random: torch.Generator
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return noisy canvases, their targets, which rows are told another answer, and what they are told."""
    target = answers[:, :slots] if slots > 1 else answers[:, -1:]  # one is too few: nothing is said
    told = torch.randperm(BATCH, generator=random) < BATCH // 8
    target = torch.where(told[:, None], target[torch.randperm(BATCH, generator=random)], target)
    canvas = torch.cat([torch.randint(VOCABULARY, target.shape, generator=random), behind], 1)
    telling = torch.full((*canvas.shape, VOCABULARY), -1e4)
    telling.scatter_(2, torch.cat([target, behind], 1)[..., None], 0.0)
    return canvas, target, told, telling
