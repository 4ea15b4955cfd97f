"""GGUF files and safetensors folders of the trunk's architecture: what they compute, and what is said of bad ones."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import psutil
import pytest
import torch
from gguf import GGUFReader, dequantize
from safetensors.torch import save_file
from tiny_gguf import DIM, HEADS, HIDDEN, KV_HEADS, LAYERS, coder, silent, write_gguf
from tiny_trunk import write_tokenizer
from transformers import Qwen2Config, Qwen2ForCausalLM

from infill_engine import Deadline, InfillRequest, load_engine
from infill_engine.budget.deadline import CostModel
from infill_engine.engine.engine_loading import calibration_of
from infill_engine.errors import ModelError
from infill_engine.models.checkpoint.inspect import describe
from infill_engine.models.checkpoint.user_data import STATE_DIR, prepared_folder
from infill_engine.models.model_loading import load_model
from infill_engine.models.trunk.backends.openvino_backend import OpenVinoBackend
from infill_engine.models.trunk.backends.torch_backend import TorchBackend
from infill_engine.models.trunk.files.gguf_file import MATRICES
from infill_engine.models.trunk.graph import build_graph
from infill_engine.models.trunk.graph_heads import GraphWeights
from infill_engine.models.trunk.model import TrunkModel
from infill_engine.models.trunk.prepared import kept_files, prepare
from infill_engine.models.trunk.products import choose_products
from infill_engine.models.trunk.slots import MIDDLE, Rows
from infill_engine.models.trunk.sources import ModelSource, Parts, source_of
from infill_engine.models.trunk.torch_loading import build_network

IDS = [3, 100, 41, 5, 92, 6]
FORMS = ("tied", "untied")


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(STATE_DIR, str(tmp_path / "state"))


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A file in each form; the same for all tests."""
    folder = tmp_path_factory.mktemp("written")
    for form in FORMS:
        write_gguf(folder / f"{form}.gguf", form=coder(folder, tied=form == "tied", untied=form == "untied"))
    return {form: folder / f"{form}.gguf" for form in FORMS}


@pytest.fixture
def gguf(written: dict[str, Path], tmp_path: Path) -> Path:
    """A file of a test's own."""
    return Path(shutil.copy(written["tied"], tmp_path / "coder.gguf"))


def reference(path: Path, *, tied: bool) -> Qwen2ForCausalLM:
    """The transformers library's network with a file's weights, in float32."""
    stored = {each.name: torch.tensor(dequantize(each.data, each.tensor_type)) for each in GGUFReader(path).tensors}
    weights = {"model.embed_tokens.weight": stored["output.weight" if tied else "token_embd.weight"]}
    weights |= {"lm_head.weight": stored["output.weight"], "model.norm.weight": stored["output_norm.weight"]}
    for layer in range(LAYERS):
        prefix, theirs = f"model.layers.{layer}.", f"blk.{layer}."
        for name, matrix in MATRICES.items():
            place = "self_attn" if name in "qkvo" else "mlp"
            weights[f"{prefix}{place}.{name}_proj.weight"] = stored[f"{theirs}{matrix}.weight"]
            if name in ("q", "k", "v"):
                weights[f"{prefix}{place}.{name}_proj.bias"] = stored[f"{theirs}{matrix}.bias"]
        weights[f"{prefix}input_layernorm.weight"] = stored[f"{theirs}attn_norm.weight"]
        weights[f"{prefix}post_attention_layernorm.weight"] = stored[f"{theirs}ffn_norm.weight"]
    config = Qwen2Config(
        vocab_size=len(stored["output.weight"]),
        hidden_size=DIM,
        intermediate_size=HIDDEN,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=KV_HEADS,
        rms_norm_eps=1e-6,
        rope_parameters={"rope_type": "default", "rope_theta": 1e6},
        tie_word_embeddings=tied,
    )
    network = Qwen2ForCausalLM(config).eval()
    network.load_state_dict(weights)
    return network


def published(path: Path, folder: Path, *, tied: bool, dtype: torch.dtype = torch.float32) -> Path:
    """The same model as a folder of the transformers library."""
    folder.mkdir()
    network = reference(path, tied=tied)
    tensors = {name: tensor.to(dtype).contiguous() for name, tensor in network.state_dict().items()}
    if tied:
        del tensors["lm_head.weight"]
    save_file(tensors, folder / "model.safetensors")
    (folder / "config.json").write_text(network.config.to_json_string(use_diff=False))
    write_tokenizer(folder)
    return folder


