"""Arguments that many tools take."""

from typing import Annotated

from pydantic import Field

Cwd = Annotated[str, Field(description="your working directory")]
Conversation = Annotated[str, Field(description="name of the conversation")]
RequestId = Annotated[str, Field(description="your key for safe repeats")]
Limit = Annotated[int, Field(description="at most so many")]
Cursor = Annotated[str, Field(description="next_cursor of the page before")]
