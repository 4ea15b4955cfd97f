"""dllm's a2d models (github.com/ZHZisZZ/dllm): Qwen2, Qwen3 and Llama turned into masked diffusion, logits unshifted.

Checkpoints trained with full attention (mdlm) and block by block (bd3lm) share one model type; only their names tell
them apart. A bd3lm checkpoint cannot see the right side of a hole from within a block.
"""

from pathlib import Path

import torch

from infill_engine.models.base import CanvasModel
from infill_engine.models.checkpoint.files import open_checkpoint
from infill_engine.models.checkpoint.folder import name_of
from infill_engine.models.published import blockwise
from infill_engine.models.published.kinds.bidirectional import BidirectionalModel, Description, Shift
from infill_engine.models.stock.loader import Stock
from infill_engine.models.tokenizer import TokenizerVocabulary
from infill_engine.settings import ModelSettings

KNOWN = {"hidden_act": ("silu",), "use_sliding_window": (False, None)}
STOCKS = {
    "a2d-qwen2": Stock("qwen2", "Qwen2", known=KNOWN),
    "a2d-qwen3": Stock("qwen3", "Qwen3", known=KNOWN),
    "a2d-llama": Stock("llama", "Llama", known=KNOWN),
}
ENDS = ("<|endoftext|>", "<|end_of_text|>")  # Qwen's and Llama's


def load(folder: Path, device: str, dtype: torch.dtype, settings: ModelSettings) -> CanvasModel:
    """Load a checkpoint with one of the model types of `STOCKS`. Raises ModelError."""
    checkpoint = open_checkpoint(folder)
    if "bd3lm" in f"{name_of(folder)} {checkpoint.config.get('_name_or_path', '')}".lower():
        raise blockwise.refusal(folder)
    vocabulary = TokenizerVocabulary(folder / "tokenizer.json", width=checkpoint.width)
    model_type = checkpoint.config["model_type"]
    end = next((name for name in ENDS if vocabulary.id_of(name) is not None), ENDS[0])
    description = Description(
        model_type, STOCKS[model_type], Shift.NONE, mask="<|mask|>", end=end, ends=("<|im_end|>", "<|eot_id|>")
    )
    return BidirectionalModel.load(description, checkpoint, vocabulary, device, dtype, settings)
