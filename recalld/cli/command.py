"""What all commands share: the options that every one takes, errors as exit statuses, and asynchronous bodies."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, fields, replace
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from recalld.cli import INTERRUPTED, output
from recalld.errors import RecalldError

if TYPE_CHECKING:
    from recalld.bus.client import RecallClient

T = TypeVar("T")
_PANEL = "Options of every command"


@dataclass(frozen=True, slots=True)
class Invocation:
    """The options that every command takes, as given; None or False where they were not."""

    config: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Settings file, instead of the usual places.", rich_help_panel=_PANEL),
    ] = None
    state_dir: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="The daemon's state directory (node.state_dir).", rich_help_panel=_PANEL),
    ] = None
    server: Annotated[
        str | None,
        typer.Option(metavar="URL", help="The NATS server, as nats://host:4222.", rich_help_panel=_PANEL),
    ] = None
    agent: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Who is asking (bus.agent).", rich_help_panel=_PANEL),
    ] = None
    as_json: Annotated[
        bool,
        typer.Option("--json", help="Print JSON, for programs.", rich_help_panel=_PANEL),
    ] = False

    def flags(self) -> dict[str, Any]:
        """Return what was given, nested as the settings are."""
        nested: dict[str, Any] = {}
        if self.state_dir is not None:
            nested["node"] = {"state_dir": self.state_dir}
        bus = {"servers": (self.server,) if self.server else None, "agent": self.agent}
        given = {key: value for key, value in bus.items() if value is not None}
        return nested | ({"bus": given} if given else {})

    def client(self) -> AbstractAsyncContextManager[RecallClient]:
        """Return a client of the daemon that these options mean. Raises ConfigError, UnreachableError."""
        from recalld.cli.connection import client_for

        return client_for(self)


_SHARED = [
    inspect.Parameter(
        field.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=field.default,
        annotation=inspect.get_annotations(Invocation, eval_str=True)[field.name],
    )
    for field in fields(Invocation)
]


def _print_version(wanted: bool) -> None:
    if wanted:
        output.version()
        raise typer.Exit


_Version = Annotated[
    bool,
    typer.Option("--version", help="Print the version and stop.", is_eager=True, callback=_print_version),
]

Body = Callable[..., int | Coroutine[Any, Any, int]]
"""A command: takes an Invocation and its own options, returns the exit status; may be asynchronous."""


def application(help_text: str) -> typer.Typer:
    """Return an app that takes the shared options before the command's name, too, and knows ``--version``."""
    app = typer.Typer(
        help=help_text,
        no_args_is_help=True,
        rich_markup_mode="markdown",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    def before(context: typer.Context, version: _Version = False, **shared: Any) -> None:
        context.obj = Invocation(**shared)

    app.callback()(_with_shared(before, list(inspect.signature(before, eval_str=True).parameters.values())[:-1]))
    return app


def command(app: typer.Typer, name: str | None = None, *, examples: str = "") -> Callable[[Body], Body]:
    """Register a function as a command of ``app``; its first parameter is the Invocation, its docstring the help.

    ``examples`` are command lines, one a line, that the help shows.
    """

    def register(body: Body) -> Body:
        own = list(inspect.signature(body, eval_str=True).parameters.values())[1:]
        context = inspect.Parameter("context", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)

        @wraps(body)
        def run(context: typer.Context, **values: Any) -> None:
            given = {field.name: values.pop(field.name) for field in fields(Invocation)}
            merged = _merged(context.find_root().obj or Invocation(), given)
            raise typer.Exit(_status(partial(body, merged, **values), merged))

        app.command(name, epilog=_epilog(examples))(_with_shared(run, [context, *own]))
        return body

    return register


def _with_shared(function: Callable[..., None], own: list[inspect.Parameter]) -> Callable[..., None]:
    """Give a function the signature that typer reads: its own parameters, then the shared ones."""
    parameters = [
        *(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY) for parameter in own),
        *_SHARED,
    ]
    function.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    function.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return function


def _merged(before: Invocation, after: dict[str, Any]) -> Invocation:
    """What stands after the command's name wins over what stands before it."""
    return replace(before, **{name: value for name, value in after.items() if value not in (None, False)})


def _status(body: Callable[[], int | Coroutine[Any, Any, int]], invocation: Invocation) -> int:
    """Run a command's body; return its exit status, with any named error told on stderr."""
    try:
        result = body()
        return result if isinstance(result, int) else finished(result)
    except RecalldError as error:
        output.error(error, as_json=invocation.as_json)
        return error.exit_status
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED


def finished(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end. Raises what it raises, out of any groups."""
    import anyio

    from recalld.concurrent import fault

    async def main() -> T:
        return await coroutine

    try:
        return anyio.run(main)
    except BaseExceptionGroup as group:
        raise fault(group) from None


def _epilog(examples: str) -> str | None:
    lines = [line.strip() for line in examples.strip().splitlines()]
    return "Examples:\n\n" + "\n\n".join(f"`{line}`" for line in lines) if lines else None
