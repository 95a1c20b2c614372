INSERT INTO batch (id, owner, shared) VALUES ('open', '{mary}', true), ('closed', '{mary}', false);
INSERT INTO job (id, batch, owner, shared, query) VALUES
    ('open', 'open', '{mary}', true, 'q'), ('closed', 'closed', '{mary}', false, 'q');
INSERT INTO batch_job (batch, number, job) VALUES ('open', 1, 'open'), ('closed', 1, 'closed');
INSERT INTO session (id, name, owner, shared) VALUES
    ('open', 'a', '{mary}', true), ('closed', 'b', '{mary}', false);
INSERT INTO journal (session, seq, line) VALUES ('open', 1, '{{}}'), ('closed', 1, '{{}}');
INSERT INTO artifact (session, path, sha256, size) VALUES ('open', 'a', 'aa', 1), ('closed', 'b', 'bb', 1);
INSERT INTO blob (owner, sha256, data) VALUES ('{mary}', 'aa', 'x'), ('{mary}', 'bb', 'y');
INSERT INTO entry (owner, shared, project, session, entry) VALUES
    ('{mary}', true, 'open', 'o', '{{}}'), ('{mary}', false, 'closed', 'c', '{{}}');
INSERT INTO action (session, key, attempt, tool) VALUES ('open', 'k', 1, 't'), ('closed', 'k', 1, 't');
INSERT INTO question (session, request, attempt, event) VALUES
    ('open', 'r', 1, '{{}}'), ('closed', 'r', 1, '{{}}');
