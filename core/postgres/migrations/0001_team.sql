-- Batches and their jobs, sessions and what belongs to them. Rows have an owner; those that are shared are seen by
-- everybody who was granted access. Workers connect as the owner of the schema, to whom row-level security does not
-- apply, or as a member of that role. The limits of sizes are larger than what the program writes: others may write, too.

-- Policies call it with the search path of whoever asks, who must not be able to put other tables or functions in place
-- of these.
CREATE FUNCTION is_worker() RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT pg_catalog.pg_has_role(current_user, nspowner, 'MEMBER')
    FROM pg_catalog.pg_namespace WHERE nspname OPERATOR(pg_catalog.=) 'ua_tui'::pg_catalog.name
$$;

-- The role that asks, within a function that has the rights of the owner of the tables.
CREATE FUNCTION asker() RETURNS name LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE current_setting('role') WHEN 'none' THEN session_user ELSE current_setting('role')::name END
$$;
CREATE FUNCTION is_asked_by_worker() RETURNS boolean LANGUAGE sql STABLE SET search_path = ua_tui, pg_temp AS $$
    SELECT pg_has_role(asker(), nspowner, 'MEMBER') FROM pg_namespace WHERE nspname = 'ua_tui'
$$;

CREATE TABLE batch (
    id text PRIMARY KEY,
    owner name NOT NULL DEFAULT current_user,
    shared boolean NOT NULL DEFAULT true,
    title text NOT NULL DEFAULT '',
    max_cost_usd double precision,
    -- The sum over its jobs: what each has cost, or, while it runs, what it may cost.
    charged_usd double precision NOT NULL DEFAULT 0,
    submitted_at timestamptz NOT NULL DEFAULT now(),
    CHECK (octet_length(title) <= 65536)
);

-- The id of a job is the hash of its query and settings: the same one is never done twice.
CREATE TABLE job (
    id text PRIMARY KEY,
    batch text NOT NULL REFERENCES batch ON DELETE CASCADE,
    owner name NOT NULL DEFAULT current_user,
    shared boolean NOT NULL DEFAULT true,
    query text NOT NULL,
    settings jsonb NOT NULL DEFAULT '{}',
    format integer NOT NULL DEFAULT 1,
    state text NOT NULL DEFAULT 'waiting'
        CHECK (state IN ('waiting', 'running', 'needs_you', 'done', 'failed', 'cancelled')),
    attempt integer NOT NULL DEFAULT 0,
    worker text,
    -- The worker and the row of procrastinate that run it.
    queue_worker bigint,
    delivery bigint,
    limit_usd double precision,
    charged_usd double precision NOT NULL DEFAULT 0,
    cost_usd double precision,
    answer text,
    error text,
    -- Whether it failed because the limit of its batch was reached.
    limited boolean NOT NULL DEFAULT false,
    session text,
    folder text NOT NULL DEFAULT '',
    submitted_at timestamptz NOT NULL DEFAULT now(),
    started_at timestamptz,
    finished_at timestamptz,
    CHECK (octet_length(query) <= 1048576 AND octet_length(settings::text) <= 1048576)
);
CREATE INDEX job_batch ON job (batch);
CREATE INDEX job_running ON job (queue_worker) WHERE state IN ('running', 'needs_you');

-- Which jobs a batch asks for, in the order of its file; a job may have come with an earlier batch.
CREATE TABLE batch_job (
    batch text NOT NULL REFERENCES batch ON DELETE CASCADE,
    number integer NOT NULL,
    job text NOT NULL REFERENCES job ON DELETE CASCADE,
    PRIMARY KEY (batch, number)
);
CREATE INDEX batch_job_job ON batch_job (job);

-- The programs that run jobs, by their number at procrastinate, which has their heartbeats.
CREATE TABLE worker (
    id bigint PRIMARY KEY,
    name text NOT NULL,
    version text NOT NULL,
    parallel integer NOT NULL,
    started_at timestamptz NOT NULL DEFAULT now(),
    seen_at timestamptz NOT NULL DEFAULT now()
);

