"""Writes the prose of the tracked files to build/prose, for the language linter (make words).

Comments, docstrings and messages of Python files, the text of pages, and the descriptions of the contract
become Markdown. A line keeps its number: ``build/prose/models/page.py.md:12`` is ``models/page.py:12``.
Markdown files are copied unchanged.
"""

import ast
import io
import re
import shutil
import subprocess
import tokenize
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "build" / "prose"
# Comments that suppress a linter's finding. Their prose is the reason, after the dash.
SUPPRESSIONS = ("# noqa", "# type:")
# Strings of fewer words are names, keys or formats.
FEWEST_WORDS = 4
CODE = re.compile(
    r"\s*(SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|WITH|PRAGMA|EXPLAIN|COPY|SET|import|from|def|class|window|curl)\b"
    r"|.*\bON \w+ \(|.*=> |.*[;={<|]\s*$|.*;\n",
    re.DOTALL,
)
# A one-character placeholder, so that the sentence stays complete.
PLACEHOLDER = re.compile(r"\{[^{}]*\}")


class Lines:
    """Text by its line in the file."""

    def __init__(self, count: int) -> None:
        self._lines = [""] * (count + 1)

    def put(self, first: int, text: str) -> None:
        """Add ``text``, whose first line is ``first``, counted from 1."""
        for number, line in enumerate(text.split("\n"), start=first):
            if number < len(self._lines):
                self._lines[number] = f"{self._lines[number]} {line.strip()}".strip()

    def text(self) -> str:
        """All lines."""
        return "\n".join(self._lines[1:]) + "\n"


def _docstrings(tree: ast.Module) -> set[int]:
    """The first lines of all docstrings."""
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return {
        node.body[0].lineno
        for node in ast.walk(tree)
        if isinstance(node, owners) and ast.get_docstring(node, clean=False) is not None
    }


def _is_text(string: str) -> bool:
    return len(string.split()) >= FEWEST_WORDS and not CODE.match(string)


def _inside(literal: str) -> str:
    """A literal without its prefix and quotes."""
    bare = literal.lstrip("rbfuRBFU")
    quotes = 3 if bare[:3] in {'"""', "'''"} else 1
    return bare[quotes:-quotes]


def _comment(comment: str) -> str:
    """A comment's text. A reason is a sentence, like a message."""
    if comment.startswith("#!"):
        return ""
    if not comment.startswith(SUPPRESSIONS):
        return comment.lstrip("# ")
    reason = comment.partition(" - ")[2]
    return reason and f"{reason}."


def _ends(tokens: list[tokenize.TokenInfo], position: int) -> bool:
    """Whether a string is complete: no other literal continues it."""
    layout = {tokenize.NL, tokenize.COMMENT}
    following = (token.type for token in tokens[position + 1 :] if token.type not in layout)
    return next(following, tokenize.ENDMARKER) != tokenize.STRING


def _tokens(source: str) -> Iterator[tokenize.TokenInfo]:
    """The tokens, with each f-string as one string: from Python 3.12 on its parts are separate tokens."""
    lines = source.splitlines(keepends=True)
    starts: list[tokenize.TokenInfo] = []
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        kind = tokenize.tok_name[token.type]
        if kind == "FSTRING_START":
            starts.append(token)
        elif kind == "FSTRING_END":
            start = starts.pop()
            if not starts:
                text = _between(lines, start.start, token.end)
                yield tokenize.TokenInfo(tokenize.STRING, text, start.start, token.end, start.line)
        elif not starts:
            yield token


def _between(lines: list[str], start: tuple[int, int], end: tuple[int, int]) -> str:
    """The text from one position to another; lines count from 1, columns from 0."""
    part = lines[start[0] - 1 : end[0]]
    # The end first: both may be in one line.
    part[-1] = part[-1][: end[1]]
    part[0] = part[0][start[1] :]
    return "".join(part)


def python(source: str) -> str:
    """Comments, docstrings, and string literals of several words. Each literal is a sentence."""
    docstrings = _docstrings(ast.parse(source))
    lines = Lines(source.count("\n") + 1)
    tokens = list(_tokens(source))
    for position, token in enumerate(tokens):
        line = token.start[0]
        if token.type == tokenize.COMMENT:
            lines.put(line, _comment(token.string))
        elif token.type == tokenize.STRING:
            text = _inside(token.string)
            if line in docstrings:
                lines.put(line, text)
            elif _is_text(text):
                end = "." if _ends(tokens, position) and text[-1:] not in ".!?" else ""
                lines.put(line, PLACEHOLDER.sub("X", text) + end)
    return lines.text()


def page(source: str) -> str:
    """A template's text, without tags, expressions, scripts and styles."""
    for code in (r"<(script|style)\b.*?</\1>", r"\{#.*?#\}", r"\{[{%].*?[%}]\}", r"<[^>]*>"):
        source = re.sub(code, lambda found: "\n" * found[0].count("\n"), source, flags=re.DOTALL)
    return "\n".join(line.strip() for line in source.split("\n"))


def contract(source: str) -> str:
    """The descriptions and summaries of an OpenAPI document."""
    lines = Lines(source.count("\n") + 1)
    depth: int | None = None
    for number, line in enumerate(source.split("\n"), start=1):
        indent = len(line) - len(line.lstrip())
        if depth is not None and line.strip() and indent <= depth:
            depth = None
        if depth is not None:
            lines.put(number, line)
        elif found := re.match(r"\s*(?:- )?(?:description|summary|title): *(.*)", line):
            depth = indent
            if found[1] not in {"|", "|-", ">", ">-"}:
                lines.put(number, found[1].strip("'\""))
        elif found := re.match(r"\s*# (.*)", line):
            lines.put(number, found[1])
    return lines.text()


TOKENS = re.compile(
    r"""/\*(?P<block>.*?)\*/|//(?P<line>[^\n]*)|(?P<text>"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`)|'(?:\\.|[^'\\\n])*'""",
    re.DOTALL,
)


def typescript(source: str) -> str:
    """Comments, and string literals of several words. Each literal is a sentence."""
    lines = Lines(source.count("\n") + 1)
    for token in TOKENS.finditer(source):
        first = source.count("\n", 0, token.start()) + 1
        if text := token["block"] or token["line"]:
            lines.put(first, re.sub(r"^[ \t/]*\*? ?", "", text, flags=re.MULTILINE))
        elif (text := (token["text"] or "")[1:-1]) and _is_text(text):
            lines.put(first, re.sub(r"\$\{[^}]*\}", "X", text) + ("" if text[-1] in ".!?" else "."))
    return lines.text()


# Generated modules have the descriptions of the contract.
GENERATED = "sdk/typescript/src/generated/"
READERS: dict[str, Callable[[str], str]] = {
    ".py": python,
    ".ts": typescript,
    ".mts": typescript,
    ".html": page,
    ".yaml": contract,
    ".yml": contract,
    ".md": str,
}


def main() -> None:
    """Write the prose of all tracked files of a kind in READERS."""
    shutil.rmtree(TARGET, ignore_errors=True)
    names = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    for name in filter(None, names.split("\0")):
        file = ROOT / name
        is_ours = file.is_file() and not file.is_symlink() and not name.startswith(GENERATED)
        if file.suffix in READERS and is_ours:
            target = TARGET / f"{name}.md" if file.suffix != ".md" else TARGET / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(
                READERS[file.suffix](file.read_text(encoding="utf-8")), encoding="utf-8"
            )


if __name__ == "__main__":
    main()
