"""The dashboard, a client of the bus: ``model`` says what is shown, ``screens`` show it, ``link`` asks the daemon.

Needs the extra ``tui`` (Textual); ``model`` and ``link`` know nothing of it. See docs/dashboard.md.
"""
