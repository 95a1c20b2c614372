-- The knowledge base: what the sessions of a team found. core.knowledge.postgres writes and reads it.

-- Words with mistakes, and parts of hosts, are found by their trigrams.
DO $$
BEGIN
    -- In a schema of its own nobody else can put functions beside its functions.
    CREATE EXTENSION IF NOT EXISTS pg_trgm SCHEMA ua_tui;
    PERFORM set_config('search_path', format('ua_tui, %I', n.nspname), true)
    FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'pg_trgm';
EXCEPTION WHEN insufficient_privilege OR undefined_file OR feature_not_supported THEN
    RAISE EXCEPTION 'the extension pg_trgm cannot be made (%): install the contrib modules of the server, and run'
        ' CREATE EXTENSION pg_trgm in this database as its owner', SQLERRM USING ERRCODE = 'UAK01';
END;
$$;

-- `name` is the machine and the folder; a session of the team is known by `team`, the id of its row in `session`, and
-- may move to another machine. `seq` and `place` say how far its journal was read.
CREATE TABLE k_session (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE,
    team text UNIQUE,
    owner name NOT NULL DEFAULT current_user,
    shared boolean NOT NULL DEFAULT true,
    started double precision,
    title text NOT NULL DEFAULT '',
    state text NOT NULL DEFAULT 'open',
    demo boolean NOT NULL DEFAULT false,
    seq bigint NOT NULL DEFAULT 0,
    place bigint NOT NULL DEFAULT 0
);

CREATE TABLE k_call (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session bigint NOT NULL REFERENCES k_session ON DELETE CASCADE,
    tool_use_id text NOT NULL,
    parent text,
    tool text NOT NULL,
    slug text NOT NULL DEFAULT '',
    started double precision NOT NULL,
    ms double precision,
    status text NOT NULL DEFAULT '',
    UNIQUE (session, tool_use_id)
);

-- `hash` is that of the text, which has `words` words. Owner and `shared` are those of the session.
CREATE TABLE k_document (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session bigint NOT NULL REFERENCES k_session ON DELETE CASCADE,
    call bigint REFERENCES k_call ON DELETE SET NULL,
    owner name NOT NULL DEFAULT current_user,
    shared boolean NOT NULL DEFAULT true,
    kind text NOT NULL,
    path text NOT NULL DEFAULT '',
    part bigint NOT NULL DEFAULT 0,
    url text NOT NULL DEFAULT '',
    site text NOT NULL DEFAULT '',
    hash bytea NOT NULL,
    words integer NOT NULL,
    title text NOT NULL DEFAULT '',
    context text NOT NULL DEFAULT '',
    author text NOT NULL DEFAULT '',
    date text NOT NULL DEFAULT '',
    made_at double precision NOT NULL,
    trust text NOT NULL,
    partial boolean NOT NULL DEFAULT false
);
-- Paths and addresses may be longer than an entry of an ordinary index.
CREATE INDEX k_document_place ON k_document (session, left(path, 200), part);
CREATE INDEX k_document_call ON k_document (call);
CREATE INDEX k_document_url ON k_document USING hash (url) WHERE url <> '';
CREATE INDEX k_document_hash ON k_document (hash);
CREATE INDEX k_document_made_at ON k_document (made_at);
CREATE INDEX k_document_site ON k_document USING gin (('.' || site || '.') gin_trgm_ops) WHERE site <> '';

-- `vector` has the words of the title (weight A), the context (B) and the text (D), as the index of the SQLite file has
-- them; `length` is how many they are.
CREATE TABLE k_chunk (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    document bigint NOT NULL REFERENCES k_document ON DELETE CASCADE,
    simhash bigint NOT NULL,
    "start" integer NOT NULL,
    "end" integer NOT NULL,
    length integer NOT NULL,
    shared boolean NOT NULL DEFAULT true,
    text text NOT NULL,
    vector tsvector NOT NULL
) WITH (toast_tuple_target = 128);
-- Many rows are visited only to see whether they match: without their texts they are few pages.
ALTER TABLE k_chunk ALTER COLUMN vector SET STATISTICS 1000;
CREATE INDEX k_chunk_document ON k_chunk (document);
CREATE INDEX k_chunk_vector ON k_chunk USING gin (vector) WITH (gin_pending_list_limit = 1024);

