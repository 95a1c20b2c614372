-- What the tables do by themselves, and the functions that workers call. It replaces those that are there: whoever changes
-- one gives this file a later number.
DROP FUNCTION IF EXISTS claim_job, record_job, free_jobs, settle_job, follow_jobs, check_answerer, check_ceilings,
    continue_job, keep_shared_jobs CASCADE;
DROP TYPE IF EXISTS job_change CASCADE;

-- Whose session it is may write that somebody else answered only if that person did.
CREATE FUNCTION check_answerer() RETURNS trigger LANGUAGE plpgsql SET search_path = ua_tui, pg_temp AS $$
BEGIN
    IF NEW.answered_by <> current_user AND NOT is_worker() AND NOT EXISTS (
            SELECT FROM question q WHERE q.session = NEW.session AND q.answered_by = NEW.answered_by) THEN
        RAISE EXCEPTION 'answers are given in the name of who gives them' USING ERRCODE = 'insufficient_privilege';
    END IF;
    RETURN NEW;
END;
$$;
CREATE TRIGGER check_answerer BEFORE UPDATE ON question FOR EACH ROW EXECUTE FUNCTION check_answerer();

-- What follows from the state of a job is not left to who changes it, and who is no worker changes only what nobody
-- works on, to what a person may want.
CREATE FUNCTION settle_job() RETURNS trigger LANGUAGE plpgsql SET search_path = ua_tui, pg_temp AS $$
DECLARE
    was_over boolean := OLD.state IN ('done', 'failed', 'cancelled');
    is_parked boolean := OLD.state = 'needs_you' AND OLD.worker_id IS NULL;
BEGIN
    IF NOT is_worker() AND NOT (CASE NEW.state
            WHEN 'held' THEN OLD.state = 'waiting'
            WHEN 'cancelled' THEN OLD.state IN ('waiting', 'held') OR is_parked
            WHEN 'waiting' THEN OLD.state IN ('held', 'failed', 'cancelled') OR is_parked
            ELSE false END) THEN
        RAISE EXCEPTION 'a job that is % cannot become %', OLD.state, NEW.state
            USING ERRCODE = 'insufficient_privilege';
    END IF;
    IF NEW.state NOT IN ('done', 'failed', 'cancelled') THEN
        NEW.finished_at := NULL;
        IF NEW.state = 'waiting' AND (was_over OR is_parked) THEN
            NEW.lost := 0;
            NEW.put_off := 0;
            NEW.limited := false;
            NEW.error := NULL;
        END IF;
    ELSIF NOT was_over THEN
        NEW.finished_at := coalesce(NEW.finished_at, now());
        NEW.worker_id := NULL;
        -- What was reserved and not used up is free again.
        NEW.charged_usd := coalesce(NEW.cost_usd, 0);
        IF NEW.state = 'cancelled' AND NEW.error IS NOT DISTINCT FROM OLD.error THEN
            NEW.error := current_user || ' cancelled it';
        END IF;
    END IF;
    RETURN NEW;
END;
$$;
CREATE TRIGGER settle_job BEFORE UPDATE ON job FOR EACH ROW WHEN (OLD.state <> NEW.state) EXECUTE FUNCTION settle_job();

-- Whatever changes jobs: the sums of their batches follow, their sessions end with them, and all is announced. Jobs are
-- locked before their batches, and these before the counters.
CREATE TYPE job_change AS (batch text, state text, jobs bigint, cost double precision, charged double precision);
CREATE FUNCTION follow_jobs() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = ua_tui, pg_temp AS $$
DECLARE
    changes job_change[] := '{}';
