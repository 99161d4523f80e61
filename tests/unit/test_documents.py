"""What the documents show must exist: commands, settings, files, Python."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

from recalld.configuration import load
from tests.support.commands import is_known

ROOT = Path(__file__).parents[2]
DOCUMENTS = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "systemd/README.md", "docs/mcp.md", "docs/agents.md")


def blocks(document: str, language: str) -> list[str]:
    """Return the fenced blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", (ROOT / document).read_text(), re.MULTILINE | re.DOTALL)


def command_lines(document: str) -> list[str]:
    """Return the command lines of recalld's own programs in a document's code, comments cut off."""
    text = (ROOT / document).read_text()
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    indented = re.findall(r"^    (.*)$", prose, re.MULTILINE)
    lines = [*"\n".join(blocks(document, "sh")).splitlines(), *indented, *re.findall(r"`([^`\n]+)`", prose)]
    parts = [part.strip() for line in lines for part in re.split(r"\s#\s|&&", line)]
    return [part for part in parts if re.match(r"recalld? [a-z-]", part)]


LINES = [(document, line) for document in DOCUMENTS for line in dict.fromkeys(command_lines(document))]


def test_the_readme_shows_commands() -> None:
    assert len([line for document, line in LINES if document == "README.md"]) > 20


@pytest.mark.parametrize(("document", "line"), LINES)
def test_each_command_shown_exists(document: str, line: str) -> None:
    assert is_known(line), f"{document}: {line}"


def test_the_python_shown_is_python_and_imports_what_there_is() -> None:
    shown = blocks("README.md", "python")
    assert shown
    for block in shown:
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("recalld"):
                module = __import__(node.module, fromlist=["_"])
                assert all(hasattr(module, alias.name) for alias in node.names), node.module


def test_the_settings_shown_are_settings(tmp_path: Path) -> None:
    shown = blocks("README.md", "toml")
    assert shown
    for number, block in enumerate(shown):
        tomllib.loads(block)
        file = tmp_path / f"{number}.toml"
        file.write_text(block)
        load(file)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_links_lead_somewhere(document: str) -> None:
    for target in re.findall(r"\]\((?!https?://|#)([^)#]+)", (ROOT / document).read_text()):
        assert (ROOT / document).parent.joinpath(target).exists(), f"{document}: {target}"


def test_the_licence_and_the_notice_are_there() -> None:
    assert "Apache License" in (ROOT / "LICENSE").read_text()
    assert "tokenizer.json" in (ROOT / "NOTICE").read_text()
