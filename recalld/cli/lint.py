"""``recall lint``: what is wrong with a memory as it lies on disk."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from recalld.cli import output
from recalld.cli.command import Invocation
from recalld.errors import NotFoundError, UsageError
from recalld.model import Severity

if TYPE_CHECKING:
    from recalld.lint.baseline import Compared, Key
    from recalld.model import Finding

SEVERITIES = tuple(str(severity) for severity in Severity)
_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "dim"}

Paths = Annotated[
    list[Path] | None,
    typer.Argument(metavar="PATH", help="A directory (default: this one), or files in it.", show_default=False),
]
Root = Annotated[Path | None, typer.Option("--root", metavar="DIR", help="The memory that the files are part of.")]
Semantic = Annotated[bool, typer.Option("--semantic", help="Ask the daemon for near memos that nobody connects.")]
AsSarif = Annotated[bool, typer.Option("--sarif", help="Print SARIF 2.1.0, for code hosts.")]
BaselineFile = Annotated[Path | None, typer.Option("--baseline", metavar="F", help="Tell only what is not in F.")]
WriteBaseline = Annotated[Path | None, typer.Option(metavar="F", help="Write what is found to F, and exit with 0.")]
NoSecrets = Annotated[bool, typer.Option("--no-secrets", help="Do not look for keys and passwords.")]
Least = Annotated[
    str, typer.Option("--min-severity", metavar="LEVEL", help=f"Least that is told: {', '.join(SEVERITIES)}.")
]

EXAMPLES = """
recall lint
recall lint ~/notes --min-severity warning
recall lint --write-baseline .recall-lint.json
recall lint --baseline .recall-lint.json --sarif
recall lint ~/notes --semantic
"""


async def lint(
    cli: Invocation,
    paths: Paths = None,
    root: Root = None,
    semantic: Semantic = False,
    sarif: AsSarif = False,
    baseline: BaselineFile = None,
    write_baseline: WriteBaseline = None,
    no_secrets: NoSecrets = False,
    min_severity: Least = "note",
) -> int:
    """Find what is wrong with a memory: claims that lead nowhere or in circles, dates, ids, links, secrets, leftovers.

    Needs no daemon and no database. All files of the memory are read, for what one says depends on the others; given
    files alone are told of. docs/lint.md lists the codes. Exit status 1 when there is an error.
    """
    from recalld.lint.baseline import compare, written

    if min_severity not in SEVERITIES:
        raise UsageError(f"there is no severity {min_severity}", suggestion=f"use {', '.join(SEVERITIES)}")
    known = _baseline(baseline)
    found = await _findings(paths or [Path()], root, Severity(min_severity), with_secrets=not no_secrets)
    if semantic:
        found += await _semantic(cli, paths or [Path()], root)
    if write_baseline is not None:
        _write(write_baseline, written(found))
        output.say(f"{len(found)} findings are known from now on: --baseline {write_baseline}")
        return 0
    compared = compare(found, known)
    _tell(compared, cli, as_sarif=sarif)
    return 1 if any(finding.severity is Severity.ERROR for finding in compared.new) else 0


async def _findings(paths: Sequence[Path], root: Path | None, least: Severity, *, with_secrets: bool) -> list[Finding]:
    """Lint the memory that the paths are in. Raises NotFoundError, UsageError where they are in none."""
    from recalld.lint.check import check, ordered
    from recalld.lint.corpus import only, read_corpus
    from recalld.watch.disk import RootGoneError

    memory, files = place(paths, root)
    try:
        corpus = await read_corpus(memory, output.utc_now())
    except RootGoneError as error:
        raise NotFoundError(f"{memory} cannot be read: {error.strerror}", suggestion="give a directory") from error
    found = ordered([*corpus.findings, *check(corpus.memory, with_secrets=with_secrets)], least)
    return only(found, files) if files else found


def place(paths: Sequence[Path], root: Path | None) -> tuple[Path, frozenset[str]]:
    """Return the directory to lint, and the files of it that are told of (empty: all).

    Files without ``root`` are part of the git repository that they are in, else of the current directory.
    """
    missing = [str(path) for path in paths if not path.exists()]
    if missing:
        raise NotFoundError(f"there is no {', '.join(missing)}", suggestion="give a directory or files that exist")
    if root is None and len(paths) == 1 and paths[0].is_dir():
        return paths[0].resolve(), frozenset()
    memory = (root or _repository(paths[0])).resolve()
    files: set[str] = set()
    for path in paths:
        whole = path.resolve()
        if not whole.is_relative_to(memory):
            raise UsageError(f"{path} is not in {memory}", suggestion="name the memory with --root")
        inside = sorted(whole.rglob("*")) if whole.is_dir() else [whole]
        files |= {each.relative_to(memory).as_posix() for each in inside}
    return memory, frozenset(files)


def _repository(path: Path) -> Path:
    whole = path.resolve()
    return next((above for above in whole.parents if (above / ".git").exists()), Path.cwd())


def _baseline(path: Path | None) -> Counter[Key]:
    from recalld.lint.baseline import read

    if path is None:
        return Counter()
    try:
        return read(path.read_text("utf-8"))
    except UsageError as error:
        raise UsageError(f"{path}: {error.message}", suggestion=error.suggestion) from error
    except FileNotFoundError:
        raise NotFoundError(f"there is no {path}", suggestion="write one with --write-baseline") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from error


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}") from error


async def _semantic(cli: Invocation, paths: Sequence[Path], root: Path | None) -> list[Finding]:
    from recalld.cli.semantic import probable_supersessions
    from recalld.lint.corpus import only

    memory, files = place(paths, root)
    async with cli.client() as client:
        found = await probable_supersessions(client, memory)
    return only(found, files) if files else found


def _tell(compared: Compared, cli: Invocation, *, as_sarif: bool) -> None:
    from recalld.lint.sarif import sarif

    if as_sarif:
        typer.echo(json.dumps(sarif(compared.new), ensure_ascii=False))
    elif cli.as_json:
        typer.echo(json.dumps(_plain(compared), ensure_ascii=False))
    else:
        _show(compared)


def _plain(compared: Compared) -> dict[str, object]:
    return {
        "findings": [
            {
                "path": finding.path,
                "line": finding.line,
                "key": finding.key,
                "code": finding.code,
                "severity": finding.severity,
                "message": finding.message,
                "hint": finding.hint,
            }
            for finding in compared.new
        ],
        "known": compared.known,
        "gone": [{"path": path, "code": code} for path, code, _ in compared.gone],
    }


def _show(compared: Compared) -> None:
    console = output.console()
    by_file = sorted(compared.new, key=lambda finding: finding.path)
    for path, findings in groupby(by_file, key=lambda finding: finding.path):
        console.print(f"[bold]{output.plain(path)}[/]")
        for finding in findings:
            place = f"{finding.line}" if finding.line else "-"
            colour = _COLOURS[finding.severity]
            console.print(f"  {place:>5}  [{colour}]{finding.code}[/]  {output.plain(finding.message)}")
            if finding.hint:
                console.print(f"         [dim]{output.plain(finding.hint)}[/]")
    console.print(_summary(compared.new, compared.known, compared.gone))


def _summary(new: Iterable[Finding], known: int, gone: Sequence[Key]) -> str:
    found = list(new)
    counts = [(severity, sum(finding.severity is severity for finding in found)) for severity in Severity]
    parts = [f"{count} {severity}{'s' if count != 1 else ''}" for severity, count in counts if count]
    parts += [f"{known} known from the baseline"] if known else []
    parts += [f"{len(gone)} of the baseline no longer occur"] if gone else []
    return ", ".join(parts) or "nothing to complain about"
