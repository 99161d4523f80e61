"""Keys, tokens and passwords that stand in a text. No finding shows one.

The patterns are those of Yelp's detect-secrets, asked directly: its scanner tries every detector on every line and
takes minutes for a large memory. Here a detector is tried on a document only when the document holds a word that each
of its matches has. Left out are its detectors of what is no secret (public addresses), and those by entropy, which take
every quoted hash for one. None is verified over the network.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from math import log2

from recalld.lint.catalogue import found
from recalld.model import Finding

_DETECTORS: dict[str, tuple[str, ...]] = {
    "aws.AWSKeyDetector": ("AKIA", "ASIA", "ABIA", "ACCA", "A3T", "aws", "AWS"),
    "azure_storage_key.AzureStorageKeyDetector": ("AccountKey",),
    "basic_auth.BasicAuthDetector": ("://",),
    "cloudant.CloudantDetector": ("cloudant", "CLOUDANT"),
    "discord.DiscordBotTokenDetector": ("discord", "Discord", "DISCORD"),
    "github_token.GitHubTokenDetector": ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
    "gitlab_token.GitLabTokenDetector": ("gl",),
    "ibm_cloud_iam.IbmCloudIamDetector": ("ibm", "IBM"),
    "jwt.JwtTokenDetector": ("eyJ",),
    "mailchimp.MailchimpDetector": ("-us",),
    "npm.NpmDetector": ("_authToken",),
    "openai.OpenAIDetector": ("T3BlbkFJ",),
    "private_key.PrivateKeyDetector": ("PRIVATE KEY", "PuTTY"),
    "pypi_token.PypiTokenDetector": ("pypi-",),
    "sendgrid.SendGridDetector": ("SG.",),
    "slack.SlackDetector": ("xox", "hooks.slack.com"),
    "softlayer.SoftlayerDetector": ("softlayer", "SOFTLAYER"),
    "square_oauth.SquareOAuthDetector": ("sq0csp",),
    "stripe.StripeDetector": ("k_live_",),
    "telegram_token.TelegramBotTokenDetector": ("telegram", "Telegram", "TELEGRAM"),
    "twilio.TwilioKeyDetector": ("twilio", "Twilio", "TWILIO"),
}
_NEWER = (
    ("Anthropic API key", "sk-ant-", re.compile(r"sk-ant-[A-Za-z0-9]{2,10}-[A-Za-z0-9_-]{20,}")),
    ("GitHub fine-grained token", "github_pat_", re.compile(r"github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}")),
    ("Google API key", "AIza", re.compile(r"AIza[0-9A-Za-z_-]{35}")),
    ("Hugging Face token", "hf_", re.compile(r"\bhf_[A-Za-z]{34}\b")),
    ("OpenAI API key", "sk-", re.compile(r"\bsk-(?:proj|svcacct|admin)-[A-Za-z0-9_-]{40,}")),
)
"""Formats of which detect-secrets 1.5 does not know."""
_KEYWORD = re.compile(
    r"(?i)(?:api_?key|auth_?key|service_?key|account_?key|priv(?:ate)?_?key|client_?secret|secret_?key|"
    r"passw(?:or)?d|pwd|access_?token)[\w-]{0,64}[\"'`]?\s*(?:=>|:=|[:=])\s*([\"'`]?)([^\s\"'`,;]{8,200})\1"
)
_PLACEHOLDER = re.compile(
    r"(?i)example|placeholder|change_?me|your|dummy|sample|redacted|secret|passw|foobar|xxx|\.\.\.|\*\*\*|<|>|[${}()\[\]]|"
    r"\b(?:user|pass|test|none|null|true|false|token)\b|1234567"
)
PIECE, SHARED = 4_096, 2_048
"""Longer lines are looked at in pieces of so many characters, of which each shares so many with the next one."""
_LONG_LINE = re.compile(rf"[^\n]{{{PIECE + 1},}}")
_FIXED = frozenset({"Private Key"})
_LEAST_ENTROPY = 3.0
"""Bits a character of what may be a key behind a key's name; words have less."""


