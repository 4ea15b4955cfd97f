"""Open-dCoder (huggingface.co/fredzzp/open-dcoder-0.5B): the model type `qwen2`, and a tokenizer with a mask.

It is Qwen2.5-Coder further trained as masked diffusion, logits shifted to the right. Only the mask token tells its
checkpoint apart; without one it is a model of the trunk's architecture (`trunk.sources`).
"""

from infill_engine.models.base import CanvasModel
from infill_engine.models.published.dream import QWEN2
from infill_engine.models.published.kinds.bidirectional import BidirectionalModel, Description, Shift
from infill_engine.models.stock.loader import Opened
from infill_engine.models.tokenizer import mask_name


def load(opened: Opened) -> CanvasModel:
    """Load such a checkpoint. Raises ModelError."""
    mask = mask_name(opened.checkpoint.folder)
    open_dcoder = Description("open-dcoder", QWEN2, Shift.RIGHT, mask, "<|endoftext|>", ends=("<|im_end|>",))
    return BidirectionalModel.load(open_dcoder, opened)
