"""The tools, one file a family; `server/toolsets.py` lists them."""