BEGIN
    IF TG_OP <> 'DELETE' THEN
        changes := ARRAY(
            SELECT ROW(batch, state, count(*), coalesce(sum(cost_usd), 0), sum(charged_usd))::job_change
            FROM new_jobs GROUP BY batch, state);
    END IF;
    IF TG_OP <> 'INSERT' THEN
        changes := changes || ARRAY(
            SELECT ROW(batch, state, -count(*), -coalesce(sum(cost_usd), 0), -sum(charged_usd))::job_change
            FROM old_jobs GROUP BY batch, state);
    END IF;
    UPDATE batch b SET charged_usd = b.charged_usd + d.charged,
        run_after = CASE WHEN d.charged < 0 THEN now() ELSE b.run_after END
        FROM (SELECT c.batch, sum(c.charged) AS charged FROM unnest(changes) c GROUP BY c.batch) d
        WHERE b.id = d.batch AND abs(d.charged) > 1e-9;
    INSERT INTO batch_count AS known (batch, state, jobs, cost_usd)
        SELECT c.batch, c.state, sum(c.jobs), sum(c.cost) FROM unnest(changes) c JOIN batch b ON b.id = c.batch
        GROUP BY c.batch, c.state HAVING sum(c.jobs) <> 0 OR abs(sum(c.cost)) > 1e-9 ORDER BY 1, 2
        ON CONFLICT (batch, state) DO UPDATE
            SET jobs = known.jobs + EXCLUDED.jobs, cost_usd = known.cost_usd + EXCLUDED.cost_usd;
    IF TG_OP = 'UPDATE' THEN
        UPDATE session s SET state = CASE j.state WHEN 'done' THEN 'done' ELSE 'failed' END, activity = '',
            finished_at = coalesce(s.finished_at, now())
            FROM new_jobs j WHERE j.state IN ('done', 'failed', 'cancelled') AND s.id = j.session AND s.job = j.id
                AND s.attempt = j.attempt AND s.state NOT IN ('done', 'failed');
        -- Who stopped the attempt that is over did not mean the next one.
        UPDATE command c SET taken_at = now() FROM new_jobs j JOIN old_jobs o USING (id)
            WHERE o.finished_at IS NOT NULL AND j.finished_at IS NULL AND c.session = j.session
                AND c.kind = 'interrupt' AND c.taken_at IS NULL;
        PERFORM pg_notify('ua_tui', 'job ' || id) FROM (
            SELECT j.id FROM new_jobs j JOIN old_jobs o USING (id) WHERE j.state <> o.state LIMIT 200) AS changed;
    END IF;
    IF EXISTS (SELECT FROM unnest(changes) c WHERE c.state = 'waiting' AND c.jobs > 0 OR c.charged < 0) THEN
        PERFORM pg_notify('ua_tui', 'queue');
    END IF;
    RETURN NULL;
END;
$$;
CREATE TRIGGER follow_new AFTER INSERT ON job REFERENCING NEW TABLE AS new_jobs
    FOR EACH STATEMENT EXECUTE FUNCTION follow_jobs();
CREATE TRIGGER follow_change AFTER UPDATE ON job REFERENCING NEW TABLE AS new_jobs OLD TABLE AS old_jobs
    FOR EACH STATEMENT EXECUTE FUNCTION follow_jobs();
CREATE TRIGGER follow_end AFTER DELETE ON job REFERENCING OLD TABLE AS old_jobs
    FOR EACH STATEMENT EXECUTE FUNCTION follow_jobs();

-- What the owner of the tables does not let a person do is refused when it is handed in.
CREATE FUNCTION check_ceilings() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = ua_tui, pg_temp AS $$
DECLARE
    m member%ROWTYPE;
    tool text;
    given text[];
BEGIN
    -- What a schedule submits is its owner's, although a worker hands it in.
    IF is_asked_by_worker() AND current_setting('ua_tui.for_owner', true) IS DISTINCT FROM 'on' THEN
        RETURN NULL;
    END IF;
    IF TG_OP = 'INSERT' THEN
        given := ARRAY(SELECT id FROM new_jobs);
    ELSE
        -- Whatever is lowered later, jobs can be stopped and answered.
        given := ARRAY(SELECT id FROM new_jobs n JOIN old_jobs o USING (id)
            WHERE n.settings <> o.settings OR n.finished_at IS NULL AND o.finished_at IS NOT NULL);
    END IF;
    -- Written, so that whoever hands in jobs of the same person at the same time waits and counts these.
    FOR m IN UPDATE member SET max_jobs = max_jobs WHERE (max_jobs IS NOT NULL OR tools IS NOT NULL)
        AND owner IN (SELECT j.owner FROM job j WHERE j.id = ANY (given)) RETURNING *
    LOOP
        IF m.max_jobs < (SELECT count(*) FROM job WHERE owner = m.owner AND finished_at IS NULL) THEN
            RAISE EXCEPTION 'jobs of % that are not over: at most % are allowed; % sets the ceilings', m.owner,
                m.max_jobs, current_user USING ERRCODE = 'UT001';
        END IF;
        -- A mode of permissions that lets a session do more is named like a tool.
        SELECT t INTO tool FROM job j, jsonb_array_elements_text(
            CASE jsonb_typeof(j.settings->'allow') WHEN 'array' THEN j.settings->'allow'
                WHEN 'null' THEN '[]' ELSE jsonb_build_array(j.settings->'allow') END
            || CASE WHEN j.settings->>'permission_mode' IN ('default', 'plan') THEN '[]'
                ELSE jsonb_build_array(j.settings->'permission_mode') END) AS t
            WHERE j.id = ANY (given) AND j.owner = m.owner AND t IS NOT NULL AND m.tools IS NOT NULL
                -- A pattern covers itself and the names that it matches: whether it covers another pattern is not certain.
                AND NOT EXISTS (SELECT FROM unnest(m.tools) AS p WHERE t = p OR t ~ '^[A-Za-z0-9_-]+$'
                    AND t LIKE translate(regexp_replace(p, '([\\%_])', '\\\1', 'g'), '*?', '%_')) LIMIT 1;
        IF FOUND THEN
            RAISE EXCEPTION 'jobs of % may not allow %, only %; % sets the ceilings', m.owner, left(tool, 80),
                left(array_to_string(m.tools, ', '), 120), current_user USING ERRCODE = 'UT001';
        END IF;
    END LOOP;
    RETURN NULL;
