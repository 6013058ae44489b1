"""Binding plain functions to the SDK: the one place that knows how a tool is declared."""

import functools
import inspect
from collections.abc import Iterable, Iterator
from typing import Any

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.tools import Tool
from mcp.types import ToolAnnotations
from pydantic import ConfigDict

from pmm_mcp.server.desk import Desk
from pmm_mcp.server.families import Family, Listed, ToolFunction
from pmm_mcp.server.schemas import portable
from pmm_mcp.server.visits import visit_of


def names_of(families: Iterable[Family], *, read_only: bool) -> list[str]:
    """Return the names of the tools that `tools_of` returns, at no cost."""
    return [tool.name for tool in _chosen(families, read_only=read_only)]


def tools_of(families: Iterable[Family], desk: Desk, *, read_only: bool) -> list[Tool]:
    """Return every tool of the families, or only those that read. It takes a few milliseconds for each."""
    return [_tool(tool, desk) for tool in _chosen(families, read_only=read_only)]


def _chosen(families: Iterable[Family], *, read_only: bool) -> Iterator[Listed]:
    for family in families:
        for tool in family.tools:
            if tool.effect.read_only or not read_only:
                yield tool


def _tool(listed: Listed, desk: Desk) -> Tool:
    function = listed.load()
    tool = Tool.from_function(
        _bind(function, desk),
        title=listed.title,
        description=inspect.getdoc(function),  # Before Python 3.13 a docstring keeps its indentation.
        annotations=ToolAnnotations(
            title=listed.title,
            read_only_hint=listed.effect.read_only,
            idempotent_hint=listed.effect.idempotent,
            destructive_hint=False,
            open_world_hint=listed.effect.open_world,
        ),
    )
    model = tool.fn_metadata.arg_model
    strict: Any = type(
        model.__name__, (model,), {"model_config": ConfigDict(extra="forbid"), "__module__": model.__module__}
    )
    tool.fn_metadata.arg_model = strict
    tool.parameters = portable(strict.model_json_schema(by_alias=True))
    if tool.fn_metadata.output_schema is not None:
        tool.fn_metadata.output_schema = portable(tool.fn_metadata.output_schema)
    return tool


def _bind(function: ToolFunction, desk: Desk) -> ToolFunction:
    """Fill in the visit; what remains is the signature the client sees."""

    @functools.wraps(function)
    async def call(*, ctx: Context[Any, Any], **arguments: Any) -> Any:
        return await function(visit_of(desk, ctx), **arguments)

    signature = inspect.signature(function, eval_str=True)
    _, *arguments = signature.parameters.values()
    context = inspect.Parameter("ctx", inspect.Parameter.KEYWORD_ONLY, annotation=Context)
    named = [argument.replace(kind=inspect.Parameter.KEYWORD_ONLY) for argument in arguments]
    call.__signature__ = signature.replace(parameters=[*named, context])  # type: ignore[attr-defined]
    call.__annotations__ = {one.name: one.annotation for one in (*named, context)} | {
        "return": signature.return_annotation
    }
    return call
