-- Batches and their jobs, sessions and what belongs to them. Rows have an owner; those that are shared are seen by
-- everybody who was granted access. Workers connect as the owner of the schema, to whom row-level security does not
-- apply, or as a member of that role.

CREATE FUNCTION is_worker() RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT pg_has_role(current_user, nspowner, 'MEMBER') FROM pg_namespace WHERE nspname = 'ua_tui'
$$;

CREATE TABLE batch (
    id text PRIMARY KEY,
    owner name NOT NULL DEFAULT current_user,
    shared boolean NOT NULL DEFAULT true,
    title text NOT NULL DEFAULT '',
    max_cost_usd double precision,
    submitted_at timestamptz NOT NULL DEFAULT now()
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
    reserved_usd double precision NOT NULL DEFAULT 0,
    cost_usd double precision,
    answer text,
    error text,
    session text,
    submitted_at timestamptz NOT NULL DEFAULT now(),
    started_at timestamptz,
    finished_at timestamptz
);
CREATE INDEX job_batch ON job (batch, state);

-- Which jobs a batch asks for, in the order of its file; a job may have come with an earlier batch.
CREATE TABLE batch_job (
    batch text NOT NULL REFERENCES batch ON DELETE CASCADE,
    number integer NOT NULL,
    job text NOT NULL REFERENCES job ON DELETE CASCADE,
    PRIMARY KEY (batch, number)
);
CREATE INDEX batch_job_job ON batch_job (job);

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
    finished_at timestamptz
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
    data bytea NOT NULL,
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
    PRIMARY KEY (project, session)
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

-- What a session asks a person; the first answer counts.
CREATE TABLE question (
    session text NOT NULL REFERENCES session ON DELETE CASCADE,
    request text NOT NULL,
    attempt integer NOT NULL,
    event text NOT NULL,
    asked_at timestamptz NOT NULL DEFAULT now(),
    answer text,
    answered_by name,
    answered_at timestamptz,
    PRIMARY KEY (session, request)
);

-- What a person wants of a session that runs elsewhere: `interrupt`, `submit`.
CREATE TABLE command (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    session text NOT NULL REFERENCES session ON DELETE CASCADE,
    kind text NOT NULL,
    body text NOT NULL DEFAULT '',
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

ALTER TABLE batch_job ENABLE ROW LEVEL SECURITY;
CREATE POLICY read ON batch_job FOR SELECT USING (EXISTS (SELECT FROM batch b WHERE b.id = batch_job.batch));
CREATE POLICY add ON batch_job FOR INSERT WITH CHECK (
    EXISTS (SELECT FROM batch b WHERE b.id = batch_job.batch AND (b.owner = current_user OR is_worker())));

ALTER TABLE blob ENABLE ROW LEVEL SECURITY;
CREATE POLICY read ON blob FOR SELECT USING (
    owner = current_user OR is_worker() OR EXISTS (SELECT FROM artifact a WHERE a.sha256 = blob.sha256));
CREATE POLICY add ON blob FOR INSERT WITH CHECK (owner = current_user OR is_worker());

-- Everybody who sees a session may answer its questions, in their own name and once, and send it commands.
CREATE POLICY answer ON question FOR UPDATE
    USING (answer IS NULL AND EXISTS (SELECT FROM session s WHERE s.id = question.session))
    WITH CHECK (answered_by = current_user);
CREATE POLICY send ON command FOR INSERT WITH CHECK (
    sent_by = current_user AND EXISTS (SELECT FROM session s WHERE s.id = command.session));
CREATE POLICY take ON command FOR UPDATE USING (
    EXISTS (SELECT FROM session s WHERE s.id = command.session AND (s.owner = current_user OR is_worker())));
