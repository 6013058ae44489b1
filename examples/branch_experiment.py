"""An experiment on a branch: what is believed in one checkout stays there until it is published.

    .venv/bin/python examples/branch_experiment.py

Two git worktrees of one repository, one ledger, no model, no network.
"""

import asyncio

from stage import Agent, Stage, git, say, stage

QUESTION = "how are sessions stored?"
SEARCH = "sessions SQLite"


async def main(here: Stage) -> None:
    trunk = here.repository("shop", cache_py="STORE = 'redis'\n", README_md="Sessions live in Redis.\n")
    branch = here.home / "shop-experiment"
    git(trunk, "worktree", "add", "-q", "-b", "experiment", str(branch))
    (branch / "cache.py").write_text("STORE = 'sqlite'\n")
    (branch / "bench.txt").write_text("sqlite 0.2 ms, redis 0.9 ms\n")

    say("On a branch, someone tries SQLite instead of Redis, and records how it went.")
    async with here.session() as agent:
        seen = await agent.ask(
            "pmm_record",
            content="Sessions are stored in SQLite here; 0.2 ms a read.",
            source="bench.txt:1",
            cwd=str(branch),
        )
        candidate = await agent.ask(
            "pmm_knowledge_distill",
            statement="Store sessions in SQLite: it is faster than Redis here.",
            content="Measured on the experiment branch, one machine.",
            tier="method",
            supporting_refs=[seen["id"]],
            cwd=str(branch),
        )
    belief = candidate["id"]
    say(f"    {belief} holds at {candidate['anchor']}")

    say("A later session verifies it, still on the branch, and it is believed there.")
    async with here.session() as agent:
        again = await agent.ask(
            "pmm_record", content="The code says so.", source="cache.py:1", cwd=str(branch)
        )
        promoted = await agent.ask(
            "pmm_knowledge_promote", id=belief, verification_refs=[again["id"]], reason="measured"
        )
        assert promoted["promoted"], promoted["gate"]["reasons"]

        say("Whoever works on the branch is told. Whoever works on the trunk is not.")
        assert await guidance(agent, str(branch)) == [belief]
        assert await guidance(agent, str(trunk)) == []
        assert belief in await found(agent, str(branch))
        assert await found(agent, str(trunk)) == []

        say("The experiment is merged, and so the belief is published to the repository.")
        published = await agent.ask(
            "pmm_knowledge_publish", id=belief, to="repo", reason="merged", cwd=str(branch)
        )
        say(f"    {published['old_anchor']}\n      → {published['new_anchor']}")

        say("Both are told now, and both find it.")
        for checkout in (trunk, branch):
            assert await guidance(agent, str(checkout)) == [belief]
            assert belief in await found(agent, str(checkout))

        say("What was only seen on the branch stays evidence of the branch, and is cited by its id.")
        assert seen["id"] in await found(agent, str(branch))
        assert await found(agent, str(trunk)) == [belief]
        shown = await agent.ask("pmm_get", id=seen["id"])
        say(f"    {shown['item']['id']}: {shown['item']['texts']['content']}")


async def guidance(agent: Agent, cwd: str) -> list[str]:
    """Return the ids of what an agent is told here."""
    pack = await agent.ask("pmm_context", query=QUESTION, cwd=cwd)
    return [item["id"] for section in pack["sections"] for item in section["items"]]


async def found(agent: Agent, cwd: str) -> list[str]:
    """Return the ids of what a search finds here."""
    page = await agent.ask("pmm_search", query=SEARCH, cwd=cwd)
    return [hit["id"] for hit in page["results"]]


if __name__ == "__main__":
    with stage() as here:
        asyncio.run(main(here))
