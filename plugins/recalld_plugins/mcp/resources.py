"""Documents as resources: ``recall://repo/path``, and each repo's list of them as ``recall://repo/``."""

from __future__ import annotations

import mimetypes
from pathlib import PurePosixPath
from urllib.parse import quote, unquote

import mcp_types as types

from recalld.bus.client import RecallClient
from recalld.errors import TooLargeError, UsageError
from recalld.model import DocumentState
from recalld_plugins.mcp import quoting
from recalld_plugins.mcp.reading import standing

SCHEME = "recall://"
LARGEST_BYTES = 262_144
"""A larger document is not given as a resource: recall_get reads it in parts."""
MOST_LISTED = 5_000
"""Documents in a repo's list."""
LIST_TYPE = "text/uri-list"
TEMPLATE = types.ResourceTemplate(
    name="document",
    title="A document of the memory",
    uri_template=f"{SCHEME}{{repo}}/{{+path}}",
    description=(
        f"A file of a watched repo as it was indexed, at most {LARGEST_BYTES // 1024} KiB. Its _meta says whether it "
        f"still stands. {quoting.NOTICE}"
    ),
)
_PAGE = 2_000
_TYPES = {".md": "text/markdown", ".markdown": "text/markdown", ".rst": "text/x-rst", ".log": "text/plain"}
_TYPES |= {".yaml": "application/yaml", ".yml": "application/yaml", ".toml": "application/toml"}
_TYPES |= {".ts": "text/typescript", ".tsx": "text/typescript"}  # not videos, as mimetypes has it


async def listed(client: RecallClient) -> list[types.Resource]:
    """Return one resource a repo: the list of its documents."""
    return [
        types.Resource(
            name=repo.name,
            title=f"Documents of {repo.name}",
            uri=f"{SCHEME}{quote(repo.name, safe='')}/",
            description=f"The addresses of all documents in the repo {repo.name}, one a line.",
            mime_type=LIST_TYPE,
        )
        for repo in (await client.repo_list()).repos
    ]


async def read(client: RecallClient, uri: str) -> types.TextResourceContents:
    """Return what is at an address. Raises UsageError for a wrong one, NotFoundError, TooLargeError."""
    repo, path = _parts(uri)
    return await _document(client, uri, repo, path) if path else await _list(client, uri, repo)


def media_type(path: str) -> str:
    """Return a text's media type by its name."""
    suffix = PurePosixPath(path).suffix.lower()
    return _TYPES.get(suffix) or mimetypes.guess_type(f"x{suffix}", strict=False)[0] or "text/plain"


def _parts(uri: str) -> tuple[str, str]:
    repo, slash, path = uri.removeprefix(SCHEME).partition("/")
    if not uri.startswith(SCHEME) or not repo or not slash:
        raise UsageError(f"{uri[:200]!r} is no address here", suggestion=f"addresses are {TEMPLATE.uri_template}")
    return unquote(repo), unquote(path)


async def _document(client: RecallClient, uri: str, repo: str, path: str) -> types.TextResourceContents:
    document = await client.get(path, repo=repo)
    size = len(document.text.encode("utf-8", "replace"))
    if size > LARGEST_BYTES:
        raise TooLargeError(
            f"{repo}:{path} has {size} bytes, more than the {LARGEST_BYTES} of a resource",
            suggestion="read it in parts: recall_get with first_line",
        )
    stands = await standing(client, document)
    said = {f"recalld/{key}": value for key, value in stands.model_dump().items() if value}
    return types.TextResourceContents(
        uri=uri,
        mime_type=media_type(document.path),
        text=document.text,
        _meta={**said, "recalld/content_hash": document.provenance.content_hash, "recalld/notice": quoting.NOTICE},
    )


async def _list(client: RecallClient, uri: str, repo: str) -> types.TextResourceContents:
    paths: dict[str, None] = {}
    cursor, more = "", True
    while more:
        page = await client.delta(since=cursor, limit=_PAGE, repo=repo)
        for change in page.changes:
            if change.state is DocumentState.INDEXED:
                paths[change.path] = None
            else:
                paths.pop(change.path, None)
        cursor, more = page.cursor, page.more
    shown = sorted(paths)[:MOST_LISTED]
    lines = [f"{SCHEME}{quote(repo, safe='')}/{quote(path)}" for path in shown]
    if len(paths) > len(shown):
        lines.append(f"# and {len(paths) - len(shown)} more: recall_search finds them")
    return types.TextResourceContents(uri=uri, mime_type=LIST_TYPE, text="".join(f"{line}\r\n" for line in lines))
