# SPDX-License-Identifier: Apache-2.0
"""Lists the small changes that the functions of a Python module can have, found in its syntax tree."""

import ast
import re

from change import Change

COMPARED = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.In: "not in",
    ast.NotIn: "in",
}
COUNTED = {ast.Add: "-", ast.Sub: "+", ast.Mult: "//", ast.FloorDiv: "*", ast.Div: "*", ast.Mod: "//"}
NAMES = {"min": "max", "max": "min", "any": "all", "all": "any"}
SAID = re.compile(r"^(_?log|_?LOG|logging|_?logger)\b")


class Finder(ast.NodeVisitor):
    """Finds the changes of all functions of a text."""

    def __init__(self, text: str) -> None:
        self.text_ = text
        self.starts_ = [0]
        for line in text.splitlines(keepends=True):
            self.starts_.append(self.starts_[-1] + len(line))
        self.lines_ = text.splitlines()
        self.found: list[Change] = []
        self.inside_ = 0
        self.result_ = ""

    def place(self, line: int, column: int) -> int:
        """Return the index in the text for a line and a column in bytes."""
        return self.starts_[line - 1] + len(self.lines_[line - 1].encode()[:column].decode())

    def span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        """Return the indices of begin and end of a node."""
        return self.place(node.lineno, node.col_offset), self.place(node.end_lineno or 0, node.end_col_offset or 0)

    def add(self, start: int, end: int, to: str, kind: str) -> None:
        """Add a change if it is inside a function."""
        if self.inside_:
            self.found.append(Change(start, end, to, kind))

    def between(self, left: ast.expr, right: ast.expr, word: str, to: str, kind: str) -> None:
        """Add the change of the operator between two terms."""
        start, end = self.span(left)[1], self.span(right)[0]
        if found := re.search(word, self.text_[start:end]):
            self.add(start + found.start(), start + found.end(), to, kind)

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """Visit the body of a function, without its docstring, its signature and its decorators."""
        outer = self.result_
        self.result_ = ast.unparse(node.returns) if node.returns else ""
        self.inside_ += 1
        documented = isinstance(node.body[0], ast.Expr) and isinstance(node.body[0].value, ast.Constant)
        for each in node.body[1:] if documented else node.body:
            self.visit(each)
        self.inside_ -= 1
        self.result_ = outer

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815

    def visit_Raise(self, node: ast.Raise) -> None:
        """Skip the texts of errors."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Skip the texts of messages."""

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Skip type annotations."""
        if node.value:
            self.visit(node.value)

    def visit_Compare(self, node: ast.Compare) -> None:
        """Add the neighbouring relations of a comparison."""
        for left, operator, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
            self.between(left, right, r"not in|is not|in\b|is\b|[<>=!]=|[<>]", COMPARED[type(operator)], "relation")
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        """Exchange `and` and `or`."""
        to = "or" if isinstance(node.op, ast.And) else "and"
        for left, right in zip(node.values, node.values[1:], strict=False):
            self.between(left, right, r"\b(and|or)\b", to, "logic")
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        """Exchange an arithmetic operator."""
        if to := COUNTED.get(type(node.op)):
            self.between(node.left, node.right, r"//|[+\-*/%]", to, "arithmetic")
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        """Remove a `not`."""
        if isinstance(node.op, ast.Not):
            start = self.span(node)[0]
            self.add(start, start + len("not "), "", "condition")
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        """Exchange True and False, and add one to whole numbers."""
        start, end = self.span(node)
        if isinstance(node.value, bool):
            self.add(start, end, str(not node.value), "constant")
        elif isinstance(node.value, int):
            self.add(start, end, str(node.value + 1), "constant")

    def visit_Call(self, node: ast.Call) -> None:
        """Exchange `min` and `max`, and skip log messages."""
        if SAID.match(ast.unparse(node.func)):
            return
        if isinstance(node.func, ast.Name) and node.func.id in NAMES:
            self.add(*self.span(node.func), NAMES[node.func.id], "bound")
        self.generic_visit(node)

    def turned(self, test: ast.expr) -> None:
        """Negate a condition."""
        start, end = self.span(test)
        self.add(start, end, f"(not ({self.text_[start:end]}))", "condition")

    def visit_If(self, node: ast.If) -> None:
        """Negate the condition."""
        self.turned(node.test)
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        """Negate the condition."""
        self.turned(node.test)
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        """Negate the conditions."""
        for test in node.ifs:
            self.turned(test)
        self.generic_visit(node)

    def removed(self, node: ast.stmt, kind: str) -> None:
        """Remove a statement."""
        self.add(*self.span(node), "pass", kind)

    def visit_Expr(self, node: ast.Expr) -> None:
        """Remove a call without a result."""
        call = node.value.value if isinstance(node.value, ast.Await) else node.value
        if isinstance(call, ast.Call) and not SAID.match(ast.unparse(call.func)):
            self.removed(node, "call")
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        """Remove an assignment to a name that exists already."""
        if all(isinstance(target, ast.Attribute | ast.Subscript) for target in node.targets):
            self.removed(node, "assignment")
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        """Remove a count."""
        self.removed(node, "assignment")
        self.generic_visit(node)

    def visit_Break(self, node: ast.Break) -> None:
        """Remove a jump."""
        self.removed(node, "jump")

    def visit_Continue(self, node: ast.Continue) -> None:
        """Remove a jump."""
        self.removed(node, "jump")

    def visit_Return(self, node: ast.Return) -> None:
        """Negate a returned truth value, and return None where that is allowed."""
        if node.value:
            start, end = self.span(node.value)
            if self.result_ == "bool" and not isinstance(node.value, ast.Constant):
                self.add(start, end, f"not ({self.text_[start:end]})", "return")
            elif "None" in self.result_ and not isinstance(node.value, ast.Constant):
                self.add(start, end, "None", "return")
        self.generic_visit(node)


def changes(text: str) -> list[Change]:
    """Return all changes of a module's functions, in their order."""
    finder = Finder(text)
    finder.visit(ast.parse(text))
    return sorted(finder.found, key=lambda each: (each.start, each.end, each.to))
