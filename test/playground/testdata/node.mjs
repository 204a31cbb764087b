// Runs the engine under Node: node node.mjs WASM_EXEC ENGINE. Each line of the input is a request, each line of the output the
// response.
import { readFileSync, writeSync } from "node:fs";
import { createInterface } from "node:readline";

const [support, engine] = process.argv.slice(2);
(0, eval)(readFileSync(support, "utf8"));
const go = new globalThis.Go();
go.env = { GOGC: "400", GOMEMLIMIT: "1GiB" }; // as the worker of the page does
const { instance } = await WebAssembly.instantiate(readFileSync(engine), go.importObject);
const ready = new Promise((resolve) => (globalThis.sunsetReady = resolve));
go.run(instance);
await ready;
for await (const request of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
  const bytes = Buffer.from(globalThis.sunset(request).trim() + "\n");
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(1, bytes, at);
    } catch (error) {
      if (error.code !== "EAGAIN") throw error; // the reader is slower
    }
  }
}
process.exit(0);
