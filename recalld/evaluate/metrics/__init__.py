"""What is measured, as pure functions: rankings, spans, confidence, and how sure a mean over questions is."""
