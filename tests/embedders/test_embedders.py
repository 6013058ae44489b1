"""Every embedder: the same text has the same vector, near texts are near, and failing has one error."""

from collections.abc import Sequence
from math import isclose
from typing import Any

import pytest

from pmm_mcp.domain.errors import EmbedderUnavailableError
from pmm_mcp.domain.vectors import Batch, Vector, batch_of
from pmm_mcp.embedders import Embedders, StaticEmbedder
from pmm_mcp.embedders.minilm import MiniLmEmbedder
from pmm_mcp.embedders.server import ServerEmbedder
from pmm_mcp.ports import Embedder
from pmm_mcp.retrieval.vectors import Vectors
from tests.providers.fake_server import Answer, serving

LOCAL = [
    pytest.param(StaticEmbedder, id="static", marks=pytest.mark.skipif(
        not StaticEmbedder.is_there(), reason="pmm-mcp[static] is not installed")),
    pytest.param(MiniLmEmbedder, id="minilm", marks=pytest.mark.skipif(
        not MiniLmEmbedder.is_there(), reason="pmm-mcp[minilm] is not installed")),
]  # fmt: skip
ODD = ("", " ", "\x00\ud7ff", "日本語のテキスト", "x" * 50_000, "🍸" * 300, "Ａ\u200dＢ")


def cosine(one: Vector, other: Vector) -> float:
    def signed(vector: Vector) -> Sequence[int]:
        return memoryview(vector.data).cast("b").tolist()

    return sum(a * b for a, b in zip(signed(one), signed(other), strict=True)) * one.scale * other.scale


@pytest.mark.parametrize("make", LOCAL)
async def test_near_texts_are_near(make: type[Embedder]) -> None:
    embedder = make()
    pool, connections, otter = await embedder.embed(
        ["The database pool is full.", "No free database connections.", "The otter likes fish."]
    )
    assert isclose(cosine(pool, pool), 1, abs_tol=0.02)
    assert cosine(pool, connections) > cosine(pool, otter) + 0.1


@pytest.mark.parametrize("make", LOCAL)
async def test_a_text_has_one_vector_whatever_stands_beside_it(make: type[Embedder]) -> None:
    embedder = make()
    alone = await embedder.embed(["The pool is full."])
    beside = await embedder.embed(["x", "The pool is full."])
    assert cosine(alone[0], beside[1]) > 0.99


@pytest.mark.parametrize("make", LOCAL)
async def test_any_text_has_a_vector(make: type[Embedder]) -> None:
    vectors = await make().embed(ODD)
    assert len({len(vector.data) for vector in vectors}) == 1
    assert len(vectors) == len(ODD)


def test_an_embedder_is_found_by_the_name_of_its_set() -> None:
    embedders = Embedders("none", {"OPENAI_API_KEY": "k"})
    assert embedders.wanted is None
    assert embedders.of_set("static:another-table") is None
    assert embedders.of_set("unheard of") is None
    for name in ("openai:text-embedding-3-small", "ollama:nomic-embed-text"):
        found = embedders.of_set(name)
        assert found is not None
        assert found.name == name


@pytest.mark.parametrize(
    "wanted", ["torch", "openai:", "openai:m", "ollama:", "static:x", "ollama:" + "x" * 80]
)
def test_what_is_no_embedder_is_said_so(wanted: str) -> None:
    with pytest.raises(EmbedderUnavailableError):
        _ = Embedders(wanted, {}).wanted


