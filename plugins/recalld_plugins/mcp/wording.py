"""Replies in words, for models that read only those: what memory says is quoted, what recalld says is not."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from recalld.bus import wire
from recalld_plugins.mcp.indexing import IndexReply
from recalld_plugins.mcp.linting import LintReply
from recalld_plugins.mcp.quoting import name, place, quoted
from recalld_plugins.mcp.reading import STANDS, UNJUDGED, ReadReply

_BELIEVED = ("ok", "unverified")


def search(reply: wire.SearchReply) -> str:
    """Tell the hits with their verdicts, or the abstention; what does not hold is named."""
    head = _state(reply.state)
    if reply.abstained:
        gap = " The memory probably knows nothing of this." if reply.gap_warning else ""
        head.append(
            f"I don't know: the memory gives no answer that may be believed. Reason: {name(reply.reason)}.{gap}"
        )
    elif reply.hits and not reply.calibrated:
        head.append("Nothing is calibrated yet: how sure these are is not known.")
    head += [f"Note: {name(note)}" for note in reply.notes]
    behind = _behind(reply.freshness)
    head += [behind] if behind else []
    tail = [f"Receipt: {reply.receipt} (recall_receipts says later whether this still stands)"] if reply.receipt else []
    return _blocks("\n".join(head), *map(_hit, range(1, len(reply.hits) + 1), reply.hits), _withheld(reply), *tail)


def _hit(number: int, hit: wire.Hit) -> str:
    sure = f", confidence {hit.confidence:.0%}" if hit.confidence is not None else ""
    lines = [f"[{number}] {place(hit.repo, hit.path, hit.lines)}, id {hit.id}: verdict {hit.verdict}{sure}"]
    if hit.verdict not in _BELIEVED:
        lines.append(f"    Do not rely on this: {name(hit.reason)}.")
    lines.append(f"    titled {name(' > '.join(dict.fromkeys((hit.title, *hit.heading))))}")
    if hit.stands_for:
        lines.append(f"    takes the place of {name(hit.stands_for)}")
    lines += [f"    the file says {said}" for said in _declared(hit.validity)]
    return "\n".join([*lines, *([quoted(hit.text)] if hit.text else [])])


def _declared(validity: wire.Validity) -> Iterator[str]:
    if validity.status:
        yield f"status {name(validity.status)}"
    if validity.valid_from:
        yield f"valid from {name(validity.valid_from)}"
    if validity.valid_until:
        yield f"valid until {name(validity.valid_until)}"
    if validity.superseded_by:
        yield f"superseded by {name(validity.superseded_by)}"


def _withheld(reply: wire.SearchReply) -> str:
    if not reply.withheld:
        return ""
    lines = ["Withheld, because it does not hold or does not answer. Do not rely on it:"]
    for hit in reply.withheld:
        after = f"; see {name(hit.validity.superseded_by)}" if hit.validity.superseded_by else ""
        lines.append(f"- {place(hit.repo, hit.path, hit.lines)}: {hit.verdict}, {name(hit.reason)}{after}")
    return "\n".join(lines)


def read(reply: ReadReply) -> str:
    """Tell a document's lines, with whether it stands."""
    standing = reply.standing
    lines = [
        f"{place(reply.repo, reply.path, reply.lines)} of {reply.lines_in_all} lines, kind {name(reply.kind)}, "
        f"indexed {_moment(reply.indexed_at)}: verdict {standing.verdict}",
        f"    titled {name(reply.title)}",
    ]
    if standing.verdict == UNJUDGED:
        lines.append("    Whether it still holds could not be asked.")
    elif standing.verdict != STANDS:
        after = f"; see {name(standing.successor)}" if standing.successor else ""
        lines.append(f"    Do not rely on this: {name(standing.reason)}{after}.")
    lines += [f"    declares {name(claim)}" for claim in reply.declares]
    lines += [f"    finding {name(finding)}" for finding in reply.findings]
    if reply.lines[1] < reply.lines_in_all:
        lines.append(f"    The next lines: first_line={reply.lines[1] + 1}.")
    return "\n".join([*lines, quoted(reply.text)])


def preflight(reply: wire.PreflightReply) -> str:
    """Tell what to check, or that nothing applies."""
    head = [] if reply.state == "ready" else ["The rules and lessons are still being read: ask again in a moment."]
    if not reply.checks:
        return _blocks(*head, f"Nothing applies among {reply.guardrails} rules and lessons.")
    head.append("Lines of the memory that may apply to this act. Check each yourself before acting:")
    return _blocks(*head, *map(_check, reply.checks))


def _check(check: wire.GuardrailView) -> str:
    sure = f", confidence {check.confidence:.0%}" if check.confidence is not None else ""
    words = f"; shares {', '.join(map(name, check.shared))}" if check.shared else ""
    head = f"{place(check.repo, check.id)}, kind {name(check.kind)}{sure}{words}, titled {name(check.title)}"
    return f"{head}\n{quoted(check.check)}"


def supersede(reply: wire.SupersedeReply) -> str:
    """Tell what stands now."""
    old, new = place(reply.repo, reply.old), place(reply.repo, reply.new)
    if reply.already:
        return f"The memory says already that {new} replaced {old}. Nothing was written."
    if not reply.record:
        return f"It would have an effect: {new} would replace {old}. Nothing was written (dry_run)."
    return (
        f"{new} replaces {old} from now on, by the record {place(reply.repo, reply.record)}. "
        f"A search with min_seq={reply.seq} sees it."
    )


