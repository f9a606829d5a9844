-- A member who was removed keeps their history; a key has a name, and says when it was last used.
ALTER TABLE members ADD COLUMN removed_at BIGINT;
ALTER TABLE keys ADD COLUMN name {text};
ALTER TABLE keys ADD COLUMN used_at BIGINT;
