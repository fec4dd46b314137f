# SPDX-License-Identifier: Apache-2.0
"""Lists the small changes that a C++ file can have, found in its text without a compiler."""

import re

from change import Change

_TO_THE_END = r"(?:\"(?:\\.|[^\"\\\n])*\"|[^;\"])*;"  # of a statement, over literals that have semicolons
# Comments, literals of text, and lines that are no code of a run: they keep their places, and lose their letters.
NO_CODE = re.compile(
    r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])+'"
    r"|^[ \t]*(?:#|using\b|namespace\b|static_assert\b|template\b|static constexpr\b|constexpr\b)[^\n]*"
    r"|\bstatic_assert\([^;]*;|std::memory_order\w+"
    rf"|\bthrow\b{_TO_THE_END}|\b(?:log|fmt)::\w+\({_TO_THE_END}",
    re.DOTALL | re.MULTILINE,
)
SWAPS = (
    ("relation", r" < ", " <= "),
    ("relation", r" <= ", " < "),
    ("relation", r" > ", " >= "),
    ("relation", r" >= ", " > "),
    ("relation", r" == ", " != "),
    ("relation", r" != ", " == "),
    ("logic", r" && ", " || "),
    ("logic", r" \|\| ", " && "),
    ("arithmetic", r"(?<=[\w)\]]) \+ ", " - "),
    ("arithmetic", r"(?<=[\w)\]]) - ", " + "),
    ("arithmetic", r"(?<=[\w)\]]) \* ", " / "),
    ("arithmetic", r"(?<=[\w)\]]) / ", " * "),
    ("arithmetic", r"(?<=[\w)\]]) % ", " / "),
    ("arithmetic", r"\+\+", "--"),
    ("arithmetic", r" \+= ", " -= "),
    ("arithmetic", r" -= ", " += "),
    ("bound", r"std::min\b", "std::max"),
    ("bound", r"std::max\b", "std::min"),
    ("constant", r"\btrue\b", "false"),
    ("constant", r"\bfalse\b", "true"),
)
NUMBER = re.compile(r"(?<![\w.<'])\d+(?=[uUlL]*(?![\w.>']))")
CALL = re.compile(r"[\w:.\[\]*]+(?:->[\w:.\[\]]+)*\(")
ASSIGNED = re.compile(r"\*?[\w.:]+(?:->[\w.]+|\[[^\]\n]*\]|\(\)\.\w+)*\s[+\-|&]?=\s")
COUNTED = re.compile(r"(?:\+\+|--)[\w.\->\[\]]+;|[\w.\->\[\]]+(?:\+\+|--);")


def masked(text: str) -> str:
    """Return the text in the same length, with blanks for everything that is no executable code."""
    return NO_CODE.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text)


def closing(text: str, opened: int) -> int:
    """Return the place after the bracket that closes the one at `opened`, or the end."""
    depth = 0
    for place in range(opened, len(text)):
        depth += text[place] in "([{"
        depth -= text[place] in ")]}"
        if depth == 0:
            return place + 1
    return len(text)


def statement_end(text: str, start: int) -> int:
    """Return the place after the semicolon of the statement that begins at `start`."""
    place = start
    while place < len(text) and text[place] != ";":
        place = closing(text, place) if text[place] in "([{" else place + 1
    return place + 1


def statements(text: str, code: str) -> list[Change]:
    """Return the removals of statements (calls without a result, assignments, counts, jumps), and the negated returns."""
    found = []
    for at in re.finditer(r"(?<=[;{})\n])[ \t\n]*(?=[\w*+\-])", code):
        start = at.end()
        before = code[: at.start()].rstrip()
        if (
            not before
            or before[-1] not in ";{})"
            or (before[-1] == ")" and not re.search(r"\b(if|for|while) \(", before[-300:]))
        ):
            continue
        end = statement_end(code, start)
        said = code[start:end]
        if returned := re.match(r"return\s+(?=[^;{])", said):
            value = text[start + returned.end() : end - 1]
            if value.strip() not in ("true", "false"):
                found.append(Change(start, end, f"return !({value});", "return"))
        elif said in ("break;", "continue;", "return;"):
            found.append(Change(start, end, ";", "jump"))
        elif (called := CALL.match(said)) and said[closing(said, called.end() - 1) :].lstrip()[:1] in (";", ".", "-"):
            if not said.startswith(("if(", "return")) and ") {" not in said:
                found.append(Change(start, end, ";", "call"))
        elif ASSIGNED.match(said) or COUNTED.match(said):
            found.append(Change(start, end, ";", "assignment"))
    return found


def conditions(text: str, code: str) -> list[Change]:
    """Return the negated conditions."""
    found = []
    for at in re.finditer(r"\bif \(", code):
        end = closing(code, at.end() - 1) - 1
        said = text[at.end() : end]
        if ";" not in said:
            found.append(Change(at.end(), end, f"!({said})", "condition"))
    return found


def changes(text: str) -> list[Change]:
    """Return all changes of a file's text, in their order."""
    code = masked(text)
    found = [Change(at.start(), at.end(), to, kind) for kind, word, to in SWAPS for at in re.finditer(word, code)]
    for at in NUMBER.finditer(code):
        value = int(at.group())
        found += [Change(at.start(), at.end(), str(to), "constant") for to in (value + 1, value - 1) if to >= 0]
    return sorted(
        [*found, *statements(text, code), *conditions(text, code)], key=lambda each: (each.start, each.end, each.to)
    )
