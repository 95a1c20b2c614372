"""The text of a PDF file page by page, with its title, author and date; runs in a worker process.

The viewer of PDF files and the crawler use it.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from typing import IO, TYPE_CHECKING, Any

from ua_tui.core.json_values import JsonObject, text_in
from ua_tui.core.text import clean, clean_line
from ua_tui.core.toolkit.articles import count_words
from ua_tui.core.toolkit.extract import Extracted, NotReadable

if TYPE_CHECKING:
    from ua_tui.core.concurrency.worker_child import TaskContext

MAX_PAGES = 1_000
MAX_CHARACTERS = 500_000
_LEADER = re.compile(r"(?:[ \t]?\.){5,}[ \t]*")
_DIVIDED = re.compile(r"([^\W\d_]{2,40})-\n([^\W\d_]{2,40}[^\w\s]{0,3})[ \t]?")
_LIGATURES = {0xFB00: "ff", 0xFB01: "fi", 0xFB02: "fl", 0xFB03: "ffi", 0xFB04: "ffl"}
_GAP = re.compile(r"\n{3,}")
_WITHOUT_DIGITS = str.maketrans("", "", "0123456789")
# What is extracted of a font that does not say which characters its shapes are.
_SHAPES = re.compile(r"(?<!\S)(?:/\w+)+")


def send_pages(file: IO[bytes], send: Callable[[JsonObject], object], *, most: int, characters: int) -> None:
    """Send the properties of a PDF file, then the text of each of the first pages as soon as it is extracted.

    The first part has `pages`, `title`, `author` and `date`, or `error` if the file is protected by a password. The
    others have `text`, and `failed` if that only says why there is none. At most `most` pages are read, and none after
    so many characters.

    Raises:
        PdfReadError: the file is damaged or is not a PDF.
    """
    from pypdf import PdfReader
    from pypdf.errors import DependencyError

    reader = PdfReader(file)
    try:
        is_locked = reader.is_encrypted and not reader.decrypt("")
    except (DependencyError, NotImplementedError):
        is_locked = True
    if is_locked:
        send({"error": "The file is protected by a password."})
        return
    count = len(reader.pages)
    send({"pages": count, **_properties(reader.metadata)})
    for number in range(min(count, most)):
        failed = False
        try:
            text = reader.pages[number].extract_text()
        except MemoryError:
            raise
        except Exception as error:
            text, failed = f"(this page cannot be read: {type(error).__name__})", True
        text = text[:20_000]
        send({"text": text.encode("utf-8", "replace").decode(), "failed": failed})
        characters -= len(text)
        if characters <= 0:
            return


def read_in_child(desk: TaskContext, body: bytes) -> None:
    """Send the parts of the PDF file with these bytes."""
    send_pages(
        io.BytesIO(body), lambda part: desk.say("part", part), most=MAX_PAGES, characters=MAX_CHARACTERS
    )


def _properties(metadata: Any) -> dict[str, str | None]:
    found: dict[str, str | None] = {"title": None, "author": None, "date": None}
    if metadata is None:
        return found
    for name in ("title", "author"):
        try:
            value = getattr(metadata, name)
        except Exception:
            value = None
        found[name] = value.encode("utf-8", "replace").decode() if isinstance(value, str) else None
    try:
        found["date"] = metadata.creation_date.strftime("%Y-%m-%d")
    except Exception:
        # It is missing, or no date.
        found["date"] = None
    return found


def article_of(parts: Sequence[JsonObject], problem: str = "") -> Extracted:
    """Make an article of the parts that `send_pages` sent; `problem` says why they ended early.

    Raises:
        NotReadable: the file is protected or damaged, or has no text.
    """
    head = parts[0] if parts else {}
    if "error" in head:
        raise NotReadable(
            "the PDF is protected by a password; look for another copy or a web page of it", "pdf_encrypted"
        )
    if len(parts) > 1 and all(part.get("failed") for part in parts[1:]):
        problem, parts = "none of its pages can be read", parts[:1]
    if len(parts) < 2 and problem:
        raise NotReadable(
            f"the PDF is too complex to be read ({problem}); choose another source", "too_complex"
        )
    if len(parts) < 2:
        raise NotReadable("the PDF is damaged; look for another copy or a web page of it", "pdf_damaged")
    count = int(head["pages"])
    texts = [with_paragraphs(clean(str(part["text"])).strip()) for part in parts[1:]]
    if _is_without_text(texts):
        raise NotReadable(
            f"the PDF has {count} page{'s' * (count != 1)} but hardly any text, so it is probably a scan; look for "
            "a web page or another copy of it, or recognise its text (OCR) in the remote workbench",
            "pdf_without_text",
        )
    sections = [f"## Page {number}\n\n{text}" for number, text in enumerate(texts, 1) if text]
    if len(texts) < count:
        why = f" ({problem})" if problem else ""
        sections.append(f"(The text ends here: pages {len(texts) + 1} to {count} were not read{why}.)")
    title: str | None = clean_line(text_in(head, "title"), 300)
    if not _is_title(title or ""):
        lines = map(str.strip, texts[0].splitlines())
        title = next((clean_line(line, 200) for line in lines if sum(map(str.isalpha, line)) > 3), None)
    return Extracted(
        text="\n\n".join(sections),
        title=title,
        author=head.get("author"),
        date=head.get("date"),
    )


def with_paragraphs(text: str) -> str:
    """The text of a page with a paragraph where a line ends early, and with words that were divided in one piece."""
    text = _LEADER.sub(" … ", text.translate(_LIGATURES))

    def joined(found: re.Match[str]) -> str:
        # A hyphen belongs to the word if it is written with one elsewhere, and before a capital letter.
        is_divided = found[2][0].islower() and f"{found[1]}-{found[2]}" not in text
        return f"{found[1]}{'' if is_divided else '-'}{found[2]}\n"

    lines = [line.strip() for line in _DIVIDED.sub(joined, text).split("\n")]
    # Shorter lines end a paragraph.
    full = 0.7 * max(map(len, lines))
    ended = (f"{line}\n" if len(line) >= full else f"{line}\n\n" for line in lines)
    return _GAP.sub("\n\n", "".join(ended)).strip()


def _is_without_text(texts: Sequence[str]) -> bool:
    """Whether the pages have nothing to read: no text, numbers of pages, the same stamp on each, or only signs."""
    length = sum(map(len, "".join(texts).split()))
    if sum(map(str.isalnum, _SHAPES.sub("", "\n".join(texts)))) < 0.3 * max(length, 1):
        return True
    words = sum(map(count_words, texts))
    are_alike = len(texts) > 2 and len({text.translate(_WITHOUT_DIGITS) for text in texts}) == 1
    is_stamped = are_alike and words <= 30 * len(texts)
    return is_stamped or words < 4 * len(texts)


def _is_title(title: str) -> bool:
    """Whether the title of a file is one, and not what its program puts there."""
    lowered = title.lower()
    return (
        any(character.isalpha() for character in title)
        and not lowered.startswith(("microsoft word", "microsoft powerpoint", "untitled", "slide 1"))
        and not lowered.endswith(
            (".doc", ".docx", ".indd", ".tex", ".dvi", ".pdf", ".ppt", ".pptx", ".qxd", ".ai")
        )
    )
