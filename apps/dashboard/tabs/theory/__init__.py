"""Theory: the closed forms and the run."""
