// SPDX-License-Identifier: Apache-2.0
// The worker runs the engine: wasm_exec.js of Go is in front of this file. A message with wasm starts it; each other message is
// a request. After a message with failure, the worker cannot be used.

import { decompress } from "fzstd";

declare const Go: new () => { env: Record<string, string>; importObject: WebAssembly.Imports; run(instance: WebAssembly.Instance): Promise<void> };
declare const sunset: (request: string) => string | undefined;
declare function postMessage(message: unknown): void;

/**
 * Runs the engine, from base64 of a WebAssembly module that is compressed with zstd. Browsers decompress only gzip, a third larger. It
 * returns only if the engine ends, which is a failure.
 */
async function run(wasm: string): Promise<never> {
  const text = atob(wasm);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = text.charCodeAt(i); // Uint8Array.from takes ten times as long
  const module = decompress(bytes);
  const go = new Go();
  go.env = { GOGC: "400", GOMEMLIMIT: "1GiB" }; // collect garbage less often, unless there is much of it
  const { instance } = await WebAssembly.instantiate(module as Uint8Array<ArrayBuffer>, go.importObject);
  (globalThis as Record<string, unknown>).sunsetReady = () => postMessage({ ready: true });
  await go.run(instance);
  throw new Error("the program ended");
}

function answer(request: unknown): unknown {
  const text = sunset(JSON.stringify(request));
  if (text === undefined) throw new Error("the program ended during the evaluation");
  return JSON.parse(text);
}

onmessage = async ({ data }: MessageEvent<{ wasm?: string; request?: unknown }>) => {
  try {
    if (data.wasm !== undefined) await run(data.wasm);
    else postMessage({ response: answer(data.request) });
  } catch (error) {
    postMessage({ failure: String(error) });
  }
};
