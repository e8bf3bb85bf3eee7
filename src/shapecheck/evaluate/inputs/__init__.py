"""What to run, and with what. Four rooms, each of which may import those before it: facts, trials, project, synthesis."""
