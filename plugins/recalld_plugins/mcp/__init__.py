"""The MCP server, a client of the bus: ``tools.py`` declares what agents are offered, the rest is how it is told.

Needs the extra ``mcp`` (the official SDK); only ``server.py``, ``resources.py``, ``prompts.py`` and ``serving.py``
import it. See docs/mcp.md.
"""
