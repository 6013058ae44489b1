"""Arguments that many tools take."""

from typing import Annotated

from pydantic import Field

Cwd = Annotated[str, Field(description="your working directory; names the place")]
Conversation = Annotated[str, Field(description="name of the conversation")]
RequestId = Annotated[str, Field(description="your key: the same call again returns its first result")]
Limit = Annotated[int, Field(description="at most so many")]
Cursor = Annotated[str, Field(description="next_cursor of the page before")]
