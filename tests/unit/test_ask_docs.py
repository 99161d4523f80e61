"""The settings that docs/ask.md shows are settings, and its table has every option of the answerer."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from recalld.settings import AskSettings
from recalld_plugins.openai_answerer import OPTIONS, answerer

TEXT = (Path(__file__).parents[2] / "docs" / "ask.md").read_text("utf-8")
SHOWN = [block for block in re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL) if "answerer" in block]
PLACES = ("key_file", "tokenizer")


@pytest.mark.parametrize("block", SHOWN)
async def test_each_example_makes_an_answerer(block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    (tmp_path / "key").write_text("sk-of-the-example")
    settings = AskSettings.model_validate(tomllib.loads(block)["ask"])
    assert settings.answerer == "openai"
    options = {name: value for name, value in settings.answerer_options.items() if name not in PLACES}
    if "key_file" in settings.answerer_options:
        options["key_file"] = str(tmp_path / "key")
    made = answerer(options)
    assert str(options["model"]) in made.name
    await made.aclose()


def test_the_examples_and_every_option_are_there() -> None:
    assert len(SHOWN) == 3
    rows = {name for row in re.findall(r"^\| (`[^|]+) \|", TEXT, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}
    assert rows == set(OPTIONS)