END;
$$;
CREATE TRIGGER check_new AFTER INSERT ON job REFERENCING NEW TABLE AS new_jobs
    FOR EACH STATEMENT EXECUTE FUNCTION check_ceilings();
CREATE TRIGGER check_change AFTER UPDATE ON job REFERENCING NEW TABLE AS new_jobs OLD TABLE AS old_jobs
    FOR EACH STATEMENT EXECUTE FUNCTION check_ceilings();

-- A job that gave its place back goes on when its question is answered, whoever answers.
CREATE FUNCTION continue_job() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = ua_tui, pg_temp AS $$
DECLARE
    j job%ROWTYPE;
BEGIN
    -- Locked first: one that is being parked is found parked, or finds the answer.
    SELECT job.* INTO j FROM job JOIN session s ON s.job = job.id
        WHERE s.id = NEW.session AND s.attempt = NEW.attempt FOR NO KEY UPDATE OF job;
    IF j.state = 'needs_you' AND j.worker_id IS NULL THEN
        UPDATE job SET state = 'waiting' WHERE id = j.id;
    END IF;
    RETURN NULL;
END;
$$;
CREATE TRIGGER continue_job AFTER UPDATE OF answer ON question
    FOR EACH ROW WHEN (OLD.answer IS NULL AND NEW.answer IS NOT NULL) EXECUTE FUNCTION continue_job();
-- Nobody runs what has the rights of the owner on rows of a table of their own. Triggers need no right to be run.
REVOKE EXECUTE ON FUNCTION follow_jobs(), check_ceilings(), continue_job() FROM PUBLIC;

-- A job belongs to every batch of its owner that names it: it outlives the one that paid for it, with its session and
-- its actions.
CREATE FUNCTION keep_shared_jobs() RETURNS trigger LANGUAGE plpgsql SET search_path = ua_tui, pg_temp AS $$
BEGIN
    UPDATE job SET batch = other.batch,
        -- What it has cost was paid.
        charged_usd = CASE WHEN finished_at IS NULL THEN charged_usd ELSE 0 END
        FROM (SELECT DISTINCT ON (n.job) n.job, n.batch FROM batch_job n JOIN batch b ON b.id = n.batch
            JOIN job j ON j.id = n.job WHERE j.batch = OLD.id AND b.owner = j.owner
            ORDER BY n.job, b.submitted_at DESC, b.id) AS other
        WHERE job.id = other.job;
    RETURN NULL;
END;
$$;
-- Triggers run in the order of their names: before that of the foreign key, which removes jobs.
CREATE TRIGGER "Keep_shared_jobs" AFTER DELETE ON batch FOR EACH ROW EXECUTE FUNCTION keep_shared_jobs();

-- Claims the next job: people take turns, and a person's batches and their jobs are in order. No row: there is none.
-- Whoever holds a lock on rows of their own is passed over.
CREATE FUNCTION claim_job(
    by_worker bigint, worker_name text, latest integer, only_demo boolean DEFAULT false,
    OUT c_job text, OUT c_session text, OUT c_attempt integer, OUT c_limit double precision, OUT c_query text,
    OUT c_settings jsonb, OUT c_owner name, OUT c_shared boolean
) RETURNS SETOF record LANGUAGE plpgsql SET lock_timeout = '300ms' AS $$
DECLARE
    b batch%ROWTYPE;
    j job%ROWTYPE;
    m member%ROWTYPE;
    free double precision;
    passed_over name[] := '{}';
