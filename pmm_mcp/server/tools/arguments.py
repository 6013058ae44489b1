"""Arguments that many tools take."""

from typing import Annotated

from pydantic import Field

Cwd = Annotated[str, Field(description="working directory")]
Conversation = Annotated[str, Field(description="its name")]
RequestId = Annotated[str, Field(description="key for safe repeats")]
Limit = Annotated[int, Field(description="at most so many")]
Cursor = Annotated[str, Field(description="next_cursor of the last page")]
