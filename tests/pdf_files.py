"""Writes small PDF files for tests."""

from __future__ import annotations

import io
from collections.abc import Sequence


def pdf_file(texts: Sequence[str], **properties: str) -> bytes:
    """A PDF file with one page for each text, which may have lines; `properties` become its Info dictionary."""
    kids = b" ".join(b"%d 0 R" % (5 + 2 * i) for i in range(len(texts)))
    info = b" ".join(
        b"/%s (%s)" % (name.encode(), value.encode("latin-1")) for name, value in properties.items()
    )
    parts = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, len(texts)),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
        b"<< %s >>" % info,
    ]
    for i, text in enumerate(texts):
        page = b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] "
        page += b"/Resources << /Font << /F1 3 0 R >> >> /Contents %d 0 R >>" % (6 + 2 * i)
        lines = b"".join(b"(%s) Tj 0 -14 Td " % line.encode() for line in text.split("\n"))
        stream = b"BT /F1 12 Tf 72 700 Td %sET" % lines
        parts += [page, b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream)]
    data, places = b"%PDF-1.4\n", []
    for number, part in enumerate(parts, 1):
        places.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, part)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    end = b"xref\n0 %d\n0000000000 65535 f \n%strailer << /Size %d /Root 1 0 R /Info 4 0 R >>\nstartxref\n%d\n%%%%EOF\n"
    return data + end % (len(parts) + 1, table, len(parts) + 1, len(data))


def protected(data: bytes, password: str) -> bytes:
    """A PDF file that needs a password."""
    from pypdf import PdfReader, PdfWriter

    writer = PdfWriter(PdfReader(io.BytesIO(data)))
    writer.encrypt(password, algorithm="RC4-128")
    written = io.BytesIO()
    writer.write(written)
    return written.getvalue()
