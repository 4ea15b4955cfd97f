"""Left-to-right beam search by the trunk, with the same prompt and weights as the product and without retrieval."""

from infill_engine.budget.work import Budget, Phase, Work, finished
from infill_engine.models.trunk.model import TrunkModel
from infill_engine.sampling.trunk.middle import rules_for
from infill_engine.sampling.trunk.token_tree import MOST_DEPTH, ROOT, TokenTree
from infill_engine.sampling.trunk.tree_growth import learn_pass
from infill_engine.text.lines import first_line
from infill_engine.types import Hole, InfillRequest


def write_left_to_right(
    model: TrunkModel, request: InfillRequest, hole: Hole, beams: int, budget: Budget
) -> list[tuple[str, float]]:
    """The texts of a beam search and their mean log-probabilities: one token a pass, as many passes as time allows."""
    before, partial_word = model.vocabulary.split_partial_word(request.prefix)
    rules = rules_for(model.vocabulary, hole, first_line(request.suffix))
    tree = TokenTree(model.vocabulary, rules, partial_word.encode())
    reading = finished(model.read(model.prompt(before, request.suffix)))
    clock = budget.deadline.clock
    began, size = clock(), model.cost_rows(max(1, len(reading.waiting)))
    root = reading.after_prompt()
    budget.costs.observe(Phase.PASS, size, 1000 * (clock() - began))
    learn_pass(tree, {ROOT: root})
    beam = _next(tree, {ROOT}, beams)
    for _ in range(MOST_DEPTH):
        work = Work(Phase.PASS, model.cost_rows(len(beam)))
        if not beam or not budget.allows(work) or len(beam) > reading.free_slots:
            break
        began = clock()
        nodes = [tree.nodes[number] for number in beam]
        parents = [[tree.nodes[one].slot for one in tree.path(number)[:-1]] for number in beam]
        found, _ = reading.run_pass([node.token for node in nodes], [node.depth for node in nodes], parents)
        learn_pass(tree, dict(zip(beam, found, strict=True)))
        budget.costs.observe(Phase.PASS, work.size, 1000 * (clock() - began))
        beam = _next(tree, set(beam), beams)
    texts = [(one.text.decode(errors="replace"), one.logprob) for one in tree.texts()]
    return [(text[len(partial_word) :], logprob) for text, logprob in texts if text.startswith(partial_word)]


def _next(tree: TokenTree, beam: set[int], beams: int) -> list[int]:
    """Return the likeliest continuations of a beam, except those that cannot beat a finished text."""
    return [number for number in tree.worthwhile(beams) if tree.nodes[number].parent in beam][:beams]


def read_before_the_line(model: TrunkModel, request: InfillRequest) -> None:
    """Read the text up to the cursor's line, as while typing."""
    line = request.prefix.rfind("\n") + 1
    warm = finished(model.read(model.prompt(request.prefix[:line], request.suffix)))
    warm.after_prompt()
    model.forget_continuations()  # those that other systems have read would be free
