"""The dashboard's event screen under a storm: what it takes of a core, and whether its memory grows."""

from __future__ import annotations

import subprocess
import sys
import time

import anyio
import psutil

from tests.bench.figure import Figure, report
from tests.support.daemon import running
from tests.support.dashboard import QUIET, shown
from tests.support.directories import short_directory

RATE = 1_000
SECONDS = 15.0
WARM_S = 6.0
STORM = """
import sys, time, anyio, json, nats
async def main():
    url, user, password, rate = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
    nc = await nats.connect(url, user=user, password=password)
    begun, sent = time.monotonic(), 0
    while True:
        while sent < (time.monotonic() - begun) * rate:
            at = time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime())
            data = {"repo": "memory", "path": f"storm/{sent}.md", "seq": 0, "lag_s": 0.1, "outcome": "written"}
            event = {"topic": "indexed", "at": at, "node": "storm", "data": data}
            await nc.publish("recall.event.indexed", json.dumps(event).encode())
            sent += 1
        await nc.flush()
        await anyio.sleep(0.02)
anyio.run(main)
"""


async def measure() -> list[Figure]:
    """Show the events of a daemon while another process tells a thousand a second."""
    with short_directory() as directory:
        async with running(directory / "state", **QUIET) as daemon:
            found = daemon.credentials()
            command = [sys.executable, "-c", STORM, found.url, found.user or "", found.password or "", str(RATE)]
            storm = subprocess.Popen(command, stdin=subprocess.DEVNULL)
            try:
                async with shown(daemon, (160, 48)) as (app, pilot):
                    await pilot.press("3")
                    await anyio.sleep(WARM_S)
                    own, told = psutil.Process(), app.feed.total
                    memory, cpu, begun = own.memory_info().rss, time.process_time(), time.monotonic()
                    await anyio.sleep(SECONDS)
                    lasted = time.monotonic() - begun
                    share, came = (time.process_time() - cpu) / lasted, (app.feed.total - told) / lasted
                    grown = (own.memory_info().rss - memory) / (1 << 20)
            finally:
                storm.kill()
                storm.wait()
    return [
        Figure("events taken up", came, "a second", f"{RATE} told", ">= 95 %", came >= 0.95 * RATE),
        Figure("of a core", share * 100, "%", "", "<= 15 %", share <= 0.15),
        Figure("memory grown", grown, "MiB", f"{SECONDS:g} s", "<= 8 MiB", grown <= 8),
    ]


if __name__ == "__main__":
    report(measure)