-- `attempt` grows when another worker takes a session over; whoever writes with an earlier one is refused.
CREATE TABLE session (
    id text PRIMARY KEY,
    job text REFERENCES job ON DELETE CASCADE,
    owner name NOT NULL DEFAULT current_user,
    shared boolean NOT NULL DEFAULT true,
    name text NOT NULL,
    host text NOT NULL DEFAULT '',
    worker text NOT NULL DEFAULT '',
    attempt integer NOT NULL DEFAULT 1,
    version text NOT NULL DEFAULT '',
    conversation text,
    state text NOT NULL DEFAULT 'starting'
        CHECK (state IN ('starting', 'running', 'needs_you', 'idle', 'done', 'failed')),
    title text NOT NULL DEFAULT '',
    activity text NOT NULL DEFAULT '',
    calls integer NOT NULL DEFAULT 0,
    cost_usd double precision,
    started_at timestamptz NOT NULL DEFAULT now(),
    seen_at timestamptz NOT NULL DEFAULT now(),
    finished_at timestamptz,
    CHECK (octet_length(concat(name, host, worker, version, conversation, title, activity)) <= 65536)
);
CREATE INDEX session_job ON session (job);
CREATE INDEX session_seen ON session (seen_at);

-- A line of the journal as it is in the file.
CREATE TABLE journal (
    session text NOT NULL REFERENCES session ON DELETE CASCADE,
    seq bigint NOT NULL,
    line text NOT NULL,
    PRIMARY KEY (session, seq)
);

-- A file of a session's folder; its content is in `blob`, or at `place`, a folder or an S3 address.
CREATE TABLE artifact (
    session text NOT NULL REFERENCES session ON DELETE CASCADE,
    path text NOT NULL,
    sha256 text NOT NULL,
    size bigint NOT NULL,
    place text,
    saved_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (session, path)
);
CREATE TABLE blob (
    owner name NOT NULL DEFAULT current_user,
    sha256 text NOT NULL,
    data bytea NOT NULL CHECK (octet_length(data) <= 5242880),
    PRIMARY KEY (owner, sha256)
);
ALTER TABLE blob ALTER COLUMN data SET STORAGE EXTERNAL;
CREATE INDEX artifact_sha256 ON artifact (sha256);

