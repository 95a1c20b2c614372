SELECT folder, title, seq, place FROM session ORDER BY 1
SELECT folder, path, part, kind, document.title, context, url, hex(hash), words FROM document JOIN session ON session.id = session ORDER BY 1, 2, 3
SELECT folder, path, part, start, "end", text FROM chunk JOIN document ON document.id = document JOIN session ON session.id = session ORDER BY 1, 2, 3, 4
SELECT DISTINCT url, site FROM document WHERE url <> '' ORDER BY 1
SELECT DISTINCT hex(hash), words FROM document ORDER BY 1
SELECT term, doc, cnt FROM chunk_terms ORDER BY 1
