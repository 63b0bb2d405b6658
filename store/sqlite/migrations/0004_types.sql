-- The sender's own word for what has happened. Events of before have none.
ALTER TABLE events ADD COLUMN type TEXT NOT NULL DEFAULT '';
