"""Languages as records of data. All other code asks here for facts about a language.

`records/<id>.toml` holds one language's facts, `queries/<id>/holes.scm` the syntax nodes that holes are drawn from. The
id is an LSP language identifier. See "Adding a language" in CONTRIBUTING.md.
"""

from infill_engine.text.languages.grammars import grammar_of, grammar_trouble
from infill_engine.text.languages.recognition import Recognised, recognise
from infill_engine.text.languages.record import Bodies, Braces, Entry, Language, Support
from infill_engine.text.languages.registry import all_entries, language, language_of, related

__all__ = [
    "Bodies",
    "Braces",
    "Entry",
    "Language",
    "Recognised",
    "Support",
    "all_entries",
    "grammar_of",
    "grammar_trouble",
    "language",
    "language_of",
    "recognise",
    "related",
]
