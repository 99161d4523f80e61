"""The roles of a node: what each is made of, how it starts, and how it ends without leaving work half done."""

from __future__ import annotations

import logging
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from datetime import timedelta
from typing import Any, Protocol

import anyio
from anyio.abc import TaskStatus

from recalld import __version__
from recalld.answers import Answers
from recalld.bus import internal, wire
from recalld.bus.calls import call
from recalld.bus.content import ContentStore
from recalld.bus.events import EventHistory, follow
from recalld.bus.files import FileClient, FileServer
from recalld.bus.ingest import IngestConsumer, IngestPublisher
from recalld.bus.jobs import JobConsumer, JobPublisher
from recalld.bus.remote_index import RemoteIndex
from recalld.bus.scan import ScanClient, ScanServer
from recalld.bus.service import Service
from recalld.bus.streams import IngestStream
from recalld.bus.subjects import request as request_subject
from recalld.foundation import now
from recalld.ingest.content import is_binary
from recalld.ingest.worker import IndexWorker
from recalld.jobs.job import plans
from recalld.jobs.runs import JobRuns, Limits
from recalld.jobs.schedule import Schedule
from recalld.lessons.likes import Likeness
from recalld.lessons.match import gate_of
from recalld.lessons.told import Told
from recalld.model import Repo
from recalld.node import Node
from recalld.serve.ask import AskVerb
from recalld.serve.calibration import CalibrationVerbs
from recalld.serve.check import CheckVerb
from recalld.serve.control import ControlVerbs
from recalld.serve.conversation import Conversation, SessionVerbs
from recalld.serve.documents import DocumentVerbs
from recalld.serve.episode_calibration import EpisodeCalibrationVerb
from recalld.serve.episodes import EpisodeVerbs
from recalld.serve.evidence import EvidenceVerb
from recalld.serve.jobs import JobVerbs
from recalld.serve.learn import LearnVerb
from recalld.serve.lessons import LessonVerbs
from recalld.serve.lineage import LineageVerb
from recalld.serve.preflight import PreflightVerbs
from recalld.serve.put import PutVerbs
from recalld.serve.receipts import ReceiptVerbs
from recalld.serve.repos import RepoVerbs
from recalld.serve.rulebook import Rulebook
from recalld.serve.search import SearchVerb
from recalld.serve.status import Freshness, StatusVerbs
from recalld.serve.supersede import SupersedeVerb
from recalld.settings import RepoSettings
from recalld.upkeep import Policies, episode_care, files_of, runners, tending_of
from recalld.watch.ports import Ports
from recalld.watch.roster import Roster
from recalld.watch.watcher import Watcher

log = logging.getLogger(__name__)

_CHANGING = frozenset({"indexed", "deleted", "skipped", "repo.added", "repo.removed"})
"""Events after which other guardrails may stand."""
ASK_S = 10.0
"""How long a watching node waits for a serving one (seconds)."""


class Role(Protocol):
    """Something that a node does until it is told to stop."""

    async def run(self, stop: anyio.Event, *, task_status: TaskStatus[None]) -> None:
        """Start, say so, work until ``stop`` is set, and return once nothing is left half done."""
        ...

    def reload(self) -> None:
        """Take up the node's new settings, as far as that goes without a restart."""
        ...


class IndexRole:
    """Takes snapshots from the queue into the index, builds generations, and runs scheduled jobs."""

    def __init__(self, node: Node) -> None:
        self._node = node
        connection, announce = node.foundation.connection, node.foundation.events.announce
        self._consumer = IngestConsumer(connection, node.settings.ingest)
        schedule = node.settings.schedule
        self._jobs = JobConsumer(connection, schedule.ack_wait_s)
        self._runs = JobRuns(
            node.store,
            runners(node),
            announce,
            JobPublisher(connection).again,
            node.settings.node.name,
            Limits(timeout_s=lambda name: schedule.of(name, "timeout_s")),
            now,
        )
        self._worker = IndexWorker(
            node.store, node.generations.targets, node.policy, announce, now, node.receipts.documents_changed
        )

    async def run(self, stop: anyio.Event, *, task_status: TaskStatus[None]) -> None:
        """Index until told to stop; batches that are being worked on then are finished."""
        async with anyio.create_task_group() as group:
            group.start_soon(self._node.keep_generations)
            group.start_soon(self._node.keep_receipts)
            group.start_soon(self._node.keep_calibrated)
            async with self._runs.open(), anyio.create_task_group() as consuming:
                consuming.start_soon(self._jobs.run, self._runs, stop)
                await consuming.start(self._consumer.run, self._worker.index, self._worker.give_up, stop)
                task_status.started()
            group.cancel_scope.cancel()

    def reload(self) -> None:
        """Nothing here changes without a restart."""


