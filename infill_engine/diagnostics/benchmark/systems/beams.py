"""Baseline: left-to-right beam search by the trunk, with the same prompt and weights and without retrieval."""

from dataclasses import dataclass
from time import perf_counter

from bench.quality.systems import Question, Reply, reply
from infill_engine.deadline import Deadline
from infill_engine.models.trunk.model import TrunkModel
from infill_engine.sampling.middle import rules_for
from infill_engine.sampling.token_tree import ROOT, TokenTree
from infill_engine.text.lines import first_line
from infill_engine.work import finished

MOST_TOKENS = 32


@dataclass(slots=True)
class BeamSystem:
    """Extends `beams` texts by one token per pass, within the budget. The prefix is encoded beforehand."""

    model: TrunkModel
    budget_ms: float
    beams: int = 4
    _pass_ms: float = 0.0

    def __call__(self, question: Question) -> Reply:
        request = question.request
        before, partial_word = self.model.vocabulary.split_partial_word(request.prefix)
        line = len(request.prefix) - len(request.prefix.rsplit("\n", 1)[-1])
        warm = finished(self.model.read(request.prefix[:line], request.suffix))
        self.model.after(warm)
        self.model.forget_continuations()  # those that other systems have read would be free
        started, deadline = perf_counter(), Deadline.after_ms(self.budget_ms)
        rules = rules_for(self.model.vocabulary, question.hole, first_line(request.suffix))
        tree = TokenTree(self.model.vocabulary, rules, partial_word.encode())
        reading = finished(self.model.read(before, request.suffix))
        root = self.model.after(reading)
        tree.learn_pass([], [root.logprobs], [root.likeliest], [])
        beam = self._next(tree, {ROOT})
        for _ in range(MOST_TOKENS):
            if not beam or not deadline.allows(self._pass_ms) or len(beam) > reading.free_slots:
                break
            began = perf_counter()
            nodes = [tree.nodes[number] for number in beam]
            parents = [[tree.nodes[one].slot for one in tree.path(number)[:-1]] for number in beam]
            found = self.model.logprobs(
                reading, [node.token for node in nodes], [node.depth for node in nodes], parents
            )
            tree.learn_pass(beam, found.logprobs, found.likeliest, found.slots)
            self._pass_ms = 1000 * (perf_counter() - began)
            beam = self._next(tree, set(beam))
        texts = [(one.text.decode(errors="replace"), one.logprob) for one in tree.texts()]
        own = [(text[len(partial_word) :], logprob) for text, logprob in texts if text.startswith(partial_word)]
        return reply(question, own[: request.candidates], started)

    def _next(self, tree: TokenTree, beam: set[int]) -> list[int]:
        """Return the likeliest continuations of a beam, except those that cannot beat a finished text."""
        children = [number for number in tree.worthwhile(self.beams) if tree.nodes[number].parent in beam]
        return children[: self.beams]
