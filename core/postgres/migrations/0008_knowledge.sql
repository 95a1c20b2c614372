-- The knowledge base: what the sessions of a team found. It finds passages by their words; core.knowledge ranks them.

-- `name` is the machine and the folder; a session of the team is known by `team`, the id of its row in `session`, and
-- may move to another machine. `seq` and `place` say how far its journal was read.
CREATE TABLE k_session (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE, team text UNIQUE,
    owner name NOT NULL DEFAULT current_user, shared boolean NOT NULL DEFAULT true,
    title text NOT NULL DEFAULT '', demo boolean NOT NULL DEFAULT false,
    seq bigint NOT NULL DEFAULT 0, place bigint NOT NULL DEFAULT 0
);
CREATE TABLE k_call (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session bigint NOT NULL REFERENCES k_session ON DELETE CASCADE,
    tool_use_id text NOT NULL, tool text NOT NULL, slug text NOT NULL DEFAULT '',
    UNIQUE (session, tool_use_id)
);
-- `hash` is that of the text, which has `words` words. Owner and `shared` are those of the session.
CREATE TABLE k_document (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session bigint NOT NULL REFERENCES k_session ON DELETE CASCADE,
    call bigint REFERENCES k_call ON DELETE SET NULL,
    owner name NOT NULL DEFAULT current_user, shared boolean NOT NULL DEFAULT true,
    kind text NOT NULL, path text NOT NULL DEFAULT '', part bigint NOT NULL DEFAULT 0,
    url text NOT NULL DEFAULT '', site text NOT NULL DEFAULT '',
    hash bytea NOT NULL, words integer NOT NULL,
    title text NOT NULL DEFAULT '', context text NOT NULL DEFAULT '',
    author text NOT NULL DEFAULT '', date text NOT NULL DEFAULT '',
    made_at double precision NOT NULL, trust text NOT NULL, partial boolean NOT NULL DEFAULT false
);
-- Paths and addresses may be longer than an entry of an ordinary index.
CREATE INDEX k_document_place ON k_document (session, left(path, 200), part);
CREATE INDEX k_document_call ON k_document (call);
CREATE INDEX k_document_url ON k_document USING hash (url) WHERE url <> '';
CREATE INDEX k_document_hash ON k_document (hash);
CREATE INDEX k_document_made_at ON k_document (made_at);
-- `vector` has the words of title (weight A), context (B) and text (D), as the index of the SQLite file has them;
-- `length` is how many. Many rows are only visited to see whether they match: without their texts they are few pages.
CREATE TABLE k_chunk (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    document bigint NOT NULL REFERENCES k_document ON DELETE CASCADE,
    "start" integer NOT NULL, "end" integer NOT NULL, length integer NOT NULL,
    shared boolean NOT NULL DEFAULT true,
    text text NOT NULL, vector tsvector NOT NULL
) WITH (toast_tuple_target = 128);
ALTER TABLE k_chunk ALTER COLUMN vector SET STATISTICS 1000;
CREATE INDEX k_chunk_document ON k_chunk (document);
CREATE INDEX k_chunk_vector ON k_chunk USING gin (vector) WITH (gin_pending_list_limit = 1024);
CREATE TABLE k_vector (
    chunk bigint PRIMARY KEY REFERENCES k_chunk ON DELETE CASCADE, model text NOT NULL, data bytea NOT NULL
);
-- Tombstones of what was forgotten, as JSON; what a worker forgets holds for `everyone`.
CREATE TABLE k_forgotten (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    owner name NOT NULL DEFAULT current_user, everyone boolean NOT NULL DEFAULT is_worker(),
    entry text NOT NULL
);

