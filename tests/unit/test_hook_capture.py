"""Which failures become a proposed lesson, what it says, and that no secret is in it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recalld_plugins.claude_code.capture import TITLE_CHARACTERS, lesson_of
from recalld_plugins.claude_code.commands import program_of, simple_commands
from recalld_plugins.claude_code.masking import masked

TRACEBACK = "Traceback (most recent call last)"


def lesson(command: str, error: str, *, failed: bool = True, **fields: Any) -> Any:
    event = {"tool_name": "Bash", "tool_input": {"command": command}, "error": error, "cwd": "/home/bob/shop", **fields}
    return lesson_of(event, failed, "/home/bob")


def test_a_failure_becomes_a_lesson() -> None:
    made = lesson("cd infra && terraform apply", "Exit code 1\nInitializing\nError: state is locked by 77\nID: 5")
    assert made["title"] == "terraform apply: Error: state is locked by 77"
    assert made["check"] == 'Before running terraform apply again: is the cause of "Error: state is locked by 77" gone?'
    assert made["tags"] == ["failure", "terraform"]
    assert made["trigger"] == "terraform apply"
    assert made["proposed"] is True
    assert "terraform apply ended with status 1." in made["body"]
    assert "    cd infra && terraform apply\n" in made["body"]
    assert "    Error: state is locked by 77\n" in made["body"]


@pytest.mark.parametrize(
    ("command", "error", "title"),
    [
        ("git push && echo done", "Exit code 1\nerror: failed to push", "git push: error: failed to push"),
        ("make all && make push", "Exit code 2\nmake: *** [push] Error 2", "make push: make: *** [push] Error 2"),
        ("sudo -u postgres pg_dump db", "Exit code 1\npg_dump: error: mismatch", "pg_dump: pg_dump: error: mismatch"),
        ("A=1 timeout 30 kubectl apply -f x", "Exit code 1\nerror: no access", "kubectl apply: error: no access"),
        ("python -u a/move.py", f"Exit code 1\n{TRACEBACK}\n x\nE: gone", "python move.py: E: gone"),
        ("poetry run alembic upgrade head", "Exit code 1\nCan't locate revision", "alembic: Can't locate revision"),
        ("npm install", "npm ERR! code EACCES\nnpm ERR! mkdir", "npm install: npm ERR! code EACCES"),
        ("./deploy.sh", "Exit code 3\nstarted\nstopped", "deploy.sh: started"),
    ],
)  # fmt: skip
def test_the_title_names_the_program_and_its_error(command: str, error: str, title: str) -> None:
    assert lesson(command, error)["title"] == title


@pytest.mark.parametrize(
    ("command", "error"),
    [
        ("grep -r x .", "Exit code 1\nerror in x"),
        ("cat log | grep -c fatal", "Exit code 1\n0 errors"),
        ("test -f x", "Exit code 1\nfailed"),
        ("diff a b", "Exit code 1\n< error"),
        ("git diff --exit-code", "Exit code 1\n+ error"),
        ("ls /nowhere", "Exit code 2\nls: cannot access '/nowhere': No such file or directory"),
        ("gti status", "Exit code 127\n/bin/bash: line 1: gti: command not found"),
        ("foo", "sh: 1: foo: not found"),
        ("terraform apply", "Exit code 130\nerror: interrupted"),
        ("terraform apply", "[Request interrupted by user for tool use]"),
        ("terraform apply", "The user doesn't want to proceed with this tool use."),
        ("terraform apply", "Permission to use Bash with command terraform apply has been denied."),
        ("terraform apply", "Exit code 1\n"),
        ("terraform apply", ""),
        ("pytest -q", "Exit code 1\nFAILED tests/test_a.py"),
        ("cd x && python -m pytest | tail -5", "Exit code 1\nERROR"),
        ("uv run pytest && terraform apply", "Exit code 1\nFAILED tests/test_a.py - assert"),
        ("npm run test:unit", "Exit code 1\nerror: expected 3"),
        ("npm test", "Exit code 1\nnpm ERR! Test failed"),
        ("go test ./...", "Exit code 1\nFAIL"),
        ("cargo clippy", "Exit code 101\nerror: unused"),
        ("make check", "Exit code 2\nmake: *** [check] Error 1"),
        ("python manage.py test", "Exit code 1\nFAILED"),
        ("python -c 'import x'", "Exit code 1\nTraceback (most recent call last)\nModuleNotFoundError: x"),
        ("python3 <<EOF\nimport x\nEOF", "Exit code 1\nTraceback (most recent call last)\nNameError: x"),
    ],
)
def test_what_tells_nothing_of_how_to_work_is_left_out(command: str, error: str) -> None:
    assert lesson(command, error) == {}


def test_what_did_not_fail_is_left_out() -> None:
    done = {"stdout": "error: none", "stderr": "", "interrupted": False, "isImage": False}
    assert lesson("terraform apply", "", failed=False, tool_response=done) == {}
    assert lesson("terraform apply", "Exit code 1\nerror: x", is_interrupt=True) == {}
    assert (
        lesson("terraform apply", "", failed=False, tool_response={**done, "interrupted": True, "exit_code": 1}) == {}
    )


@pytest.mark.parametrize(
    "response",
    [
        {"stdout": "", "stderr": "Error: state is locked", "exit_code": 1},
        {"stdout": "Error: state is locked", "is_error": True},
        {"error": "Error: state is locked", "isError": True},
        "Exit code 1\nError: state is locked",
    ],
)
def test_failures_told_after_the_tool_are_seen(response: Any) -> None:
    made = lesson("terraform apply", "", failed=False, tool_response=response)
    assert made["title"] == "terraform apply: Error: state is locked"


def test_a_tool_without_a_command_is_named_itself() -> None:
    event = {"tool_name": "mcp__db__query", "tool_input": {"sql": "x"}, "error": "relation missing"}
    made = lesson_of(event, True)
    assert (made["title"], made["trigger"]) == ("mcp__db__query: relation missing", "mcp__db__query")
    assert "The command" not in made["body"]


SECRETS = [
    ("password=hunter2,x1", "hunter2"),
    ("PGPASSWORD='correct horse' psql", "horse"),
    ('{"api_key": "abc", "user": "bob"}', "abc"),
    ("client_secret: s3cr3t", "s3cr3t"),
    ("--token tok3n --force", "tok3n"),
    ("mysqldump -u root -phunter2 shop", "hunter2"),
    ("Authorization: Bearer abcdefgh12345678", "abcdefgh"),
    ("Authorization: Basic dXNlcjpwYXNz", "dXNlcjpwYXNz"),
    ("curl -u bob:s3cret https://x", "s3cret"),
    ("postgres://u:p/w@db/x", "p/w"),
    ("https://tok3n@github.com/x", "tok3n"),
    ("https://x/y?sig=abcd&z=1", "abcd"),
    ("AKIAIOSFODNN7EXAMPLE", "AKIA"),
    ("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "wJalr"),
    ("ghp_0123456789abcdefghij0123456789abcdef", "0123"),
    ("github_pat_11ABCDEFG0abcdefghij_xyz", "11ABC"),
    ("xoxb-123456789-abcdef", "123456789"),
    ("sk-proj-abcdefghijklmnop1234", "abcdefgh"),
    ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2ln", "eyJzdW"),
    ("-----BEGIN RSA PRIVATE KEY-----\nMIIabc\n-----END RSA PRIVATE KEY-----", "MIIabc"),
    ("-----BEGIN PRIVATE KEY-----\nMIIabc", "MIIabc"),
    ("digest 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "9f86"),
]


@pytest.mark.parametrize(("text", "secret"), SECRETS)
def test_a_secret_is_in_nothing_that_is_kept(text: str, secret: str) -> None:
    assert secret not in masked(text)
    made = lesson(f"deploy {text}", f"Exit code 1\nerror: {text}\n")
    assert made
    assert secret not in repr(made)


@settings(max_examples=60)
@given(st.sampled_from(SECRETS), st.integers(990, 1_060), st.integers(940, 1_060))
def test_a_secret_at_a_cut_is_not_kept_in_part(secret: tuple[str, str], before: int, after: int) -> None:
    said = f"error: {'x ' * before}{secret[0]} {'y ' * after}\nz"
    made = lesson(f"deploy {said}", said)
    assert secret[1] not in repr(made)


@pytest.mark.parametrize(
    "text",
    [
        "unauthorized: authentication required",
        "https://registry.example.org/@scope/pkg",
        "/srv/projects/very-long-directory-name-2/another-file-name-v2.txt",
        "error: failed to push some refs to 'origin'",
        "ModuleNotFoundError: No module named 'x'",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert masked(text) == text


def test_the_users_own_directories_are_not_kept() -> None:
    made = lesson("/home/bob/shop/deploy.sh", "Exit code 1\nerror: /home/bob/shop/a, /home/bob/b, /home/bobby/c")
    assert made["title"] == "deploy.sh: error: ./a, ~/b, /home/bobby/c"


def test_escapes_controls_and_fences_do_not_get_out_of_their_block() -> None:
    made = lesson("deploy", "Exit code 1\n\x1b[31mError\x1b[0m: \x00\u202ebad\r\n```\n# title\n---\n")
    assert made["title"] == "deploy: Error:   bad"
    said = made["body"].partition("What it said:\n\n")[2]
    assert all(line.startswith("    ") for line in said.splitlines() if line)


def test_a_long_output_keeps_its_begin_and_its_end() -> None:
    made = lesson("deploy", f"Exit code 1\nerror: begin {'x ' * 50_000} \nthe end")
    assert len(made["body"]) < 3_000
    assert "begin" in made["body"]
    assert "the end" in made["body"]
    assert len(made["title"]) <= TITLE_CHARACTERS


@given(st.text(alphabet="ab -|&;()'\"<$=/\n\\", max_size=60))
def test_any_command_has_programs_or_none(command: str) -> None:
    assert all(program_of(words) for words in simple_commands(command))


anything = st.none() | st.booleans() | st.integers() | st.text(max_size=30) | st.lists(st.text(max_size=5), max_size=3)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "tool_name": anything,
            "error": anything | st.just("Exit code 1\nerror: x"),
            "cwd": anything,
            "tool_input": anything | st.dictionaries(st.just("command"), anything),
            "tool_response": anything | st.dictionaries(st.sampled_from(["stderr", "exit_code", "is_error"]), anything),
        },
    )
)
def test_any_event_makes_a_whole_lesson_or_none(event: dict[str, Any]) -> None:
    made = lesson_of(event, True)
    assert not made or (made["title"] and made["body"] and made["check"] and made["proposed"] is True)
