-- The knowledge base: written by core.knowledge.postgres.
SELECT 1;
