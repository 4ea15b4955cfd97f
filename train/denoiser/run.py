"""A training run: its weights, optimiser and counters, and the one file that it is resumed from."""

import json
import math
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from infill_engine.errors import TrainingError
from train.denoiser.weights import Shape

CHECKPOINT = "denoiser.safetensors"
WARMUP, LEAST_RATE = 0.02, 0.02
FASTER = 5.0  # times the learning rate, for weights that do not begin as the trunk's
FIRST, SECOND = "exp_avg", "exp_avg_sq"  # the optimiser's moments, stored as `exp_avg.{name}` and `exp_avg_sq.{name}`


@dataclass(slots=True)
class Progress:
    """What a run has done. `seconds` are of processor time, divided by the number of workers."""

    steps: int = 0
    slots: int = 0
    texts: int = 0
    seconds: float = 0.0
    dealt: dict[str, int] = field(default_factory=dict)

    def add(self, slots: int, texts: int, seconds: float) -> None:
        """Count a step."""
        self.steps, self.slots, self.texts = self.steps + 1, self.slots + slots, self.texts + texts
        self.seconds += seconds


@dataclass(slots=True)
class Run:
    """The state of a run. `vocabulary` [W] are the tokens that the denoiser proposes."""

    shape: Shape
    vocabulary: Tensor
    weights: dict[str, Tensor]
    optimiser: torch.optim.AdamW
    progress: Progress

    @classmethod
    def begin(cls, shape: Shape, vocabulary: Tensor, weights: dict[str, Tensor]) -> "Run":
        """Return a run that has done nothing yet."""
        groups = [
            {"params": [tensor for name, tensor in weights.items() if _is_matrix(name)], "factor": 1.0},
            {"params": [tensor for name, tensor in weights.items() if not _is_matrix(name)], "factor": FASTER},
        ]
        optimiser = torch.optim.AdamW(groups, lr=0.0, betas=(0.9, 0.95), weight_decay=0.0)
        return cls(shape, vocabulary, weights, optimiser, Progress())

    def step(self, rate: float) -> bool:
        """Take a step along the gradients. Returns False, and leaves the weights, if one of them is not finite."""
        norm = torch.nn.utils.clip_grad_norm_(self.weights.values(), 1.0)
        if not torch.isfinite(norm):
            return False
        for group in self.optimiser.param_groups:
            group["lr"] = rate * group["factor"]
        self.optimiser.step()
        return True

    def save(self, folder: Path) -> None:
        """Replace the checkpoint in `folder` as a whole."""
        stored = dict(self.weights) | {"vocabulary": self.vocabulary}
        steps = 0.0
        for name, tensor in self.weights.items():
            if state := self.optimiser.state.get(tensor):
                stored |= {f"{FIRST}.{name}": state[FIRST], f"{SECOND}.{name}": state[SECOND]}
                steps = float(state["step"])
        notes = {"shape": asdict(self.shape), "progress": asdict(self.progress), "steps": steps}
        unfinished = folder / f"{CHECKPOINT}.part"
        save_file(
            {name: tensor.contiguous() for name, tensor in stored.items()}, unfinished, {"run": json.dumps(notes)}
        )
        unfinished.replace(folder / CHECKPOINT)

    @classmethod
    def load(cls, folder: Path, device: str = "cpu") -> "Run | None":
        """Return the run whose checkpoint is in `folder`, or None without one. Raises TrainingError."""
        path = folder / CHECKPOINT
        if not path.is_file():
            return None
        try:
            with safe_open(path, framework="pt", device=device) as file:
                notes = json.loads(file.metadata()["run"])
                stored = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  (not a mapping)
            vocabulary = stored.pop("vocabulary")
            names = [name for name in stored if not name.startswith((FIRST, SECOND))]
            run = cls.begin(Shape(**notes["shape"]), vocabulary, {name: stored[name] for name in names})
            run.progress = Progress(**notes["progress"])
            for name, tensor in run.weights.items():
                if f"{FIRST}.{name}" in stored:
                    moments = {each: stored[f"{each}.{name}"] for each in (FIRST, SECOND)}
                    run.optimiser.state[tensor] = {"step": torch.tensor(notes["steps"]), **moments}
        except (SafetensorError, OSError, KeyError, TypeError, ValueError) as error:
            raise TrainingError(f"{path} cannot be read ({type(error).__name__}); remove it to start afresh") from error
        return run


def rate_at(share: float, highest: float) -> float:
    """Return the learning rate after a share of all slots: it rises for WARMUP of them, then falls as a cosine."""
    if share < WARMUP:
        return highest * max(share / WARMUP, 0.01)
    fallen = min(1.0, (share - WARMUP) / (1 - WARMUP))
    return highest * (LEAST_RATE + (1 - LEAST_RATE) * 0.5 * (1 + math.cos(math.pi * fallen)))


def _is_matrix(name: str) -> bool:
    return name.startswith(("layers.", "entry"))
