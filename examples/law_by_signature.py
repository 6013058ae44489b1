"""A principle becomes law: by evidence, by teaching, and by a person's signature that no agent can make.

    .venv/bin/python examples/law_by_signature.py

The person is played at a terminal of its own (a pseudo-terminal), where alone a passphrase can be typed.
"""

import asyncio
import importlib.util

from stage import Stage, say, stage

PASSPHRASE = "a sentence only Ada knows"
SIGN = ("Passphrase of Ada", PASSPHRASE)


async def main(here: Stage) -> None:
    notes = {f"post{n}_md": f"Incident {n}: nobody had looked at the log first.\n" for n in range(6)}
    project = str(here.repository("shop", **notes))

    say("Three incidents, each in a file of its own, say the same.")
    async with here.session() as agent:
        seen = [
            await agent.ask(
                "pmm_record", content=f"Incident {n}: no log read.", source=f"post{n}.md", cwd=project
            )
            for n in range(3)
        ]

    say("Ada makes a key, the first of this ledger, and teaches what she knows. Both at her terminal.")
    await asyncio.to_thread(
        here.person,
        "reviewer",
        "add",
        "Ada",
        answers=[("New passphrase: ", PASSPHRASE), ("Once more: ", PASSPHRASE)],
    )
    await asyncio.to_thread(
        here.person, "teach", "In twenty years I never regretted reading the log first.", answers=[SIGN]
    )
    signed = await asyncio.to_thread(here.command, "events", "--kind", "teaching_signed")
    teaching = f"ev:{signed['events'][0]['body']['evidence']}"

    async with here.session() as agent:
        candidate = await agent.ask(
            "pmm_knowledge_distill",
            statement="Look before you act.",
            content="Every incident was made worse by acting before reading the log.",
            tier="principle",
            supporting_refs=[one["id"] for one in seen],
            teaching_refs=[teaching],
            cwd=project,
        )
    law = candidate["id"]

    say("Another session verifies it twice, and asks for it to become law. It says that Alice approved.")
    async with here.session() as agent:
        verification = [
            (await agent.ask("pmm_record", content=f"Incident {n} too.", source=f"post{n}.md", cwd=project))[
                "id"
            ]
            for n in (3, 4)
        ]
        asked = {"id": law, "verification_refs": verification, "reason": "reviewer: Alice, approved"}
        refused = await agent.ask("pmm_knowledge_promote", **asked)
        assert not refused["promoted"]
        (missing,) = refused["gate"]["missing"]  # The evidence is enough; what "Alice" said is a label.
        assert missing.startswith("review")
        say(f"    refused: {missing}")

    say("Ada sees what waits, with every piece of evidence, and signs exactly that.")
    waiting = await asyncio.to_thread(here.command, "review", "list")
    assert [one["id"] for one in waiting["waiting"]] == [law]
    await asyncio.to_thread(
        here.person, "review", "approve", law, answers=[(f"Type {law} to approve", law), SIGN]
    )

    say("The same call, word for word, succeeds now.")
    async with here.session() as agent:
        promoted = await agent.ask("pmm_knowledge_promote", **asked)
        assert promoted["promoted"], promoted["gate"]["reasons"]
        say(f"    {law}: {promoted['old_status']} → {promoted['new_status']}")

    verified = await asyncio.to_thread(here.command, "verify", "--projections")
    assert verified["ok"]
    say(f"{verified['checked']} events verified, and every signature among them.")


if __name__ == "__main__":
    if importlib.util.find_spec("termios") is None:
        say("There are no pseudo-terminals on this system, so nobody can play the person here.")
    else:
        with stage() as here:
            asyncio.run(main(here))