-- The agent's transcripts, as the SDK's SessionStore passes them on; `session` is the id of the conversation.
CREATE TABLE entry (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    owner name NOT NULL DEFAULT current_user,
    shared boolean NOT NULL DEFAULT true,
    project text NOT NULL,
    session text NOT NULL,
    subpath text NOT NULL DEFAULT '',
    uuid text,
    entry text NOT NULL,
    written_at timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX entry_uuid ON entry (project, session, subpath, uuid) WHERE uuid IS NOT NULL;
CREATE INDEX entry_session ON entry (project, session, subpath, id);
CREATE TABLE summary (
    project text NOT NULL,
    session text NOT NULL,
    owner name NOT NULL DEFAULT current_user,
    shared boolean NOT NULL DEFAULT true,
    data text NOT NULL,
    written_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (project, session, owner)
);

-- Calls that act outside: one is begun here before it runs, and never runs again in a later attempt.
CREATE TABLE action (
    session text NOT NULL REFERENCES session ON DELETE CASCADE,
    key text NOT NULL,
    attempt integer NOT NULL,
    tool text NOT NULL,
    state text NOT NULL DEFAULT 'running' CHECK (state IN ('running', 'done', 'failed')),
    result text,
    started_at timestamptz NOT NULL DEFAULT now(),
    finished_at timestamptz,
    PRIMARY KEY (session, key, attempt)
);

-- What a session asks a person; the first answer counts. It is emptied when the session has read it.
CREATE TABLE question (
    session text NOT NULL REFERENCES session ON DELETE CASCADE,
    request text NOT NULL,
    attempt integer NOT NULL,
    event text NOT NULL CHECK (octet_length(event) <= 1048576),
    asked_at timestamptz NOT NULL DEFAULT now(),
    answer text CHECK (octet_length(answer) <= 1048576),
    answered_by name,
    answered_at timestamptz,
    PRIMARY KEY (session, request)
);

-- What a person wants of a session that runs elsewhere: `interrupt`, `submit`.
CREATE TABLE command (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session text NOT NULL REFERENCES session ON DELETE CASCADE,
    kind text NOT NULL,
    body text NOT NULL DEFAULT '' CHECK (octet_length(body) <= 1048576),
    sent_by name NOT NULL DEFAULT current_user,
    sent_at timestamptz NOT NULL DEFAULT now(),
    taken_at timestamptz
);
CREATE INDEX command_session ON command (session, id);

DO $$
DECLARE
    part text;
BEGIN
    FOREACH part IN ARRAY ARRAY['batch', 'job', 'session', 'entry', 'summary'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', part);
        EXECUTE format(
            'CREATE POLICY read ON %I FOR SELECT USING (shared OR owner = current_user OR is_worker())', part);
        EXECUTE format(
            'CREATE POLICY add ON %I FOR INSERT WITH CHECK (owner = current_user OR is_worker())', part);
        EXECUTE format(
            'CREATE POLICY change ON %I FOR UPDATE USING (owner = current_user OR is_worker())'
            ' WITH CHECK (owner = current_user OR is_worker())', part);
        EXECUTE format('CREATE POLICY remove ON %I FOR DELETE USING (owner = current_user OR is_worker())', part);
    END LOOP;
    -- What belongs to a session is seen by whoever sees the session, and written by its owner.
    FOREACH part IN ARRAY ARRAY['journal', 'artifact', 'action', 'question', 'command'] LOOP
        EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', part);
        EXECUTE format(
            'CREATE POLICY read ON %I FOR SELECT USING'
            ' (EXISTS (SELECT FROM session s WHERE s.id = %I.session))', part, part);
    END LOOP;
    FOREACH part IN ARRAY ARRAY['journal', 'artifact', 'action', 'question'] LOOP
        EXECUTE format(
            'CREATE POLICY own ON %I USING (EXISTS (SELECT FROM session s WHERE s.id = %I.session'
            ' AND (s.owner = current_user OR is_worker())))', part, part);
    END LOOP;
END;
$$;

-- Nobody's jobs are paid by the batch of somebody else, and sessions belong to jobs of the same person.
CREATE POLICY add_of_own_batch ON job AS RESTRICTIVE FOR INSERT WITH CHECK (
    is_worker() OR EXISTS (SELECT FROM batch b WHERE b.id = job.batch AND b.owner = current_user));
CREATE POLICY change_of_own_batch ON job AS RESTRICTIVE FOR UPDATE USING (true) WITH CHECK (
    is_worker() OR EXISTS (SELECT FROM batch b WHERE b.id = job.batch AND b.owner = current_user));
CREATE POLICY add_of_own_job ON session AS RESTRICTIVE FOR INSERT WITH CHECK (
    is_worker() OR job IS NULL OR EXISTS (SELECT FROM job j WHERE j.id = session.job AND j.owner = current_user));

ALTER TABLE batch_job ENABLE ROW LEVEL SECURITY;
CREATE POLICY read ON batch_job FOR SELECT USING (EXISTS (SELECT FROM batch b WHERE b.id = batch_job.batch));
CREATE POLICY add ON batch_job FOR INSERT WITH CHECK (
    EXISTS (SELECT FROM batch b WHERE b.id = batch_job.batch AND (b.owner = current_user OR is_worker())));

ALTER TABLE blob ENABLE ROW LEVEL SECURITY;
CREATE POLICY read ON blob FOR SELECT USING (
    owner = current_user OR is_worker() OR EXISTS (
        SELECT FROM artifact a JOIN session s ON s.id = a.session
        WHERE a.sha256 = blob.sha256 AND s.owner = blob.owner));
CREATE POLICY add ON blob FOR INSERT WITH CHECK (owner = current_user OR is_worker());

-- Everybody who sees a session may answer its questions, in their own name and once, and send it commands.
CREATE POLICY answer ON question FOR UPDATE
    USING (answer IS NULL AND EXISTS (SELECT FROM session s WHERE s.id = question.session))
    WITH CHECK (answered_by = current_user);
CREATE POLICY send ON command FOR INSERT WITH CHECK (
    sent_by = current_user AND EXISTS (SELECT FROM session s WHERE s.id = command.session));
CREATE POLICY take ON command FOR UPDATE USING (
    EXISTS (SELECT FROM session s WHERE s.id = command.session AND (s.owner = current_user OR is_worker())));

-- With a session goes the conversation of its agent, and with the last file of a content the content: whoever removes
-- a batch leaves nothing of it.
CREATE FUNCTION remove_conversation() RETURNS trigger LANGUAGE plpgsql SET search_path = ua_tui AS $$
BEGIN
    DELETE FROM entry e USING removed r WHERE e.project = r.id;
    DELETE FROM summary s USING removed r WHERE s.project = r.id;
    RETURN NULL;
END;
$$;
CREATE TRIGGER remove_conversation AFTER DELETE ON session REFERENCING OLD TABLE AS removed
    FOR EACH STATEMENT EXECUTE FUNCTION remove_conversation();

CREATE FUNCTION remove_content() RETURNS trigger LANGUAGE plpgsql SET search_path = ua_tui AS $$
BEGIN
    -- Also earlier contents of files, which were replaced while their sessions ran.
    DELETE FROM blob b WHERE NOT EXISTS (SELECT FROM artifact a WHERE a.sha256 = b.sha256);
    RETURN NULL;
END;
$$;
CREATE TRIGGER remove_content AFTER DELETE ON artifact FOR EACH STATEMENT EXECUTE FUNCTION remove_content();
