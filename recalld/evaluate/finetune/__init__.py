"""Fine-tuning of the packaged embedder on a memory's own questions. Needs the extra ``finetune``."""
