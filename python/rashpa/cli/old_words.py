# SPDX-License-Identifier: Apache-2.0
"""Options that had other names: they are understood, and the command says the name of today."""

from collections.abc import Iterator, Sequence

OUTPUT, TIMEOUT = "--output", "--timeout"
OLD_WORDS = {
    "demo": {"--report": OUTPUT},
    "run": {"--report": OUTPUT, "--launcher-wait": TIMEOUT},
    "attach": {"--report": OUTPUT},
    "join": {"--wait": TIMEOUT},
    "plan": {"--svg": OUTPUT},
    "dashboard": {"--reports": OUTPUT},
    "inspect": {"--png": OUTPUT},
    "combine": {"--out": OUTPUT},
    "dataset": {"--out": OUTPUT},
}
"""The old options of each command, and the names of today."""
_JSON = "--json"
_JSON_FILES = ("conformance", "bench")  # their --json took the file that --output takes now


def words_of_today(command: str, words: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    """Return the words of a command with the names of today, and a line for each option that had an old one."""
    found = list(_renamed(command, words))
    said = dict.fromkeys(f"{old} is {new} now" for old, new in ((old, new) for old, new, _ in found if old != new))
    return [new + rest for _, new, rest in found], tuple(said)


def _renamed(command: str, words: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Yield, for each word, the word as given, as it is today, and the value behind `=` of an option. Words behind `--` stay as they are."""
    names = OLD_WORDS.get(command, {})
    options = True
    for number, word in enumerate(words):
        options = options and word != "--"
        option, equals, value = word.partition("=")
        if options and option in names:
            yield option, names[option], equals + value
        elif options and option == _JSON and command in _JSON_FILES and (equals or _is_value(words, number + 1)):
            yield f"{_JSON} FILE", OUTPUT, equals + value
        else:
            yield word, word, ""


def _is_value(words: Sequence[str], number: int) -> bool:
    return number < len(words) and not words[number].startswith("-")
