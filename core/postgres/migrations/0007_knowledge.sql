-- The knowledge base without what nobody reads: links of reports, and times and states of calls and sessions.
DROP TABLE IF EXISTS k_citation;
ALTER TABLE k_session DROP COLUMN IF EXISTS started, DROP COLUMN IF EXISTS state;
ALTER TABLE k_call DROP COLUMN IF EXISTS parent, DROP COLUMN IF EXISTS started, DROP COLUMN IF EXISTS ms,
    DROP COLUMN IF EXISTS status;