CREATE TABLE k_citation (
    document bigint NOT NULL REFERENCES k_document ON DELETE CASCADE,
    url text NOT NULL
);
CREATE INDEX k_citation_document ON k_citation (document);
CREATE INDEX k_citation_url ON k_citation USING hash (url);

CREATE TABLE k_vector (
    chunk bigint PRIMARY KEY REFERENCES k_chunk ON DELETE CASCADE,
    model text NOT NULL,
    data bytea NOT NULL
);

-- In how many chunks a word is. What was added and removed is put into `k_count`, and added up now and then: writers
-- would wait for each other at the frequent words. The word '' counts all chunks, and ' ' their words.
CREATE TABLE k_term (
    term text COLLATE "C" PRIMARY KEY,
    chunks bigint NOT NULL
) WITH (fillfactor = 70);
CREATE INDEX k_term_trigrams ON k_term USING gin (term gin_trgm_ops);
CREATE TABLE k_count (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    terms text[] NOT NULL,
    chunks integer[] NOT NULL
);

-- Hashes of what was forgotten, as JSON; what a worker forgets holds for `everyone`.
CREATE TABLE k_forgotten (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    owner name NOT NULL DEFAULT current_user,
    everyone boolean NOT NULL DEFAULT is_worker(),
    entry text NOT NULL
);

-- The role that reads: a worker, which may read everything, names that for whom it works with `ua_tui.reader`.
CREATE FUNCTION k_reader() RETURNS name LANGUAGE sql STABLE SET search_path = ua_tui, pg_temp AS $$
    SELECT coalesce(CASE WHEN is_asked_by_worker() THEN nullif(current_setting('ua_tui.reader', true), '') END, asker())
$$;
CREATE FUNCTION k_reads_all() RETURNS boolean LANGUAGE sql STABLE SET search_path = ua_tui, pg_temp AS $$
    SELECT EXISTS (SELECT FROM pg_roles r, pg_namespace n
        WHERE r.rolname = k_reader() AND n.nspname = 'ua_tui' AND pg_has_role(r.oid, n.nspowner, 'MEMBER'))
$$;

