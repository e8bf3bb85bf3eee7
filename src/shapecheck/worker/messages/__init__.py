"""What parent and worker say to each other, by topic; `wire` writes and reads it."""
