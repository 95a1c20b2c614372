INSERT INTO blob (sha256, data) VALUES (repeat('1', 64), 'other');
-- The content is another one.
INSERT INTO artifact (session, path, sha256, size) VALUES ('s1', 'other.txt', repeat('1', 64), 5);
-- These do not follow what is before them.
INSERT INTO piece VALUES ('s1', 'journal.jsonl', 10, E'{"seq":1}\n'), ('s1', 'journal.jsonl', 1000000, E'{"seq":904}\n'),
    ('s1', '.conversation/conversation-1.jsonl', 3, E'x\n');