-- Words that were added: only k_discount makes them fewer.
CREATE FUNCTION k_count_words(terms text[], chunks integer[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = ua_tui, pg_temp AS $$
    INSERT INTO k_count (terms, chunks)
    SELECT $1, $2 WHERE 0 < ALL($2) AND cardinality($1) = cardinality($2) AND array_position($1, NULL) IS NULL
$$;

-- Remove chunks, and count their words: together, as otherwise anybody could count them often.
CREATE FUNCTION k_discount(ids bigint[]) RETURNS void
LANGUAGE sql SECURITY DEFINER SET search_path = ua_tui, pg_temp AS $$
    WITH removed AS (
        DELETE FROM k_chunk c USING k_document d
        WHERE c.id = ANY(ids) AND d.id = c.document AND (d.owner = asker() OR is_asked_by_worker())
        RETURNING c.length, c.vector
    )
    INSERT INTO k_count (terms, chunks)
    SELECT array_agg(w.term), array_agg(-w.n) FROM (
        SELECT term, CASE WHEN term = ' ' THEN sum(r.length) ELSE count(*) END::integer AS n
        FROM removed r CROSS JOIN unnest(ARRAY['', ' '] || tsvector_to_array(r.vector)) term
        GROUP BY term
    ) w HAVING count(*) > 0
$$;

-- Add up what was counted, unless another program does; returns whether nothing is left.
CREATE FUNCTION k_fold() RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ua_tui, pg_temp AS $$
DECLARE
    last bigint;
    has_removed boolean;
BEGIN
    IF NOT pg_try_advisory_xact_lock(1969318518) THEN
        RETURN false;
    END IF;
    SELECT max(id) INTO last FROM k_count;
    IF last IS NULL THEN
        RETURN true;
    END IF;
    SELECT bool_or(0 > ANY(chunks)) INTO has_removed FROM k_count WHERE id <= last;
    WITH folded AS (DELETE FROM k_count WHERE id <= last RETURNING k_count.terms, k_count.chunks)
    INSERT INTO k_term AS known (term, chunks)
    SELECT w.term, sum(w.n) FROM folded CROSS JOIN unnest(folded.terms, folded.chunks) AS w (term, n)
    GROUP BY w.term HAVING sum(w.n) <> 0 ORDER BY w.term
    ON CONFLICT (term) DO UPDATE SET chunks = known.chunks + excluded.chunks;
    IF has_removed THEN
        DELETE FROM k_term WHERE chunks <= 0;
    END IF;
    RETURN true;
END;
$$;

DO $$
DECLARE
    part text;
BEGIN
    FOREACH part IN ARRAY ARRAY['k_session', 'k_document', 'k_chunk', 'k_call', 'k_citation', 'k_vector',
            'k_term', 'k_count', 'k_forgotten'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', part);
    END LOOP;
    FOREACH part IN ARRAY ARRAY['k_session', 'k_document'] LOOP
        EXECUTE format('CREATE POLICY read ON %I FOR SELECT USING'
            ' (shared OR owner = current_user OR is_worker())', part);
        EXECUTE format('CREATE POLICY own ON %I USING (owner = current_user OR is_worker())', part);
    END LOOP;
    FOREACH part IN ARRAY ARRAY['k_chunk', 'k_citation'] LOOP
        EXECUTE format('CREATE POLICY read ON %I FOR SELECT USING'
            ' (EXISTS (SELECT FROM k_document d WHERE d.id = %I.document))', part, part);
        EXECUTE format('CREATE POLICY own ON %I USING (EXISTS (SELECT FROM k_document d WHERE d.id = %I.document'
            ' AND (d.owner = current_user OR is_worker())))', part, part);
    END LOOP;
END;
$$;
CREATE POLICY read ON k_call FOR SELECT USING (EXISTS (SELECT FROM k_session s WHERE s.id = k_call.session));
CREATE POLICY own ON k_call USING (EXISTS (
    SELECT FROM k_session s WHERE s.id = k_call.session AND (s.owner = current_user OR is_worker())));
CREATE POLICY read ON k_vector FOR SELECT USING (EXISTS (SELECT FROM k_chunk c WHERE c.id = k_vector.chunk));
CREATE POLICY own ON k_vector USING (EXISTS (
    SELECT FROM k_chunk c JOIN k_document d ON d.id = c.document
    WHERE c.id = k_vector.chunk AND (d.owner = current_user OR is_worker())));
-- Nobody adds to a session of somebody else, of which a search would then show the name.
CREATE POLICY add_to_own_session ON k_document AS RESTRICTIVE FOR INSERT WITH CHECK (is_worker() OR EXISTS (
    SELECT FROM k_session s WHERE s.id = k_document.session AND s.owner = current_user));
CREATE POLICY change_in_own_session ON k_document AS RESTRICTIVE FOR UPDATE USING (true) WITH CHECK (
    is_worker() OR EXISTS (SELECT FROM k_session s WHERE s.id = k_document.session AND s.owner = current_user));
-- A role sees what it forgot itself, and what holds for everyone.
CREATE POLICY read ON k_forgotten FOR SELECT USING (everyone OR owner = current_user OR is_worker());
CREATE POLICY add ON k_forgotten FOR INSERT WITH CHECK (owner = current_user AND (is_worker() OR NOT everyone));
-- The words of all rows, those that are not shared included, are seen only by the functions (`k_term`, `k_count`).

-- The filters of a query, as conditions of SQL on documents `d`, with the query itself as the parameter $3.
CREATE FUNCTION k_filters(ask jsonb) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT concat(
        CASE WHEN ask ? 'kinds' THEN
            $c$ AND d.kind = ANY(ARRAY(SELECT jsonb_array_elements_text($3->'kinds')))$c$ END,
        -- Two lists may both have to match: that of the query, and that of its caller.
        (SELECT string_agg(format($c$ AND d.site <> '' AND '.' || d.site || '.' LIKE
            ANY(ARRAY(SELECT jsonb_array_elements_text($3->'sites'->%s)))$c$, n - 1), '')
            FROM jsonb_array_elements(ask->'sites') WITH ORDINALITY s (value, n)),
        CASE WHEN ask ? 'sessions' THEN
            $c$ AND d.session IN (SELECT s.id FROM k_session s, jsonb_array_elements_text($3->'sessions') l
            WHERE substring(s.name from '[^/]*$') ILIKE l OR s.title ILIKE l)$c$ END,
        CASE WHEN ask ? 'tools' THEN
            $c$ AND d.call IN (SELECT k.id FROM k_call k, jsonb_array_elements_text($3->'tools') l
            WHERE k.tool ILIKE l OR k.slug ILIKE l)$c$ END,
        CASE WHEN ask ? 'session' THEN
            $c$ AND d.session = (SELECT s.id FROM k_session s WHERE s.name = $3->>'session')$c$ END,
        CASE WHEN ask ? 'without_session' THEN
            $c$ AND d.session IS DISTINCT FROM
            (SELECT s.id FROM k_session s WHERE s.name = $3->>'without_session')$c$ END,
        CASE WHEN ask ? 'demo' THEN
            $c$ AND d.session IN (SELECT s.id FROM k_session s WHERE s.demo = ($3->>'demo')::boolean)$c$ END,
        CASE WHEN ask ? 'since' THEN $c$ AND d.made_at >= ($3->>'since')::double precision$c$ END,
        CASE WHEN ask ? 'until' THEN $c$ AND d.made_at <= ($3->>'until')::double precision$c$ END
    )
$$;

-- The documents of the role that asks which have all words of a query, and none of those that must be missing.
CREATE FUNCTION k_documents(ask jsonb) RETURNS SETOF bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
    statement text := 'SELECT d.id FROM k_document d WHERE (d.owner = current_user OR is_worker())' || k_filters(ask);
    queries CONSTANT tsquery[] := ARRAY(SELECT (t->>'q')::tsquery FROM jsonb_array_elements(ask->'terms') t);
    without CONSTANT tsquery[] := ARRAY(SELECT (t->>'q')::tsquery FROM jsonb_array_elements(ask->'without') t);
BEGIN
    FOR i IN 1..cardinality(queries) LOOP
        statement := statement
            || format(' AND d.id IN (SELECT c.document FROM k_chunk c WHERE c.vector @@ $1[%s])', i);
    END LOOP;
    FOR i IN 1..cardinality(without) LOOP
        statement := statement
            || format(' AND d.id NOT IN (SELECT c.document FROM k_chunk c WHERE c.vector @@ $2[%s])', i);
    END LOOP;
    RETURN QUERY EXECUTE statement USING queries, without, ask;
END;
$$;

-- The newest of the passages. Of words that are nearly everywhere they are found from the end of the table; otherwise
-- the index must be used, although the planner, which does not know what it costs to read vectors, would not.
CREATE FUNCTION k_order(is_common boolean, most integer) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT ' ORDER BY c.id' || CASE WHEN is_common THEN '' ELSE ' + 0' END || ' DESC LIMIT ' || most
$$;

-- Find the passages that answer a query, within the rights of the role that asks. It ends early, with what it has, when
-- the statement is cancelled: by `statement_timeout`, or because nobody waits for the answer.
--
-- `ask` has the parts of the query: `terms` (each with its tsquery `q`, its `words`, and the `prefix` if its last word
-- is the beginning of one), `without` (each with `q` and `words`), and filters. Of the passages that match only the
-- newest are ranked. A row with the stage 0 has all words, one with 1 only some. The last row, with stage -1, says by
-- its relevance whether the search was stopped early (1), by `chunk` whether words with mistakes were replaced (1).
CREATE FUNCTION k_search(ask jsonb)
RETURNS TABLE (stage integer, chunk bigint, relevance double precision, simhash bigint, document bigint, hash bytea,
    words integer, kind text, made_at double precision, site text, session text, url text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = ua_tui, pg_temp AS $$
#variable_conflict use_column
DECLARE
    ranked CONSTANT integer := 250;
    enough CONSTANT integer := 5;
    -- The newest passages that are ranked: of words that are nearly everywhere, and of others (words times passages).
    few CONSTANT integer := 1500;
    many CONSTANT integer := 6000;
    frequent CONSTANT integer := 5000;
    asker CONSTANT name := k_reader();
    is_reader CONSTANT boolean := NOT k_reads_all();
    is_pending CONSTANT integer := (EXISTS (SELECT FROM k_count))::integer;
    everything CONSTANT double precision := greatest(coalesce((SELECT t.chunks FROM k_term t WHERE t.term = ''), 0), 1);
    queries tsquery[];
    counts bigint[];
    weights double precision[];
    phrases boolean[];
    is_similar boolean := false;
    is_common boolean;
    excluded tsquery;
    unwanted tsquery;
    filters text := '';
    wanted tsquery;
    all_words tsquery;
    attempts tsquery[];
    rarest integer[];
    score text := '';
    middle double precision;
    chosen text;
    statement text;
    most integer;
    expected double precision;
    found bigint[] := '{}';
    found_scores double precision[] := '{}';
    more bigint[];
    more_scores double precision[];
    complete integer := 0;
    seen integer;
    is_partial boolean := false;
    each record;
BEGIN
    filters := k_filters(ask);
    FOR each IN
        SELECT (t->>'q')::tsquery AS q,
            (SELECT min(coalesce(k.chunks, is_pending))
                FROM jsonb_array_elements_text(t->'words') w LEFT JOIN k_term k ON k.term = w) AS n
        FROM jsonb_array_elements(ask->'without') t
    LOOP
        IF each.n > frequent THEN
            excluded := coalesce(excluded || each.q, each.q);
        ELSE
            unwanted := coalesce(unwanted || each.q, each.q);
        END IF;
    END LOOP;
    IF unwanted IS NOT NULL THEN
        filters := filters || ' AND d.id NOT IN (SELECT x.document FROM k_chunk x WHERE x.vector @@ $4)';
    END IF;

    IF jsonb_array_length(ask->'terms') = 0 THEN
        BEGIN
            statement := 'SELECT array_agg(n.id), array_agg(1.0) FROM ('
                || 'SELECT (SELECT min(c.id) FROM k_chunk c WHERE c.document = d.id) AS id'
                || ' FROM k_document d WHERE true' || filters
                || CASE WHEN is_reader THEN ' AND (d.shared OR d.owner = $5)' ELSE '' END
                || ' ORDER BY d.made_at DESC, d.id DESC LIMIT ' || ranked || ') n WHERE n.id IS NOT NULL';
            EXECUTE statement INTO found, found_scores
            USING NULL::tsquery, NULL::double precision[], ask, unwanted, asker;
        EXCEPTION WHEN query_canceled THEN
            is_partial := true;
        END;
        complete := coalesce(cardinality(found), 0);
    ELSE
        SELECT array_agg((t->>'q')::tsquery ORDER BY o), array_agg(f.n ORDER BY o),
            array_agg((t->>'phrase')::boolean ORDER BY o)
        INTO queries, counts, phrases
        FROM jsonb_array_elements(ask->'terms') WITH ORDINALITY e (t, o)
        CROSS JOIN LATERAL (
            SELECT CASE WHEN t->>'prefix' IS NULL THEN (
                SELECT min(coalesce(k.chunks, is_pending))
                FROM jsonb_array_elements_text(t->'words') w LEFT JOIN k_term k ON k.term = w)
            ELSE (SELECT coalesce(sum(p.chunks), is_pending) FROM (SELECT k.chunks FROM k_term k
                WHERE k.term >= t->>'prefix' AND k.term < (t->>'prefix') || U&'\+10FFFF' LIMIT 50) p)
            END AS n
        ) f;

        -- A word that nothing has is probably one with a mistake.
        FOR each IN
            SELECT o AS n, t->'words'->>0 AS word FROM jsonb_array_elements(ask->'terms') WITH ORDINALITY e (t, o)
            WHERE counts[o] = 0 AND jsonb_array_length(t->'words') = 1 AND t->>'prefix' IS NULL
                AND length(t->'words'->>0) BETWEEN 5 AND 40
        LOOP
            SELECT string_agg(quote_literal(s.term), ' | ')::tsquery, sum(s.chunks) INTO wanted, seen FROM (
                SELECT k.term, k.chunks FROM k_term k WHERE k.term % each.word
                    AND similarity(k.term, each.word) >= 0.4 AND abs(length(k.term) - length(each.word)) <= 2
                ORDER BY similarity(k.term, each.word) DESC, k.chunks DESC LIMIT 2
            ) s;
            IF wanted IS NOT NULL THEN
                queries[each.n] := wanted;
                counts[each.n] := seen;
                is_similar := true;
            END IF;
        END LOOP;

        -- A phrase is in fewer chunks than the rarest of its words.
        FOR i IN 1..cardinality(counts) LOOP
            IF jsonb_array_length(ask->'terms'->(i - 1)->'words') > 1 THEN
                counts[i] := least(counts[i], counts[i] / 10 + 1);
            END IF;
        END LOOP;
        SELECT array_agg(greatest(ln((everything - n + 0.5) / (n + 0.5)), 0.0001)) INTO weights
        FROM (SELECT least(unnest(counts), everything) AS n) c;
        -- BM25, as the index of the SQLite file computes it: for one word `ts_rank_cd` is the sum of the weights of its
        -- places. `words` counts those of all chunks.
        SELECT coalesce((SELECT t.chunks FROM k_term t WHERE t.term = ' '), 0) / everything INTO middle;
        FOR i IN 1..cardinality(queries) LOOP
            score := score || format(
                $c$ + $2[%1$s] * (1 - c.norm / (4 * ts_rank_cd('{0.25, 0.25, 0.5, 1}', c.vector, $6[%1$s]) + c.norm))$c$, i);
        END LOOP;
        chosen := 'SELECT c.id, c.vector, 0.3 + 0.9 * c.length / greatest($7, 1) AS norm FROM k_chunk c'
            || CASE WHEN filters <> '' THEN ' JOIN k_document d ON d.id = c.document' ELSE '' END
            || ' WHERE c.vector @@ $1' || filters
            || CASE WHEN is_reader THEN
                ' AND (c.shared OR EXISTS (SELECT FROM k_document o WHERE o.id = c.document AND o.owner = $5))' ELSE '' END;
        statement := 'SELECT array_agg(r.id), array_agg(r.score), max(r.seen) FROM ('
            || 'SELECT c.id, 2.2 * (0' || score || ') AS score, count(*) OVER () AS seen FROM ('
            || '%s) c ORDER BY 2 DESC LIMIT ' || ranked || ') r';

        wanted := queries[1];
        FOR i IN 2..cardinality(queries) LOOP
            wanted := wanted && queries[i];
        END LOOP;
        all_words := wanted;
        BEGIN
            expected := everything;
            FOR i IN 1..cardinality(queries) LOOP
                expected := expected * least(counts[i] / everything, 1);
            END LOOP;
            is_common := expected > everything / 8;
            most := CASE WHEN is_common THEN few ELSE many / cardinality(queries) END;
            EXECUTE format(statement, chosen || k_order(is_common, most)) INTO found, found_scores, seen
            USING CASE WHEN excluded IS NULL THEN wanted ELSE wanted && !!excluded END,
                weights, ask, unwanted, asker, queries, middle;
            is_partial := coalesce(seen >= most, false);
            complete := coalesce(cardinality(found), 0);
            found := coalesce(found, '{}');
            found_scores := coalesce(found_scores, '{}');
            SELECT count(DISTINCT d.hash) INTO seen FROM k_chunk c JOIN k_document d ON d.id = c.document WHERE c.id = ANY(found);
            IF seen < enough OR (ask->>'meaning')::boolean THEN
                -- Some of the words: phrases must be there.
                attempts := '{}';
                IF (ask->>'short')::boolean THEN
                    -- The last word has only a letter or two.
                    IF cardinality(queries) > 1 THEN
                        wanted := queries[1];
                        FOR i IN 2..cardinality(queries) - 1 LOOP
                            wanted := wanted && queries[i];
                        END LOOP;
                        attempts := ARRAY[wanted];
                    END IF;
                ELSIF cardinality(queries) > 1 THEN
                    SELECT array_agg(n ORDER BY counts[n], n) INTO rarest FROM generate_subscripts(queries, 1) n
                    WHERE NOT phrases[n] AND counts[n] > 0;
                    rarest := rarest[1:4];
                    IF rarest IS NOT NULL THEN
                        wanted := NULL;
                        FOR i IN 1..cardinality(queries) LOOP
                            IF phrases[i] THEN
                                wanted := CASE WHEN wanted IS NULL THEN queries[i] ELSE wanted && queries[i] END;
                            END IF;
                        END LOOP;
                        attempts := ARRAY[queries[rarest[1]]];
                        IF cardinality(rarest) > 1 THEN
                            attempts[1] := attempts[1] && queries[rarest[2]];
                        END IF;
                        -- Frequent words would bring passages that are ranked behind all others.
                        attempts[2] := queries[rarest[1]];
                        expected := counts[rarest[1]];
                        FOR i IN 2..cardinality(rarest) LOOP
                            EXIT WHEN filters = '' AND expected + counts[rarest[i]] > many / cardinality(queries);
                            attempts[2] := attempts[2] || queries[rarest[i]];
                            expected := expected + counts[rarest[i]];
                        END LOOP;
                        IF wanted IS NOT NULL THEN
                            attempts := ARRAY[wanted && attempts[1], wanted && attempts[2]];
                        END IF;
                    END IF;
                END IF;
                FOR i IN 1..coalesce(cardinality(attempts), 0) LOOP
                    is_common := i > 1 AND expected > everything / 8;
                    most := CASE WHEN is_common THEN few ELSE many / cardinality(queries) END;
                    EXECUTE format(statement, chosen || k_order(is_common, most))
                    INTO more, more_scores, seen
                    USING CASE WHEN excluded IS NULL THEN attempts[i] ELSE attempts[i] && !!excluded END,
                        weights, ask, unwanted, asker, queries, middle;
                    is_partial := is_partial OR coalesce(seen >= most, false);
                    SELECT found || coalesce(array_agg(m.id), '{}'), found_scores || coalesce(array_agg(m.score), '{}')
                    INTO found, found_scores
                    FROM unnest(more, more_scores) m (id, score) WHERE m.id <> ALL(found);
                    SELECT count(DISTINCT c.document) INTO seen FROM k_chunk c WHERE c.id = ANY(found[complete + 1:]);
                    EXIT WHEN seen >= enough AND NOT coalesce((ask->>'meaning')::boolean, false);
                END LOOP;
            END IF;
        EXCEPTION WHEN query_canceled THEN
            -- What earlier attempts have found is in the variables. Otherwise some passages without an order must do.
            is_partial := true;
            IF coalesce(cardinality(found), 0) = 0 THEN
                -- No time limits this: only the last rows are examined, and of phrases first the words.
                all_words := CASE WHEN excluded IS NULL THEN all_words ELSE all_words && !!excluded END;
                EXECUTE 'SELECT coalesce(array_agg(g.id), ''{}''), coalesce(array_agg(1.0), ''{}'') FROM (SELECT m.id FROM ('
                    || chosen || ' AND c.id > (SELECT max(x.id) - 20000 FROM k_chunk x)' || k_order(true, few) || ') m WHERE m.vector @@ $8 LIMIT 200) g'
                INTO found, found_scores
                USING replace(all_words::text, '<->', '&')::tsquery, weights, ask, unwanted, asker, queries, middle, all_words;
                complete := cardinality(found);
            END IF;
        END;
    END IF;

    -- The time is over only once: what was found is read in any case. Some rows may come twice.
    LOOP
        BEGIN
            RETURN QUERY SELECT (f.n > complete)::integer, c.id, f.score, c.simhash, d.id, d.hash, d.words, d.kind,
                d.made_at, d.site, s.name, CASE WHEN d.kind IN ('article', 'search_row') THEN d.url ELSE '' END
            FROM unnest(found, found_scores) WITH ORDINALITY f (id, score, n)
            JOIN k_chunk c ON c.id = f.id JOIN k_document d ON d.id = c.document JOIN k_session s ON s.id = d.session;
            EXIT;
        EXCEPTION WHEN query_canceled THEN
            is_partial := true;
        END;
    END LOOP;
    RETURN QUERY SELECT -1, is_similar::integer::bigint, is_partial::integer::double precision, 0::bigint, 0::bigint, ''::bytea, 0,
        '', 0::double precision, '', '', '';
END;
$$;

-- Where the extension was there before, its schema is searched, too, where it is needed.
DO $$
DECLARE
    place CONSTANT name := (
        SELECT n.nspname FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace WHERE e.extname = 'pg_trgm');
BEGIN
    IF place <> 'ua_tui' THEN
        EXECUTE format('ALTER FUNCTION k_search(jsonb) SET search_path = ua_tui, %I, pg_temp', place);
    END IF;
END;
$$;
