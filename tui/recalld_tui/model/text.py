"""Text for terminals: what comes from outside made harmless, and numbers, times and shares in few characters."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]"
)
_BARS = "▁▂▃▄▅▆▇█"
_EIGHTHS = "▏▎▍▌▋▊▉█"


def clean(text: str) -> str:
    """Return text from outside so that each character is shown: what would steer a terminal or hide stands as U+FFFD.

    Line feeds stay, tabs become spaces.
    """
    return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", text.replace("\t", "    "))


def line(text: str) -> str:
    """Return text from outside as one line."""
    return clean(" ".join(text.split("\n")))


def cut(text: str, width: int) -> str:
    """Return one line of at most ``width`` characters, with an ellipsis where something is missing."""
    whole = line(text)
    return whole if len(whole) <= width else whole[: max(0, width - 1)] + "…"


def cut_path(path: str, width: int) -> str:
    """Return a path of at most ``width`` characters; its end tells more than its beginning."""
    whole = line(path)
    return whole if len(whole) <= width else "…" + whole[len(whole) - max(0, width - 1) :]


def age(moment: datetime | None, now: datetime) -> str:
    """Say how long ago something was, in its largest unit."""
    return "never" if moment is None else f"{span((now - moment).total_seconds())} ago"


def ahead(moment: datetime | None, now: datetime) -> str:
    """Say in how long something will be."""
    if moment is None:
        return "never"
    seconds = (moment - now).total_seconds()
    return f"in {span(seconds)}" if seconds > 0 else "now"


def span(seconds: float) -> str:
    """Return a duration in its largest unit."""
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(0.0, seconds):.0f} s"


def milliseconds(value: float) -> str:
    """Return a short duration with as many digits as mean something."""
    if value >= 10_000:
        return span(value / 1_000)
    return f"{value / 1_000:.1f} s" if value >= 1_000 else f"{value:.0f} ms" if value >= 10 else f"{value:.1f} ms"


def size(count: float) -> str:
    """Return bytes in the largest unit that leaves at least one."""
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"


def clock_time(moment: datetime) -> str:
    """Return the time of day in the user's zone."""
    return moment.astimezone().strftime("%H:%M:%S")


def day_time(moment: datetime) -> str:
    """Return day and time in the user's zone, to the minute."""
    return moment.astimezone().strftime("%Y-%m-%d %H:%M")


def counted(number: int, one: str, many: str = "") -> str:
    """Return a number with its noun."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def spark(values: Sequence[float], width: int) -> str:
    """Return the last ``width`` values as bars, the highest of them full; a zero is a space."""
    shown = [max(0.0, value) for value in values[-width:]]
    top = max(shown, default=0.0)
    bars = (" " if value <= 0 else _BARS[min(7, int(value / top * 7.999))] for value in shown)
    return "".join(bars).rjust(width)


def bar(share: float, width: int) -> str:
    """Return a share (0 to 1) as a bar, exact to an eighth of a character; ``width`` characters long with its rest."""
    eighths = round(min(1.0, max(0.0, share)) * width * 8)
    whole, rest = divmod(eighths, 8)
    return ("█" * whole + (_EIGHTHS[rest - 1] if rest else "")).ljust(width)