def secrets(path: str, text: str) -> Iterator[Finding]:
    """Yield what looks like a secret in a document's text, each once, by line."""
    told: set[str] = set()
    for kind, value, offset in sorted(_candidates(text), key=lambda each: each[2]):
        if value not in told and (kind in _FIXED or not _PLACEHOLDER.search(value)):
            told.add(value)
            line = text.count("\n", 0, offset) + 1
            message = f"this looks like a secret: {kind} ({len(value)} characters, mark {_mark(value)})"
            hint = "revoke it, and take it out of the file and of its history"
            yield found("secret", path, message, hint, line=line)


def _mark(value: str) -> str:
    """Return what tells two secrets of a file apart and gives nothing away: 16 bits of a hash."""
    return sha256(value.encode()).hexdigest()[:4]


def _candidates(text: str) -> Iterator[tuple[str, str, int]]:
    patterns = [(kind, pattern) for kind, words, pattern in _patterns() if any(word in text for word in words)]
    for begin, piece, goes_on in _pieces(text):
        for kind, pattern in patterns:
            for match in pattern.finditer(piece):
                group = _secret_group(match)
                if goes_on and match.end() == len(piece):
                    continue  # cut off: the next piece has it whole
                if kind != "Basic Auth Credentials" or _is_password(match.group(0), match.group(group)):
                    yield kind, match.group(group), begin + match.start(group)
        for match in _KEYWORD.finditer(piece):
            if _is_random(match.group(2)) and not (goes_on and match.end() == len(piece)):
                yield "a key's name and a value", match.group(2), begin + match.start(2)


def _pieces(text: str) -> Iterator[tuple[int, str, bool]]:
    """Yield where pieces of a text begin, they themselves, and whether their line goes on in the next one.

    Some of the patterns take time with the square of a line's length: an endless line must not hold up the daemon.
    """
    begin = 0
    for line in _LONG_LINE.finditer(text):
        if line.start() > begin:
            yield begin, text[begin : line.start()], False
        for at in range(line.start(), line.end(), PIECE - SHARED):
            goes_on = at + PIECE < line.end()
            yield at, text[at : min(at + PIECE, line.end())], goes_on
            if not goes_on:
                break
        begin = line.end()
    if begin < len(text):
        yield begin, text[begin:], False


def _secret_group(match: re.Match[str]) -> int:
    """Return the number of the group that is the secret: the first, unless that is only how the secret begins.

    ``(ghp|gho)_[A-Za-z0-9]{36}`` has the format's name as its group: told by it, all tokens would be one.
    """
    group = next((n for n in range(1, (match.re.groups or 0) + 1) if match.group(n)), 0)
    begins = match.start(group) == match.start() and match.end(group) < match.end()
    return 0 if begins else group


def _is_password(url: str, password: str) -> bool:
    """Tell a password in a URL from an example: ``postgres:postgres@``, a port, a name in capitals."""
    user = url.removeprefix("://").partition(":")[0]
    return len(password) >= 6 and password != user and not password.isupper() and password.casefold() != user.casefold()


def _is_random(value: str) -> bool:
    """Tell a key from a word, a path or a reference: it has digits and letters, and no character often."""
    mixed = any(c.isdigit() for c in value) and any(c.isalpha() for c in value)
    plain = re.fullmatch(r"[\w+/=.~-]+", value) is not None and value.count(".") < 2 and value.count("/") < 3
    return mixed and plain and len(value) >= 16 and _entropy(value) >= _LEAST_ENTROPY


def _entropy(value: str) -> float:
    shares = [value.count(c) / len(value) for c in set(value)]
    return -sum(share * log2(share) for share in shares)


@cache
def _patterns() -> tuple[tuple[str, tuple[str, ...], re.Pattern[str]], ...]:
    from importlib import import_module

    known: list[tuple[str, tuple[str, ...], re.Pattern[str]]] = [(kind, (word,), found) for kind, word, found in _NEWER]
    for name, words in _DETECTORS.items():
        module, _, detector = name.rpartition(".")
        made = getattr(import_module(f"detect_secrets.plugins.{module}"), detector)()
        known += [(made.secret_type, words, pattern) for pattern in made.denylist]
    return tuple(known)
