"""Procedural memory: lessons and rules that surface before the act that they are about."""