async def test_a_server_is_asked_in_its_own_words() -> None:
    async with serving() as server:
        server.answers = [Answer(body={"data": [{"embedding": [3.0, 4.0]}, {"embedding": [0.0, 1.0]}]})]
        embedders = Embedders("openai:m", {"OPENAI_BASE_URL": f"{server.url}/v1", "OPENAI_API_KEY": "key"})
        assert embedders.wanted is not None
        one, other = await embedders.wanted.embed(["a", ""])
        await embedders.aclose()
        server.answers = [Answer(body={"embeddings": [[1.0, 0.0]]})]
        ollama = Embedders("ollama:m", {"OLLAMA_HOST": server.url.removeprefix("http://")})
        assert ollama.wanted is not None
        await ollama.wanted.embed(["a"])
        await ollama.aclose()
    assert isclose(cosine(one, other), 0.8, abs_tol=0.01)
    assert [asked.path for asked in server.asked] == ["/v1/embeddings", "/api/embed"]
    assert server.asked[0].body == {"model": "m", "input": ["a", " "]}
    assert server.asked[0].headers["authorization"] == "Bearer key"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"nonsense",
        [],
        {},
        {"data": None},
        {"data": []},
        {"data": [{"embedding": []}]},
        {"data": [{"embedding": ["x"]}]},
        {"data": [{"embedding": [1e300]}]},
        {"data": [{"embedding": [None]}]},
        {"data": [{}]},
        {"data": [{"embedding": [1.0]}, {"embedding": [1.0]}]},
    ],
)
async def test_a_server_that_answers_nonsense_is_not_believed(body: Any) -> None:
    async with serving() as server:
        server.answers = [Answer(body=body)]
        embedder = ServerEmbedder("openai:m", url=f"{server.url}/embeddings", model="m")
        with pytest.raises(EmbedderUnavailableError):
            await embedder.embed(["a"])
        await embedder.aclose()


@pytest.mark.parametrize("status", [400, 401, 404, 429, 500])
async def test_a_server_that_refuses_is_unavailable(status: int) -> None:
    async with serving() as server:
        server.answers = [Answer(status=status)]
        embedder = ServerEmbedder("ollama:m", url=f"{server.url}/api/embed", model="m", under="embeddings")
        with pytest.raises(EmbedderUnavailableError, match="ollama:m"):
            await embedder.embed(["a"])
        await embedder.aclose()


# ------------------------------------------------------------------------------------------------ comparing


def vector(*steps: int) -> Vector:
    return Vector(1 / 127, bytes(step & 0xFF for step in steps))


def test_vectors_find_the_nearest_and_know_what_they_have() -> None:
    none = Vectors.none()
    assert none.nearest(vector(127, 0), limit=3, floor=0) == {}
    two = none.more(
        [batch_of("set", from_seq=1, to_seq=4, docs=[2, 4], vectors=[vector(127, 0), vector(0, 127)])]
    )
    three = two.more([batch_of("set", from_seq=5, to_seq=9, docs=[9], vectors=[vector(90, 90)])])
    asked = vector(127, 0)
    assert (three.size, three.reaches) == (3, 9)
    assert list(three.nearest(asked, limit=2, floor=1)) == [2, 9]
    assert three.cosines(asked, docs=[4, 9, 10]) == {4: 0, 9: 708_661}
    assert list(two.nearest(asked, limit=2, floor=1)) == [2]


def test_a_batch_whose_documents_are_all_gone_leaves_room_for_others() -> None:
    gone = Batch(set="set", from_seq=1, to_seq=4, docs=b"", scales=b"", data=b"")
    vectors = Vectors.none().more([gone])
    assert (vectors.size, vectors.reaches) == (0, 4)
    assert vectors.cosines(vector(127, 0), docs=[2]) == {}
    vectors = vectors.more([batch_of("set", from_seq=5, to_seq=9, docs=[9], vectors=[vector(127, 0)])])
    assert list(vectors.nearest(vector(127, 0), limit=2, floor=1)) == [9]


def test_what_is_blanked_is_near_to_nothing() -> None:
    batch = batch_of("set", from_seq=1, to_seq=4, docs=[2, 4], vectors=[vector(127, 0), vector(0, 127)])
    blank = batch.without(2)
    assert Vectors.none().more([blank]).cosines(vector(127, 0), docs=[2, 4]) == {2: 0, 4: 0}
    assert blank.without(3) == blank
    assert blank.digest != batch.digest


def test_many_vectors_are_compared_by_their_signs_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pmm_mcp.retrieval.vectors.PREFILTER_FROM", 10)
    monkeypatch.setattr("pmm_mcp.retrieval.vectors.PREFILTERED", 1)
    all_of_them = Vectors.none()
    asked = vector(*((100 if (7 >> bit) & 1 else -100) for bit in range(8)))
    for start in (0, 20, 40, 60):
        docs = list(range(start + 1, start + 21))
        vectors = [vector(*((100 if (doc >> bit) & 1 else -100) for bit in range(8))) for doc in docs]
        batch = batch_of("set", from_seq=start + 1, to_seq=start + 20, docs=docs, vectors=vectors)
        all_of_them = all_of_them.more([batch])
        assert next(iter(all_of_them.nearest(asked, limit=3, floor=0))) == 7
