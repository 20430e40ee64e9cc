"""Ranks: one run shared by several processes that torchrun started, each with its part of the problems.

Each rank appends to its own `responses.<rank>.jsonl`, which does not depend on other ranks surviving. The ranks
communicate (torch.distributed, gloo, no GPU needed) only to agree on the folder and to wait for each other at the end.
If one dies, everything written so far stays, and resuming asks for the rest, with any number of ranks.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

from markscheme.errors import ModelError, UsageError, first_line, needed
from markscheme.models.fleet.threads import in_thread

# How long a finished rank waits for the others: a share may take days, and torchrun ends us if one dies.
PATIENCE = timedelta(days=30)

GATHERING = timedelta(minutes=10)  # how long the ranks may take to start

# Only torchrun sets the first one: schedulers set the others for whole pods, where one command is not several ranks.
VARIABLES = ("TORCHELASTIC_RUN_ID", "RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")

T = TypeVar("T")


@dataclass(frozen=True)
class Ranks:
    """This process's position among the ranks; usually it is the only one."""

    rank: int = 0
    world: int = 1

    @property
    def several(self) -> bool:
        return self.world > 1

    @property
    def first(self) -> bool:
        """Whether this is the rank that creates the folder, marks and reports."""
        return self.rank == 0

    def share(self, items: Sequence[T]) -> Sequence[T]:
        """Return this rank's part: every `world`-th item, so that hard problems at the end are shared too."""
        return items[self.rank :: self.world]

    def agreed(self, value: T) -> T:
        """Return rank 0's value, where ranks that look at different moments might differ."""
        if not self.several:
            return value
        import torch.distributed as dist

        chosen = [value]
        try:
            dist.broadcast_object_list(chosen, src=0)
        except RuntimeError as error:
            raise ModelError(f"rank {self.rank} lost the others before the run began: {first_line(error)}") from None
        return chosen[0]

    def meet(self) -> bool:
        """Wait for every rank; return false if one of them will not come any more."""
        if not self.several:
            return True
        import torch.distributed as dist

        try:
            dist.barrier()
        except RuntimeError:
            return False
        return True

    async def met(self) -> bool:
        """Do the same in a thread, which is abandoned when the caller gives up."""
        return await asyncio.wrap_future(in_thread(self.meet))


ALONE = Ranks()


_joined = ALONE


def current() -> Ranks:
    """Return the ranks that share the run with this process: those that it has joined."""
    return _joined


def join() -> Ranks:
    """Join the ranks that torchrun started. A Python program that asks for a run of its own under torchrun does not."""
    global _joined
    if not _joined.several:
        _joined = _found()
    return _joined


def _found() -> Ranks:
    if any(name not in os.environ for name in VARIABLES) or int(os.environ["WORLD_SIZE"]) < 2:
        return ALONE
    dist = needed("torch.distributed", "hf")
    if not dist.is_initialized():
        store, rank, world = next(dist.rendezvous("env://"))
        # torchrun keeps its store when it restarts the ranks, with the addresses of the dead ones in it.
        fresh = dist.PrefixStore(f"markscheme-{os.environ.get('TORCHELASTIC_RESTART_COUNT', 0)}", store)
        _gather(fresh, rank, world)
        dist.init_process_group("gloo", store=fresh, rank=rank, world_size=world, timeout=PATIENCE)
    return Ranks(dist.get_rank(), dist.get_world_size())


def _gather(store: Any, rank: int, world: int) -> None:
    """Wait for every rank to appear, with a limit: a lone command that inherited RANK must not hang."""
    store.set(f"here-{rank}", "")
    try:
        store.wait([f"here-{other}" for other in range(world)], GATHERING)
    except RuntimeError:
        raise UsageError(
            f"rank {rank} of {world} waited {GATHERING} for the others; to run this command alone, "
            "unset torchrun's variables (env -u RANK …)"
        ) from None
