# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A brace counter that finds the functions and namespaces of a C++ file. It reads well-formatted code, no more."""
import re

from tree import without_comments

_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)
_NAMESPACE = re.compile(r"^(?:inline\s+)?namespace\b")
_TEMPLATE = re.compile(r"template\s*<[^{]*?>\s*(?=(?:requires|class|struct|union)\b)")
_TYPE = re.compile(r"^(?:\[\[[^\]]*\]\]\s*)?(?:class|struct|union|enum|extern)\b")
# Parentheses that belong to no parameter list.
_CLAUSES = re.compile(r"__attribute__\s*\(\(.*?\)\)\)?|requires\s*\(.*?\)|"
                      r"(?:alignas|decltype|noexcept|explicit)\s*\([^)]*\)")
_CALL = re.compile(r"(?:[\w>]|operator\s*\S{1,3})\s*\([^;]*\)")
_NOT_FUNCTION = re.compile(r"\bconcept\b|=\s*(?:\[|requires\b|$)|^requires\b|\brequires\s*(?:\([^{]*\))?\s*$|"
                           r"=\s*[^()]*\{?$")


def _call(head):
    """Whether the head has a parameter list: a name or an operator directly before a parenthesis."""
    return _CALL.search(_CLAUSES.sub(" ", head)) is not None


class Block:
    """Everything between a pair of braces, and the words before it."""

    def __init__(self, head, first, parent):
        self.head = head
        self.first = first  # the line where the head begins
        self.last = first
        self.parent = parent
        self.kind = self._kind()

    def _kind(self):
        head = self.head
        if _NAMESPACE.match(head):
            return "namespace"
        if self.parent is not None and self.parent.kind in ("function", "inner"):
            return "inner"
        if _TYPE.match(_TEMPLATE.sub("", head)) and not _call(head):
            return "type"
        return "function" if _call(head) and not _NOT_FUNCTION.search(head) else "inner"

    def lines(self):
        return self.last - self.first + 1


def plain(text):
    """The text without comments, the inside of literals and preprocessor lines; line breaks stay."""
    text = without_comments(text)
    return _DIRECTIVE.sub(lambda m: re.sub(r"[^\n]", " ", m.group(0)), text)


def blocks(text):
    """All blocks of a text in the order of their ends."""
    text = plain(text)
    found, stack = [], []
    head_start, parens, i, line = 0, 0, 0, 1
    for i, c in enumerate(text):
        if c == "\n":
            line += 1
        elif c in "([":
            parens += 1
        elif c in ")]":
            parens -= 1
        elif c == "{":
            raw = text[head_start:i]
            first = line - raw.lstrip().count("\n") if raw.strip() else line
            stack.append((Block(raw.strip(), first, stack[-1][0] if stack else None), parens, head_start))
            parens, head_start = 0, i + 1
        elif c == "}" and stack:
            block, parens, start = stack.pop()
            block.last = line
            found.append(block)
            rest = text[i + 1:i + 200].lstrip()
            goes_on = rest[:1] in (",", "{") or parens > 0
            head_start = start if goes_on else i + 1
        elif c == ";" and parens == 0:
            head_start = i + 1
    return found


def functions(text):
    return [b for b in blocks(text) if b.kind == "function"]