BEGIN
    IF EXISTS (SELECT FROM claiming WHERE not_before > now()) THEN
        RETURN;
    END IF;
    FOR b IN
        SELECT batch.* FROM batch_count c JOIN batch ON batch.id = c.batch LEFT JOIN member ON member.owner = batch.owner
        WHERE c.state = 'waiting' AND c.jobs > 0 AND NOT batch.paused AND batch.run_after <= now()
            AND NOT coalesce(member.revoked, false)
        ORDER BY member.turn NULLS FIRST, batch.submitted_at, batch.id
    LOOP
        CONTINUE WHEN b.owner = ANY (passed_over);
        BEGIN
            SELECT * INTO j FROM job WHERE batch = b.id AND state = 'waiting' AND format <= latest
                    AND (NOT only_demo OR settings->'demo' = 'true')
                ORDER BY position, id LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED;
            CONTINUE WHEN NOT FOUND;
            c_limit := j.limit_usd;
            IF b.max_cost_usd IS NOT NULL THEN
                SELECT * INTO b FROM batch WHERE id = j.batch FOR NO KEY UPDATE;
                free := b.max_cost_usd - b.charged_usd;
                IF j.charged_usd > coalesce(j.cost_usd, 0) + 1e-9 THEN
                    -- What was reserved for the worker that was lost.
                    c_limit := j.charged_usd;
                ELSE
                    -- A session that gets a small rest fails by it; what others do not use up may be enough.
                    IF (free < 0.01 OR free < (j.limit_usd - j.charged_usd) / 2) AND EXISTS (
                            SELECT FROM job o WHERE o.batch = b.id AND o.worker_id IS NOT NULL
                                AND o.state IN ('running', 'needs_you')) THEN
                        UPDATE batch SET run_after = now() + interval '5 s' WHERE id = b.id;
                        CONTINUE;
                    END IF;
                    IF free < 0.01 THEN
                        -- Whoever cancels or claims one has locked it, and may wait for the batch.
                        UPDATE job SET state = 'failed', limited = true,
                            error = format('the spending limit of the batch ($%s) is reached',
                                           to_char(b.max_cost_usd, 'FM999999990.009999'))
                            WHERE id IN (SELECT o.id FROM job o WHERE o.batch = b.id AND o.state = 'waiting'
                                AND o.charged_usd <= coalesce(o.cost_usd, 0) + 1e-9 FOR NO KEY UPDATE SKIP LOCKED);
                        CONTINUE;
                    END IF;
                    c_limit := least(j.limit_usd, free + j.charged_usd);
                END IF;
            END IF;
            SELECT * INTO m FROM member WHERE owner = j.owner;
            IF m.max_cost_day IS NOT NULL THEN
                -- Jobs are claimed by many at once, and each counts what the others may cost.
                PERFORM FROM batch WHERE id = b.id FOR NO KEY UPDATE;
                PERFORM FROM member WHERE owner = j.owner FOR NO KEY UPDATE;
                SELECT m.max_cost_day - coalesce(sum(o.charged_usd), 0) INTO free FROM job o
                    WHERE o.owner = j.owner AND (o.finished_at IS NULL OR o.finished_at > now() - interval '1 day');
                -- One without a limit gets the rest, unless that is so small that it fails by it.
                CONTINUE WHEN free < least(
                    coalesce(c_limit - j.charged_usd, m.max_cost_day / 10), greatest(m.max_cost_day, 0.01));
                c_limit := least(c_limit, j.charged_usd + free);
            END IF;
            -- A session of something else is not taken over, whatever the job says.
            c_session := coalesce(
                (SELECT s.id FROM session s WHERE s.id = j.session AND s.job = j.id),
                replace(gen_random_uuid()::text, '-', ''));
            c_job := j.id;
            c_attempt := j.attempt + 1;
            c_query := j.query;
            c_settings := j.settings;
            c_owner := j.owner;
            c_shared := j.shared;
            UPDATE job SET state = 'running', attempt = c_attempt, session = c_session, worker = worker_name,
                worker_id = by_worker, charged_usd = coalesce(c_limit, 0), started_at = coalesce(started_at, now()),
                error = NULL
                WHERE id = j.id;
            INSERT INTO session (id, job, owner, shared, name, worker, attempt, title)
                VALUES (c_session, j.id, j.owner, j.shared, '', worker_name, c_attempt, left(j.query, 200))
                ON CONFLICT (id) DO UPDATE SET attempt = EXCLUDED.attempt, worker = worker_name, state = 'starting',
                    seen_at = now(), finished_at = NULL;
            INSERT INTO member (owner, turn) VALUES (j.owner, clock_timestamp())
                ON CONFLICT (owner) DO UPDATE SET turn = EXCLUDED.turn;
        EXCEPTION WHEN lock_not_available THEN
            passed_over := passed_over || b.owner;
            CONTINUE;
        END;
        RETURN NEXT;
        RETURN;
    END LOOP;
