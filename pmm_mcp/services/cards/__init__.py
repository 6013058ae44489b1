"""Cards: beliefs as objects of their own, tied to evidence by links."""
