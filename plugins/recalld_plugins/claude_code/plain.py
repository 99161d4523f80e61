"""JSON and texts from outside, by what the interpreter has built in: ``json`` costs 11 ms, for ``re`` and ``enum``."""

try:
    from _json import encode_basestring, make_scanner

    class _Plain:
        """What ``json.JSONDecoder`` sets for the scanner."""

        strict = True
        object_hook = object_pairs_hook = None
        parse_float = parse_constant = float
        parse_int = int

    _scan = make_scanner(_Plain)  # type: ignore[arg-type]
except (ImportError, AttributeError):  # another Python than CPython, or a later one
    from json.decoder import JSONDecoder
    from json.encoder import encode_basestring

    _scan = JSONDecoder().scan_once  # type: ignore[attr-defined]

Fields = dict[str, object]

TEXT_CHARACTERS = 8_192
_HIDDEN = dict.fromkeys(
    (
        *range(0x20), *range(0x7F, 0xA0), 0xAD, 0x61C, 0x180E, *range(0x200B, 0x2010), *range(0x2028, 0x202F),
        *range(0x2060, 0x2070), *range(0xD800, 0xE000), 0xFEFF, *range(0xFFF9, 0xFFFC), *range(0xE0000, 0xE0080),
    ),
    " ",
)  # fmt: skip
"""Controls, line ends, directions, what has no width, surrogates, tags: none is shown as itself."""


def read(data: bytes) -> object:
    """Return the value that the JSON says. Raises ValueError, RecursionError."""
    text = data.decode().removeprefix("\ufeff").strip()
    try:
        value, end = _scan(text, 0)
    except StopIteration:
        raise ValueError("that is no JSON") from None
    if end != len(text):
        raise ValueError("that is more than one JSON value")
    return value


def read_object(data: bytes) -> Fields:
    """Return the object that the JSON says. Raises ValueError, RecursionError."""
    value = read(data)
    if not isinstance(value, dict):
        raise ValueError("that is no JSON object")
    return value


def write(value: object) -> bytes:
    """Return the JSON of texts, numbers, truths, and objects and lists of them; a lone surrogate becomes ``?``."""
    return _json(value).encode("utf-8", "replace")


def _json(value: object) -> str:
    if isinstance(value, str):
        return str(encode_basestring(value))
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{encode_basestring(key)}:{_json(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_json, value)) + "]"
    return "null"


def fields(value: object) -> Fields:
    """Return a JSON object as it is, and anything else as an empty one."""
    return value if isinstance(value, dict) else {}


def items(value: object) -> list[object]:
    """Return a JSON list as it is, and anything else as an empty one."""
    return value if isinstance(value, list) else []


def text(value: object, limit: int = TEXT_CHARACTERS) -> str:
    """Return a text, cut, and anything else as an empty one."""
    return value[:limit] if isinstance(value, str) else ""


def shown(value: object, limit: int) -> str:
    """Return text from outside as one line that is only read: nothing hidden, no tags, cut."""
    line = " ".join(text(value, 4 * limit).translate(_HIDDEN).split())
    line = line.replace("<", "\N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}")
    line = line.replace(">", "\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}")
    return line if len(line) <= limit else line[: limit - 1] + "\N{HORIZONTAL ELLIPSIS}"
