"""Fine-tuning of the packaged model on pairs of question and passage, with sentence-transformers on torch.

Each question is to be nearest to its own passage among all of its batch (multiple negatives ranking: Henderson et al.,
2017). All of it runs on the CPU, in the order that the seed gives.
"""

from __future__ import annotations

import importlib.util
import random
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from recalld.embed.sentence_model import TOKEN_LIMIT
from recalld.errors import ConfigError
from recalld.evaluate.finetune import weights

_SHAPE = {
    "vocab_size": 30_522, "hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12,
    "intermediate_size": 1_536, "max_position_embeddings": 512,
}  # fmt: skip
"""Of MiniLM-L6-v2 (Wang et al., 2020)."""
_WARM = 0.1
"""Share of the steps in which the learning rate rises to its height; then it falls to nothing."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A question and a passage that answers it."""

    query: str
    passage: str


@dataclass(frozen=True, slots=True)
class Schedule:
    """How long and how fast."""

    epochs: int = 2
    batch: int = 16
    learning_rate: float = 2e-5
    seed: int = 0


def require() -> None:
    """Raise ConfigError where a library that fine-tuning needs is missing."""
    missing = [name for name in ("torch", "sentence_transformers", "onnx") if importlib.util.find_spec(name) is None]
    if missing:
        raise ConfigError(
            f"fine-tuning needs {' and '.join(missing)}", suggestion="pip install 'recalld[finetune]'; torch is large"
        )


def train(
    base: Path, pairs: Sequence[Pair], schedule: Schedule, target: Path, progress: Callable[[int, int], None]
) -> list[float]:
    """Fine-tune the model in the folder ``base`` and write the new one, of the same form, to ``target``.

    Returns the mean loss of each epoch. ``progress`` is told steps done, of how many.
    """
    import torch

    torch.manual_seed(schedule.seed)
    with TemporaryDirectory() as directory:
        model = _sentence_transformer(base, Path(directory))
    losses = _fit(model, pairs, schedule, progress)
    parameters = model[0].auto_model.named_parameters()
    trained = {name: value.detach().numpy().astype(np.float32) for name, value in parameters}
    target.mkdir(parents=True, exist_ok=True)
    weights.write(base / "model.onnx", trained, target / "model.onnx")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copyfile(base / name, target / name)
    return losses


def _sentence_transformer(base: Path, directory: Path) -> Any:
    """Return the packaged model as sentence-transformers has it."""
    import torch
    from sentence_transformers import SentenceTransformer, models
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    bert = BertModel(BertConfig(**_SHAPE), add_pooling_layer=False)
    state = {name: torch.tensor(value) for name, value in weights.read(base / "model.onnx").items()}
    bert.load_state_dict(state, strict=True)
    bert.save_pretrained(directory)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_file=str(base / "tokenizer.json"), unk_token="[UNK]", sep_token="[SEP]", pad_token="[PAD]",
        cls_token="[CLS]", mask_token="[MASK]",
    )  # fmt: skip
    tokenizer.save_pretrained(directory)
    transformer = models.Transformer(
        str(directory), max_seq_length=TOKEN_LIMIT, model_kwargs={"add_pooling_layer": False}
    )
    return SentenceTransformer(modules=[transformer, models.Pooling(_SHAPE["hidden_size"], "mean")], device="cpu")


def _fit(model: Any, pairs: Sequence[Pair], schedule: Schedule, progress: Callable[[int, int], None]) -> list[float]:
    import torch
    from sentence_transformers.losses import MultipleNegativesRankingLoss

    loss = MultipleNegativesRankingLoss(model)
    rng = random.Random(schedule.seed)
    epochs = [_batches(pairs, schedule.batch, rng) for _ in range(schedule.epochs)]
    steps = sum(map(len, epochs))
    optimizer = torch.optim.AdamW(model.parameters(), lr=schedule.learning_rate, weight_decay=0.01)
    rate = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: _height(step, steps))
    means, done = [], 0
    model.train()
    for batches in epochs:
        lost = []
        for batch in batches:
            sides = ([pair.query for pair in batch], [pair.passage for pair in batch])
            value = loss([model.preprocess(side) for side in sides], None)
            value.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            rate.step()
            optimizer.zero_grad()
            lost.append(value.item())
            done += 1
            progress(done, steps)
        means.append(sum(lost) / len(lost))
    model.eval()
    return means


def _batches(pairs: Sequence[Pair], size: int, rng: random.Random) -> list[list[Pair]]:
    """Return pairs in batches; no passage is twice in one, for there it would count as wrong for the other question."""
    left = rng.sample(pairs, len(pairs))
    made: list[list[Pair]] = []
    while left:
        batch: list[Pair] = []
        later: list[Pair] = []
        for pair in left:
            fits = len(batch) < size and all(pair.passage != other.passage for other in batch)
            (batch if fits else later).append(pair)
        made.append(batch)
        left = later
    return [batch for batch in made if len(batch) > 1]


def _height(step: int, steps: int) -> float:
    warm = max(1, round(_WARM * steps))
    return (step + 1) / warm if step < warm else max(0.0, (steps - step) / max(1, steps - warm))
