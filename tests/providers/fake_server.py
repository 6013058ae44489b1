"""A server of this machine that answers as OpenAI's or Ollama's would, or as badly as a test wants."""

import asyncio
import json
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx  # noqa: F401 - loaded here, so that no test's short time-out pays for the import
import ollama  # noqa: F401
import openai  # noqa: F401
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from pmm_mcp.ports import ChatModel
from pmm_mcp.providers import OllamaChat, OpenAIChat, ProviderSettings


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One answer; `promised_bytes` more than there are makes the connection break in the middle."""

    body: Any = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    delay_s: float = 0.0
    promised_bytes: int = 0
    then_for_ever: bytes = b""
    pause_s: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Asked:
    path: str
    headers: Mapping[str, str]
    body: Any


@dataclass
class Fake:
    """What the server will say, in order (the last again and again), and what it was asked."""

    url: str
    answers: list[Answer] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)
    sent_bytes: int = 0
    came: asyncio.Event = field(default_factory=asyncio.Event)
    left: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when a client went away before it had its answer."""

    async def answer(self, request: Request) -> Response:
        body = await request.body()
        self.asked.append(
            Asked(path=request.url.path, headers=dict(request.headers), body=json.loads(body or b"null"))
        )
        self.came.set()
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if answer.delay_s:
            await self._wait(request, answer.delay_s)
        content = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
        if answer.then_for_ever:
            return StreamingResponse(self._endless(content, answer), answer.status, answer.headers)
        if answer.promised_bytes:
            length = {"content-length": str(answer.promised_bytes)}
            return StreamingResponse(_once(content), answer.status, {**answer.headers, **length})
        return Response(content, answer.status, answer.headers)

    async def _wait(self, request: Request, delay_s: float) -> None:
        async with asyncio.timeout(delay_s + 5):
            ends = asyncio.get_running_loop().time() + delay_s
            while asyncio.get_running_loop().time() < ends:
                if await request.is_disconnected():
                    self.left.set()
                    return
                await asyncio.sleep(0.005)

    async def _endless(self, head: bytes, answer: Answer) -> AsyncIterator[bytes]:
        yield head
        while True:
            self.sent_bytes += len(answer.then_for_ever)
            yield answer.then_for_ever
            await asyncio.sleep(answer.pause_s)


class _Server(uvicorn.Server):
    """Says when it listens, and stops at once."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.listens = asyncio.Event()
        self.ends = asyncio.Event()

    async def main_loop(self) -> None:
        await self.on_tick(0)
        self.listens.set()
        await self.ends.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for server in self.servers:
            server.close()
        for connection in list(self.server_state.connections):
            connection.transport.abort()
        await asyncio.wait(self.server_state.tasks or [asyncio.create_task(asyncio.sleep(0))], timeout=5)


async def _once(content: bytes) -> AsyncIterator[bytes]:
    yield content


@asynccontextmanager
async def serving() -> AsyncGenerator[Fake]:
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    fake = Fake(url=f"http://127.0.0.1:{listening.getsockname()[1]}")
    paths = ("/v1/chat/completions", "/v1/embeddings", "/embeddings", "/api/chat", "/api/embed")
    app = Starlette(routes=[Route(path, fake.answer, methods=["POST"]) for path in paths])
    server = _Server(uvicorn.Config(app, log_config=None, log_level="critical", lifespan="off"))
    task = asyncio.create_task(server.serve(sockets=[listening]))
    async with asyncio.timeout(10):
        await server.listens.wait()
    try:
        yield fake
    finally:
        server.ends.set()
        await task
        listening.close()


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """One of the two languages: how to build its client, and how a good answer looks."""

    name: str
    build: Callable[[str, ProviderSettings], ChatModel]
    good: Callable[..., Any]

    def chat(self, url: str, **settings: Any) -> ChatModel:
        return self.build(url, ProviderSettings(**{"timeout_s": 5.0, "backoff_s": 0.01, **settings}))


def openai_body(content: Any = "hi", finish: Any = "stop", **message: Any) -> dict[str, Any]:
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": content}}
    choice["message"].update(message)
    usage = {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}
    return {"id": "c", "object": "chat.completion", "model": "m", "choices": [choice], "usage": usage}


def ollama_body(content: Any = "hi", finish: Any = "stop") -> dict[str, Any]:
    message = {"role": "assistant", "content": content}
    body = {"model": "m", "message": message, "done": True, "prompt_eval_count": 3, "eval_count": 1}
    return body if finish is None else {**body, "done_reason": finish}


def _openai(url: str, settings: ProviderSettings) -> ChatModel:
    return OpenAIChat("m", _with_env(settings, OPENAI_BASE_URL=f"{url}/v1"))


def _ollama(url: str, settings: ProviderSettings) -> ChatModel:
    return OllamaChat("m", _with_env(settings, OLLAMA_HOST=url))


def _with_env(settings: ProviderSettings, **env: str) -> ProviderSettings:
    return ProviderSettings(
        timeout_s=settings.timeout_s,
        retries=settings.retries,
        backoff_s=settings.backoff_s,
        env={**env, **settings.env},
    )


OPENAI = Protocol(name="openai", build=_openai, good=openai_body)
OLLAMA = Protocol(name="ollama", build=_ollama, good=ollama_body)
PROTOCOLS = (OPENAI, OLLAMA)
