"""A turn: its prompt, reading a reply, deciding its effects, ending it, recovering it."""
