// Ask the memory from TypeScript, in a package of "type": "module":
//   npm install @nats-io/transport-node && NATS_URL=... npx tsx client.ts
import { connect } from "@nats-io/transport-node";

interface Hit {
  verdict: string;
  repo: string;
  path: string;
  lines: [number, number];
  reason: string;
}

interface Reply {
  abstained: boolean;
  reason: string;
  hits: Hit[];
  withheld: Hit[];
  error?: Failure;
}

interface Failure {
  code: string;
  message: string;
  suggestion: string;
}

const request = `{"query": "where are sessions stored?", "k": 3}`;

const at = new URL(process.env.NATS_URL ?? "nats://127.0.0.1:4222");
const bus = await connect({
  servers: at.host,
  user: at.username || undefined,
  pass: at.password || undefined,
  inboxPrefix: "_INBOX.ts-example",
});
const message = await bus.request("recall.v1.ts-example.search", request, { timeout: 30_000 });
await bus.close();

const reply = message.json<Reply>();
if (reply.error) throw new Error(`${reply.error.code}: ${reply.error.message}; ${reply.error.suggestion}`);
for (const hit of reply.hits) console.log(hit.verdict, `${hit.repo}:${hit.path}:${hit.lines.join("-")}`);
for (const hit of reply.withheld) console.log("withheld:", hit.verdict, hit.path, hit.reason);
if (reply.abstained) console.log("the memory does not know:", reply.reason);
