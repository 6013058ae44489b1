"""What holds for every test: nothing blocks the loop, nothing leaves this machine, runs repeat."""

import ipaddress
import os
import socket
from collections.abc import Generator
from typing import Any, Final

import pytest
from blockbuster import BlockBuster, blockbuster_ctx
from hypothesis import HealthCheck, settings

settings.register_profile(
    "ci",
    deadline=None,
    derandomize=True,
    max_examples=50,
    stateful_step_count=30,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("torture", settings.get_profile("ci"), max_examples=2_000, derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="rewrite tests/golden from what the code does now; review the diff like code",
    )


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    return bool(request.config.getoption("--update-golden"))


@pytest.fixture(autouse=True)
def blockbuster(request: pytest.FixtureRequest) -> Generator[BlockBuster | None]:
    """Fail a call that blocks the event loop while the package is anywhere on its stack.

    Threads without a loop (the writer, the readers) may block; a benchmark is left alone.
    """
    if any(request.node.get_closest_marker(mark) for mark in ("bench", "finding")):
        yield None
        return
    with blockbuster_ctx("pmm_mcp") as buster:
        for name in ("threading.Lock.acquire", "threading.Lock.acquire_lock"):
            buster.functions[name].can_block_in("queue.py", {"put_nowait", "get_nowait", "qsize", "empty"})
        yield buster


class NetworkForbiddenError(RuntimeError):
    """A test tried to reach another machine."""


class NetworkGuard:
    """Stand-ins for the doors of `socket`; remembers who knocked, for callers that swallow the error."""

    def __init__(self) -> None:
        self.attempts: list[str] = []
        self._connect = socket.socket.connect
        self._connect_ex = socket.socket.connect_ex
        self._getaddrinfo = socket.getaddrinfo

    def install(self, patch: pytest.MonkeyPatch) -> None:
        guard = self

        def connect(sock: socket.socket, address: Any) -> None:
            guard.check(sock.family, address)
            guard._connect(sock, address)

        def connect_ex(sock: socket.socket, address: Any) -> int:
            guard.check(sock.family, address)
            return guard._connect_ex(sock, address)

        def getaddrinfo(host: Any, *args: Any, **kwargs: Any) -> Any:
            guard.check_host(host)
            return guard._getaddrinfo(host, *args, **kwargs)

        patch.setattr(socket.socket, "connect", connect)
        patch.setattr(socket.socket, "connect_ex", connect_ex)
        patch.setattr(socket, "getaddrinfo", getaddrinfo)

    def check(self, family: int, address: Any) -> None:
        if family in {socket.AF_INET, socket.AF_INET6}:
            self.check_host(address[0])

    def check_host(self, host: Any) -> None:
        name = host.decode() if isinstance(host, bytes) else host
        if not is_here(name):
            self.attempts.append(str(name))
            raise NetworkForbiddenError(f"tests stay on this machine, this one asked for {name!r}")


def is_here(host: str | None) -> bool:
    if host in {None, "", "localhost"}:
        return True
    try:
        address = ipaddress.ip_address(str(host).partition("%")[0])
    except ValueError:
        return False
    return address.is_loopback or address.is_unspecified


GUARD: Final = NetworkGuard()


@pytest.fixture(autouse=True, scope="session")
def network_guard() -> Generator[None]:
    with pytest.MonkeyPatch.context() as patch:
        GUARD.install(patch)
        yield


@pytest.fixture(autouse=True)
def no_network() -> Generator[list[str]]:
    """Fail the test whose code asked for another machine, even when it survived the refusal."""
    GUARD.attempts.clear()
    yield GUARD.attempts
    assert GUARD.attempts == []
