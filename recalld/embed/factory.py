"""From the setting ``embed.model`` to an embedder."""

from __future__ import annotations

import inspect
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from recalld.embed import minilm, model_folder
from recalld.embed.fastembed_model import FastembedModel
from recalld.embed.hashing import HashingEmbedder
from recalld.embed.protocol import Embedder
from recalld.errors import ConfigError, RecalldError
from recalld.settings import EmbedSettings

GROUP = "recalld.embedders"
"""Entry points of this group are called with ``embed.options`` and return an embedder."""


async def make_embedder(settings: EmbedSettings, cache_dir: Path) -> Embedder:
    """Return the embedder that the settings name: built in, a folder, of a plugin, or any model that fastembed knows.

    Raises ConfigError for an unknown name or bad options, DependencyError when the model cannot be loaded.
    """
    name = settings.model
    if name == minilm.NAME:
        return await minilm.load(settings.runtime, settings.threads, settings.batch_tokens, cache_dir)
    if model_folder.is_folder(name):
        return await model_folder.load(name, settings.runtime, settings.threads, settings.batch_tokens, cache_dir)
    if name == "hashing":
        return HashingEmbedder()
    plugins = {point.name: point for point in entry_points(group=GROUP)}
    if name in plugins:
        return await _from_plugin(plugins[name], settings)
    return await FastembedModel.load(name, settings.threads, cache_dir, settings.local_files_only)


async def _from_plugin(point: EntryPoint, settings: EmbedSettings) -> Embedder:
    try:
        made = point.load()(settings.options)
        embedder: Embedder = await made if inspect.isawaitable(made) else made
    except RecalldError:
        raise
    except ImportError as error:
        raise ConfigError(
            f"the plugin {point.name} cannot be loaded: {error}", suggestion="pip install 'recalld[cloud]'"
        ) from error
    except (TypeError, ValueError, KeyError) as error:
        raise ConfigError(
            f"embed.options do not suit {point.name}: {error}", suggestion="the plugin's documentation lists them"
        ) from error
    return embedder