class ServeRole:
    """Answers the verbs of the bus."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._service = Service(node.foundation.connection, node.settings.node.name, __version__, node.settings.bus)
        likeness = self._likeness()
        self._rulebook = Rulebook(node.store, self._changes, now, lambda: gate_of(node.settings.lessons), likeness)
        self._answers = Answers(node)
        self._add_verbs()

    async def run(self, stop: anyio.Event, *, task_status: TaskStatus[None]) -> None:
        """Answer until told to stop; what was asked until then is answered."""
        async with aclosing(self._answers), anyio.create_task_group() as group:
            group.start_soon(self._rulebook.keep)
            group.start_soon(self._node.usage.run)
            await self._service.run(stop, task_status=task_status)
            group.cancel_scope.cancel()

    @asynccontextmanager
    async def _changes(self) -> AsyncIterator[AsyncIterator[object]]:
        """Give an event whenever a document or a repo may have changed."""
        async with follow(self._node.foundation.connection) as events:
            yield (event async for event in events if event.topic in _CHANGING)

    def _likeness(self) -> Likeness | None:
        embedders = self._node.embedders
        return Likeness(embedders.primary, lambda: not embedders.warming) if self._node.settings.lessons.blend else None

    def reload(self) -> None:
        """Searches take the new settings from the node."""

    def _add_verbs(self) -> None:
        node, add = self._node, self._service.add
        connection, announce = node.foundation.connection, node.foundation.events.announce
        ingest, scans = IngestStream(connection), ScanClient(connection)
        freshness = Freshness(node.store, ingest.pending, now, timedelta(hours=node.settings.trust.stale_after_hours))

        async def rescan(repo: Repo, path: str) -> None:
            await scans.scan(repo, wire.ReindexRequest(repo=repo.name, path=path))

        search = SearchVerb(
            node.store,
            node.answering,
            freshness,
            ingest.indexed_past,
            lambda: node.settings.recall.mode,
            node.receipts,
            now,
            node.usage.note,
        )
        documents = DocumentVerbs(node.store, rescan, now)
        supersede = SupersedeVerb(node.store, documents, FileClient(connection), scans.scan, now)
        repos = RepoVerbs(node.store, node.settings.node.name, announce, now)
        control = ControlVerbs(node.store, scans.scan, EventHistory(connection))
        probes = (*node.probes(), self._answers.check)
        status = StatusVerbs(
            node.store, freshness, probes, node.settings.node.name, node.settings.node.roles, node.started_at
        )
        calibration = CalibrationVerbs(node.calibrator)
        preflight = PreflightVerbs(self._rulebook, freshness, Told(node.settings.lessons.again_s), node.usage.note)
        asking = JobPublisher(connection)
        jobs = JobVerbs(
            node.store, node.settings.schedule, asking.publish, asking.unsettled, node.settings.node.name, now
        )
        add("search", wire.SearchRequest, wire.SearchReply, search)
        add("receipts", wire.ReceiptsRequest, wire.ReceiptsReply, ReceiptVerbs(node.receipts))
        add("check", wire.CheckRequest, wire.CheckReply, CheckVerb(node.store, node.comparing, now))
        add("preflight", wire.PreflightRequest, wire.PreflightReply, preflight.preflight)
        add("brief", wire.BriefRequest, wire.BriefReply, preflight.brief)
        add("supersede", wire.SupersedeRequest, wire.SupersedeReply, supersede)
        add("get", wire.GetRequest, wire.GetReply, documents.get)
        add("lineage", wire.LineageRequest, wire.LineageReply, LineageVerb(node.store, documents, now))
        add("forget", wire.ForgetRequest, wire.ForgetReply, documents.forget)
        add("delta", wire.DeltaRequest, wire.DeltaReply, documents.delta)
        add("repo.add", wire.RepoAddRequest, wire.RepoReply, repos.add)
        add("repo.list", wire.RepoListRequest, wire.RepoListReply, repos.list)
        add("repo.remove", wire.RepoRemoveRequest, wire.RepoReply, repos.remove)
        add("manifest", internal.ManifestRequest, internal.ManifestReply, repos.manifest)
        add("observe", internal.ObserveRequest, internal.ObserveReply, repos.observe)
        add("reindex", wire.ReindexRequest, wire.ReindexReply, control.reindex)
        add("events", wire.EventsRequest, wire.EventsReply, control.events)
        add("calibrate", wire.CalibrateRequest, wire.CalibrateReply, calibration.calibrate)
        add("jobs", wire.JobsRequest, wire.JobsReply, jobs.jobs)
        add("jobs.run", wire.JobsRunRequest, wire.JobRunReply, jobs.run)
        add("jobs.cancel", wire.JobsCancelRequest, wire.JobRunReply, jobs.cancel)
        self._add_lessons(documents)
        self._add_answers(freshness, ingest)
        self._add_put()
        add("stats", wire.StatsRequest, wire.StatsReply, status.stats)
        add("health", wire.HealthRequest, wire.HealthReply, status.health)

    def _add_answers(self, freshness: Freshness, ingest: IngestStream) -> None:
        """Add the verbs that answer in sentences, and those of what is remembered of it."""
        node, add, answers = self._node, self._service.add, self._answers
        conversation = Conversation(node.store, now, answers.rewrite if answers.answerer is not None else None)
        sessions = SessionVerbs(node.store, now, lambda: uuid.uuid4().hex[:12])
        episodes = EpisodeVerbs(node.store, now, lambda merge: episode_care(node, merge))
        ask = AskVerb(
            node.store,
            answers.asking,
            conversation,
            freshness,
            ingest.indexed_past,
            lambda: node.settings.recall.mode,
            lambda: node.settings.ask.budget,
            node.receipts,
            now,
        )
        evidence = EvidenceVerb(
            node.store,
            node.answering,
            answers.counting,
            freshness,
            ingest.indexed_past,
            lambda: node.settings.recall.mode,
            lambda: node.settings.ask.budget,
            node.receipts,
            now,
        )
        fitting = EpisodeCalibrationVerb(node.store, node.embedders.primary, now)
        add("calibrate.episodes", wire.CalibrateEpisodesRequest, wire.CalibrateEpisodesReply, fitting)
        self._service.add_streaming("ask", wire.AskRequest, wire.AskReply, ask)
        add("evidence", wire.EvidenceRequest, wire.EvidenceReply, evidence)
        add("sessions", wire.SessionsRequest, wire.SessionsReply, sessions.sessions)
        add("sessions.edit", wire.SessionEditRequest, wire.SessionsReply, sessions.edit)
        add("episodes", wire.EpisodesRequest, wire.EpisodesReply, episodes.episodes)
        add("episodes.tidy", wire.EpisodesTidyRequest, wire.EpisodesTidyReply, episodes.tidy)
        add("episodes.mark", wire.EpisodeMarkRequest, wire.EpisodesReply, episodes.mark)

    def _add_lessons(self, documents: DocumentVerbs) -> None:
        """Add the verbs that lessons live by."""
        node, add, files = self._node, self._service.add, files_of(self._node)
        tending, policies = tending_of(node, files), Policies(node.store)
        lessons = LessonVerbs(node.store, documents, files, tending.runs, policies, now)
        add("learn", wire.LearnRequest, wire.LearnReply, LearnVerb(node.store, files, policies, now))
        add("mark", wire.MarkRequest, wire.MarkReply, lessons.mark)
        add("lessons", wire.LessonsRequest, wire.LessonsReply, lessons.lessons)
        add("review", wire.ReviewRequest, wire.ReviewReply, lessons.review)
        add("audit", wire.AuditRequest, wire.AuditReply, tending.audit)
        add("prune", wire.PruneRequest, wire.PruneReply, tending.prune)
        add("consolidate", wire.ConsolidateRequest, wire.ConsolidateReply, tending.consolidate)
        add("maintain", wire.MaintainRequest, wire.MaintainReply, tending.maintain)
        add("undo", wire.UndoRequest, wire.UndoReply, tending.runs.undo)

    def _add_put(self) -> None:
        """Add the verbs by which documents come in."""
        node, add = self._node, self._service.add
        content = ContentStore(node.foundation.connection)
        put = PutVerbs(node.store, files_of(node), content, lambda: node.settings.put, now)
        add("put", wire.PutRequest, wire.PutReply, put.put)
        add("put.part", wire.PutPartRequest, wire.PutPartReply, put.part)
        add("documents", wire.DocumentsRequest, wire.DocumentsReply, put.documents)
        add("documents.remove", wire.DocumentsRemoveRequest, wire.DocumentsRemoveReply, put.remove)


class WatchRole:
    """Watches this node's repos and publishes what changes; needs the bus alone."""

    def __init__(self, node: Node) -> None:
        self._node = node
        connection, name = node.foundation.connection, node.settings.node.name
        index = RemoteIndex(connection, name)
        ports = Ports(name, index, IngestPublisher(connection), index, is_binary)
        self.watcher = Watcher(node.settings.watch, ports)
        self._roster = Roster(_Register(node), self.watcher)
        self._scans = ScanServer(connection, name, self.watcher.scan)
        self._files = FileServer(connection, name, self.watcher)
        node.watcher = self.watcher
        self._again = anyio.Event()

    async def run(self, stop: anyio.Event, *, task_status: TaskStatus[None]) -> None:
        """Watch until told to stop; files that are being published then are finished."""
        async with anyio.create_task_group() as group:
            await group.start(self._scans.run, stop)
            await group.start(self._files.run, stop)
            async with anyio.create_task_group() as watching:
                await watching.start(self.watcher.run, stop)
                group.start_soon(self._roster.run, self._node.settings.repos)
                group.start_soon(self._register_new)
                task_status.started()
            group.cancel_scope.cancel()

    def reload(self) -> None:
        """Register the repos that the settings name now; one that was taken out stays until it is removed."""
        self._again.set()

    async def _register_new(self) -> None:
        while True:
            await self._again.wait()
            self._again = anyio.Event()
            for repo in self._node.settings.repos:
                await self._roster.register(repo)


