"""The messages of the bus: one model each way for each verb, and the events.

Unknown fields in a request are an error (a typo must not silently change a search);
unknown fields in a reply are ignored, so that an older client can talk to a newer daemon.
"""

from __future__ import annotations

from recalld.bus.wire.base import ErrorBody, ErrorReply, Reply, Request
from recalld.bus.wire.documents import (
    Change,
    ChunkView,
    DeltaReply,
    DeltaRequest,
    EdgeView,
    FindingView,
    ForgetReply,
    ForgetRequest,
    GetReply,
    GetRequest,
)
from recalld.bus.wire.memos import CheckFinding, CheckReply, CheckRequest, SupersedeReply, SupersedeRequest
from recalld.bus.wire.preflight import (
    BriefReply,
    BriefRequest,
    GuardrailView,
    PreflightReply,
    PreflightRequest,
)
from recalld.bus.wire.receipts import CitationView, ReceiptsReply, ReceiptsRequest, ReceiptView
from recalld.bus.wire.repos import (
    ReindexReply,
    ReindexRequest,
    RepoAddRequest,
    RepoListReply,
    RepoListRequest,
    RepoRemoveRequest,
    RepoReply,
    RepoView,
    ScanReport,
)
from recalld.bus.wire.search import (
    FilterFields,
    Freshness,
    Hit,
    Provenance,
    SearchReply,
    SearchRequest,
    TraceStage,
    Validity,
)
from recalld.bus.wire.status import (
    Check,
    Event,
    EventsReply,
    EventsRequest,
    GenerationStats,
    HealthReply,
    HealthRequest,
    RepoStats,
    StatsReply,
    StatsRequest,
)
from recalld.bus.wire.trust import CalibrateReply, CalibrateRequest, Label, ModelReport, SuspectView

__all__ = [
    "BriefReply",
    "BriefRequest",
    "CalibrateReply",
    "CalibrateRequest",
    "Change",
    "Check",
    "CheckFinding",
    "CheckReply",
    "CheckRequest",
    "ChunkView",
    "CitationView",
    "DeltaReply",
    "DeltaRequest",
    "EdgeView",
    "ErrorBody",
    "ErrorReply",
    "Event",
    "EventsReply",
    "EventsRequest",
    "FilterFields",
    "FindingView",
    "ForgetReply",
    "ForgetRequest",
    "Freshness",
    "GenerationStats",
    "GetReply",
    "GetRequest",
    "GuardrailView",
    "HealthReply",
    "HealthRequest",
    "Hit",
    "Label",
    "ModelReport",
    "PreflightReply",
    "PreflightRequest",
    "Provenance",
    "ReceiptView",
    "ReceiptsReply",
    "ReceiptsRequest",
    "ReindexReply",
    "ReindexRequest",
    "Reply",
    "RepoAddRequest",
    "RepoListReply",
    "RepoListRequest",
    "RepoRemoveRequest",
    "RepoReply",
    "RepoStats",
    "RepoView",
    "Request",
    "ScanReport",
    "SearchReply",
    "SearchRequest",
    "StatsReply",
    "StatsRequest",
    "SupersedeReply",
    "SupersedeRequest",
    "SuspectView",
    "TraceStage",
    "Validity",
]
