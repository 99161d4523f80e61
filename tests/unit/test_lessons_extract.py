"""What documents say to check: lessons whole, rules by section, and the line that is shown."""

from __future__ import annotations

import pytest

from recalld.ingest.parse import read
from recalld.lessons.extract import MAX_CHECK, guided
from recalld.lessons.guardrail import Guardrail

RULES = """\
# Deploys

About this page.

## Migrations

Migrations run first. Never run two of them at once.

## The team

Maren and Jo.

## Secrets

- Check: Is the secret in the vault, **not** in the repo?
- Rotate by the quarter.

## Code

```sh
never --do this
```
"""


def of(text: str, path: str = "lessons/a.md", *, by_paragraph: bool = False) -> list[Guardrail]:
    return list(guided(read(path, text.encode()), by_paragraph=by_paragraph).guardrails)


def test_a_lesson_is_one_guardrail() -> None:
    [one] = of(
        "---\ntitle: Retries\ncheck: Does each retry wait?\ntags: [net]\ntrigger: urllib\nscope: 'api/**'\n---\n"
        "They hammered.\n\n## Then\n\nIt fell.\n"
    )
    assert (one.id, one.title, one.check) == ("lessons/a.md", "Retries", "Does each retry wait?")
    assert (one.tags, one.scope, one.kind, one.path) == (("net", "urllib"), ("api/**",), "lesson", "lessons/a.md")
    assert "It fell." in one.text


def test_each_section_of_a_rule_that_commands_something_is_one() -> None:
    found = of(RULES, "rules/deploys.md")
    assert [(one.id, one.check) for one in found] == [
        ("rules/deploys.md#migrations", "Never run two of them at once."),
        ("rules/deploys.md#secrets", "Is the secret in the vault, not in the repo?"),
    ]


def test_a_list_of_lessons_is_one_for_each() -> None:
    text = "# Lessons\n\n## Retries need jitter\n\nIt fell.\n\n## Dumps\n\nNever dump at noon.\n"
    found = of(text, "lessons-learned.md")
    assert [one.check for one in found] == ["Retries need jitter", "Never dump at noon."]


def test_a_lesson_without_a_check_has_its_command_or_its_title() -> None:
    assert of("# Retries\n\nIt fell. Always wait between two of them.\n")[0].check == (
        "Always wait between two of them."
    )
    assert of("# Retries need jitter\n\nIt fell.\n")[0].check == "Retries need jitter"


def test_the_check_may_stand_under_a_heading() -> None:
    [one] = of("---\nkind: skill\n---\n# Retries\n\n## Checklist\n\n1. Is there jitter?\n", "notes/a.md")
    assert one.check == "Is there jitter?"


def test_paragraphs_stand_alone_where_the_repo_says_so() -> None:
    text = "# Notes\n\nNever push on friday.\n\nMaren likes tea.\n\n- Always ask Jo\n- Tea is in the kitchen\n"
    found = of(text, "NOTES.md", by_paragraph=True)
    assert [one.check for one in found] == ["Never push on friday.", "Always ask Jo"]
    assert len({one.id for one in found}) == 2


@pytest.mark.parametrize("text", ["", "\x00", "# \n", "---\ncheck: [1, {a: b}]\n---\n", "# a\n\n" + "never " * 9_000])
def test_anything_is_read(text: str) -> None:
    for path in ("rules/a.md", "lessons/a.md", "skills/x/SKILL.md"):
        for one in of(text, path):
            assert one.check and len(one.check) <= MAX_CHECK
            assert "\n" not in one.check


def test_wrapped_sentences_are_whole() -> None:
    [one] = of("# R\n\n## Pushing\n\nThis is about pushes. You must not push to a\nbranch of others.\n", "rules/a.md")
    assert one.check == "You must not push to a branch of others."
