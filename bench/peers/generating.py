"""transformers' `generate` as a peer: the same file, left to right, with key/value cache, in bfloat16 or float32."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infill_engine.budget.deadline import now, since
from infill_engine.context.hole import hole_at
from infill_engine.diagnostics.benchmark.left_to_right import distinct
from infill_engine.diagnostics.benchmark.problems.problem_files import Problem
from infill_engine.diagnostics.benchmark.systems import Answered, Setting
from infill_engine.errors import ModelError
from infill_engine.models.published.fim_tokens import QWEN_CODER
from infill_engine.sampling.trunk.token_tree import MOST_DEPTH

WAY = "transformers"
PACKAGES = ("transformers", "accelerate")  # without accelerate, transformers refuses to read a GGUF file


@dataclass(slots=True)
class Generating:
    """A model that is loaded when it is first asked. It reads each prompt as a whole: `generate` keeps nothing."""

    gguf: Path
    way: str = WAY
    _model: Any = None
    _tokenizer: Any = None

    def answer(self, problem: Problem, setting: Setting) -> Answered:
        """Greedy text, or as many beams as candidates; until the end of the line or of the text."""
        self._load()
        request = problem.request(setting.candidates)
        hole = hole_at(request.prefix, request.suffix, request.language)
        prefix, suffix, middle = QWEN_CODER.tokens
        prompt = f"{prefix}{request.prefix}{suffix}{request.suffix}{middle}"
        began = now()
        ids = self._tokenizer(prompt, return_tensors="pt")
        length = ids["input_ids"].shape[1]
        made = self._model.generate(
            **ids,
            max_new_tokens=MOST_DEPTH,
            do_sample=False,
            num_beams=setting.candidates,
            num_return_sequences=setting.candidates,
            eos_token_id=self._ends(one_line=hole.max_lines == 1),
            pad_token_id=self._tokenizer.convert_tokens_to_ids(QWEN_CODER.end),
        )
        texts = [self._tokenizer.decode(row[length:], skip_special_tokens=True) for row in made]
        if hole.max_lines == 1:
            texts = [text.split("\n")[0] for text in texts]
        found = distinct([(text, 0.0) for text in texts], request, hole)
        return Answered(tuple(found), since(began))

    def close(self) -> None:
        """Free its memory."""
        self._model = None

    def _load(self) -> None:
        if self._model is not None:
            return
        try:
            import torch
            from transformers import AutoModelForCausalLM, AutoTokenizer

            from infill_engine.models.runtime.precision import fastest_dtype

            folder, name = str(self.gguf.parent), self.gguf.name
            self._tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=name)
            model = AutoModelForCausalLM.from_pretrained(folder, gguf_file=name, dtype=fastest_dtype("cpu"))
            self._model = model.eval()  # type: ignore[no-untyped-call]
            torch.set_grad_enabled(False)
        except (ImportError, OSError, ValueError, KeyError, RuntimeError) as error:
            raise ModelError(f"transformers cannot load {self.gguf}: {error}") from error

    def _ends(self, *, one_line: bool) -> list[int]:
        ends = [self._tokenizer.convert_tokens_to_ids(name) for name in (*QWEN_CODER.ends, QWEN_CODER.end)]
        return [*ends, *self._tokenizer.encode("\n", add_special_tokens=False)] if one_line else ends
