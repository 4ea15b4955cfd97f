"""The small model's vocabulary, with special tokens at the ids its network expects."""

from pathlib import Path

from infill_engine.errors import ModelDamagedError
from infill_engine.models.small.network.dual_encoder import BOS, EOS, MASK
from infill_engine.models.tokenizer import TokenizerVocabulary


class BytesVocabulary(TokenizerVocabulary):
    """Byte-level BPE from the small model's tokenizer.json. Raises ModelDamagedError for any other."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, end=EOS)
        if (self.id_of("<mask>"), self.id_of("<bos>")) != (MASK, BOS):
            raise ModelDamagedError(f"{path} has other special tokens than this model expects; install the model again")
