-- What a worker writes while this waits for it is copied, too; workers also lock `session` first.
LOCK TABLE session, journal, entry IN ACCESS EXCLUSIVE MODE;
-- The files of a session that only grow, its journal and the agent's transcripts, byte by byte: each piece begins where
-- the one before ends.
CREATE TABLE piece (
    session text NOT NULL REFERENCES session ON DELETE CASCADE,
    path text NOT NULL CHECK (octet_length(path) <= 1024),
    start bigint NOT NULL CHECK (start >= 0),
    data bytea NOT NULL CHECK (octet_length(data) <= 83886080),
    PRIMARY KEY (session, path, start)
);
ALTER TABLE piece ENABLE ROW LEVEL SECURITY;
CREATE POLICY read ON piece FOR SELECT USING (EXISTS (SELECT FROM session s WHERE s.id = piece.session));
CREATE POLICY own ON piece USING (EXISTS (
    SELECT FROM session s WHERE s.id = piece.session AND (s.owner = current_user OR is_worker())));
INSERT INTO piece SELECT session, path,
    sum(octet_length(data)) OVER (PARTITION BY session, path ORDER BY number) - octet_length(data), data
FROM (
    SELECT session, path, number, convert_to(line || E'\n', 'UTF8') AS data
    FROM (
        SELECT session, 'journal.jsonl' AS path, seq AS number, line FROM journal
        UNION ALL
        SELECT project, '.conversation/' || e.session || rtrim('/' || subpath, '/') || '.jsonl', e.id, entry
        FROM entry e JOIN session s ON s.id = e.project AND s.owner = e.owner
    ) AS stored
    -- A member may have written by hand what `piece` cannot have.
    WHERE greatest(octet_length(session), octet_length(path)) <= 1024 AND octet_length(line) < 83886080
) AS lines
WHERE octet_length(data) <= 83886080;
DROP TRIGGER remove_conversation ON session;
DROP FUNCTION remove_conversation;
DROP TABLE journal, entry, summary;
