"""What the trunk makes of a request: one search over a tree of tokens, as many passes as the time allows.

read the prompt ──▶ plant the retrieved texts ──▶ pass over the likeliest nodes ──▶ … ──▶ texts with their likelihoods
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import pairwise
from math import log

import numpy as np

from infill_engine.answering import Guessed, TextPiece, TreeStep, Watch, since, unread_guess
from infill_engine.context.ngrams import LONGEST, Ngrams
from infill_engine.context.retrieval import Retriever
from infill_engine.context.surroundings import CountedSurroundings
from infill_engine.deadline import CostModel, Deadline, Reading, Reserve, now
from infill_engine.lines import first_line
from infill_engine.models.base import ContextUnread, unhurried
from infill_engine.models.duostream.vocabulary import CachedLines
from infill_engine.models.trunk.model import Reading as Prompted
from infill_engine.models.trunk.model import TrunkModel
from infill_engine.models.trunk.prompt import TrunkVocabulary, build_head, fitting
from infill_engine.sampler.readout import NoNumbersError
from infill_engine.sampler.token_tree import PLANTED_LOGPROB, EndRules, Finished, Node, TokenTree, stands_in_brackets
from infill_engine.settings import SamplerSettings
from infill_engine.types import Draft, Guess, Hole, InfillRequest, Source, Surroundings

PLANTED_TOKENS = 32  # of retrieved texts, in the first pass
ROWS = (2, 4, 8, 12, 16, 24)  # tokens of a pass, of which the best number is chosen
MEASURED = (8, 16, 32, 64)  # rows of the passes that are measured when a model is loaded
PARTS, PART_MS = (8, 16, 32, 64), 45.0  # rows of a prompt that are read at once, and how long that may take
LOOKED_UP = 3  # tokens in a row that counts of the file may put behind a node
LEAST_SHARE = 0.5  # of what followed the same tokens, for one of them to be put there
TEXTS = 12  # that are ranked
SHOWN_TEXTS = 6  # to somebody who watches
UNFINISHED_LOGPROB = log(0.5)  # of a token that may stand in a partial answer


@dataclass(slots=True)
class _Costs:
    """What a pass over so many tokens has taken, and counting in so many new lines."""

    passes: CostModel = field(default_factory=CostModel)
    counting: CostModel = field(default_factory=CostModel)


class TreeGuessing:
    """A loaded trunk, what its passes have cost so far, and the text it has counted. One request at a time."""

    def __init__(self, family: TrunkModel, settings: SamplerSettings, reserve: Reserve) -> None:
        self.family = family
        self._settings = settings
        self._reserve = reserve  # for what follows the guesses
        self._costs = _Costs()
        self._lines = CachedLines(family.vocabulary)
        self._surroundings = CountedSurroundings(family.vocabulary.encode)
        self._retriever = Retriever()

    def surround(self, surroundings: Surroundings) -> Iterator[None]:
        """Indexes and counts the text around a document, of use to requests that name it.

        Yields after every 2 ms or so.
        """
        yield from self._retriever.index(surroundings)
        yield from self._surroundings.count(surroundings)

    def read_ahead(self, request: InfillRequest, deadline: Deadline) -> None:
        """Reads a request's prompt, so that a later request nearby finds it read, and counts the text around it.

        Only here are snippets retrieved; a hurried request uses those that have been read. Raises ContextUnread if
        there is no time for all of it.
        """
        vocabulary = self.family.vocabulary
        before, partial_word = vocabulary.split_partial_word(request.prefix)
        snippets = self._retriever.retrieve(request, partial(fitting, vocabulary))
        head = build_head(vocabulary, request.path, snippets)
        reading = self._reading(deadline)
        prompt = self.family.read(before, request.suffix, reading.go_on, head=head, part=self._part())
        self.family.logprobs(prompt, (), (), ())
        reading.pause()
        self._count(request, partial_word, unhurried)

    def guess(
        self,
        request: InfillRequest,
        hole: Hole,
        drafts: tuple[Draft, ...],
        deadline: Deadline,
        room: object = None,  # noqa: ARG002  (a tree of texts needs little memory)
        watch: Watch | None = None,
    ) -> Guessed:
        """All texts that were found for a hole in time. `watch` sees the tree after every pass."""
        began = now()
        before, partial_word = self.family.vocabulary.split_partial_word(request.prefix)
        reading = self._reading(deadline)
        try:
            head = build_head(self.family.vocabulary, request.path)
            prompt = self.family.read(before, request.suffix, reading.go_on, head=head, part=self._part(), hurried=True)
            reading.pause()
        except ContextUnread:
            return Guessed([unread_guess(draft) for draft in drafts] or None, since(began), unread=True)
        encode_ms = since(began)
        began = now()
        near = self._count_in_time(request, partial_word, deadline)
        search = _Search(self, prompt, request, hole, partial_word, near, watch)
        search.plant(drafts)
        passes = search.run(deadline.sooner(self._settings.aim), deadline)
        if not passes:
            return Guessed([unread_guess(draft) for draft in drafts] or None, encode_ms, unread=True)
        counted = not request.surroundings or self._surroundings.get(request.surroundings) is not None
        guesses = search.guesses(drafts, passes)
        return Guessed(guesses, encode_ms, since(began), unread=prompt.stale, final=counted and not prompt.stale)

    def affordable(self, rows: int, deadline: Deadline) -> bool:
        """Whether a pass over so many tokens would be done in time."""
        return deadline.allows(self._costs.passes.predict_ms(rows) + self._reserve.predict_ms())

    def pass_ms(self, rows: int) -> float:
        """What a pass over so many tokens is expected to take."""
        return self._costs.passes.predict_ms(rows)

    def measure(self) -> None:
        """Learns what passes of usual sizes cost, each measured when nothing has to be set up any more."""
        text = "".join(f"value_{line} = compute({line})\n" for line in range(12))
        for size in MEASURED:
            for attempt in range(2):
                prompt = self.family.read(text, text, unhurried)
                self.family.logprobs(prompt, (), (), ())
                began = now()
                self.family.logprobs(prompt, [0] * size, [0] * size, [[]] * size)
                if attempt:
                    self.took(size, since(began))

    def _part(self) -> int:
        """How many rows are read before asking again: as many as keep a new request waiting no longer than PART_MS."""
        return max((rows for rows in PARTS if self.pass_ms(rows) <= PART_MS), default=min(PARTS))

    def took(self, rows: int, milliseconds: float) -> None:
        """Learn what a pass took."""
        self._costs.passes.observe(rows, milliseconds)

    def relent(self) -> None:
        """A pass was not begun because it seemed too dear."""
        self._costs.passes.relent()

    def _reading(self, deadline: Deadline) -> Reading:
        return Reading(deadline, self._costs.passes, self._reserve.predict_ms())

    def _count(self, request: InfillRequest, partial_word: str, go_on: Callable[[int], bool]) -> Ngrams:
        return Ngrams(self._lines.encode(request.around(partial_word), go_on))

    def _count_in_time(self, request: InfillRequest, partial_word: str, deadline: Deadline) -> Ngrams | None:
        counting = Reading(deadline, self._costs.counting, self._reserve.predict_ms() + self.pass_ms(8))
        try:
            near = self._count(request, partial_word, counting.go_on)
        except ContextUnread:
            return None
        counting.pause()
        return near


@dataclass
class _Search:
    """One request's tree, grown pass by pass."""

    guessing: TreeGuessing
    prompt: Prompted
    request: InfillRequest
    hole: Hole
    partial_word: str
    near: Ngrams | None
    watch: Watch | None = None

    @cached_property
    def tree(self) -> TokenTree:
        return tree_for(self.guessing.family.vocabulary, self.hole, first_line(self.request.suffix), self.partial_word)

    @cached_property
    def _before(self) -> list[int]:
        """The tokens before the hole, as far as counts look at them."""
        return [*self.prompt.prompt.prefix[1:], *self.prompt.prompt.middle[1:]][-LONGEST:]

    def plant(self, drafts: Sequence[Draft]) -> None:
        """Puts the retrieved texts into the tree."""
        encode = self.guessing.family.vocabulary.encode
        for draft in drafts:
            self.tree.plant(encode(self.partial_word + draft.text))

    def run(self, aimed: Deadline, deadline: Deadline) -> int:
        """Passes over the likeliest nodes as long as there is time and something to gain; how many there were."""
        passes, wanted = 0, self.request.candidates
        while True:
            rows = self._rows(wanted)
            waiting = len(self.prompt.waiting)
            while rows and not self.guessing.affordable(len(rows) + waiting, deadline):
                rows = rows[: len(rows) // 2]
            if not rows and not (waiting and self.guessing.affordable(waiting, deadline)):
                if not passes:
                    self.guessing.relent()
                return passes
            if passes and not self.guessing.affordable(len(rows), aimed) and self.tree.finished:
                return passes
            self._pass(rows)
            passes += 1
            if self.watch is not None:
                self.watch(self.guessing.family, TreeStep(passes, tuple(map(_shown, self.tree.likeliest(SHOWN_TEXTS)))))

    def guesses(self, drafts: Sequence[Draft], passes: int) -> list[Guess]:
        """The texts that were found, each with what the model thinks of it."""
        by_text = {draft.text: draft for draft in reversed(drafts)}
        found: list[Guess] = []
        for one in self.tree.texts():
            text = self._text_of(one)
            if text is None:
                continue
            draft = by_text.pop(text, None)
            if draft is not None:
                found.append(replace(_guess(one, text, passes), draft=draft, source=Source.RETRIEVAL))
            if one.proposed and len(found) < TEXTS:
                found.append(replace(_guess(one, text, passes), fluency=sum(one.logprobs) / len(one.logprobs)))
        found += [self._as_far_as_read(draft, passes) for draft in by_text.values()]
        partial = (
            self.tree.unfinished(UNFINISHED_LOGPROB)
            if not any(guess.source is Source.MODEL for guess in found)
            else None
        )
        if partial is not None and (text := self._text_of(partial)):
            found.append(replace(_guess(partial, text, passes), partial=True, likelihood=None))
        return found

    def _as_far_as_read(self, draft: Draft, passes: int) -> Guess:
        """A retrieved text that the model has not read to its end: what it has not read counts as usual tokens do."""
        tokens = self.guessing.family.vocabulary.encode(self.partial_word + draft.text)
        sums = [0.0, *(self.tree.nodes[number].logprob for number in self.tree.plant(tokens))]
        known = [after - before for before, after in pairwise(one for one in sums if one is not None)]
        if not known:
            return unread_guess(draft)
        logprobs = (*known, *[PLANTED_LOGPROB] * (len(tokens) - len(known)))
        expected = Finished(b"", tuple(tokens), logprobs, PLANTED_LOGPROB, proposed=False)
        return replace(_guess(expected, draft.text, passes), draft=draft, source=Source.RETRIEVAL)

    def _rows(self, wanted: int) -> list[int]:
        """The nodes of the next pass: as many as give the most progress for what they cost."""
        tree = self.tree
        nodes = tree.worthwhile(wanted)[: self.prompt.room]
        if not tree.nodes[0].seen:
            return self._most_for_the_time(nodes[:PLANTED_TOKENS], len(self.prompt.waiting), 1.0)
        self._look_ahead(nodes[: max(ROWS)])
        nodes = tree.worthwhile(wanted)[: min(self.prompt.room, max(ROWS))]
        return self._most_for_the_time(nodes, 0, 0.0)

    def _most_for_the_time(self, nodes: list[int], others: int, gain: float) -> list[int]:
        """The first of some nodes, as many as give the most progress for what they cost.

        `others` are further rows of the pass, which are worth `gain`. Progress is the share of right beginnings that
        become a token longer.
        """
        gains = gain + np.cumsum([0.0, *(self.tree.probability(number) for number in nodes)])
        counts = [0, *(rows for rows in ROWS if rows < len(nodes)), len(nodes)]
        worth = [gains[rows] / self.guessing.pass_ms(max(rows + others, 1)) for rows in counts]
        return nodes[: counts[int(np.argmax(worth))]]

    def _look_ahead(self, numbers: Sequence[int]) -> None:
        """Puts behind some nodes what followed the same tokens elsewhere in the file, where that is clear."""
        if self.near is None:
            return
        for number in numbers[:4]:
            node = self.tree.nodes[number]
            if node.logprob is None or node.start:
                continue
            for _ in range(LOOKED_UP):
                token = self._usual_next([*self._before, *self.tree.tokens(number)][-LONGEST:])
                if token is None or token in self._no_text:
                    break
                (number,) = self.tree.plant([token], number) or (number,)

    @cached_property
    def _no_text(self) -> frozenset[int]:
        return frozenset(self.tree.rules.forbidden.tolist()) | frozenset(self.tree.rules.ends.tolist())

    def _usual_next(self, context: Sequence[int]) -> int | None:
        assert self.near is not None
        following = self.near.longest(context)
        if not len(following):
            return None
        (token, count), *_ = Counter(following.tolist()).most_common(1)
        return int(token) if count >= LEAST_SHARE * len(following) else None

    def _pass(self, numbers: Sequence[int]) -> None:
        """One pass of the model over some nodes, and over what of the prompt is still waiting."""
        tree, nodes = self.tree, [self.tree.nodes[number] for number in numbers]
        order = {number: row for row, number in enumerate(numbers)}
        parents = [
            [~order[one] if one in order else tree.nodes[one].slot for one in tree.path(number)[:-1]]
            for number in numbers
        ]
        rows = len(numbers) + len(self.prompt.waiting)
        began = now()
        found = self.guessing.family.logprobs(
            self.prompt, [node.token for node in nodes], [node.depth for node in nodes], parents
        )
        self.guessing.took(rows, since(began))
        if np.isnan(found.logprobs[:, 0]).any():
            raise NoNumbersError
        tree.learn_pass(numbers, found.logprobs, found.likeliest, found.slots)

    def _text_of(self, one: Finished) -> str | None:
        """The text as it is inserted at the cursor; None if it ends inside a character or does not fit the word."""
        try:
            text = one.text.decode()
        except UnicodeDecodeError:
            return None
        return text[len(self.partial_word) :] if text.startswith(self.partial_word) else None


def tree_for(vocabulary: TrunkVocabulary, hole: Hole, right: str, partial_word: str) -> TokenTree:
    """An empty tree for a hole. `right` is what stands right of it on its line, blank at the line's end."""
    breaks, at_once = vocabulary.breaks_line(), vocabulary.breaks_line(at_once=True)
    one_line, inside = hole.max_lines == 1, bool(right.strip())
    end, nothing = np.array([vocabulary.fim.end]), np.empty(0, np.int64)
    ends = [end]
    if inside:
        ends += vocabulary.completions_of(f"{right}\n".encode(errors="ignore"))
    elif one_line:
        ends.append(at_once)
    forbidden = np.concatenate([vocabulary.never(), end, breaks if one_line else nothing])
    last = np.setdiff1d(breaks, at_once) if one_line and not inside else nothing
    rules = EndRules(np.concatenate(ends), last, forbidden, stands_in_brackets(right))
    return TokenTree(vocabulary, rules, partial_word.encode())


def _shown(nodes: Sequence[Node]) -> tuple[TextPiece, ...]:
    return tuple(TextPiece(node.text, node.logprob, node.seen) for node in nodes)


def _guess(one: Finished, text: str, passes: int) -> Guess:
    scored = (*one.logprobs, one.ending)
    return Guess(
        text,
        mean_logprob=sum(scored) / len(scored),
        min_logprob=min(scored),
        length_logprob=one.ending,
        tokens=len(one.tokens),
        steps=passes,
        likelihood=one.logprob,
    )
