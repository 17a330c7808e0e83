"""What a pair's thread does, for whom, and who is next. Nothing here knows Panel."""
