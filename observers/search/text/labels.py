"""What providers write before the fields of a result, in many languages: `Title: …`, `链接：…`."""

from __future__ import annotations

import re
from typing import Any

from ua_tui.observers.decoding.urls import is_web_url

_NAMES = {
    "title": (
        "title, name, headline, page title, 标题, 標題, 题目, 名称, 名稱, タイトル, 題名, 件名, "
        "見出し, 제목, titel, titre, título, titulo, titolo, заголовок, название, tytuł, başlık, rubrik, "
        "tittel, otsikko, název, nadpis, cím, titlu, τίτλος, العنوان, عنوان, כותרת, शीर्षक, tiêu đề, "
        "judul, ชื่อเรื่อง"
    ),
    "url": (
        "url, link, links, href, source url, url source, page url, web address, 链接, 鏈接, "
        "連結, 网址, 網址, 原文链接, 来源链接, リンク, 링크, 주소, lien, enlace, vínculo, ligação, "
        "hiperligação, collegamento, indirizzo, ссылка, адрес, odnośnik, bağlantı, koppeling, länk, "
        "lenke, linkki, odkaz, hivatkozás, σύνδεσμος, الرابط, رابط, קישור, लिंक, liên kết, đường dẫn, "
        "tautan, ลิงก์"
    ),
    "snippet": (
        "description, content, summary, snippet, snippets, text, highlights, code/highlights, "
        "abstract, excerpt, page content, document content, 摘要, 内容, 內容, 描述, 简介, 簡介, 概要, "
        "説明, 本文, 抜粋, スニペット, 要約, 요약, 내용, 설명, zusammenfassung, beschreibung, inhalt, "
        "auszug, textauszug, résumé, resume, extrait, contenu, resumen, descripción, descripcion, "
        "extracto, contenido, fragmento, resumo, descrição, descricao, trecho, conteúdo, sommario, "
        "riassunto, descrizione, estratto, contenuto, описание, краткое описание, аннотация, содержание, "
        "фрагмент, сниппет, opis, streszczenie, özet, açıklama, samenvatting, beschrijving, inhoud, "
        "sammanfattning, beskrivning, beskrivelse, kuvaus, popis, shrnutí, leírás, összefoglaló, "
        "descriere, rezumat, περιγραφή, περίληψη, الملخص, ملخص, الوصف, תקציר, תיאור, विवरण, सारांश, "
        "tóm tắt, mô tả, nội dung, ringkasan, deskripsi, คำอธิบาย"
    ),
    "date": (
        "published, published date, publication date, date, date published, published at, "
        "发布时间, 发布日期, 發布時間, 日期, 时间, 時間, 公開日, 日付, 発行日, 날짜, 게시일, datum, "
        "veröffentlicht, veröffentlicht am, date de publication, publié, publié le, fecha, "
        "fecha de publicación, publicado, publicado el, publicado em, data de publicação, "
        "data di pubblicazione, pubblicato, дата, дата публикации, опубликовано, data publikacji, tarih, "
        "ngày, ngày đăng, التاريخ, tanggal"
    ),
    "age": "age",
    "author": (
        "author, authors, 作者, 著者, 저자, autor, autoren, auteur, auteurs, autore, autori, "
        "автор, авторы, yazar, tác giả, المؤلف"
    ),
    "source": (
        "source, 来源, 來源, 出典, ソース, 출처, quelle, fuente, fonte, источник, źródło, "
        "kaynak, bron, källa, kilde, nguồn, المصدر"
    ),
    "publisher": "publisher",
    "site": ("site, site name, domain, website, 网站, 網站, サイト, 사이트, webseite, sitio, sito, сайт"),
    "score": "score, relevance score",
    "result_id": "id",
    "raw_content": "raw content",
    "rank": "position, rank",
    "engines": "engine, engines",
    "category": "category",
    "language": "language",
    "favicon": "favicon",
    "image": "image, image url, thumbnail",
    "doi": "doi",
    "pmid": "pmid, pubmed id",
    "arxiv_id": "arxiv id, arxiv",
    "pdf": "pdf, pdf url",
    "price": "price",
    "rating": "rating",
    "location": "location, address",
    "company": "company",
    "salary": "salary",
    "duration": "duration",
    "views": "views",
    "journal": "journal, venue",
    "cited": "citations, cited by",
}
_LABELS = {label: column for column, labels in _NAMES.items() for label in labels.split(", ")}

