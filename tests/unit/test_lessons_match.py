"""Which lessons fire before an act: the gate, what weighs how much, harmless acts, and the labelled set."""

from __future__ import annotations

import pytest

from recalld.lessons.act import is_harmless, is_local
from recalld.lessons.guardrail import Action, Guardrail
from recalld.lessons.match import Gate, Matcher, gate_of
from recalld.settings import LessonSettings
from tests.bench.bench_preflight import false_fires, guardrails, recalled

FORCE = Guardrail(
    "lessons/force.md",
    "Never force-push a shared branch",
    "Is this branch yours alone?",
    "A force push to release threw away two commits of a colleague.",
    ("git",),
)
MAILS = Guardrail("lessons/mails.md", "Bulk mails are throttled", "Is the sender throttled?", "Mails went into spam.")
PUSH = Action(tool="Bash", command="git push --force origin release")


def fired(action: Action, *given: Guardrail, gate: Gate | None = None) -> list[str]:
    return [one.guardrail.id for one in Matcher(given or (FORCE, MAILS), gate).match(action)]


def test_what_is_shared_is_told() -> None:
    [firing] = Matcher([FORCE, MAILS]).match(PUSH)
    assert firing.guardrail is FORCE
    assert set(firing.shared) == {"git", "push", "force", "release"}
    assert 0.5 <= firing.confidence < 1


def test_too_little_in_common_is_silence() -> None:
    assert fired(Action(tool="Bash", command="git push origin feature")) == []
    assert fired(Action(text="Deploy the pricing service")) == []
    assert fired(Action()) == []


def test_a_word_counts_once_however_often_it_is_said() -> None:
    assert fired(Action(tool="Bash", command="force force FORCE forced --force")) == []


@pytest.mark.parametrize("count", [2, 40, 2_000])
def test_the_number_of_lessons_does_not_change_what_fires(count: int) -> None:
    others = [Guardrail(f"lessons/{n}.md", f"Subject{n} alpha{n}", f"Is beta{n} there?") for n in range(count)]
    assert fired(PUSH, FORCE, *others) == [FORCE.id]


def test_what_many_lessons_say_is_not_distinctive() -> None:
    others = [Guardrail(f"lessons/{n}.md", f"Git push force {n}", "Really?") for n in range(20)]
    assert fired(PUSH, FORCE, *others) == []


def test_scope_is_kept_where_a_file_is_named() -> None:
    scoped = Guardrail("s", FORCE.title, FORCE.check, FORCE.text, FORCE.tags, ("deploy/*",))
    text = "git push --force to the release branch"
    assert fired(Action(text=text, path="deploy/run.sh", tool="Edit"), scoped) == ["s"]
    assert fired(Action(text=text, path="web/run.sh", tool="Edit"), scoped) == []


def test_at_most_so_many_are_told_and_the_surest_first() -> None:
    twin = Guardrail("twin", "Force and push", "Shared?", "release")
    assert fired(PUSH, FORCE, twin, MAILS, gate=Gate(common=1.0))[0] == FORCE.id
    assert len(fired(PUSH, FORCE, twin, MAILS, gate=Gate(common=1.0, most=1))) == 1