DO $$ DECLARE part text; BEGIN
    FOREACH part IN ARRAY ARRAY['k_session', 'k_call', 'k_document', 'k_chunk', 'k_vector', 'k_forgotten'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', part);
    END LOOP;
    FOREACH part IN ARRAY ARRAY['k_session', 'k_document'] LOOP
        EXECUTE format('CREATE POLICY read ON %I FOR SELECT USING'
            ' (shared OR owner = current_user OR is_worker())', part);
        EXECUTE format('CREATE POLICY own ON %I USING (owner = current_user OR is_worker())', part);
    END LOOP;
END $$;
CREATE POLICY read ON k_chunk FOR SELECT USING (EXISTS (SELECT FROM k_document d WHERE d.id = k_chunk.document));
CREATE POLICY own ON k_chunk USING (EXISTS (
    SELECT FROM k_document d WHERE d.id = k_chunk.document AND (d.owner = current_user OR is_worker())));
CREATE POLICY read ON k_call FOR SELECT USING (EXISTS (SELECT FROM k_session s WHERE s.id = k_call.session));
CREATE POLICY own ON k_call USING (EXISTS (
    SELECT FROM k_session s WHERE s.id = k_call.session AND (s.owner = current_user OR is_worker())));
CREATE POLICY read ON k_vector FOR SELECT USING (EXISTS (SELECT FROM k_chunk c WHERE c.id = k_vector.chunk));
CREATE POLICY own ON k_vector USING (EXISTS (SELECT FROM k_chunk c JOIN k_document d ON d.id = c.document
    WHERE c.id = k_vector.chunk AND (d.owner = current_user OR is_worker())));
-- Nobody adds to a session of somebody else, of which a search would then show the name.
CREATE POLICY add_to_own_session ON k_document AS RESTRICTIVE FOR INSERT WITH CHECK (is_worker() OR EXISTS (
    SELECT FROM k_session s WHERE s.id = k_document.session AND s.owner = current_user));
CREATE POLICY change_in_own_session ON k_document AS RESTRICTIVE FOR UPDATE USING (true) WITH CHECK (
    is_worker() OR EXISTS (SELECT FROM k_session s WHERE s.id = k_document.session AND s.owner = current_user));
-- A role sees what it forgot itself, and what holds for everyone.
CREATE POLICY read ON k_forgotten FOR SELECT USING (everyone OR owner = current_user OR is_worker());
CREATE POLICY add ON k_forgotten FOR INSERT WITH CHECK (owner = current_user AND (is_worker() OR NOT everyone));

-- The role whose rights count, NULL for all rights: a worker names that for whom it works with `ua_tui.reader`.
CREATE FUNCTION k_reader() RETURNS name LANGUAGE sql STABLE SET search_path = ua_tui, pg_temp AS $$
    SELECT r.name FROM (SELECT coalesce(CASE WHEN is_asked_by_worker()
        THEN nullif(current_setting('ua_tui.reader', true), '') END, asker()) AS name) r
    WHERE NOT EXISTS (SELECT FROM pg_roles p, pg_namespace n
        WHERE p.rolname = r.name AND n.nspname = 'ua_tui' AND pg_has_role(p.oid, n.nspowner, 'MEMBER'))
$$;
-- Row-level security would compare all vectors one by one, so these functions use the index, and check themselves what
-- the role may read. The first finds the passages with any of some words, with the sum of the weights of these words.
CREATE FUNCTION k_matches(words tsquery[], weights double precision[])
RETURNS TABLE (chunk bigint, document bigint, score double precision)
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ua_tui, pg_temp AS $$
    SELECT c.id, c.document, sum(w.weight)
    FROM unnest(words, weights) w (word, weight) JOIN k_chunk c ON c.vector @@ w.word
    WHERE c.shared OR (SELECT k_reader()) IS NULL
        OR EXISTS (SELECT FROM k_document d WHERE d.id = c.document AND d.owner = (SELECT k_reader()))
    GROUP BY c.id, c.document
$$;
-- The number of passages, and about how many have each word: of a frequent one those in the first pages of the table
-- are counted.
CREATE FUNCTION k_frequencies(words tsquery[])
RETURNS TABLE (passages bigint, counts bigint[])
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ua_tui, pg_temp AS $$
    SELECT greatest(n.n, p.reltuples::bigint), ARRAY(
        SELECT (SELECT CASE WHEN count(*) < 1000 THEN count(*) ELSE 1000 * n.pages / (1 + max(c.page)) END FROM (
            SELECT (c.ctid::text::point)[0]::bigint AS page FROM k_chunk c
            WHERE c.vector @@ w.word AND (c.shared OR (SELECT k_reader()) IS NULL OR EXISTS (
                SELECT FROM k_document d WHERE d.id = c.document AND d.owner = (SELECT k_reader())))
            LIMIT 1000) c)
        FROM unnest(words) WITH ORDINALITY w (word, n) ORDER BY w.n)
    FROM (SELECT count(*) AS n, pg_relation_size('k_chunk') / 8192 AS pages
        FROM (SELECT FROM k_chunk LIMIT 1000) c) n,
        pg_class p WHERE p.oid = 'k_chunk'::regclass
$$;
-- Frequent words with the first letter and about the length of a word.
CREATE FUNCTION k_similar(word text) RETURNS SETOF text
LANGUAGE sql STABLE SECURITY DEFINER SET search_path = ua_tui, pg_temp AS $$
    SELECT f.word
    FROM pg_stats s, unnest(s.most_common_elems::text::text[], s.most_common_elem_freqs) f (word, frequency)
    WHERE s.schemaname = 'ua_tui' AND s.tablename = 'k_chunk' AND s.attname = 'vector'
        AND left(f.word, 1) = left($1, 1) AND abs(length(f.word) - length($1)) < 2
        AND EXISTS (SELECT FROM k_chunk c WHERE c.vector @@ quote_literal(f.word)::tsquery
            AND (c.shared OR (SELECT k_reader()) IS NULL OR EXISTS (
                SELECT FROM k_document d WHERE d.id = c.document AND d.owner = (SELECT k_reader()))))
    ORDER BY f.frequency DESC
$$;
