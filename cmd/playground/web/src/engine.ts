// SPDX-License-Identifier: Apache-2.0
import type { File, Request, Response } from "./protocol";

/** How long a request may take, in milliseconds, and how much longer for each character of new objects, up to a limit. */
const patience = 20_000;
const patienceToRead = { each: 0.01, most: 60_000 };

/** How long the engine may take to start, in milliseconds. */
const patienceToStart = 60_000;

const advice = "Change the input, which may be too large or nested too deeply, or use kubectl sunset preview.";

/** What engine.js contains: the source of the worker, and the engine as base64 of zstd of WebAssembly. */
declare const sunsetEngine: { worker: string; wasm: string };

/** A request with all its files. */
export interface Ask extends Omit<Request, "objects"> {
  files: File[]; // compared by identity: a new array means new objects
}

/** What the worker sends. */
interface Message {
  ready?: boolean;
  response?: Response;
  failure?: string;
}

/**
 * Runs the engine in a worker, one request at a time. If several requests wait, it runs only the last one. It ends a
 * worker that takes too long or fails. The next request starts another one.
 */
export class Engine {
  private worker?: Worker; // undefined before the first request and after a failure
  private running?: Ask;
  private waiting?: Ask;
  private loaded?: File[]; // the objects that the worker has
  private timer = 0;
  private isReady = false;

  constructor(
    private readonly answered: (response: Response, request: Ask) => void,
    private readonly failed: (message: string) => void,
  ) {}

  /** True until the last request has its response or has failed. */
  get isBusy(): boolean {
    return this.running !== undefined || this.waiting !== undefined;
  }

  ask(request: Ask): void {
    this.waiting = request;
    if (this.worker) this.next();
    else this.start();
  }

  private start(): void {
    try {
      const worker = new Worker(script());
      const ifCurrent = (act: () => void) => {
        if (worker === this.worker) act(); // messages of a worker that was ended may still arrive
      };
      worker.onmessage = ({ data }) => ifCurrent(() => this.receive(data));
      worker.onmessageerror = () => ifCurrent(() => this.fail("the browser cannot read its message"));
      worker.onerror = (event) => ifCurrent(() => this.fail(event.message || "the browser does not run the worker"));
      this.worker = worker;
      this.timer = window.setTimeout(() => this.fail(`it took more than ${patienceToStart / 1000} seconds`), patienceToStart);
      worker.postMessage({ wasm: sunsetEngine.wasm });
    } catch (error) {
      this.fail(String(error)); // engine.js is missing or damaged, or the browser has no workers
    }
  }

  private receive(data: Message): void {
    if (data.failure !== undefined) {
      this.fail(data.failure);
      return;
    }
    clearTimeout(this.timer);
    const request = this.running;
    this.isReady = true;
    this.running = undefined;
    this.next();
    if (data.response && request) this.answered(data.response, request);
  }

  /** Ends the worker. A newer request than the one that failed starts another worker, unless the engine cannot start. */
  private fail(reason: string): void {
    const started = this.isReady;
    clearTimeout(this.timer);
    this.worker?.terminate();
    this.worker = this.loaded = this.running = undefined;
    this.isReady = false;
    if (started && this.waiting) {
      this.start();
      return;
    }
    this.waiting = undefined;
    this.failed(started ? `The engine stopped: ${reason}. ${advice}` : `The engine cannot start: ${reason}. Start it again or reload the page.`);
  }

  private next(): void {
    if (!this.isReady || this.running || !this.waiting) return;
    const { files, ...request } = (this.running = this.waiting);
    this.waiting = undefined;
    const objects = files === this.loaded ? undefined : files;
    this.loaded = files;
    this.worker?.postMessage({ request: { ...request, objects } });
    const length = objects?.reduce((n, { text }) => n + text.length, 0) ?? 0;
    const limit = patience + Math.min(length * patienceToRead.each, patienceToRead.most);
    this.timer = window.setTimeout(() => this.fail(`the evaluation took more than ${Math.round(limit / 1000)} seconds`), limit);
  }
}

let url: string | undefined;

/** Returns the URL of the script of the worker, which is marked as trusted. The page may load no other script. */
function script(): string {
  if (url !== undefined) return url;
  const created = URL.createObjectURL(new Blob([sunsetEngine.worker], { type: "text/javascript" }));
  const { trustedTypes } = window as { trustedTypes?: { createPolicy(name: string, rules: object): { createScriptURL(url: string): string } } };
  url = trustedTypes ? trustedTypes.createPolicy("sunset-worker", { createScriptURL: (of: string) => of }).createScriptURL(created) : created;
  return url;
}
