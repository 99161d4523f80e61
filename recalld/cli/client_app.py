"""The app ``recall``: ask the daemon."""

from __future__ import annotations

import typer

from recalld.cli import (
    agent,
    ask,
    calibrate,
    check,
    dashboard,
    demo,
    documents,
    evaluating,
    events,
    hook,
    jobs,
    lessons,
    lint,
    mcp,
    preflight,
    put,
    questions,
    receipts,
    reindex,
    repos,
    search,
    sessions,
    status,
    studies,
    supersede,
    tending,
)
from recalld.cli.command import application, command

app = application("recall asks a running recalld: search a memory, look after its repos, see what happens.")
repo_app = typer.Typer(help="Say which directories are remembered.", no_args_is_help=True)
app.add_typer(repo_app, name="repo")
hook_app = typer.Typer(help="Have Claude Code ask the memory by itself.", no_args_is_help=True)
app.add_typer(hook_app, name="hook")
agent_app = typer.Typer(help="Wire an agent's program: server, hooks and guide.", no_args_is_help=True)
app.add_typer(agent_app, name="agent")
lessons_app = typer.Typer(help="See what was learned, and decide on what was proposed.", no_args_is_help=True)
app.add_typer(lessons_app, name="lessons")
documents_app = typer.Typer(help="See what was put in, and take it out.", no_args_is_help=True)
app.add_typer(documents_app, name="documents")
jobs_app = typer.Typer(help="See what runs by the clock, run it now, call it off.", no_args_is_help=True)
app.add_typer(jobs_app, name="jobs")
sessions_app = typer.Typer(help="See conversations, name them, drop them.", no_args_is_help=True)
app.add_typer(sessions_app, name="sessions")
episodes_app = typer.Typer(help="See which answers are remembered, and what became of them.", no_args_is_help=True)
app.add_typer(episodes_app, name="episodes")
evaluate_app = typer.Typer(help=evaluating.HELP, no_args_is_help=True, cls=evaluating.RunsByDefault)
app.add_typer(evaluate_app, name="evaluate")

command(app, examples=search.EXAMPLES)(search.search)
command(app, examples=ask.EXAMPLES)(ask.ask)
command(app, examples=ask.EVIDENCE_EXAMPLES)(ask.evidence)
command(app, examples=documents.GET_EXAMPLES)(documents.get)
command(app, examples=receipts.EXAMPLES)(receipts.receipts)
command(app, examples=lint.EXAMPLES)(lint.lint)
command(app, examples=check.EXAMPLES)(check.check)
command(app, examples=supersede.EXAMPLES)(supersede.supersede)
command(app, examples=preflight.EXAMPLES)(preflight.preflight)
command(app, examples=preflight.BRIEF_EXAMPLES)(preflight.brief)
command(app, examples=put.EXAMPLES)(put.put)
command(app, examples=lessons.LEARN_EXAMPLES)(lessons.learn)
command(app, examples=lessons.MARK_EXAMPLES)(lessons.mark)
command(app, examples=tending.AUDIT_EXAMPLES)(tending.audit)
command(app, examples=tending.PRUNE_EXAMPLES)(tending.prune)
command(app, examples=tending.CONSOLIDATE_EXAMPLES)(tending.consolidate)
command(app, examples=tending.MAINTAIN_EXAMPLES)(tending.maintain)
command(app, examples=tending.UNDO_EXAMPLES)(tending.undo)
command(app, examples=status.STATS_EXAMPLES)(status.stats)
command(app, examples=status.HEALTH_EXAMPLES)(status.health)
command(app, examples=reindex.EXAMPLES)(reindex.reindex)
command(app, examples=documents.FORGET_EXAMPLES)(documents.forget)
command(app, examples=documents.DELTA_EXAMPLES)(documents.delta)
command(app, examples=events.EXAMPLES)(events.events)
command(app, examples=calibrate.EXAMPLES)(calibrate.calibrate)
command(app, examples=demo.EXAMPLES)(demo.demo)
command(app, examples=mcp.EXAMPLES)(mcp.mcp)
command(app, examples=dashboard.EXAMPLES)(dashboard.dashboard)
command(repo_app, examples=repos.ADD_EXAMPLES)(repos.add)
command(repo_app, "list", examples=repos.LIST_EXAMPLES)(repos.list_)
command(repo_app, examples=repos.REMOVE_EXAMPLES)(repos.remove)
command(hook_app, examples=hook.INSTALL_EXAMPLES)(hook.install)
command(hook_app, examples=hook.UNINSTALL_EXAMPLES)(hook.uninstall)
command(agent_app, examples=agent.INSTALL_EXAMPLES)(agent.install)
command(agent_app, examples=agent.UNINSTALL_EXAMPLES)(agent.uninstall)
command(agent_app, examples=agent.STATUS_EXAMPLES)(agent.status)
command(lessons_app, "list", examples=lessons.LIST_EXAMPLES)(lessons.list_)
command(lessons_app, examples=lessons.ACCEPT_EXAMPLES)(lessons.accept)
command(lessons_app, examples=lessons.REJECT_EXAMPLES)(lessons.reject)
command(lessons_app, examples=lessons.PIN_EXAMPLES)(lessons.pin)
command(lessons_app, examples=lessons.UNPIN_EXAMPLES)(lessons.unpin)
command(documents_app, "list", examples=put.LIST_EXAMPLES)(put.list_)
command(documents_app, examples=put.REMOVE_EXAMPLES)(put.remove)
command(jobs_app, "list", examples=jobs.LIST_EXAMPLES)(jobs.list_)
command(jobs_app, examples=jobs.RUN_EXAMPLES)(jobs.run)
command(jobs_app, examples=jobs.CANCEL_EXAMPLES)(jobs.cancel)
command(sessions_app, "list", examples=sessions.LIST_EXAMPLES)(sessions.list_)
command(sessions_app, examples=sessions.SHOW_EXAMPLES)(sessions.show)
command(sessions_app, examples=sessions.CREATE_EXAMPLES)(sessions.create)
command(sessions_app, examples=sessions.RENAME_EXAMPLES)(sessions.rename)
command(sessions_app, examples=sessions.DELETE_EXAMPLES)(sessions.delete)
command(episodes_app, "list", examples=sessions.EPISODES_EXAMPLES)(sessions.episodes)
command(episodes_app, "show", examples=sessions.EPISODE_EXAMPLES)(sessions.episode)
command(episodes_app, examples=sessions.MARK_EXAMPLES)(sessions.mark)
command(episodes_app, examples=sessions.TIDY_EXAMPLES)(sessions.tidy)
command(episodes_app, examples=sessions.FORGET_EXAMPLES)(sessions.forget)
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
