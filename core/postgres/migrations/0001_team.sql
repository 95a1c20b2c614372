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

-- What a worker does with a job is one statement each. A job is locked before its batch, which all workers lock and
-- which is therefore locked as late as possible.
CREATE FUNCTION lives(wanted bigint, lost_after double precision) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT EXISTS (
        SELECT FROM procrastinate_workers
        WHERE id = wanted AND last_heartbeat > now() - make_interval(secs => lost_after))
$$;

-- The heartbeat of a worker, also of one that was taken for lost and is back; returns the version of the tables.
CREATE FUNCTION beat_worker(
    worker_id bigint, worker_name text, program text, slots integer
) RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO procrastinate_workers (id, last_heartbeat) OVERRIDING SYSTEM VALUE VALUES (worker_id, now())
        ON CONFLICT (id) DO UPDATE SET last_heartbeat = now();
    INSERT INTO worker (id, name, version, parallel) VALUES (worker_id, worker_name, program, slots)
        ON CONFLICT (id) DO UPDATE SET seen_at = now();
    RETURN (SELECT max(version) FROM migration);
END;
$$;

-- What becomes of a job that is claimed: the money is reserved, it runs, and its session is that of a new attempt.
-- False, and nothing is changed, if the batch has less money left than that.
CREATE FUNCTION begin_job(
    j job, usd double precision, delivered bigint, by_worker bigint, worker_name text, OUT c_session text, OUT begun boolean
) LANGUAGE plpgsql AS $$
DECLARE
    more double precision := coalesce(usd, 0) - j.charged_usd;
BEGIN
    begun := true;
    IF more <> 0 THEN
        UPDATE batch SET charged_usd = charged_usd + more
            WHERE id = j.batch AND (more < 0 OR max_cost_usd IS NULL OR charged_usd + more <= max_cost_usd + 1e-9);
        begun := FOUND;
        IF NOT begun THEN
            RETURN;
        END IF;
    END IF;
    -- A session of something else is not taken over, whatever the job says.
    c_session := coalesce(
        (SELECT s.id FROM session s WHERE s.id = j.session AND s.job = j.id), replace(gen_random_uuid()::text, '-', ''));
    UPDATE job SET state = 'running', attempt = j.attempt + 1, session = c_session, worker = worker_name,
        queue_worker = by_worker, delivery = delivered, charged_usd = coalesce(usd, 0),
        started_at = coalesce(started_at, now()), finished_at = NULL
        WHERE id = j.id;
    INSERT INTO session (id, job, owner, shared, name, worker, attempt, title)
        VALUES (c_session, j.id, j.owner, j.shared, '', worker_name, j.attempt + 1, left(j.query, 200))
        ON CONFLICT (id) DO UPDATE SET attempt = EXCLUDED.attempt, worker = worker_name, state = 'starting',
            seen_at = now(), finished_at = NULL;
END;
$$;

