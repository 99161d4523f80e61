"""PDFs, written by hand: text, many pages, pictures alone, a stream that bursts."""

from __future__ import annotations

import io
import zlib
from collections.abc import Sequence

from pypdf import PdfReader, PdfWriter

_FONT = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"


def pdf(pages: Sequence[str], title: str = "") -> bytes:
    """Return a PDF of pages with these texts; an empty one draws a line and has no text."""
    return _file([_text_stream(text) for text in pages], title)


def stream_bomb(size: int = 1 << 31) -> bytes:
    """Return a PDF of a few megabytes at most whose only page bursts to ``size`` bytes."""
    packer, parts = zlib.compressobj(9), []
    block = b" " * (1 << 20)
    parts += [packer.compress(block) for _ in range(size >> 20)]
    packed = b"".join([*parts, packer.flush()])
    return _file([(packed, b"/Filter /FlateDecode ")], "")


def encrypted(content: bytes, password: str) -> bytes:
    """Return a PDF as one that opens with a password; an empty one opens for everybody."""
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(content)))
    writer.encrypt(user_password=password, owner_password="owner", algorithm="AES-256")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def _text_stream(text: str) -> tuple[bytes, bytes]:
    if not text:
        return b"0 0 m 100 100 l S", b""
    lines = " ".join(f"({_escaped(line)}) Tj T*" for line in text.split("\n"))
    return f"BT /F1 12 Tf 14 TL 72 720 Td {lines} ET".encode("latin-1"), b""


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")


def _file(streams: Sequence[tuple[bytes, bytes]], title: str) -> bytes:
    count = len(streams)
    kids = " ".join(f"{5 + 2 * number} 0 R" for number in range(count))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Count {count} /Kids [{kids}] >>".encode(),
        _FONT,
        f"<< /Title ({_escaped(title)}) >>".encode("latin-1"),
    ]
    for number, (stream, filters) in enumerate(streams):
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents {6 + 2 * number} 0 R "
            "/Resources << /Font << /F1 3 0 R >> >> >>".encode()
        )
        objects.append(b"<< %b/Length %d >>\nstream\n%b\nendstream" % (filters, len(stream), stream))
    return _with_table(objects)


def _with_table(objects: Sequence[bytes]) -> bytes:
    out, places = bytearray(b"%PDF-1.7\n"), []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    start = len(out)
    rows = b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"xref\n0 %d\n0000000000 65535 f \n%b" % (len(objects) + 1, rows)
    out += b"trailer\n<< /Size %d /Root 1 0 R /Info 4 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)
    return bytes(out)