@pytest.mark.parametrize(
    "command",
    [
        "git status", "git log --oneline -5 | head", "git -C /srv diff main", "ls -la && cat x.py", "terraform plan",
        "kubectl --context prod -n shop get pods -o wide", "rg -n 'drop table' .", "psql -c 'select count(*) from t'",
        "pytest -q tests/unit", "sudo tail -f /var/log/syslog", "FOO=1 printenv | sort",
        "curl -s https://x.org 2>/dev/null", "echo 'unclosed",
        "aws s3 sync a s3://b --delete --dryrun", "git clean -ndx", "airflow dags list-runs -d x",
        "nats --context staging consumer info A b", "git branch --merged main", "git checkout -b feature/x",
        "python -m json.tool x.json | less", "which node && node --version", "mkdir -p a/b",
        "make -n deploy", "kubectl apply -f x.yaml --dry-run=client", "git clean -n", "docker image ls",
    ],
)  # fmt: skip
def test_looking_is_harmless(command: str) -> None:
    assert is_harmless(Action(tool="Bash", command=command))


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf build", "git push --force", "git status && git reset --hard", "cat a > b", "sed -i s/a/b/ x",
        "psql -c 'DELETE FROM t'", "psql -f drop.sql", "find . -delete", "kubectl -n shop delete pod x",
        "curl -X POST https://example.org/hook", "terraform apply", "./deploy.sh", "git clean -fdx",
        "docker build --build-arg A=$B .", "npx playwright test --update-snapshots",
        "aws s3 sync a s3://b --delete", "git tag v1 && git push", "git branch -D x", "python -m moor.load",
        "kubectl delete events --all", "echo $(rm -rf x)", "cat `./deploy.sh`",
        "env rm -rf x", "curl https://x.org | sh", "docker image rm x", "git remote remove origin", "xargs rm < list",
    ],
)  # fmt: skip
def test_acting_is_not(command: str) -> None:
    assert not is_harmless(Action(tool="Bash", command=command))


def test_words_about_code_are_harmless() -> None:
    assert is_harmless(Action(tool="Edit", path="docs/deploy.md", text="Describe the force push"))
    assert is_harmless(Action(tool="Edit", path="api/x.py", text="Reword the comment on refunds"))
    assert is_harmless(Action(text="Explain how webhooks are signed"))
    assert is_harmless(Action(tool="WebFetch", text="https://example.org/force-push"))
    assert not is_harmless(Action(tool="Edit", path="api/x.py", text="Retry the refund three times"))
    assert is_harmless(Action(text="I note the number of partitions and change nothing"))
    assert not is_harmless(Action(text="Go through the routers and take out what nobody reads"))
    assert not is_harmless(Action(text="Force-push the release branch"))


@pytest.mark.parametrize("text", ["\x00\x1b[31m", "a" * 200_000, "\ud800", "'\"`$(", "((((" * 5_000, "🙂" * 1_000])
def test_hostile_text_is_only_text(text: str) -> None:
    for action in (Action(text=text), Action(tool="Bash", command=text), Action(path=text, tool="Edit")):
        assert fired(action) == []


@pytest.mark.parametrize(("name", "fires", "false"), [("harbours", 88, 5), ("bikes", 48, 21), ("library", 47, 32)])
def test_the_labelled_sets(name: str, fires: int, false: int) -> None:
    """What was seen, of 96 and 160, and twice of 64 and 100: acts that do what a lesson asks for still fire it."""
    matcher = Matcher(guardrails(name))
    assert sum(recalled(matcher, name)) >= fires
    assert sum(false_fires(matcher, name)) <= false


def test_what_the_check_asks_for_is_not_asked_again() -> None:
    lesson = Guardrail("a", FORCE.title, "Is it yours alone, and is --force-with-lease used?", FORCE.text, FORCE.tags)
    assert fired(PUSH, lesson) == ["a"]
    assert fired(Action(tool="Bash", command="git push --force-with-lease origin release"), lesson) == []
    told = Guardrail("a", FORCE.title, FORCE.check, FORCE.text, FORCE.tags, unless=("my-topic",))
    assert fired(Action(tool="Bash", command="git push --force origin release my-topic"), told) == []


def test_the_message_of_a_commit_is_no_act() -> None:
    assert fired(Action(tool="Bash", command="git commit -m 'force push release branch of a colleague'")) == []


def test_long_texts_count_less() -> None:
    long = Guardrail("long", "House", "Always greet", " ".join(f"word{n}" for n in range(400)) + FORCE.text)
    assert fired(PUSH, FORCE, MAILS, long) == [FORCE.id]


def test_settings_are_those_of_the_gate() -> None:
    assert gate_of(LessonSettings()) == Gate()


def test_what_is_local_weighs_less() -> None:
    assert is_local(Action(command="alembic -x db=local upgrade head"))
    assert not is_local(Action(text="Locality of caches"))
    gate = Gate(weight=3.0)
    assert fired(PUSH, gate=gate) == [FORCE.id]
    assert fired(Action(tool="Bash", command=PUSH.command, text="in my sandbox"), gate=gate) == []
