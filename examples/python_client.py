"""Ask the memory from Python with nothing but a NATS client: ``NATS_URL=... python python_client.py QUESTION``."""

import asyncio
import json
import os
import sys

import nats

REQUEST = {"query": "where are sessions stored?", "k": 3}


async def main() -> int:
    request = REQUEST | ({"query": sys.argv[1]} if len(sys.argv) > 1 else {})
    bus = await nats.connect(os.environ["NATS_URL"], inbox_prefix=b"_INBOX.python-example")
    message = await bus.request("recall.v1.python-example.search", json.dumps(request).encode(), timeout=30)
    await bus.close()
    reply = json.loads(message.data)
    if "error" in reply:
        print(reply["error"]["code"], reply["error"]["message"], reply["error"]["suggestion"])
        return 2
    for hit in reply["hits"]:
        print(hit["verdict"], hit["path"], hit["lines"], hit["validity"]["status"])
    for hit in reply["withheld"]:
        print("withheld:", hit["verdict"], hit["path"], hit["reason"])
    if reply["abstained"]:
        print("the memory does not know:", reply["reason"])
    return int(reply["abstained"])


sys.exit(asyncio.run(main()))