-- Ends a session's row that its worker could not end, as it was lost.
CREATE FUNCTION end_session(wanted text, of_attempt integer, job_state text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    UPDATE session SET state = CASE job_state WHEN 'done' THEN 'done' ELSE 'failed' END, activity = '',
        finished_at = coalesce(finished_at, now())
        WHERE id = wanted AND attempt = of_attempt AND state NOT IN ('done', 'failed');
    IF FOUND THEN
        PERFORM pg_notify('ua_tui', 'session ' || wanted);
    END IF;
END;
$$;

-- `verdict` is `claimed`; `over`; `taken` by a worker that lives; or `wait`, as running jobs may use up the limit.
CREATE FUNCTION claim_job(
    wanted text, delivered bigint, by_worker bigint, worker_name text, lost_after double precision,
    OUT verdict text, OUT c_session text, OUT c_attempt integer, OUT c_limit double precision, OUT c_query text,
    OUT c_settings jsonb, OUT c_owner name, OUT c_shared boolean
) LANGUAGE plpgsql AS $$
DECLARE
    j job%ROWTYPE;
    b batch%ROWTYPE;
    begun boolean;
    free double precision;
BEGIN
    IF wanted IS NULL THEN
        RETURN;
    END IF;
    verdict := 'over';
    SELECT * INTO j FROM job WHERE id = wanted FOR NO KEY UPDATE;
    IF NOT FOUND OR j.state NOT IN ('waiting', 'running', 'needs_you') THEN
        RETURN;
    END IF;
    IF j.state <> 'waiting' AND lives(j.queue_worker, lost_after) THEN
        verdict := 'taken';
        RETURN;
    END IF;
    SELECT * INTO b FROM batch WHERE id = j.batch;
    c_limit := j.limit_usd;
    IF b.max_cost_usd IS NOT NULL THEN
        IF j.state <> 'waiting' THEN
            c_limit := j.charged_usd;
        ELSIF j.limit_usd IS NULL THEN
            c_limit := greatest(b.max_cost_usd - b.charged_usd, 0) + j.charged_usd;
        END IF;
    END IF;
    -- Mostly there is enough money, and the batch need not be locked while all this is done.
    SELECT d.c_session, d.begun INTO c_session, begun
        FROM begin_job(j, c_limit, delivered, by_worker, worker_name) AS d
        WHERE j.state <> 'waiting' OR b.max_cost_usd IS NULL
            OR (b.max_cost_usd - b.charged_usd >= 0.01
                AND b.max_cost_usd - b.charged_usd >= coalesce(j.limit_usd, 0) - j.charged_usd);
    IF begun IS NOT TRUE THEN
        SELECT * INTO b FROM batch WHERE id = j.batch FOR NO KEY UPDATE;
        free := b.max_cost_usd - b.charged_usd;
        c_limit := least(j.limit_usd, free + j.charged_usd);
        -- A session that gets a small rest fails by it; what others do not use up may be enough.
        IF free < 0.01 OR free < (j.limit_usd - j.charged_usd) / 2 THEN
            IF EXISTS (SELECT FROM job WHERE batch = b.id AND state IN ('running', 'needs_you')) THEN
                verdict := 'wait';
                RETURN;
            END IF;
            IF free < 0.01 THEN
                UPDATE job SET state = 'failed', limited = true, finished_at = now(),
                    error = format('the spending limit of the batch ($%s) is reached',
                                   to_char(b.max_cost_usd, 'FM999999990.00'))
                    WHERE id = j.id;
                PERFORM pg_notify('ua_tui', 'job ' || j.id);
                PERFORM end_session(j.session, j.attempt, 'failed');
                RETURN;
            END IF;
        END IF;
        SELECT d.c_session, d.begun INTO c_session, begun
            FROM begin_job(j, c_limit, delivered, by_worker, worker_name) AS d;
    END IF;
    verdict := CASE WHEN begun THEN 'claimed' ELSE 'wait' END;
    c_attempt := j.attempt + 1;
    c_query := j.query;
    c_settings := j.settings;
    c_owner := j.owner;
    c_shared := j.shared;
END;
$$;

-- Records how far a job is, or its end. It is refused (false) if the job is another attempt's by now. A job that
-- becomes `waiting` is handed back.
CREATE FUNCTION record_job(
    wanted text, of_session text, of_attempt integer, new_state text, new_cost double precision, new_folder text,
    new_answer text DEFAULT NULL, new_error text DEFAULT NULL
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    j job%ROWTYPE;
    cost double precision;
    charge double precision;
    running boolean := new_state IN ('running', 'needs_you');
BEGIN
    SELECT * INTO j FROM job WHERE id = wanted FOR NO KEY UPDATE;
    IF NOT FOUND OR j.session IS DISTINCT FROM of_session OR j.attempt <> of_attempt
            OR j.state NOT IN ('running', 'needs_you') THEN
        RETURN false;
    END IF;
    cost := greatest(j.cost_usd, new_cost);
    charge := CASE WHEN running THEN greatest(j.charged_usd, cost) ELSE coalesce(cost, 0) END;
    UPDATE job SET state = new_state, cost_usd = cost, charged_usd = charge,
        -- What the batch had left was less than the job's own limit, and was not enough.
        limited = new_state = 'failed' AND coalesce(cost, 0) > j.charged_usd - 0.01
            AND coalesce(j.charged_usd < j.limit_usd, true)
            AND EXISTS (SELECT FROM batch WHERE id = j.batch AND max_cost_usd IS NOT NULL),
        answer = new_answer, error = new_error,
        folder = coalesce(nullif(new_folder, ''), folder),
        queue_worker = CASE WHEN running THEN queue_worker END,
        finished_at = CASE WHEN NOT running AND new_state <> 'waiting' THEN now() END
        WHERE id = wanted;
    IF new_state <> j.state THEN
        PERFORM pg_notify('ua_tui', 'job ' || wanted);
    END IF;
    IF charge <> j.charged_usd THEN
        UPDATE batch SET charged_usd = charged_usd + charge - j.charged_usd WHERE id = j.batch;
    END IF;
    IF new_state IN ('done', 'failed', 'cancelled') THEN
        PERFORM end_session(of_session, of_attempt, new_state);
    END IF;
    RETURN true;
END;
$$;

-- A batch that takes a job over pays also for what it has cost, so that this counts once.
CREATE FUNCTION move_charge() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = ua_tui, pg_temp AS $$
BEGIN
    UPDATE batch SET charged_usd = charged_usd + CASE id WHEN NEW.batch THEN NEW.charged_usd ELSE -NEW.charged_usd END
        WHERE id IN (OLD.batch, NEW.batch);
    RETURN NULL;
END;
$$;
CREATE TRIGGER move_charge AFTER UPDATE OF batch ON job
    FOR EACH ROW WHEN (OLD.batch <> NEW.batch AND NEW.charged_usd <> 0) EXECUTE FUNCTION move_charge();

-- Queues jobs that were handed in, in their order. Only so does somebody who is no worker write to the queue: other rows
-- there could keep jobs of others from being run, or come before them.
CREATE FUNCTION queue_jobs(ids text[]) RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = ua_tui, pg_temp AS $$
    INSERT INTO procrastinate_jobs (queue_name, task_name, queueing_lock, args)
    SELECT 'jobs-' || j.format, 'run', j.id, jsonb_build_object('job_id', j.id)
    FROM unnest(ids) WITH ORDINALITY AS given (id, number) JOIN job j USING (id)
    WHERE j.state = 'waiting' AND (j.owner = asker() OR is_asked_by_worker())
    ORDER BY number
    ON CONFLICT DO NOTHING
$$;

-- Queues the waiting jobs whose row of the queue was lost, and those that no worker has any more; returns how many.
CREATE FUNCTION deliver_forgotten(lost_after double precision) RETURNS bigint LANGUAGE sql AS $$
    WITH delivered AS (
        INSERT INTO procrastinate_jobs (queue_name, task_name, queueing_lock, args)
        SELECT 'jobs-' || j.format, 'run', j.id, jsonb_build_object('job_id', j.id)
        FROM job j
        WHERE (j.state = 'waiting' OR j.state IN ('running', 'needs_you') AND NOT lives(j.queue_worker, lost_after))
            AND NOT EXISTS (
                SELECT FROM procrastinate_jobs p WHERE p.queueing_lock = j.id AND p.status IN ('todo', 'doing'))
        LIMIT 10000
        ON CONFLICT DO NOTHING
        RETURNING 1
    )
    SELECT count(*) FROM delivered
$$;

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