def given(path: Path) -> ModelSource:
    found = source_of(path, path)
    assert found is not None
    return found


def logprobs(backend: TorchBackend | OpenVinoBackend) -> np.ndarray:
    """The predictions after IDS, in order."""
    slots = range(MIDDLE, MIDDLE + len(IDS))
    seen = np.zeros((len(IDS), 2048), np.bool_)[:, : MIDDLE + 400]
    rows = Rows(IDS, range(len(IDS)), slots, np.tril(np.ones_like(seen), MIDDLE) & (np.arange(seen.shape[1]) >= MIDDLE))
    return backend.run(backend.new_buffer(), rows, 0).logprobs


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ["gguf", "float32", "bfloat16"])
def test_what_the_transformers_library_computes(written: dict[str, Path], tmp_path: Path, form: str, kind: str) -> None:
    tied, path = form == "tied", written[form]
    network = reference(path, tied=tied)
    with torch.inference_mode():
        expected = network(torch.tensor([IDS])).logits[0].log_softmax(-1).numpy()
    if kind != "gguf":
        path = published(path, tmp_path / "folder", tied=tied, dtype=getattr(torch, kind))
    source = given(path)
    assert source.config.tied is tied
    exact = logprobs(TorchBackend(build_network(source.open())))
    arrays = prepare(source, silent)
    rounded = logprobs(
        OpenVinoBackend(Parts(source), build_graph(GraphWeights(source.config, arrays, choose_products())), 1)
    )
    assert np.abs(exact - expected).max() < (0.1 if kind == "bfloat16" else 0.02)
    assert np.abs(rounded - expected).mean() < 0.1


@pytest.mark.parametrize("form", FORMS)
def test_mlx_computes_the_same(written: dict[str, Path], form: str) -> None:
    mlx = pytest.importorskip("infill_engine.models.trunk.backends.mlx_backend")
    merged = given(written[form]).open()
    expected = logprobs(TorchBackend(build_network(merged)))
    np.testing.assert_allclose(logprobs(mlx.MlxBackend(merged, "float32")), expected, atol=1e-3)


def test_the_tokenizer_of_a_file_writes_what_the_published_one_does(gguf: Path, tmp_path: Path) -> None:
    ours, theirs = given(gguf).vocabulary(), given(published(gguf, tmp_path / "folder", tied=True)).vocabulary()
    for text in ("def width(self):\n    return self.width\n", "x  = 'é😀' # <|endoftext|>"):
        assert ours.encode(text) == theirs.encode(text)
        assert ours.decode(ours.encode(text)) == text
    assert ours.fim == theirs.fim
    padding = len(ours) - 1
    assert padding in ours.never()
    assert ours.bytes_of(padding) == b""


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_it_answers_and_is_prepared_once(
    gguf: Path, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CostModel, "observe", lambda *_: None)  # measured costs decide how many rows a pass reads
    path = gguf if kind == "file" else published(gguf, tmp_path / "folder", tied=True)
    told: list[str] = []
    engines = [load_engine(str(path), device="cpu", progress=lambda task, _share: told.append(task)) for _ in range(2)]
    assert sum("1.0" in task or "once" in task for task in told) == LAYERS
    answers = [each.infill(InfillRequest("def f(", "):\n"), Deadline.after_ms(60_000)) for each in engines]
    assert answers[0] == answers[1]
    assert {engine.name for engine in engines} == {str(path)}
    assert calibration_of(str(path)) == calibration_of("trunk")
    assert describe(str(path), "cpu").family == "qwen2.5-coder"


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_it_needs_no_torch(gguf: Path, tmp_path: Path, kind: str) -> None:
    path = gguf if kind == "file" else published(gguf, tmp_path / "folder", tied=True)
    program = """
import sys
sys.modules |= dict.fromkeys(["torch", "transformers"])
from infill_engine import Deadline, InfillRequest, load_engine
from infill_engine.models.checkpoint.inspect import describe
engine = load_engine(sys.argv[1])
assert engine.profile.startswith("int8"), engine.profile
engine.infill(InfillRequest("def f(", "):\\n"), Deadline.after_ms(60_000))
assert describe(sys.argv[1]).family == "qwen2.5-coder"
"""
    subprocess.run([sys.executable, "-c", program, str(path)], check=True)


