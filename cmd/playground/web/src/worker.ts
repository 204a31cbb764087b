// The worker runs the engine: wasm_exec.js of Go is in front of this file. A message with wasm starts it; each other message is
// a request.

import { decompress } from "fzstd";

declare const Go: new () => { importObject: WebAssembly.Imports; run(instance: WebAssembly.Instance): Promise<void> };
declare const sunset: (request: string) => string;
declare function postMessage(message: unknown): void;

/** Starts the engine from base64 of a WebAssembly module that is compressed with zstd. Browsers decompress only gzip, a third larger. */
async function start(wasm: string): Promise<void> {
  const text = atob(wasm);
  const module = decompress(Uint8Array.from({ length: text.length }, (_, i) => text.charCodeAt(i)));
  const go = new Go();
  const { instance } = await WebAssembly.instantiate(module as Uint8Array<ArrayBuffer>, go.importObject);
  await new Promise<void>((ready, failed) => {
    (globalThis as Record<string, unknown>).sunsetReady = ready;
    go.run(instance).then(() => failed(new Error("it ended")), failed);
  });
}

onmessage = async ({ data }: MessageEvent<{ wasm?: string; request?: unknown }>) => {
  try {
    if (data.wasm !== undefined) {
      await start(data.wasm);
      postMessage({ ready: true });
    } else {
      postMessage({ response: JSON.parse(sunset(JSON.stringify(data.request))) });
    }
  } catch (error) {
    postMessage({ failure: String(error) });
  }
};
