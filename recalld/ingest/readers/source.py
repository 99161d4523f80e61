"""Source code by its definitions: a section is a function, a class or a method, with the comment above it."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache, partial

from tree_sitter import Language, Node, Parser

from recalld.ingest.outline import Block, BlockKind, Lines, Outline, Section, paragraphs, plain_outline
from recalld.ingest.report import Reporter

MAX_DEPTH = 6
"""Definitions inside definitions are looked for so deep."""
BYTES_A_STEP = 75
"""Source that is sound takes tree-sitter one step of progress for some 150 bytes; broken source may take very many."""
PATIENCE = 500
"""Steps that a file of any size gets."""
MAX_CHARS = 2_000_000
MAX_OPEN_BRACKETS = 500
"""Source that is longer or nests deeper was written by no one and is read as paragraphs."""
SLICE = 1 << 16
MAX_NAME_CHARS = 120
MAX_CAPTION_CHARS = 160

_BRACKETS = re.compile(r"[()\[\]{}]")
_ONLY_CLOSES = re.compile(r"[\s\])};,]*(?:end)?[\s\])};,]*")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


@dataclass(frozen=True, slots=True)
class Grammar:
    """A tree-sitter grammar and which of its nodes define something.

    ``wrappers`` are nodes that a definition may stand in (a decorator, an export); ``containers`` are definitions
    whose members are sections of their own.
    """

    module: str
    definitions: frozenset[str]
    containers: frozenset[str] = frozenset()
    wrappers: frozenset[str] = frozenset()
    function: str = "language"


_SCRIPT = partial(
    Grammar,
    definitions=_words("""
        function_declaration generator_function_declaration class_declaration abstract_class_declaration
        method_definition interface_declaration type_alias_declaration enum_declaration internal_module module
        lexical_declaration
    """),
    containers=_words("class_declaration abstract_class_declaration internal_module module"),
    wrappers=_words("export_statement ambient_declaration expression_statement"),
)
_C_LIKE = partial(
    Grammar,
    definitions=_words("""
        function_definition struct_specifier class_specifier union_specifier enum_specifier type_definition
        namespace_definition preproc_function_def
    """),
    containers=_words("class_specifier struct_specifier namespace_definition linkage_specification"),
    wrappers=_words("template_declaration linkage_specification declaration_list preproc_ifdef preproc_if"),
)
GRAMMARS = {
    "python": Grammar(
        "tree_sitter_python",
        _words("function_definition class_definition"),
        _words("class_definition"),
        _words("decorated_definition"),
    ),
    "javascript": _SCRIPT("tree_sitter_javascript"),
    "typescript": _SCRIPT("tree_sitter_typescript", function="language_typescript"),
    "tsx": _SCRIPT("tree_sitter_typescript", function="language_tsx"),
    "go": Grammar("tree_sitter_go", _words("function_declaration method_declaration type_declaration")),
    "rust": Grammar(
        "tree_sitter_rust",
        _words("""
            function_item function_signature_item struct_item enum_item union_item trait_item impl_item mod_item
            macro_definition type_item
        """),
        _words("trait_item impl_item mod_item"),
    ),
    "java": Grammar(
        "tree_sitter_java",
        _words("""
            class_declaration interface_declaration enum_declaration record_declaration method_declaration
            constructor_declaration annotation_type_declaration
        """),
        _words("class_declaration interface_declaration enum_declaration record_declaration"),
    ),
    "c": _C_LIKE("tree_sitter_c"),
    "cpp": _C_LIKE("tree_sitter_cpp"),
    "ruby": Grammar(
        "tree_sitter_ruby", _words("method singleton_method class module"), _words("class module singleton_class")
    ),
    "bash": Grammar("tree_sitter_bash", _words("function_definition")),
}
SUFFIXES = {
    suffix: language
    for language, suffixes in {
        "python": ".py .pyi",
        "javascript": ".js .jsx .mjs .cjs",
        "typescript": ".ts .mts .cts",
        "tsx": ".tsx",
        "go": ".go",
        "rust": ".rs",
        "java": ".java",
        "c": ".c .h",
        "cpp": ".cc .cpp .cxx .hpp .hh .hxx",
        "ruby": ".rb",
        "bash": ".sh .bash .zsh",
    }.items()
    for suffix in suffixes.split()
}


@dataclass(frozen=True, slots=True)
class _Mark:
    """From this line on the text belongs to the definition of this path."""

    line: int
    path: tuple[str, ...]
    caption: str = ""


def reader(language: str) -> Callable[[Lines, int, Reporter], Outline]:
    """Return the reader of a language."""
    return partial(_read, GRAMMARS[language])


def _read(grammar: Grammar, lines: Lines, first: int, report: Reporter) -> Outline:
    parser = _parser(grammar.module, grammar.function)
    root = _parsed(parser, lines.text.encode("utf-8")) if _is_written(lines.text) else None
    if root is None:
        report.note(
            "source-unreadable",
            "this does not read as source code of its name's language, or is too large; it was read as paragraphs",
            "correct the file or its name, or divide it",
        )
        return plain_outline(list(paragraphs(lines, first, len(lines), BlockKind.CODE)))
    marks = [_Mark(first, ()), *_marks(grammar, lines, root, (), 0)]
    sections: list[Section] = []
    for at, mark in enumerate(marks):
        behind = marks[at + 1].line if at + 1 < len(marks) else len(lines) + 1
        trimmed = lines.trimmed(mark.line, min(behind - 1, len(lines)))
        if trimmed is None:
            continue
        if sections and not mark.caption and not _says_something(lines, *trimmed):
            last = sections[-1].blocks[-1]
            sections[-1].blocks[-1] = replace(last, last=trimmed[1])
        else:
            sections.append(Section(mark.path, [Block(*trimmed, BlockKind.CODE, caption=mark.caption)]))
    return Outline(sections)


def _says_something(lines: Lines, first: int, last: int) -> bool:
    """Tell whether lines hold more than closing brackets."""
    return any(not _ONLY_CLOSES.fullmatch(lines.all[line - 1]) for line in range(first, last + 1))


def _is_written(text: str) -> bool:
    """Tell source of a size and depth that people write from what would keep a parser busy."""
    depth = 0
    for bracket in _BRACKETS.findall(text) if len(text) <= MAX_CHARS else ():
        depth = max(0, depth + (1 if bracket in "([{" else -1))
        if depth > MAX_OPEN_BRACKETS:
            return False
    return len(text) <= MAX_CHARS


def _parsed(parser: Parser, source: bytes) -> Node | None:
    """Return the root of a syntax tree; None when mending the source takes more steps than reading it is worth."""
    left = PATIENCE + len(source) // BYTES_A_STEP

    def is_over(_offset: int, _has_error: bool) -> bool:
        nonlocal left
        left -= 1
        return left < 0

    try:
        return parser.parse(lambda at, _: source[at : at + SLICE], progress_callback=is_over).root_node
    except ValueError:
        parser.reset()
        return None


@cache
def _parser(module: str, function: str) -> Parser:
    return Parser(Language(getattr(importlib.import_module(module), function)()))


def _marks(grammar: Grammar, lines: Lines, parent: Node, path: tuple[str, ...], depth: int) -> Iterator[_Mark]:
    """Yield where each definition begins and where what is around it goes on, in the order of lines."""
    above: Node | None = None  # the first of the comments that touch this node
    before: Node | None = None
    for node in parent.named_children:
        if before is None or node.start_point.row > _last_row(before) + 1:
            above = None
        begin, before = above or node, node
        if "comment" in node.type or node.type == "attribute_item":
            above = begin
            continue
        above = None
        inner = _definition(grammar, node)
        if inner is not None:
            yield from _defined(grammar, lines, inner, node, begin.start_point.row + 1, path, depth)
        elif node.type in grammar.wrappers and depth < MAX_DEPTH:
            yield from _marks(grammar, lines, node, path, depth + 1)


def _defined(
    grammar: Grammar, lines: Lines, inner: Node, outer: Node, first: int, path: tuple[str, ...], depth: int
) -> Iterator[_Mark]:
    own = (*path, _name(inner))
    caption = lines.all[inner.start_point.row].strip()[:MAX_CAPTION_CHARS]
    yield _Mark(first, own, caption)
    body = inner.child_by_field_name("body")
    if inner.type in grammar.containers and body is not None and depth < MAX_DEPTH:
        yield from _marks(grammar, lines, body, own, depth + 1)
    yield _Mark(_last_row(outer) + 2, path)


def _last_row(node: Node) -> int:
    """Return the last row (from 0) that a node has characters on."""
    end = node.end_point
    return end.row - 1 if end.column == 0 and end.row > node.start_point.row else end.row


def _definition(grammar: Grammar, node: Node) -> Node | None:
    """Return the definition that a node is or wraps."""
    for _ in range(3):
        if node.type in grammar.definitions:
            return node if node.type != "lexical_declaration" or _is_function(node) else None
        if node.type not in grammar.wrappers:
            return None
        inner = node.child_by_field_name("definition") or node.child_by_field_name("declaration")
        inner = inner or next((c for c in node.named_children if c.type in grammar.definitions), None)
        if inner is None:
            return None
        node = inner
    return None


def _is_function(node: Node) -> bool:
    """Tell whether a JavaScript constant is a function."""
    values = [c.child_by_field_name("value") for c in node.named_children if c.type == "variable_declarator"]
    return any(value is not None and "function" in value.type for value in values)


def _name(node: Node) -> str:
    """Return what a definition is called."""
    for field in ("name", "declarator", "type"):
        found = node.child_by_field_name(field)
        if found is not None:
            return _identifier(found)
    inner = next((c for c in node.named_children if c.child_by_field_name("name") is not None), None)
    return _name(inner) if inner is not None else node.type


def _identifier(node: Node) -> str:
    """Return the name inside a declarator: ``int *f(int)`` declares ``f``."""
    while (inner := node.child_by_field_name("declarator")) is not None:
        node = inner
    text = node.text or b""
    return " ".join(text.decode("utf-8", "replace").split())[:MAX_NAME_CHARS]
