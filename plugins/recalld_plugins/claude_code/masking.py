"""Takes secrets out of what a tool said. Pure; each pattern is read once over the text, whatever the text is."""

import re

MASK = "***"
_NAMES = (
    r"passw(?:or)?d|passphrase|pwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential"
    r"|auth(?:orization)?(?![a-z])"
)
_VALUE = r"(?:\"[^\"\n]*\"?|'[^'\n]*'?|[^\s\"']\S*)"
_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z)", re.DOTALL
)
_END_OF_KEY = re.compile(r"\A.*-----END [A-Z ]{0,40}PRIVATE KEY-----", re.DOTALL)
"""Of one whose begin was cut off."""
_IN_URL = re.compile(r"(\b[a-z][a-z0-9+.-]{0,20}://)(?:[^\s/@:\"'<>]*:[^\s\"'<>]*|[^\s/@\"'<>]*)@", re.I)
_IN_QUERY = re.compile(r"([?&][\w.-]{0,40}(?:key|sig|signature|code|session)[\w.-]{0,40}=)[^&\s\"'<>#]+", re.I)
_SCHEME = re.compile(r"\b((?:bearer|basic|negotiate|digest|token)[ \t]+)[\w.~+/=-]{8,}", re.I)
_NAMED = re.compile(
    rf"([\w.-]{{0,40}}(?:{_NAMES})[\w.-]{{0,40}}[\"']?[ \t]{{0,4}}(?:=>|:=|[=:])[ \t]{{0,4}}){_VALUE}", re.I
)
_OPTION = re.compile(rf"(--?[\w-]{{0,40}}(?:{_NAMES})[\w-]{{0,40}}[ \t]+)(?!-){_VALUE}", re.I)
_USER = re.compile(r"((?:^|\s)(?:-u|--user|--proxy-user)[ \t=]*[\"']?[^\s:\"']{1,80}:)[^\s\"']+")
_MYSQL = re.compile(r"(\b(?:mysql|mariadb)[\w-]{0,20}\b[^\n|;&]{0,200}?\s-p)[^\s-]\S*")
_KNOWN = re.compile(
    r"\b(?:(?:AKIA|ASIA|ABIA|ACCA)[0-9A-Z]{16}|gh[pousr]_\w{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|xox[a-z]-[\w-]{8,}"
    r"|[spr]k[-_][\w-]{16,}|AIza[\w-]{30,}|(?:npm|hf|pypi|dop_v1|shpat|SG|sq0\w{3})[_.-][\w.-]{16,}"
    r"|eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?)"
)
_LONG = re.compile(r"[A-Za-z0-9+/_=-]{32,}")


def masked(text: str) -> str:
    """Return the text with what is a secret, or looks like one, as ``***``."""
    text = _PRIVATE_KEY.sub(MASK, text)
    text = _END_OF_KEY.sub(MASK, text)
    text = _IN_URL.sub(rf"\1{MASK}@", text)
    text = _IN_QUERY.sub(rf"\1{MASK}", text)
    text = _SCHEME.sub(rf"\1{MASK}", text)
    text = _NAMED.sub(rf"\1{MASK}", text)
    text = _OPTION.sub(rf"\1{MASK}", text)
    text = _USER.sub(rf"\1{MASK}", text)
    text = _MYSQL.sub(rf"\1{MASK}", text)
    text = _KNOWN.sub(MASK, text)
    return _LONG.sub(_random, text)


def _random(found: re.Match[str]) -> str:
    """Mask what is long, mixed and neither a path nor words with hyphens."""
    run = found[0]
    part = max(re.split(r"[/_-]", run) if run.count("/") + run.count("-") > 2 else [run], key=len)
    mixed = any(c.isdigit() for c in part) and any(c.isalpha() for c in part)
    return MASK if mixed and len(part) >= 32 else run
