"""Measures whether a backlog drains at a steady rate and with steady memory.

``make bench-backlog`` runs it.

Writes 100,000 due deliveries over 20 webhooks, starts one worker, and prints the rate and the worker's
resident memory after every 10,000. The first 10,000 warm up. Exits with 1 if the last 10,000 took more than
1.5 times as long as the second, or if memory grew by more than a fifth after the second.
"""

import os
import sys
import time

from benchmarks.harness import emit_backlog, gateway_state, make_webhooks, resident_mib, worker
from benchmarks.isolation import receivers
from models.database import reading
from models.deliveries.delivery import Delivery, DeliveryState

TOTAL = int(os.environ.get("BENCH_BACKLOG", "100000"))
STEPS, WEBHOOKS = 10, 20
PATIENCE_SECONDS = 1800
TIME_GROWTH, MEMORY_GROWTH = 1.5, 1.2


def delivered() -> int:
    with reading():
        return int(Delivery.select().where(Delivery.state == DeliveryState.DELIVERED).count())


def main() -> int:
    """Fill and drain. Returns the exit status."""
    step = TOTAL // STEPS
    seconds: list[float] = []
    memory: list[float] = []
    with gateway_state(), receivers() as url:
        emit_backlog(make_webhooks([f"{url}/ok/{n}" for n in range(WEBHOOKS)]), TOTAL)
        print(f"{'delivered':>10}  {'per second':>10}  {'resident MiB':>12}")
        with worker() as process:
            since = time.monotonic()
            deadline = since + PATIENCE_SECONDS
            for done in range(step, TOTAL + 1, step):
                while delivered() < done:
                    if time.monotonic() > deadline:
                        print(f"gave up at {delivered()}")
                        return 1
                    time.sleep(0.1)
                now = time.monotonic()
                seconds.append(now - since)
                memory.append(resident_mib(process))
                since = now
                print(f"{done:>10}  {step / seconds[-1]:>10.0f}  {memory[-1]:>12.1f}", flush=True)
    flat = seconds[-1] <= TIME_GROWTH * seconds[1] and memory[-1] <= MEMORY_GROWTH * memory[1]
    print(f"time x{seconds[-1] / seconds[1]:.2f}, memory x{memory[-1] / memory[1]:.2f} since 20 %")
    return 0 if flat else 1


if __name__ == "__main__":
    sys.exit(main())
