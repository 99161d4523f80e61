"""Episodic memory: a question is answered once, and the answer is served again for as long as it is true."""
