"""recalld: a daemon that gives AI agents a memory they can trust."""

from importlib.metadata import version

__version__ = version("recalld")
