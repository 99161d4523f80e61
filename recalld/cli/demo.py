"""``recall demo``: the story of recalld on a throw-away daemon."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Awaitable, Callable
from textwrap import shorten
from typing import TYPE_CHECKING, Any

import typer

from recalld.cli import output
from recalld.cli.command import Invocation
from recalld.cli.running import Assignments, pairs
from recalld.cli.search import best_of_each_document, declared, place

if TYPE_CHECKING:
    from anyio.abc import TaskStatus
    from rich.console import Console

    from recalld.bus.wire import Hit
    from recalld.demo.scene import Scene

DOCUMENTS, OPENING, WIDEST = 3, 240, 100
"""How many documents of a reply are shown, how many characters of an answer, and on how many columns at most."""

EXAMPLES = """
recall demo
recall demo --json
recall demo --set embed.runtime=onnx
"""


async def demo(cli: Invocation, assignments: Assignments = None) -> int:
    """See what recalld does, on a throw-away daemon over a sample memory. Nothing is left running afterwards.

    It needs no services, no keys, no network and no running daemon, and touches none of your settings or data.
    """
    from recalld.demo.story import tell_story
    from recalld.demo.throwaway import throw_away

    told: list[Scene] = []
    console = output.console(widest=WIDEST)

    def tell(scene: Scene) -> None:
        told.append(scene)
        if not cli.as_json:
            _show(scene, console)

    async def perform() -> None:
        if not cli.as_json:
            console.print("[dim]starting a throw-away daemon in a temporary directory ...[/]")
        async with throw_away(pairs(assignments)) as daemon:
            await tell_story(daemon, tell)
            if not cli.as_json:
                console.print("\n[dim]stopping it ...[/]")

    begun = time.perf_counter()
    status = await _until_signalled(perform)
    if cli.as_json:
        typer.echo(json.dumps({"scenes": [_plain(scene) for scene in told], "took_s": time.perf_counter() - begun}))
    elif status == 0:
        console.print("[dim]Nothing is left running, and nothing is left on disk.[/]\n")
        console.print("Now with your own notes: [bold]recalld run[/] in one terminal, and in another")
        console.print("[bold]recall repo add PATH[/], then [bold]recall search[/] whatever you want to know.")
    return status


async def _until_signalled(perform: Callable[[], Awaitable[None]]) -> int:
    """Run it to its end, or to the first Ctrl-C or SIGTERM; its clean-up is not disturbed by a second one."""
    import anyio

    status = 0
    async with anyio.create_task_group() as group:
        with anyio.CancelScope() as performance:

            async def listen(*, task_status: TaskStatus[None]) -> None:
                nonlocal status
                with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM, signal.SIGHUP) as received:
                    task_status.started()
                    async for number in received:
                        status = 128 + number
                        performance.cancel()

            await group.start(listen)
            await perform()
        group.cancel_scope.cancel()
    return status


def _show(scene: Scene, console: Console) -> None:
    if scene.title:
        console.print(f"\n[bold]{output.plain(scene.title)}[/]\n{'─' * len(scene.title)}")
    if scene.question:
        console.print(f"\n[bold cyan]?[/] [bold]{output.plain(scene.question)}[/]")
    console.print(output.markdown(scene.says))
    for line in scene.shown:
        console.print(f"[green]>[/] [italic]{output.plain(line)}[/]")
    if scene.reply is not None:
        for hit in best_of_each_document(scene.reply.hits)[:DOCUMENTS]:
            _show_hit(hit, is_answer=hit.path == scene.answer, console=console)
        for hit in best_of_each_document(scene.reply.withheld)[:DOCUMENTS]:
            console.print(f"[red]-[/] [dim]{output.plain(place(hit))}  {hit.verdict}: {output.plain(hit.reason)}[/]")
        console.print(f"  [dim]{scene.reply.took_ms:.0f} ms[/]")


def _show_hit(hit: Hit, *, is_answer: bool, console: Console) -> None:
    from rich.padding import Padding

    mark = "[green]>[/]" if is_answer else " "
    console.print(f"{mark} [cyan]{output.plain(place(hit))}[/]  [dim]{hit.verdict}[/]")
    lines = [f"[bold]{output.plain(hit.title)}[/]"]
    if hit.stands_for:
        lines.append(f"[green]takes the place of[/] {output.plain(hit.stands_for)}")
    standing = declared(hit.validity)
    if standing:
        lines.append(f"[yellow]the file says:[/] {output.plain(standing)}")
    if is_answer:
        lines.append(f"[italic]{output.plain(_opening(hit.text))}[/]")
    console.print(Padding("\n".join(lines), (0, 0, 0, 4), expand=False))


def _opening(text: str) -> str:
    """Return the first paragraph of a passage that is prose."""
    paragraphs = [" ".join(part.split()) for part in text.split("\n\n") if not part.startswith(("#", "---"))]
    return shorten(next((part for part in paragraphs if part), ""), OPENING, placeholder=" …")


def _plain(scene: Scene) -> dict[str, Any]:
    return {
        "title": scene.title,
        "says": scene.says,
        "question": scene.question,
        "answer": scene.answer,
        "took_ms": scene.took_ms,
        "reply": scene.reply.model_dump(mode="json") if scene.reply else None,
        "shown": scene.shown,
    }