class ScheduleRole:
    """Asks for jobs by the clock."""

    def __init__(self, node: Node) -> None:
        jobs, announce = JobPublisher(node.foundation.connection), node.foundation.events.announce
        planned = plans(node.settings.schedule)
        self._schedule = Schedule(planned, jobs.publish, announce, node.settings.node.name, now)

    async def run(self, stop: anyio.Event, *, task_status: TaskStatus[None]) -> None:
        """Tick until told to stop."""
        task_status.started()
        await self._schedule.run(stop)

    def reload(self) -> None:
        """When jobs run changes with a restart."""


ROLES: dict[str, Callable[[Node], Role]] = {
    "index": IndexRole,
    "serve": ServeRole,
    "watch": WatchRole,
    "schedule": ScheduleRole,
}


class _Register:
    """The register of repos, asked for over the bus, for this node."""

    def __init__(self, node: Node) -> None:
        self._connection = node.foundation.connection
        self._name = node.settings.node.name

    async def add(self, repo: RepoSettings) -> None:
        """Register a repo of the settings. Raises UnreachableError while nobody serves."""
        wanted = wire.RepoAddRequest(
            path=str(repo.path.expanduser().absolute()),
            name=repo.name,
            node=self._name,
            include=repo.include,
            exclude=repo.exclude,
            read_only=repo.read_only,
            visible_to=repo.visible_to,
        )
        await self._ask("repo.add", wanted, wire.RepoReply)

    async def list(self) -> Sequence[Repo]:
        """Return this node's repos. Raises UnreachableError while nobody serves."""
        reply = await self._ask("repo.list", wire.RepoListRequest(node=self._name), wire.RepoListReply)
        return [
            Repo(view.name, view.path, view.node, view.include, view.exclude, view.read_only, view.visible_to)
            for view in reply.repos
        ]

    @asynccontextmanager
    async def changes(self) -> AsyncIterator[AsyncIterator[Any]]:
        """Yield whenever a repo was added or removed somewhere."""
        async with follow(self._connection, "repo") as events:
            yield events

    def _ask(self, verb: str, request: wire.Request, reply: type[Any]) -> Awaitable[Any]:
        return call(self._connection, request_subject(self._name, verb), request, reply, deadline_s=ASK_S)
