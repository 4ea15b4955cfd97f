"""What a pass of the model adds to a tree of tokens: scores, continuations and whole texts."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import log

import numpy as np

from infill_engine.models.trunk.continuations import Prediction
from infill_engine.models.trunk.denoiser import ProposedToken
from infill_engine.sampling.trunk.middle import Known
from infill_engine.sampling.trunk.token_tree import CHILDREN, LEAST_LOGPROB, Floats, Ints, TokenTree
from infill_engine.sampling.trunk.tree_nodes import Finished, Node
from infill_engine.text.delimiters import Scan, scan


def learn_pass(tree: TokenTree, predictions: Mapping[int, Prediction]) -> None:
    """Add the predictions after some nodes, by their numbers."""
    for number in sorted(predictions, key=lambda number: tree.nodes[number].depth):
        tree.nodes[number].slot = predictions[number].slot
        _learn(tree, number, predictions[number].logprobs, predictions[number].likeliest)
    _weigh_known(tree)


def _learn(tree: TokenTree, number: int, logprobs: Floats, likeliest: Ints) -> None:
    """Add the model's prediction after a node: log-probabilities [V], and the likeliest tokens, best first."""
    node = tree.nodes[number]
    node.seen = True
    base = tree.logprob_of(number)
    if node.known:
        _follow(tree, number, logprobs, base)
        return
    if node.start:
        tokens = np.concatenate(tree.vocabulary.completions_of(node.start))
        order = _likeliest(tokens, logprobs, 2 * CHILDREN)
        if not node.fills:  # the rest of the word is given; elsewhere it counts as known text
            base -= _log_sum(logprobs[tokens])
    else:
        order = likeliest
    for child in tree.children(number):
        fits = not node.start or len(child.start) < len(node.start)
        child.logprob = base + float(logprobs[child.token]) if fits else LEAST_LOGPROB
    _grow(tree, number, order, logprobs, base)
    if not node.start:
        _finish(tree, number, logprobs, base)


def propose(tree: TokenTree, number: int, choices: Sequence[ProposedToken]) -> None:
    """Add what a denoised block proposes after a node, as far as it can be text of the node's hole."""
    for choice in choices:
        node = tree.nodes[number]
        text = node.text + tree.vocabulary.bytes_of(choice.token)
        stops = choice.token in node.rules.excluded or choice.token in node.rules.ends
        if stops or node.known or node.start or node.depth + 2 >= tree.most_depth or _closes_too_much(text, node):
            return
        known = len(tree.nodes)
        number = tree.child(number, choice.token, choice.logprob)
        tree.nodes[number].denoised |= number == known


def _follow(tree: TokenTree, number: int, logprobs: Floats, base: float) -> None:
    """Score what comes after a node of known text: more known text, or the end."""
    children = list(tree.children(number))
    for child in children:
        child.logprob = base + float(logprobs[child.token])
    if not children:
        _end(tree, number, _log_sum(logprobs[tree.nodes[number].rules.ends]))


def _grow(tree: TokenTree, number: int, order: Ints, logprobs: Floats, base: float) -> None:
    """Add the likeliest tokens after a node, `order`, as its children."""
    node = tree.nodes[number]
    allowed = [token for token in order.tolist() if token not in node.rules.excluded]
    for token in allowed[:CHILDREN]:
        logprob = base + float(logprobs[token])
        text = node.text + tree.vocabulary.bytes_of(token)
        if logprob > tree.least and not _closes_too_much(text, node):
            child = tree.nodes[tree.child(number, token)]
            child.logprob, child.proposed = logprob, node.proposed


