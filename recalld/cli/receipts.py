"""``recall receipts``: whether old answers still stand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from recalld.cli import output
from recalld.cli.command import Invocation

if TYPE_CHECKING:
    from rich.console import Console

    from recalld.bus import wire

ReceiptId = Annotated[str | None, typer.Argument(metavar="ID", help="The receipt of an answer.", show_default=False)]
Limit = Annotated[int, typer.Option(metavar="N", min=1, max=1_000, help="How many of the newest are listed.")]

EXAMPLES = """
recall receipts
recall receipts 0f3c8a... --json
"""


async def receipts(cli: Invocation, id_: ReceiptId = None, limit: Limit = 20) -> int:
    """Tell whether an answer that was given still stands, and if not, what happened to what it relied on.

    Without an ID it lists this agent's newest answers. Exit status 1 when the answer no longer stands.
    """
    async with cli.client() as client:
        reply = await client.receipts(id=id_, limit=limit)
    if cli.as_json:
        output.reply_json(reply)
    elif id_ is None:
        _list(reply, output.console())
    else:
        _show(reply.receipts[0], output.console())
    return 0 if id_ is None or reply.receipts[0].stands else 1


def _list(reply: wire.ReceiptsReply, console: Console) -> None:
    if not reply.receipts:
        console.print("no answers yet that this agent was given")
        return
    table = output.table("receipt", "when", "stands", "cites", "question", numbers=("cites",))
    for receipt in reply.receipts:
        stands = "[green]yes[/]" if receipt.stands else "[red]no[/]"
        when = output.local_time(receipt.at)
        table.add_row(receipt.id, when, stands, str(receipt.cited), output.plain(receipt.query))
    console.print(table)


def _show(receipt: wire.ReceiptView, console: Console) -> None:
    verdict = "[green]it still stands[/]" if receipt.stands else "[red]it no longer stands[/]"
    console.print(f"{output.local_time(receipt.at)}, {receipt.agent} asked: {output.plain(receipt.query)}")
    console.print(f"{'No answer was given' if receipt.abstained else 'An answer was given'}, and {verdict}.")
    for citation in receipt.citations:
        place = f"[cyan]{output.plain(f'{citation.repo}:{citation.path}')}[/]"
        if citation.happened is None:
            console.print(f"  [green]stands[/]  {place}")
            continue
        after = f"; see {output.plain(citation.successor)}" if citation.successor else ""
        what = output.plain(citation.happened)
        console.print(f"  [red]{what}[/]  {place}  [dim]{output.plain(citation.reason)}{after}[/]")
