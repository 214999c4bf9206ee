// Serves browser-page.ts to a real browser, and stands between it and the server: streams are cut at random, in the middle
// of a message too. Fails unless the page says that every stream came whole.
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { type IncomingMessage, type ServerResponse, createServer, request as ask } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const server = process.env["MANCALA_URL"] ?? "http://127.0.0.1:8080";
const browser = process.env["MANCALA_BROWSER"] ?? "chromium";
let cuts = 0;

const between = (least: number, most: number) => least + Math.floor(Math.random() * (most - least));

/** Passes on a stream until it is cut: after some time and some bytes more. */
function passStream(from: IncomingMessage, to: ServerResponse): void {
  let left = Infinity;
  const cut = () => {
    cuts += 1;
    from.destroy();
    to.destroy();
  };
  const soon = setTimeout(() => (left = between(0, 400)), between(100, 1_500));
  const atLast = setTimeout(cut, 2_500);
  from.on("data", (chunk: Buffer) => {
    to.write(chunk.subarray(0, left), () => left <= 0 && !to.destroyed && cut());
    left -= chunk.length;
  });
  from.on("end", () => to.end());
  from.on("error", () => to.destroy());
  to.on("close", () => {
    clearTimeout(soon);
    clearTimeout(atLast);
    from.destroy();
  });
}

const files: Record<string, [type: string, content: string]> = {
  "/": [
    "text/html",
    `<!doctype html><script type="importmap">{"imports": {"openapi-fetch": "/fetch.js"}}</script>
     <script type="module" src="/page.js"></script>`,
  ],
  "/page.js": ["text/javascript", readFileSync(new URL("browser-page.js", import.meta.url), "utf8")],
  "/calls.js": ["text/javascript", readFileSync(new URL("calls.js", import.meta.url), "utf8")],
  "/fetch.js": ["text/javascript", readFileSync(new URL(import.meta.resolve("openapi-fetch")), "utf8")],
};

let judge: (verdict: string) => void = () => {};
let fail: (error: Error) => void = () => {};
const verdict = new Promise<string>((resolve, reject) => ([judge, fail] = [resolve, reject]));
const proxy = createServer((request, response) => {
  const file = files[request.url ?? ""];
  if (file !== undefined) {
    response.writeHead(200, { "content-type": file[0] }).end(file[1]);
  } else if (request.url === "/verdict") {
    const parts: Buffer[] = [];
    request.on("data", (part: Buffer) => parts.push(part));
    request.on("end", () => {
      response.end();
      judge(Buffer.concat(parts).toString());
    });
  } else {
    const url = new URL(request.url ?? "/", server);
    const passed = ask(url, { method: request.method, headers: request.headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      if (answer.headers["content-type"] === "text/event-stream") {
        response.flushHeaders();
        passStream(answer, response);
      } else {
        answer.pipe(response);
      }
    });
    passed.on("error", () => response.destroy());
    request.pipe(passed);
  }
});
await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
const page = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/`;

const folder = mkdtempSync(join(tmpdir(), "mancala-browser-"));
// What is shown is ours alone, so root does without the sandbox that the browser refuses to root.
const root = process.getuid?.() === 0 ? ["--no-sandbox"] : [];
const options = ["--headless", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage", `--user-data-dir=${folder}`];
const running = spawn(browser, [...options, ...root, page], { stdio: ["ignore", "ignore", "pipe"], detached: true });
const said: Buffer[] = [];
running.stderr.on("data", (part: Buffer) => said.push(part));
running.on("error", fail);
running.on("exit", (code) => fail(new Error(`${browser} ended with ${code}:\n${Buffer.concat(said)}`)));
const late = setTimeout(() => fail(new Error(`no verdict in time:\n${Buffer.concat(said)}`)), 120_000);

try {
  const told: { streams?: string[]; error?: string } = JSON.parse(await verdict);
  console.log(told.streams?.join("\n") ?? told.error);
  console.log(`${cuts} cuts`);
  if (told.streams === undefined || cuts < 8) {
    process.exitCode = 1;
  }
} finally {
  clearTimeout(late);
  running.removeAllListeners("exit");
  if (running.pid !== undefined) {
    const gone = new Promise((resolve) => running.on("exit", resolve));
    process.kill(-running.pid);
    await gone;
  }
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
  proxy.closeAllConnections();
  proxy.close();
}
