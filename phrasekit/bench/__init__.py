"""Measure phrasekit against plain decoding and against its peers, alternating, on public prompts."""
