"""Reads one file: bytes to a document with its chunks, its own statements about itself, and what is wrong with it.

Pure and total: any bytes give a document. Faults are findings, never exceptions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from recalld.ingest import declared, frontmatter, readers
from recalld.ingest.chunk_policy import ChunkPolicy
from recalld.ingest.chunkers import cut
from recalld.ingest.decode import decode
from recalld.ingest.frontmatter import Frontmatter
from recalld.ingest.keys import folded
from recalld.ingest.kinds import kind_of
from recalld.ingest.links import links, prose_lines
from recalld.ingest.outline import Block, BlockKind, Lines, Outline, Section
from recalld.ingest.prose import remarks
from recalld.ingest.report import Reporter
from recalld.ingest.statements import gather
from recalld.model import Edge, ParsedDocument

PARSER_VERSION = 3
"""Raised whenever the same bytes would give other chunks or other facts; a new version is a new generation."""

_HOUSEKEEPING = frozenset(
    """
    id title status type kind date created updated modified last_updated valid_from valid_until valid_to expires
    supersedes superseded_by replaces replaced_by pinned scope layout draft version weight slug uid
    """.split()  # noqa: SIM905
)
"""Frontmatter of these keys alone is no text to be found by; what they say is in the document's fields."""


@dataclass(frozen=True, slots=True)
class Reading:
    """A document before it is cut into chunks: what was read, and where in its lines that stands.

    ``last_header`` is the last line of its mail-like headers, 0 where it has none.
    """

    document: ParsedDocument
    lines: Lines
    outline: Outline
    front: Frontmatter
    last_header: int
    prose: bool


def parse(
    path: str,
    content: bytes,
    policy: ChunkPolicy,
    count_tokens: Callable[[Sequence[str]], list[int]],
    token_limit: int,
    kind_of: Callable[[str], str] = kind_of,
) -> ParsedDocument:
    """Read the file at a repo-relative path, and cut it.

    ``count_tokens`` and ``token_limit`` are the embedder's; no chunk's ``embed_text`` has more tokens. ``kind_of`` says
    what files at a path are that do not say it themselves.
    """
    reading = read(path, content, kind_of)
    document, lines, outline = reading.document, reading.lines, reading.outline
    front = _front_sections(reading.front, reading.last_header, bare=not outline.sections)
    whole = replace(outline, sections=[*front, *outline.sections])
    return replace(document, chunks=cut(lines, whole, document.title, policy, count_tokens, token_limit))


def read(path: str, content: bytes, kind_of: Callable[[str], str] = kind_of) -> Reading:
    """Read the file at a repo-relative path; its document has no chunks yet.

    Metadata is what the document says of itself under folded keys (``Superseded-By`` is ``superseded_by``); where a
    value was not read from the frontmatter under that very key, ``metadata["_sources"]`` says where.
    """
    report = Reporter(path)
    lines = Lines(decode(content, report))
    reader = readers.reader_for(path)
    front = frontmatter.read(lines, report) if reader.prose else Frontmatter()
    speaks = reader.prose and not is_put(front)
    headers, last_header = declared.header_block(lines, front.body) if speaks else ([], 0)
    outline = reader.read(lines, max(front.body, last_header + 1), report)
    if speaks:
        headers += declared.statements(lines, outline)
    said = gather(front, headers, report)
    edges = [*said.edges, *(_in_text(lines, outline, said.edges) if speaks else ())]
    document = ParsedDocument(
        path=path,
        title=said.title or outline.title or _named(path),
        kind=said.kind or kind_of(path),
        text=lines.text,
        chunks=(),
        aliases=said.aliases,
        tags=said.tags,
        metadata=said.metadata,
        edges=tuple(edges),
        findings=tuple(report.findings),
    )
    return Reading(document, lines, outline, front, last_header, reader.prose)


def is_put(front: Frontmatter) -> bool:
    """Tell whether a document was put in: then its text is a source's, whose claims must not act on the memory."""
    return "put_by" in front.values and "source" in front.values


def _named(path: str) -> str:
    """Return a file's name as a title; bytes in it that are no UTF-8 are shown as such, not kept."""
    return (PurePosixPath(path).stem or path).encode("utf-8", "replace").decode("utf-8")


def _in_text(lines: Lines, outline: Outline, declared: Sequence[Edge]) -> Iterator[Edge]:
    """Yield the links of the text, and the claims of its prose that are not those that the document declares."""
    said = {edge.line for edge in declared}
    yield from links(lines, outline)
    yield from remarks((number, text) for number, text in prose_lines(lines, outline) if number not in said)


def _front_sections(front: Frontmatter, last_header: int, *, bare: bool) -> list[Section]:
    """Return frontmatter and headers as passages of their own, where there is something in them to be found by."""
    found: list[Section] = []
    telling = any(folded(key) not in _HOUSEKEEPING for key in front.values)
    if front.last and (bare or telling or front.broken):
        parts = tuple(sorted(front.lines.values()))
        found.append(Section((), [Block(front.first, front.last, BlockKind.PROSE, parts)], alone=True))
    if last_header:
        found.append(Section((), [Block(front.body, last_header, BlockKind.PROSE)], alone=True))
    return found
