"""Opens a run: the frozen trunk, the network that reads contexts, and the weights."""

import argparse
import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import torch
from torch import Tensor

from infill_engine.models.trunk.network import Network
from train.denoiser.frozen import load_frozen
from train.denoiser.learning import Learner
from train.denoiser.run import Run
from train.denoiser.texts import read_texts
from train.denoiser.vocabulary import Words, draft_vocabulary, read_vocabulary
from train.denoiser.weights import Shape, new_weights

READ_ROWS = 256  # about as many as a text has
EVERY = 2  # one in this many files of a corpus is counted


def open_learner(options: argparse.Namespace) -> tuple[Learner, Run]:
    """Open the run of `options.run`, or begin one. Raises ModelError or TrainingError."""
    folder, trained = folders_of(options.trunk)
    trunk = load_frozen(folder, trained, options.device)
    run = Run.load(options.run, options.device)
    if run is None and options.begin is not None:
        from infill_engine.models.trunk.sources import ShardsSource  # these need more than torch
        from train.denoiser.export import restore

        run = restore(options.begin, ShardsSource(folder, trained))
    elif run is None:
        shape = Shape(options.first_layer)
        vocabulary = _vocabulary(options, folder, trunk.config.vocabulary)
        run = Run.begin(shape, vocabulary.to(options.device), new_weights(trunk, shape, len(vocabulary)))
    words = Words(run.vocabulary, trunk.config.vocabulary)
    head = trunk.embedding[run.vocabulary]
    reader = _int8_reader(folder, trained) if options.device == "cpu" else None
    if options.contexts is not None:
        options.contexts.mkdir(parents=True, exist_ok=True)
    learner = Learner(trunk, reader or trunk.network(), run.shape, words, head, options.ce, options.contexts)
    return learner, run


def _vocabulary(options: argparse.Namespace, folder: Path, size: int) -> Tensor:
    """The draft vocabulary of another run, or that of a corpus, or that of the texts."""
    if options.vocabulary is not None:
        return read_vocabulary(options.vocabulary)
    if options.corpus is not None:
        return draft_vocabulary(_corpus(options.corpus, folder), size, options.words)
    return draft_vocabulary((text.tokens for text in read_texts(options.texts)), size, options.words)


def _corpus(path: Path, trunk: Path) -> Iterator[Tensor]:
    """Yield the tokens of some files of a corpus.jsonl."""
    from infill_engine.models.trunk.prompt import TrunkVocabulary  # needs more than torch

    vocabulary = TrunkVocabulary(trunk / "tokenizer.json")
    end = torch.tensor([vocabulary.end])
    with path.open(encoding="utf-8") as lines:
        for line in islice(lines, 0, None, EVERY):
            yield torch.cat([torch.tensor(vocabulary.encode(json.loads(line)["text"])), end])


def folders_of(folder: Path | None) -> tuple[Path, Path]:
    """Return the folders of the trunk and of its adapter; a given folder has both."""
    if folder is not None:
        return folder, folder
    from infill_engine.models.registry import folder_of, trained_folder  # needs more than torch

    found = folder_of("trunk")
    assert found is not None
    return found, trained_folder(found)


def _int8_reader(folder: Path, trained: Path) -> Network | None:
    """The trunk as a CPU serves it, in int8, which reads contexts faster than bfloat16; None without a kernel."""
    from infill_engine.models.checkpoint.user_data import prepared_folder
    from infill_engine.models.trunk.prepared import load_prepared
    from infill_engine.models.trunk.sources import ShardsSource
    from train.denoiser.int8_network import int8_network

    prepared = load_prepared(ShardsSource(folder, trained), prepared_folder(), lambda *_: None)
    return int8_network(prepared, READ_ROWS)
