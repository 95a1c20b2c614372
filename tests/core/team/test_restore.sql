INSERT INTO blob (sha256, data) VALUES (repeat('1', 64), 'other');
-- The content is another one.
INSERT INTO artifact (session, path, sha256, size) VALUES ('s1', 'other.txt', repeat('1', 64), 5);
-- Compressed these are small in the database.
INSERT INTO journal SELECT 's1', n, format('{"seq":%s,"x":"%s"}', n, repeat('x', 200000))
    FROM generate_series(911, 913) n;
INSERT INTO entry (project, session, entry) VALUES
    ('s1', 'conversation-1', format('{"type":"%s"}', repeat('x', 200000))),
    ('s1', 'conversation-1', '{"type":"x"}' || chr(10) || '{"type":"y"}');
