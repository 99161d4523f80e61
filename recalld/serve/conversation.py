"""Conversations around ``ask``: what a follow-up question means, and what was said."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime

from recalld.bus import wire
from recalld.episodes.followup import leans, standalone
from recalld.errors import NotFoundError
from recalld.store import Store
from recalld.store.sessions import Message, Session

Rewrite = Callable[[str, list[tuple[str, str]]], Awaitable[str | None]]
"""Has a language model make a question stand alone, given role and text of what was said; None where it cannot."""
SEEN = 6
"""Messages of the history that a follow-up question sees."""
TITLE = 80


@dataclass(frozen=True, slots=True)
class Conversation:
    """Keeps what is said in sessions. A session begins with its first question, by whatever id the caller gives it."""

    store: Store
    clock: Callable[[], datetime]
    rewrite: Rewrite | None = None

    async def standalone(self, agent: str, session: str | None, question: str) -> str:
        """Return a question as it is to be taken."""
        if session is None:
            return question
        said = await self.store.sessions.messages(agent, session, SEEN)
        earlier = next((one.standalone or one.text for one in reversed(said) if one.role == "user"), None)
        if earlier is None or not leans(question):
            return question
        if self.rewrite is not None:
            made = await self.rewrite(question, [(one.role, one.text) for one in said])
            if made:
                return made
        return standalone(question, earlier)

    async def say(self, agent: str, session: str | None, question: str, taken: str, reply: wire.AskReply) -> None:
        """Add a question and its answer to a session."""
        if session is None:
            return
        now = self.clock()
        await self.store.sessions.create(Session(session, agent, question[:TITLE], now, now))
        words = reply.answer or f"(no answer: {reply.reason})"
        asked = Message("user", question, now, taken if taken != question else "", "")
        await self.store.sessions.say(agent, session, [asked, Message("memory", words, now, "", reply.receipt)])


@dataclass(frozen=True, slots=True)
class SessionVerbs:
    """Lists, shows and edits an agent's own sessions; those of others are not known to it."""

    store: Store
    clock: Callable[[], datetime]
    new_id: Callable[[], str]

    async def sessions(self, agent: str, request: wire.SessionsRequest) -> wire.SessionsReply:
        """List sessions, or show one. Raises NotFoundError."""
        if request.id is None:
            found = await self.store.sessions.newest(agent, request.limit)
            return wire.SessionsReply(sessions=tuple(map(_view, found)))
        session = await self._one(agent, request.id)
        said = await self.store.sessions.messages(agent, request.id, request.limit)
        return wire.SessionsReply(
            sessions=(_view(session),), said=tuple(wire.MessageView.model_validate(one) for one in said)
        )

    async def edit(self, agent: str, request: wire.SessionEditRequest) -> wire.SessionsReply:
        """Create, rename or delete a session. Raises NotFoundError."""
        id_ = request.id or self.new_id()
        if request.action == "create":
            now = self.clock()
            await self.store.sessions.create(Session(id_, agent, request.title, now, now))
            return wire.SessionsReply(sessions=(_view(await self._one(agent, id_)),))
        session = await self._one(agent, id_)
        if request.action == "delete":
            await self.store.sessions.delete(agent, id_)
            return wire.SessionsReply(sessions=(_view(session),))
        await self.store.sessions.rename(agent, id_, request.title)
        return wire.SessionsReply(sessions=(_view(await self._one(agent, id_)),))

    async def _one(self, agent: str, id_: str) -> Session:
        found = await self.store.sessions.get(agent, id_)
        if found is None:
            raise NotFoundError(f"no session {id_}", suggestion="`recall sessions list` names those of this agent")
        return found


def _view(session: Session) -> wire.SessionView:
    return wire.SessionView.model_validate(session)
