"""``python -m recalld`` is ``recalld``."""

from recalld.cli import recalld

recalld()
