"""What all events share: they are facts, frozen, closed to unknown fields, told apart by `kind`."""

from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from pmm_mcp.domain.ids import SEQ_MAX
from pmm_mcp.domain.names import NAME_PATTERN

Seq = Annotated[int, Field(ge=1, le=SEQ_MAX)]
Count = Annotated[int, Field(ge=0, le=SEQ_MAX)]
Integer = Annotated[int, Field(ge=-SEQ_MAX, le=SEQ_MAX)]
Name = Annotated[str, StringConstraints(pattern=NAME_PATTERN)]
Code = Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_.]{0,63}$")]
Change = Annotated[str, StringConstraints(pattern=r"^[a-z_]+:[a-z][a-z_:]*$")]


class EventBody(BaseModel):
    """The typed body of an event.

    A field's default is part of its shape: it is left out of the record, so it never changes. Free text
    is not a field; `texts` names what is kept beside the record.
    """

    # Built when first used: forty validators would hold up every start of a server.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    texts: ClassVar[tuple[str, ...]] = ()

    kind: str
    v: int
    changed: tuple[Change, ...] = ()
    """What normalising and masking did to the texts, as `field:change`."""

    def body(self) -> dict[str, Any]:
        """Return what the record holds of this event."""
        return {"v": self.v, **self.model_dump(mode="json", exclude={"kind", "v"}, exclude_defaults=True)}