_LONGEST_LABEL = 24
_FURTHEST = 64
_MARKS = re.compile(r"[^\w\[<>|]{0,12}(?:(?:\[?\d{1,3}[\]).:]|【\d{1,3}】)\s{0,4})?[^\w\[<>|]{0,12}")
_AFTER = re.compile(r"\**[ \t]*")
_COLON = re.compile("[:：]")
_SEPARATOR = re.compile("[|;,·•｜；，、]")


def column_of(name: str) -> str | None:
    """The column of a field or of a column of a table, or None if its name is unknown."""
    return _LABELS.get(name.strip().strip("*_ ").replace("_", " ").casefold())


def without_marks(line: str) -> str:
    """A line without the bullets, numbers and symbols before its text."""
    found = _MARKS.match(line)
    return line[found.end() :] if found else line


def label_in(line: str) -> tuple[str, str] | None:
    """The label that a line begins with, and its value."""
    if ":" not in (begin := line[:_FURTHEST]) and "：" not in begin:
        return None
    marks = _MARKS.match(line)
    start = marks.end() if marks else 0
    colon = _COLON.search(line, start, start + _LONGEST_LABEL + 4)
    if colon is None:
        return None
    column = _LABELS.get(line[start : colon.start()].strip("* \t").casefold())
    after = _AFTER.match(line, colon.end())
    return (column, line[after.end() if after else colon.end() :].strip()) if column else None


def labels_on_one_line(line: str) -> dict[str, Any] | None:
    """The fields of a result whose labels are all on one line, or None if the line is something else.

    Labels are separated by marks such as `|`, or before the text of a result by spaces alone.
    """
    found: dict[str, tuple[int, int]] = {}
    marks = _MARKS.match(line)
    start = marks.end() if marks else 0
    for colon in _COLON.finditer(line, start):
        if line.startswith("//", colon.end()):
            continue
        part = line[max(start, colon.start() - _LONGEST_LABEL) : colon.start()].rstrip("* ")
        column, place = _label_at_end(part, alone=not found, apart="snippet" in found)
        if column is None:
            if not found:
                return None
            continue
        if column not in found:
            found[column] = (max(start, colon.start() - _LONGEST_LABEL) + place, colon.end())
        start = colon.end()
    ends = [*(begin for begin, _ in list(found.values())[1:]), len(line)]
    item = {
        column: line[value:end].strip(" \t*|;,·•-｜；，、")
        for (column, (_, value)), end in zip(found.items(), ends, strict=True)
    }
    address = str(item.get("url", "")).strip("<>").split(maxsplit=1)[:1]
    if not address or not is_web_url(address[0]) or not ("title" in item or "snippet" in item):
        return None
    return item | {"url": address[0]}


def _label_at_end(part: str, *, alone: bool, apart: bool) -> tuple[str | None, int]:
    """The column whose label a text ends with, and where the label begins.

    `alone` says that the text has to be nothing else, `apart` that a mark has to be before the label.
    """
    marks = list(_SEPARATOR.finditer(part))
    begin = marks[-1].end() if marks else 0
    words = part[begin:]
    places = [begin + len(words) - len(words.lstrip("* -"))]
    if not alone and not apart:
        places += [begin + at + 1 for at, character in enumerate(words) if character == " "]
    elif apart and not marks:
        return None, 0
    for place in places:
        if column := _LABELS.get(part[place:].strip("* ").casefold()):
            return column, place
    return None, 0
