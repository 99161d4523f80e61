"""The hook for Claude Code: ``hook.py`` asks before a tool runs, ``capture.py`` learns from one that failed.

Both run outside of any environment (``python -I -S hook.py EVENT``): they import the standard library and nothing of
recalld. See docs/hook.md.
"""