def _finish(tree: TokenTree, number: int, logprobs: Floats, base: float) -> None:
    """End the text of a hole after a node, and after the part before a line break of the tokens that follow."""
    node = tree.nodes[number]
    middle, last = node.rules.middle, node.rules.last
    if len(node.text) > node.opened:
        if middle is None:
            _end(tree, number, _log_sum(logprobs[node.rules.ends]))
        elif not _opens(node):
            _add_known(tree, number, middle.after((*node.fills, node.text[node.opened :])), logprobs, base)
    if not len(last):
        return
    for token in {int(last[np.argmax(logprobs[last])]), *node.endings}:
        if middle is None:
            _end_with(tree, number, token, float(logprobs[token]))
            continue
        text, broken = _parted(tree.vocabulary.bytes_of(token))
        known = middle.after((*node.fills, node.text[node.opened :] + text), broken)
        if known is not None:
            known = replace(known, tokens=(token, *known.tokens))
        _add_known(tree, number, known, logprobs, base, needed=token in node.endings)


def _add_known(
    tree: TokenTree, number: int, known: Known | None, logprobs: Floats, base: float, *, needed: bool = False
) -> None:
    """Add the known text after a hole, unless that is too unlikely."""
    if known is None:
        return
    logprob = base + float(logprobs[known.tokens[0]])
    if logprob > tree.least or needed:
        run = tree.add_known(number, known, known.tokens)
        tree.nodes[run[0]].logprob = logprob
        tree.needed.update(dict.fromkeys(run if needed else ()))


def _weigh_known(tree: TokenTree) -> None:
    """Keep how likely the known text is after the replaced text, as far as that has been read."""
    total = 0.0
    for number in tree.needed:
        node, above = tree.nodes[number], tree.nodes[tree.nodes[number].parent]
        if node.logprob is None or above.logprob is None:
            return
        if node.known or node.fills != above.fills:
            total += node.logprob - above.logprob
        tree.known_logprobs[len(node.fills)] = total


def _end(tree: TokenTree, number: int, logprob: float) -> None:
    node = tree.nodes[number]
    if not node.known and _opens(node):
        return
    fills = node.fills if node.known else (*node.fills, node.text[node.opened :])
    _add(tree, Finished(node.text, tuple(tree.tokens(number)), tree.logprobs_of(number), logprob, node.proposed, fills))


def _end_with(tree: TokenTree, number: int, token: int, logprob: float) -> None:
    """End the text with the part of a token before its line break."""
    node = tree.nodes[number]
    text = node.text + _parted(tree.vocabulary.bytes_of(token))[0]
    tokens, fills = (*tree.tokens(number), token), (*node.fills, text[node.opened :])
    _add(tree, Finished(text, tokens, (*tree.logprobs_of(number), logprob), 0.0, node.proposed, fills))


def _add(tree: TokenTree, finished: Finished) -> None:
    known = tree.finished.get(finished.text)
    if finished.logprob > tree.least * 3 and (known is None or finished.logprob > known.logprob):
        tree.finished[finished.text] = finished


def _opens(node: Node) -> bool:
    """Return whether the text of a node's hole leaves a bracket open that it must close."""
    return node.rules.in_brackets and bool(_scanned(node.text[node.opened :]).opened)


def _closes_too_much(text: bytes, node: Node) -> bool:
    return node.rules.in_brackets and bool(_scanned(text[node.opened :]).closed)


def _parted(token: bytes) -> tuple[bytes, bytes]:
    """Return the part of a token before its line break, without blanks, and the rest from the line break on."""
    text, _, after = token.partition(b"\n")
    return text.rstrip(b" \t\r"), b"\n" + after


def _likeliest(tokens: Ints, logprobs: Floats, most: int) -> Ints:
    """Return the likeliest of some tokens, best first."""
    if len(tokens) > most:
        tokens = tokens[np.sort(np.argpartition(-logprobs[tokens], most)[:most])]
    return tokens[np.argsort(-logprobs[tokens], kind="stable")]


def _log_sum(logprobs: Floats) -> float:
    """Return the logarithm of the sum of probabilities."""
    most = float(logprobs.max(initial=-np.inf))
    return most + log(float(np.exp(logprobs - most).sum())) if most > -np.inf else LEAST_LOGPROB


def _scanned(text: bytes) -> Scan:
    return scan(text.decode("utf-8", "replace"), "")
