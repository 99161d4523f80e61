"""The app ``recall``: ask the daemon."""

from __future__ import annotations

import typer

from recalld.cli import (
    calibrate,
    check,
    demo,
    documents,
    evaluating,
    events,
    hook,
    lint,
    mcp,
    preflight,
    questions,
    receipts,
    reindex,
    repos,
    search,
    status,
    studies,
    supersede,
)
from recalld.cli.command import application, command

app = application("recall asks a running recalld: search a memory, look after its repos, see what happens.")
repo_app = typer.Typer(help="Say which directories are remembered.", no_args_is_help=True)
app.add_typer(repo_app, name="repo")
hook_app = typer.Typer(help="Have Claude Code ask the memory by itself.", no_args_is_help=True)
app.add_typer(hook_app, name="hook")
evaluate_app = typer.Typer(help=evaluating.HELP, no_args_is_help=True, cls=evaluating.RunsByDefault)
app.add_typer(evaluate_app, name="evaluate")

command(app, examples=search.EXAMPLES)(search.search)
command(app, examples=documents.GET_EXAMPLES)(documents.get)
command(app, examples=receipts.EXAMPLES)(receipts.receipts)
command(app, examples=lint.EXAMPLES)(lint.lint)
command(app, examples=check.EXAMPLES)(check.check)
command(app, examples=supersede.EXAMPLES)(supersede.supersede)
command(app, examples=preflight.EXAMPLES)(preflight.preflight)
command(app, examples=preflight.BRIEF_EXAMPLES)(preflight.brief)
command(app, examples=status.STATS_EXAMPLES)(status.stats)
command(app, examples=status.HEALTH_EXAMPLES)(status.health)
command(app, examples=reindex.EXAMPLES)(reindex.reindex)
command(app, examples=documents.FORGET_EXAMPLES)(documents.forget)
command(app, examples=documents.DELTA_EXAMPLES)(documents.delta)
command(app, examples=events.EXAMPLES)(events.events)
command(app, examples=calibrate.EXAMPLES)(calibrate.calibrate)
command(app, examples=demo.EXAMPLES)(demo.demo)
command(app, examples=mcp.EXAMPLES)(mcp.mcp)
command(repo_app, examples=repos.ADD_EXAMPLES)(repos.add)
command(repo_app, "list", examples=repos.LIST_EXAMPLES)(repos.list_)
command(repo_app, examples=repos.REMOVE_EXAMPLES)(repos.remove)
command(hook_app, examples=hook.INSTALL_EXAMPLES)(hook.install)
command(hook_app, examples=hook.UNINSTALL_EXAMPLES)(hook.uninstall)
command(evaluate_app, examples=evaluating.RUN_EXAMPLES)(evaluating.run)
command(evaluate_app, examples=evaluating.EXPLAIN_EXAMPLES)(evaluating.explain)
command(evaluate_app, examples=evaluating.COMPARE_EXAMPLES)(evaluating.compare)
command(evaluate_app, examples=questions.CHECK_EXAMPLES)(questions.check)
command(evaluate_app, "import", examples=questions.IMPORT_EXAMPLES)(questions.import_)
command(evaluate_app, examples=questions.PROPOSE_EXAMPLES)(questions.propose)
command(evaluate_app, examples=studies.ABLATE_EXAMPLES)(studies.ablate)
command(evaluate_app, examples=studies.EMBEDDERS_EXAMPLES)(studies.embedders)
command(evaluate_app, examples=studies.FINETUNE_EXAMPLES)(studies.finetune)
command(evaluate_app, examples=evaluating.SCHEMA_EXAMPLES)(evaluating.schema)
