-- What the workers have stored of a job only they change, so that whoever follows the job or takes it over finds all of it.
-- Whoever resumes its session elsewhere makes an attempt of their own, which is later.
CREATE FUNCTION is_of_job(stored text) RETURNS boolean LANGUAGE sql STABLE SET search_path = ua_tui, pg_temp AS $$
    SELECT EXISTS (SELECT FROM session s JOIN job j ON j.id = s.job WHERE s.id = stored AND s.attempt <= j.attempt)
$$;
CREATE POLICY add_of_no_job ON piece AS RESTRICTIVE FOR INSERT WITH CHECK (is_worker() OR NOT is_of_job(session));
CREATE POLICY remove_of_no_job ON piece AS RESTRICTIVE FOR DELETE USING (is_worker() OR NOT is_of_job(session));
