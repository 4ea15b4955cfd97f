"""The default model's vocabulary: its special tokens stand where its network expects them."""

from pathlib import Path

from infill_engine.errors import ModelDamagedError
from infill_engine.models.duostream.net import BOS, EOS, MASK
from infill_engine.models.vocabulary import TokenizerVocabulary


class BytesVocabulary(TokenizerVocabulary):
    """Byte-level BPE from the default model's tokenizer.json. Raises ModelDamagedError for another one."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, end=EOS)
        if (self.id_of("<mask>"), self.id_of("<bos>")) != (MASK, BOS):
            raise ModelDamagedError(f"{path} has other special tokens than this model expects; install the model again")
