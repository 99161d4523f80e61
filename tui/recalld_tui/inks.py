"""Colours: two calm themes, and the theme's colours as styles for text."""

from __future__ import annotations

from dataclasses import dataclass

from textual.theme import Theme

from recalld_tui.model.health import Level

DARK = Theme(
    name="recalld-dark",
    primary="#7fa7cc",
    secondary="#8e9fb3",
    accent="#d3a86a",
    success="#86b98b",
    warning="#d9b36c",
    error="#d9827c",
    foreground="#d6dbe1",
    background="#11151a",
    surface="#161b21",
    panel="#222a33",
    dark=True,
    variables={"footer-key-foreground": "#d3a86a", "border": "#2e3843"},
)
LIGHT = Theme(
    name="recalld-light",
    primary="#2f6590",
    secondary="#5d6b79",
    accent="#94621a",
    success="#2f7439",
    warning="#8a6100",
    error="#ab332d",
    foreground="#23292f",
    background="#faf9f6",
    surface="#f3f1ec",
    panel="#e6e2da",
    dark=False,
    variables={"footer-key-foreground": "#94621a", "border": "#d0cabf"},
)


@dataclass(frozen=True, slots=True)
class Inks:
    """The styles that text is written in."""

    good: str
    warn: str
    bad: str
    accent: str
    link: str
    dim: str

    @classmethod
    def of(cls, theme: Theme) -> Inks:
        """Return the styles of a theme."""
        return cls(
            good=theme.success or "green",
            warn=theme.warning or "yellow",
            bad=theme.error or "red",
            accent=theme.accent or "bold",
            link=theme.primary,
            dim=(theme.secondary if theme.name in (DARK.name, LIGHT.name) else None) or "dim",
        )

    def level(self, level: Level) -> str:
        """Return the style of a level."""
        if level in (Level.HEALTHY, Level.NOTE):
            return self.good
        return self.bad if level is Level.UNWELL else self.warn

    def word(self, word: str) -> str:
        """Return the style of a word that daemons use for how something is."""
        if word in (
            "ok",
            "ready",
            "done",
            "watching",
            "polling",
            "serving",
            "stands",
            "indexed",
            "recallable",
            "accepted",
        ):
            return self.good
        if word in ("failed", "error", "lost", "timed_out", "offline", "deleted", "changed", "quarantined"):
            return self.bad
        if word in ("unverified", "queued", "unknown", "note", "skipped", "retired", "default"):
            return self.dim
        return self.link if word in ("running", "scanning", "building") else self.warn
