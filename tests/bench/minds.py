"""The app as it is shipped, on any ledger, with a model that needs no time."""

from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Final

from pmm_mcp.bootstrap import App, open_app
from pmm_mcp.config import Settings
from pmm_mcp.ports import ModelReply, Prompt
from tests.bench.ledgers import Words


class QuickModel:
    """Answers at once; every third reply promises something, every other claims what it was shown."""

    name: Final = "scripted:quick"

    def __init__(self, words: Words) -> None:
        self._words = words
        self._asked = 0

    async def ask(self, prompt: Prompt) -> ModelReply:
        self._asked += 1
        lines = [self._words.text(15, 80)]
        if self._asked % 3 == 0:
            lines.append(f"COMMIT: {self._words.text(4, 16)}")
        if self._asked % 2 == 0 and prompt.quotable:
            evidence = prompt.quotable[0][0]
            subject, value = self._words.text(2, 4), self._words.text(3, 15)
            lines.append(f'CLAIM:fact={{"subject":"{subject}","value":"{value}","evidence":["{evidence}"]}}')
        return ModelReply(status="complete", text="\n".join(lines), prompt_tokens=1_000, reply_tokens=100)

    async def aclose(self) -> None:
        """Nothing to close."""


class OneModel:
    """Finds the same model under every name."""

    default: Final = QuickModel.name

    def __init__(self, model: QuickModel) -> None:
        self._model = model

    def get(self, name: str) -> QuickModel:
        return self._model


@asynccontextmanager
async def app_on(*paths: Path) -> AsyncGenerator[tuple[App, ...]]:
    """Open an app on each ledger."""
    async with AsyncExitStack() as stack:
        apps = []
        for path in paths:
            models = OneModel(QuickModel(Words("replies")))
            settings = Settings(db=path)
            apps.append(await stack.enter_async_context(open_app(settings, role="bench", models=models)))
        yield tuple(apps)
