"""dllm's a2d models (github.com/ZHZisZZ/dllm): Qwen2, Qwen3 and Llama turned into masked diffusion, logits unshifted.

Checkpoints trained with full attention (mdlm) and block by block (bd3lm) share one model type; only their names tell
them apart. A bd3lm checkpoint cannot see the right side of a hole from within a block.
"""

from infill_engine.models.base import CanvasModel
from infill_engine.models.checkpoint.folder import name_of
from infill_engine.models.published import blockwise
from infill_engine.models.published.kinds.bidirectional import BidirectionalModel, Description, Shift
from infill_engine.models.stock.loader import Opened, Stock

KNOWN = {"hidden_act": ("silu",), "use_sliding_window": (False, None)}
STOCKS = {
    "a2d-qwen2": Stock("qwen2", "Qwen2", known=KNOWN),
    "a2d-qwen3": Stock("qwen3", "Qwen3", known=KNOWN),
    "a2d-llama": Stock("llama", "Llama", known=KNOWN),
}
ENDS = ("<|endoftext|>", "<|end_of_text|>")  # Qwen's and Llama's


def load(opened: Opened) -> CanvasModel:
    """Load a checkpoint with one of the model types of `STOCKS`. Raises ModelError."""
    folder, config = opened.checkpoint.folder, opened.checkpoint.config
    if "bd3lm" in f"{name_of(folder)} {config.get('_name_or_path', '')}".lower():
        raise blockwise.refusal(folder)
    model_type = config["model_type"]
    end = next((name for name in ENDS if opened.vocabulary.id_of(name) is not None), ENDS[0])
    description = Description(
        model_type, STOCKS[model_type], Shift.NONE, mask="<|mask|>", end=end, ends=("<|im_end|>", "<|eot_id|>")
    )
    return BidirectionalModel.load(description, opened)
