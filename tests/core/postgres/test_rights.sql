INSERT INTO batch (id, owner, shared) VALUES ('open', '{mary}', true), ('closed', '{mary}', false);
INSERT INTO job (id, batch, owner, shared, query) VALUES
    ('open', 'open', '{mary}', true, 'q'), ('closed', 'closed', '{mary}', false, 'q');
INSERT INTO batch_job (batch, number, job) VALUES ('open', 1, 'open'), ('closed', 1, 'closed');
INSERT INTO session (id, name, owner, shared) VALUES
    ('open', 'a', '{mary}', true), ('closed', 'b', '{mary}', false);
INSERT INTO piece VALUES ('open', 'journal.jsonl', 0, '1'), ('closed', 'journal.jsonl', 0, '1');
INSERT INTO artifact (session, path, sha256, size) VALUES ('open', 'a', 'aa', 1), ('closed', 'b', 'bb', 1);
INSERT INTO blob (owner, sha256, data) VALUES ('{mary}', 'aa', 'x'), ('{mary}', 'bb', 'y');
INSERT INTO action (session, key, attempt, tool) VALUES ('open', 'k', 1, 't'), ('closed', 'k', 1, 't');
INSERT INTO question (session, request, attempt, event) VALUES
    ('open', 'r', 1, '{{}}'), ('closed', 'r', 1, '{{}}');
