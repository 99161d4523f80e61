"""The server: MCP's requests become calls of the memory, whatever carries them."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import mcp_types as types
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from recalld import __version__
from recalld.errors import NotFoundError, RecalldError, TooLargeError, UsageError
from recalld_plugins.mcp import prompts, quoting, resources
from recalld_plugins.mcp.declare import Memory, Tool
from recalld_plugins.mcp.link import Link
from recalld_plugins.mcp.tools import TOOLS

log = logging.getLogger(__name__)

INSTRUCTIONS = f"""recalld is the memory of this project: decisions, lessons, rules and notes in files that people keep.
Search it before you propose or decide something, and before you state a fact of the project that you do not know. Check
acts that are hard to take back with recall_preflight. Believe a verdict of ok, doubt unverified, and never rely on what
is withheld. Where it abstains, say that the memory does not know. {quoting.NOTICE}"""

Context = Any
"""The SDK's context of a request."""


@dataclass(frozen=True, slots=True)
class Handlers:
    """What answers. ``max_tokens`` is how long a tool's answer may be unless the call says."""

    link: Link
    max_tokens: int

    async def list_tools(self, context: Context, params: object) -> types.ListToolsResult:
        """List the tools."""
        return types.ListToolsResult(tools=[listed(tool) for tool in TOOLS.values()])

    async def call_tool(self, context: Context, params: types.CallToolRequestParams) -> types.CallToolResult:
        """Call a tool; whatever goes wrong with it is an answer that says so."""
        tool = TOOLS.get(params.name)
        if tool is None:
            raise MCPError(
                types.INVALID_PARAMS, f"there is no tool {params.name[:100]!r}; tools are {', '.join(TOOLS)}"
            )
        try:
            request, allowed = tool.read(params.arguments or {}, self.max_tokens)
            async with self.link.client() as (client, node):
                memory = Memory(client, node, context.session.report_progress)
                text, structure = await tool.answer(memory, request, allowed)
        except RecalldError as error:
            return _failed(error)
        return types.CallToolResult(content=[types.TextContent(text=text)], structured_content=structure)

    async def list_resources(self, context: Context, params: object) -> types.ListResourcesResult:
        """List the repos."""
        with _as_protocol_errors():
            async with self.link.client() as (client, _):
                return types.ListResourcesResult(resources=await resources.listed(client))

    async def list_templates(self, context: Context, params: object) -> types.ListResourceTemplatesResult:
        """List the one template."""
        return types.ListResourceTemplatesResult(resource_templates=[resources.TEMPLATE])

    async def read_resource(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """Read a document, or the list of a repo's."""
        with _as_protocol_errors():
            async with self.link.client() as (client, _):
                return types.ReadResourceResult(contents=[await resources.read(client, str(params.uri))])

    async def list_prompts(self, context: Context, params: object) -> types.ListPromptsResult:
        """List the prompts."""
        return types.ListPromptsResult(prompts=[prompt.listed() for prompt in prompts.PROMPTS.values()])

    async def get_prompt(self, context: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        """Give a prompt; needs no daemon."""
        with _as_protocol_errors():
            return prompts.given(params.name, params.arguments)


def server(link: Link, max_tokens: int) -> Server[dict[str, Any]]:
    """Return the server."""
    handlers = Handlers(link, max_tokens)
    return Server(
        "recalld",
        title="recalld: a memory that says how far to believe it",
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.call_tool,
        on_list_resources=handlers.list_resources,
        on_list_resource_templates=handlers.list_templates,
        on_read_resource=handlers.read_resource,
        on_list_prompts=handlers.list_prompts,
        on_get_prompt=handlers.get_prompt,
    )


def listed(tool: Tool[Any, Any]) -> types.Tool:
    """Return a tool as it is listed. None of them looks beyond the memory: the world is closed."""
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema(),
        output_schema=tool.output_schema(),
        annotations=types.ToolAnnotations(
            title=tool.title,
            read_only_hint=tool.effects.read_only,
            destructive_hint=tool.effects.destructive,
            idempotent_hint=tool.effects.idempotent,
            open_world_hint=False,
        ),
    )


def _failed(error: RecalldError) -> types.CallToolResult:
    lines = [f"error {error.code}: {quoting.name(error.message)}"]
    lines += [f"what to do: {quoting.visible(error.suggestion)}"] if error.suggestion else []
    return types.CallToolResult(content=[types.TextContent(text="\n".join(lines))], is_error=True)


@contextmanager
def _as_protocol_errors() -> Iterator[None]:
    """Raise our errors as MCP's, for requests that have no answer to say them in."""
    try:
        yield
    except RecalldError as error:
        wrong = isinstance(error, (NotFoundError, UsageError, TooLargeError))
        said = f"{error.message}; {error.suggestion}" if error.suggestion else error.message
        data = {"code": error.code, "suggestion": error.suggestion}
        raise MCPError(types.INVALID_PARAMS if wrong else types.INTERNAL_ERROR, said, data) from error
