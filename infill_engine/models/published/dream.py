"""Dream, Dream-Coder, DiffuCoder, DreamOn and Open-dCoder: masked diffusion made from Qwen2.5, logits shifted right.

DreamOn (huggingface.co/Dream-org/DreamOn-v0-7B) is recognised by its `<|expand|>` token. It changes the hole's length
while filling it: that token splits one mask into two, and the end-of-text token deletes its slot. Its prompts begin
with the tokenizer's `<|beginoftext|>` and close with the end of text; the other models have no such frame.

Open-dCoder (huggingface.co/fredzzp/open-dcoder-0.5B) is Qwen2.5-Coder, with the model type `qwen2`. Only the mask token
tells its checkpoint apart; without one it is a model of the trunk's architecture (`trunk.sources`).
"""

from dataclasses import replace

from infill_engine.models.base import CanvasModel
from infill_engine.models.published.kinds.bidirectional import BidirectionalModel, Description, Shift
from infill_engine.models.stock.loader import Opened, Stock
from infill_engine.models.tokenizer import mask_name

QWEN2 = Stock("qwen2", "Qwen2", known={"hidden_act": ("silu",), "use_sliding_window": (False, None)})
DREAM = Description(
    name="dream",
    stock=QWEN2,
    shift=Shift.RIGHT,
    mask="<|mask|>",
    end="<|endoftext|>",
    ends=("<|im_end|>",),
)
DREAMON = replace(DREAM, name="dreamon", begin="<|beginoftext|>", close="<|endoftext|>", expand="<|expand|>")


def load(opened: Opened) -> CanvasModel:
    """Load a checkpoint with the model type `Dream`. Raises ModelError."""
    description = DREAM if opened.vocabulary.id_of(DREAMON.expand) is None else DREAMON
    return BidirectionalModel.load(description, opened)


def load_open_dcoder(opened: Opened) -> CanvasModel:
    """Load a checkpoint with the model type `qwen2`, and a tokenizer with a mask. Raises ModelError."""
    mask = mask_name(opened.checkpoint.folder)
    return BidirectionalModel.load(replace(DREAM, name="open-dcoder", mask=mask), opened)