def check(reply: wire.CheckReply) -> str:
    """Tell what a memo has to do with others."""
    head = _state(reply.state)
    if not reply.findings:
        return _blocks(*head, f"Nothing against it among the {reply.compared} nearest memos.")
    return _blocks(
        *head, f"Before saving, look at these ({reply.compared} memos compared):", *map(_memo, reply.findings)
    )


def _memo(finding: wire.CheckFinding) -> str:
    lines = [
        f"{finding.code}: {place(finding.repo, finding.path)}, titled {name(finding.title)}",
        quoted(finding.message),
    ]
    return "\n".join([*lines, *([f"suggested: {name(finding.suggestion)}"] if finding.suggestion else [])])


def index(reply: IndexReply) -> str:
    """Tell what was found of each repo, and what still waits."""
    lines = [_scan(report) for report in reply.reports] or ["No repo is watched here: `recall repo add DIR` adds one."]
    waiting = f"{reply.pending} files still wait to be indexed." if reply.pending else "All that was found is indexed."
    return "\n".join([*lines, waiting])


def _scan(report: wire.ScanReport) -> str:
    repo = name(report.repo)
    if report.error is not None:
        return f"{repo} could not be compared: {report.error.code}, {name(report.error.message)}"
    counts = (
        f"{repo}: {report.seen} files seen, {report.changed} changed, {report.deleted} deleted, "
        f"{report.skipped} skipped, {report.unreadable} unreadable, last sequence {report.last_seq}"
    )
    if not report.refused:
        return counts
    return (
        f"{counts}. {report.refused} files are gone, half the repo or more, and were kept in the index: "
        f"a person must say `recall reindex --allow-prune`"
    )


def forget(reply: wire.ForgetReply) -> str:
    """Tell what was forgotten, and how it comes back."""
    where = place(reply.repo, reply.path)
    if reply.undone:
        return f"{where} is no longer forgotten; it is indexed again now."
    return f"Forgot {where} ({reply.chunks} passages). Its file is untouched; undo=true lets it back in."


def stats(reply: wire.StatsReply) -> str:
    """Tell what is indexed, how fresh it is, and which files have faults."""
    repos = [
        f"{name(repo.name)} ({repo.state}, node {repo.node}): {repo.documents} documents, {repo.chunks} passages, "
        f"{repo.failed} failed, {repo.skipped} skipped, {repo.forgotten} forgotten"
        for repo in reply.repos
    ]
    building = [
        f"generation {each.id} ({each.state}, {name(each.embedder)}): {each.documents} of {each.total} documents"
        for each in reply.generations
    ]
    findings = [
        f"{finding.severity} {finding.code} in {place(finding.repo, finding.path)}: {name(finding.message)}"
        for finding in reply.findings
    ]
    fresh = _behind(reply.freshness) or "The index is up to date with the disk."
    return _blocks("\n".join(repos) or "No repo is watched.", fresh, "\n".join(building), "\n".join(findings))


def lint(reply: LintReply) -> str:
    """Tell the faults, errors first."""
    if not reply.findings:
        return f"Nothing to complain about in {name(reply.repo)}."
    lines = [
        f"{finding.severity} {finding.code} in {place(reply.repo, finding.path)}"
        + (f", line {finding.line}" if finding.line else "")
        + f": {name(finding.message)}"
        + (f"; {name(finding.hint)}" if finding.hint else "")
        for finding in reply.findings
    ]
    return "\n".join([f"{len(lines)} findings:", *lines])


def receipts(reply: wire.ReceiptsReply) -> str:
    """Tell of answers that were given whether they still stand."""
    return _blocks(*map(_receipt, reply.receipts)) or "No answers yet that this agent was given."


def _receipt(receipt: wire.ReceiptView) -> str:
    answer = "abstained" if receipt.abstained else f"cited {receipt.cited}"
    stands = "still stands" if receipt.stands else "NO LONGER STANDS"
    lines = [f"{receipt.id} of {_moment(receipt.at)}, {answer}, {stands}; asked: {name(receipt.query)}"]
    for citation in receipt.citations:
        after = f"; see {name(citation.successor)}" if citation.successor else ""
        what = f"{citation.happened}, {name(citation.reason)}{after}" if citation.happened else "stands"
        lines.append(f"- {place(citation.repo, citation.path)}: {what}")
    return "\n".join(lines)


def _state(state: str) -> list[str]:
    return [] if state == "ready" else [f"The daemon is {state}: this is not its best answer."]


def _behind(freshness: wire.Freshness) -> str:
    parts = [f"{freshness.pending} files wait to be indexed"] if freshness.pending else []
    parts += [f"{freshness.stale} are known to differ on disk"] if freshness.stale else []
    parts += [f"{freshness.failed} failed"] if freshness.failed else []
    parts += ["nothing was indexed for longer than is usual here"] if freshness.aged else []
    return f"The index is behind the disk: {', '.join(parts)}." if parts else ""


def _moment(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def _blocks(*parts: str) -> str:
    return "\n\n".join(_present(parts))


def _present(parts: Iterable[str]) -> Iterator[str]:
    return (part for part in parts if part)