def test_models_keep_their_prepared_files_side_by_side(gguf: Path, tmp_path: Path) -> None:
    other = shutil.copy(gguf, tmp_path / "other.gguf")
    for path in (gguf, other):
        load_model(str(path), "cpu")
    kept = kept_files(prepared_folder())
    assert [each.model.rsplit("-", 1)[0] for each in kept] == ["coder", "other"]
    write_gguf(gguf, seed=4, form=coder(tmp_path))
    load_model(str(gguf), "cpu")
    assert [each.model for each in kept_files(prepared_folder())] == [each.model for each in kept]
    assert kept_files(prepared_folder())[0].path != kept[0].path


def test_other_precisions_run_on_torch(gguf: Path) -> None:
    from infill_engine.settings import ModelSettings

    model = load_model(str(gguf), "cpu", ModelSettings(dtype="fp32"))
    assert isinstance(model, TrunkModel)
    assert model.device == "cpu"
    assert "float32" in model.backend.profile


def cut(path: Path, _folder: Path) -> None:
    path.write_bytes(path.read_bytes()[:-900])


def cut_in_the_header(path: Path, _folder: Path) -> None:
    path.write_bytes(path.read_bytes()[:3000])


BAD: dict[str, tuple[Callable[[Path, Path], object], str]] = {
    "another architecture": (lambda path, folder: write_gguf(path, architecture="llama"), "architecture 'llama'"),
    "another tokenizer": (
        lambda path, folder: write_gguf(path, form=coder(folder, pieces="llama-bpe")),
        "has the tokenizer 'llama-bpe'",
    ),
    "no tokens to fill in": (
        lambda path, folder: write_gguf(path, form=coder(folder, tokens=coder(folder).tokens[:-4])),
        "was not made to fill in",
    ),
    "merges that do not fit": (
        lambda path, folder: write_gguf(path, form=coder(folder, merges=("q zzz",))),
        "a tokenizer that cannot be read",
    ),
    "cut short": (cut, "is cut short"),
    "cut in the header": (cut_in_the_header, "is not a readable GGUF file"),
    "another kind of file": (lambda path, folder: path.write_text("<html>"), "is not a readable GGUF file"),
    "empty": (lambda path, folder: path.write_text(""), "is not a readable GGUF file"),
    "missing": (lambda path, folder: path.unlink(), "there is no file"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_file_is_named_with_what_is_wrong(gguf: Path, tmp_path: Path, what: str) -> None:
    spoil, said = BAD[what]
    spoil(gguf, tmp_path)
    with pytest.raises(ModelError, match=said) as caught:
        load_model(str(gguf), "cpu")
    assert str(gguf) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not list((tmp_path / "state").rglob("*.unfinished*"))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"hidden_act": "gelu"}, "hidden_act is 'gelu'"),
        ({"num_hidden_layers": LAYERS + 1}, f"has no tensor model.layers.{LAYERS}."),
        ({"intermediate_size": 96}, "should be"),
        ({"vocab_size": 5000}, "does not fit together"),
        ({"vocab_size": 10}, "do not belong"),
        ({"auto_map": {"AutoModel": "own.Model"}}, "never runs code"),
        ({"rope_scaling": {"type": "yarn"}}, "rope_scaling is"),
    ],
)
def test_a_bad_folder_is_named_with_what_is_wrong(gguf: Path, tmp_path: Path, changes: dict, said: str) -> None:
    folder = published(gguf, tmp_path / "folder", tied=True)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | changes))
    with pytest.raises(ModelError, match=said):
        load_model(str(folder), "cpu")


def test_what_does_not_fit_is_refused_before_it_is_prepared(gguf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=1000))
    with pytest.raises(ModelError, match=r"needs about 0\.2 GB and cpu has 0\.0 GB free"):
        load_model(str(gguf), "cpu")
    assert not prepared_folder().exists()


def test_a_full_disk_is_told_and_the_model_serves(gguf: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_given: object) -> None:
        raise RuntimeError("basic_ios::clear: iostream error")

    monkeypatch.setattr("openvino.serialize", full)
    model = load_model(str(gguf), "cpu")
    assert isinstance(model, TrunkModel)
    assert "cannot be kept in" in model.user_message
    assert "is there room on the disk?" in model.user_message
    assert not list(prepared_folder().iterdir())
