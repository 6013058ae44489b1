"""Chat models: OpenAI-compatible servers, Ollama, quotation of the ledger, and scripts for tests."""

from pmm_mcp.providers.models import Models
from pmm_mcp.providers.offline import OfflineChat
from pmm_mcp.providers.ollama import OllamaChat
from pmm_mcp.providers.openai import OpenAIChat
from pmm_mcp.providers.scripted import ScriptedChat, ScriptedReply
from pmm_mcp.providers.settings import ProviderSettings

__all__ = [
    "Models",
    "OfflineChat",
    "OllamaChat",
    "OpenAIChat",
    "ProviderSettings",
    "ScriptedChat",
    "ScriptedReply",
]
