"""Pool: phrases, their lives and their worth."""