END;
$$;

-- Lets jobs of lost workers wait again, or fail if that happened too often; gives their new states.
CREATE FUNCTION free_jobs(lost_after double precision, most integer, why text) RETURNS SETOF text
LANGUAGE plpgsql SET lock_timeout = '300ms' AS $$
DECLARE
    j job%ROWTYPE;
    passed_over name[] := '{}';
BEGIN
    FOR j IN SELECT * FROM job WHERE state IN ('running', 'needs_you') AND worker_id IS NOT NULL AND NOT EXISTS (
            SELECT FROM worker w WHERE w.id = job.worker_id AND w.seen_at > now() - make_interval(secs => lost_after))
        ORDER BY id FOR NO KEY UPDATE SKIP LOCKED
    LOOP
        CONTINUE WHEN j.owner = ANY (passed_over);
        BEGIN
            UPDATE job SET lost = lost + 1, worker_id = NULL,
                state = CASE WHEN j.lost + 1 < most THEN 'waiting' ELSE 'failed' END,
                error = CASE WHEN j.lost + 1 >= most THEN why END
                WHERE id = j.id;
            RETURN NEXT CASE WHEN j.lost + 1 < most THEN 'waiting' ELSE 'failed' END;
        EXCEPTION WHEN lock_not_available THEN
            -- The next heartbeat tries again.
            passed_over := passed_over || j.owner;
        END;
    END LOOP;
END;
$$;

-- Records how far a job is, or its end. It is refused (false) if the job is another attempt's by now. A job that
-- becomes `waiting` is handed back, and one that is `parked` gives its place back until somebody decides.
CREATE FUNCTION record_job(
    wanted text, of_session text, of_attempt integer, new_state text, new_cost double precision, new_folder text,
    new_answer text DEFAULT NULL, new_error text DEFAULT NULL, new_tokens bigint DEFAULT NULL,
    new_model text DEFAULT NULL, new_files text[] DEFAULT NULL
) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
    j job%ROWTYPE;
    cost double precision;
    is_running boolean := new_state IN ('running', 'needs_you');
BEGIN
    SELECT * INTO j FROM job WHERE id = wanted FOR NO KEY UPDATE;
    IF NOT FOUND OR j.session IS DISTINCT FROM of_session OR j.attempt <> of_attempt
            OR j.state NOT IN ('running', 'needs_you') OR j.worker_id IS NULL THEN
        IF j.session = of_session AND NOT is_running THEN
            -- The worker that was taken for lost was only away.
            UPDATE job SET lost = lost - 1 WHERE id = wanted AND lost > 0 AND finished_at IS NULL;
        END IF;
        RETURN false;
    END IF;
    IF new_state = 'parked' AND EXISTS (SELECT FROM question q
            WHERE q.session = of_session AND q.attempt = of_attempt AND q.answer <> '') THEN
        -- It was answered meanwhile: the next attempt reads it.
        new_state := 'waiting';
        new_error := NULL;
    END IF;
    cost := greatest(j.cost_usd, new_cost);
    UPDATE job SET state = CASE new_state WHEN 'parked' THEN 'needs_you' ELSE new_state END, cost_usd = cost,
        charged_usd = CASE WHEN is_running THEN greatest(j.charged_usd, cost) ELSE coalesce(cost, 0) END,
        -- What the batch had left was less than the job's own limit, and was not enough.
        limited = new_state = 'failed' AND coalesce(cost, 0) > j.charged_usd - 0.01
            AND coalesce(j.charged_usd < j.limit_usd, true)
            AND EXISTS (SELECT FROM batch WHERE id = j.batch AND max_cost_usd IS NOT NULL),
        answer = new_answer, error = new_error, tokens = coalesce(new_tokens, tokens),
        model = coalesce(nullif(new_model, ''), model), files = coalesce(new_files, files),
        folder = coalesce(nullif(new_folder, ''), folder),
        worker_id = CASE WHEN is_running THEN worker_id END
        WHERE id = wanted;
    RETURN true;
END;
$$;
