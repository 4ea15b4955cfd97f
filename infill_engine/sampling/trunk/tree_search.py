"""The search over a tree of tokens for one request: which nodes each pass reads, and which texts are found.

The first pass also scores the retrieved texts. Each further pass reads the nodes that promise the most progress for
their cost, so a pass verifies what the one before it proposed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import exp, log

import numpy as np

from infill_engine.budget.work import AskLimit, Costs, Job, OutOfTime, PassState, Phase, Work
from infill_engine.context.ngrams import LONGEST, Ngrams
from infill_engine.models.base import NoNumbersError
from infill_engine.models.trunk.forms import PassForm
from infill_engine.models.trunk.model import TrunkModel
from infill_engine.models.trunk.prompt_cache import PromptCache
from infill_engine.models.trunk.slots import NO_BLOCKS, Blocks
from infill_engine.sampling.proposals import unscored
from infill_engine.sampling.trunk.blocks import BlockPlanner
from infill_engine.sampling.trunk.middle import rules_of
from infill_engine.sampling.trunk.pass_plan import FORMS_WITHOUT_BRANCHES, choose_form
from infill_engine.sampling.trunk.token_tree import ASSUMED_LOGPROB, MOST_DEPTH, ROOT, TokenTree
from infill_engine.sampling.trunk.tree_growth import learn_pass
from infill_engine.sampling.trunk.tree_nodes import Finished, Node, TextPiece, TreeStep
from infill_engine.text.lines import with_plain_ends
from infill_engine.types import AlternativesRequest, Draft, Hole, Holes, InfillRequest, ProposedText, Source

RETRIEVED = 0.6  # how likely one of the retrieved texts begins rightly
LOOKED_UP = 3  # consecutive tokens that the file's n-gram counts may add after a node
LEAST_SHARE = 0.5  # a token is added if it followed the same tokens in at least this share of cases
MOST_LONGER = 32  # tokens by which an alternative may exceed the replaced text
LEAST_REPLACING = -1000.0  # of an alternative: what matters is how it compares with the others
REPLACED_PRUNING_MARGIN = 14.0  # nats below the best text, for an alternative
PER_ALTERNATIVE = 4  # finished texts for each alternative
TEXTS = 9  # the most texts that are ranked; checking the syntax of each takes 0.4 ms
SHOWN_TEXTS = 6  # the most texts that an observer sees
UNFINISHED_LOGPROB = log(0.5)  # minimum for a token in a partial answer


@dataclass
class TreeSearch:
    """The tree of one request, which grows with each pass."""

    model: TrunkModel
    cache: PromptCache
    request: InfillRequest | AlternativesRequest
    hole: Hole
    holes: Holes
    partial_word: str
    ngrams: Ngrams | None
    costs: Costs
    is_complete: bool = False  # no further pass can find anything

    @cached_property
    def tree(self) -> TokenTree:
        vocabulary, request, holes = self.model.vocabulary, self.request, self.holes
        rules, start = rules_of(vocabulary, self.hole, request.suffix, holes.gaps), self.partial_word.encode()
        if not holes.replaced:
            known = sum(len(vocabulary.encode(gap.known)) for gap in holes.gaps)
            return TokenTree(vocabulary, rules, start, most_depth=MOST_DEPTH + known)
        size = len(vocabulary.encode(self._replaced))
        tree = TokenTree(vocabulary, rules, start, LEAST_REPLACING, size + MOST_LONGER, REPLACED_PRUNING_MARGIN)
        tree.need(vocabulary.encode, self._replaced_texts)
        return tree

    @cached_property
    def _before(self) -> list[int]:
        """The tokens before the hole, as many as the counts use."""
        return [*self.cache.prompt.prefix[1:], *self.cache.prompt.middle[1:]][-LONGEST:]

    @cached_property
    def _replaced_texts(self) -> list[str]:
        """The current texts of the holes that repeat no other."""
        free = [True, *(gap.repeats is None for gap in self.holes.gaps)]
        return [with_plain_ends(text) for text, is_free in zip(self.holes.replaced, free, strict=True) if is_free]

    @cached_property
    def _replaced(self) -> str:
        """The current text from the first to the last hole; "" if the request asks for no alternatives."""
        return with_plain_ends(self.holes.text)

    @cached_property
    def _wanted(self) -> int:
        """How many finished texts are enough. Many alternatives are left out later, because they break the syntax."""
        return self.request.candidates * (PER_ALTERNATIVE if self.holes.replaced else 1)

    def insert(self, drafts: Sequence[Draft]) -> None:
        """Add the retrieved texts to the tree. They are for a single hole."""
        encode = self.model.vocabulary.encode
        for draft in drafts:
            self.tree.insert(encode(self.partial_word + draft.text))

    def run(self) -> Job[int]:
        """Pass over the likeliest nodes while there is time and progress is possible. Return the number of passes."""
        passes = 0
        self._recall()
        while True:
            worthwhile, waiting = self._rows(self._wanted), len(self.cache.waiting)
            self.is_complete = not worthwhile and not waiting
            if self.is_complete:
                break
            limit = yield AskLimit()
            form = self._form(worthwhile, limit.deadline.remaining_ms() - limit.finish_ms)
            rows = worthwhile[: form.rows - waiting]
            blocks = self._blocks(rows, form.masks)
            try:
                yield Work(Phase.PASS, self.model.cost_rows(waiting + len(rows), len(blocks)))
            except OutOfTime:
                break
            self._pass(rows, blocks)
            passes += 1
            texts = (*map(_whole, self.tree.texts()), *map(_shown, self.tree.likeliest(SHOWN_TEXTS)))
            yield PassState(self.model, TreeStep(passes, texts[:SHOWN_TEXTS]))
        return passes

    def _form(self, worthwhile: Sequence[int], time_ms: float) -> PassForm:
        """Return the form of the next pass; the smallest one if there is no time for any."""
        waiting, tree = len(self.cache.waiting), self.tree
        reads_prompt = not tree.nodes[ROOT].seen
        gains = np.cumsum([float(reads_prompt), *self._chances(worthwhile)])
        forms = [
            form
            for form in self.model.backend.forms or FORMS_WITHOUT_BRANCHES
            if form.rows >= max(waiting, 1) and (not form.masks or self._planner is not None)
        ]

        def gain(form: PassForm) -> tuple[float, float]:
            rows = worthwhile[: form.rows - waiting]
            useful = 0.0
            if form.masks and self._planner is not None:
                useful = self._planner.usefulness(rows, behind_prompt=waiting > 0)
            return float(gains[len(rows)]), useful

        costs_ms = [self.costs.predict_ms(Phase.PASS, self.model.cost_rows(*form)) for form in forms]
        return choose_form(forms, costs_ms, time_ms, gain) or forms[0]

    def _chances(self, numbers: Sequence[int]) -> Iterator[float]:
        """Yield the probability of each node to be on the right text's path.

        Each retrieved text is assumed to be likely. Until the model has scored them, they share RETRIEVED.
        """
        tree = self.tree
        unscored = sum(exp(node.assumed_logprob) for node in tree.children(ROOT) if node.logprob is None)
        share = min(1.0, RETRIEVED / unscored) if unscored else 1.0
        return (share * tree.probability(number) for number in numbers)

    def _recall(self) -> None:
        """Add cached predictions of earlier searches with the same prompt, without a forward pass."""
        known, tree = self.cache.continuations, self.tree
        root = known.get(())
        found = {} if root is None else {ROOT: root}
        while found:
            learn_pass(tree, found)
            paths = [(number, known.get(tuple(tree.tokens(number)))) for number in tree.worthwhile(self._wanted)]
            found = {number: one for number, one in paths if one is not None}

    def proposals(self, drafts: Sequence[Draft], passes: int) -> list[ProposedText]:
        """Return the texts found, each with the model's scores."""
        by_text = {draft.text: draft for draft in reversed(drafts)}
        found: list[ProposedText] = []
        for one in self.tree.texts():
            text = self._text_of(one)
            if text is None:
                continue
            draft = by_text.pop(text, None)
            if draft is not None or (self._replaced and text == self._replaced):
                found.append(replace(self._propose(one, text, passes), draft=draft, source=Source.RETRIEVAL))
            # A text that branches off the replaced one is an alternative, although the model did not begin it.
            if (one.proposed or self._replaced) and len(found) < max(TEXTS, self._wanted):
                mean = sum(one.logprobs) / len(one.logprobs)
                found.append(replace(self._propose(one, text, passes), draft_logprob=mean))
        found += [self._as_far_as_read(draft, passes) for draft in by_text.values()]
        several = self.holes.replaced or self.holes.gaps
        written = any(proposal.source is Source.MODEL for proposal in found)
        partial = None if several or written else self.tree.unfinished(UNFINISHED_LOGPROB)
        if partial is not None and (text := self._text_of(partial)):
            found.append(replace(self._propose(partial, text, passes), partial=True, logprob=None))
        return found

    def _as_far_as_read(self, draft: Draft, passes: int) -> ProposedText:
        """Return a retrieved text that the model has read only in part. Each other token counts as ASSUMED_LOGPROB."""
        tokens = self.model.vocabulary.encode(self.partial_word + draft.text)
        sums = [0.0, *(self.tree.nodes[number].logprob for number in self.tree.insert(tokens))]
        known = [after - before for before, after in pairwise(one for one in sums if one is not None)]
        if not known:
            return unscored(draft)
        logprobs = (*known, *[ASSUMED_LOGPROB] * (len(tokens) - len(known)))
        expected = Finished(b"", tuple(tokens), logprobs, ASSUMED_LOGPROB, proposed=False)
        return replace(self._propose(expected, draft.text, passes), draft=draft, source=Source.RETRIEVAL)

    def _rows(self, wanted: int) -> list[int]:
        """Return the nodes that the next pass may read, those that must be read or are likeliest first."""
        tree, most = self.tree, min(self.cache.free_slots, self.model.most_rows - len(self.cache.waiting))
        nodes = tree.worthwhile(wanted)
        needed = [number for number in nodes if number in tree.needed]
        if needed:
            return needed[:most]
        self._look_ahead(nodes if tree.nodes[ROOT].seen else [ROOT])
        return tree.worthwhile(wanted)[:most]

    def _look_ahead(self, numbers: Sequence[int]) -> None:
        """Extend some nodes with the tokens that mostly followed the same tokens elsewhere in the file."""
        if self.ngrams is None:
            return
        for number in numbers[:4]:
            node = self.tree.nodes[number]
            if node.logprob is None or node.start:
                continue
            for _ in range(LOOKED_UP):
                token = self._usual_next([*self._before, *self.tree.tokens(number)][-LONGEST:])
                if token is None or token in self._no_text:
                    break
                (number,) = self.tree.insert([token], number) or (number,)

    @cached_property
    def _no_text(self) -> frozenset[int]:
        return frozenset(self.tree.rules.forbidden.tolist()) | frozenset(self.tree.rules.ends.tolist())

    def _usual_next(self, context: Sequence[int]) -> int | None:
        assert self.ngrams is not None
        token, share = self.ngrams.usual_next(context) or (None, 0.0)
        return token if share >= LEAST_SHARE else None

    @cached_property
    def _planner(self) -> BlockPlanner | None:
        """Plans blocks of masks; None where the model has none, or the text to read is known."""
        denoiser = self.model.denoiser
        if denoiser is None or self.holes.replaced:
            return None
        return BlockPlanner(denoiser, self.tree)

    def _blocks(self, numbers: Sequence[int], room: int) -> Blocks:
        """Return the blocks of a pass over some nodes, with at most `room` masks."""
        if self._planner is None or not room:
            return NO_BLOCKS
        return self._planner.plan(numbers, room, behind_prompt=bool(self.cache.waiting))

    def _pass(self, numbers: Sequence[int], blocks: Blocks) -> None:
        """Run one pass over some nodes, the waiting part of the prompt, and the blocks of masks after them."""
        tree, nodes = self.tree, [self.tree.nodes[number] for number in numbers]
        order = {number: row for row, number in enumerate(numbers)}
        parents = [
            [~order[one] if one in order else tree.nodes[one].slot for one in tree.path(number)[:-1]]
            for number in numbers
        ]
        known, reads_prompt = self.cache.continuations, bool(self.cache.waiting)
        found, denoised = self.cache.run_pass(
            [node.token for node in nodes], [node.depth for node in nodes], parents, blocks
        )
        after = dict(zip(numbers, found, strict=True))
        if reads_prompt and (root := known.get(())) is not None:
            after[ROOT] = root
        if any(np.isnan(prediction.logprobs[0]) for prediction in after.values()):
            raise NoNumbersError
        for number in numbers:
            known.keep(tuple(tree.tokens(number)), after[number])
        learn_pass(tree, after)
        if denoised is not None and self._planner is not None:
            self._planner.learn(numbers, blocks, denoised)

    def _propose(self, one: Finished, text: str, passes: int) -> ProposedText:
        scored = (*one.logprobs, one.ending)
        return ProposedText(
            text,
            mean_logprob=sum(scored) / len(scored),
            min_logprob=min(scored),
            length_logprob=one.ending,
            tokens=len(one.tokens),
            passes=passes,
            logprob=one.logprob,
            fills=tuple(fill.decode(errors="replace") for fill in one.fills) if self.holes.gaps else (),
        )

    def _text_of(self, one: Finished) -> str | None:
        """Return the text to insert at the cursor; None if it ends inside a character or does not fit the word."""
        try:
            text = one.text.decode()
        except UnicodeDecodeError:
            return None
        return text[len(self.partial_word) :] if text.startswith(self.partial_word) else None


def _shown(nodes: Sequence[Node]) -> tuple[TextPiece, ...]:
    return tuple(
        TextPiece(node.text, node.logprob, node.seen, node.assumed_logprob if node.denoised else None) for node in nodes
    )


def _whole(one: Finished) -> tuple[TextPiece, ...]:
    """Return a finished text, and the same text with its end."""
    return TextPiece(one.text, sum(one.logprobs), seen=True), TextPiece(one.text, one.logprob, seen=True)
