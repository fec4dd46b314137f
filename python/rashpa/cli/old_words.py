# SPDX-License-Identifier: Apache-2.0
"""Translates former names of options: the command accepts them and prints the current name."""

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
    """Return the words of a command with current option names, and a line for each option that had a former name."""
    found = list(_renamed(command, words))
    said = dict.fromkeys(f"{old} is {new} now" for old, new in ((old, new) for old, new, _ in found if old != new))
    return [new + rest for _, new, rest in found], tuple(said)


def _renamed(command: str, words: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Yield three texts for each word: the word as given, its current name, and the `=value` part of an option. Words after `--` stay as they are."""
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
