import type { File, Request, Response } from "./protocol";

/** How long a request may take. The objects of a request can be large, and expressions slow. */
const patience = 20_000;

/** What engine.js contains: the source of the worker, and the engine as base64 of zstd of WebAssembly. */
declare const sunsetEngine: { worker: string; wasm: string };

interface Ask extends Omit<Request, "objects"> {
  files: File[]; // compared by identity: a new array means new objects
}

/**
 * Runs the engine in a worker, one request at a time. If several requests wait, it runs only the last one. It ends a
 * worker that takes too long or fails, and starts another one.
 */
export class Engine {
  private worker?: Worker;
  private running?: Ask;
  private waiting?: Ask;
  private loaded?: File[]; // the objects that the worker has
  private timer = 0;
  private isReady = false;
  private readonly script = trusted(URL.createObjectURL(new Blob([sunsetEngine.worker], { type: "text/javascript" })));

  constructor(
    private readonly answered: (response: Response) => void,
    private readonly failed: (message: string) => void,
  ) {
    this.start();
  }

  /** True until the last request has its response. */
  get isBusy(): boolean {
    return this.running !== undefined || this.waiting !== undefined;
  }

  ask(request: Ask): void {
    this.waiting = request;
    this.next();
  }

  private start(): void {
    this.worker?.terminate();
    this.loaded = this.running = undefined;
    this.isReady = false;
    this.worker = new Worker(this.script);
    this.worker.onmessage = ({ data }) => this.receive(data);
    this.worker.onerror = (event) => this.failed(`The engine cannot start: ${event.message}`);
    this.worker.postMessage({ wasm: sunsetEngine.wasm });
  }

  private receive(data: { ready?: boolean; response?: Response; failure?: string }): void {
    clearTimeout(this.timer);
    if (data.failure !== undefined && !this.isReady) {
      this.failed(`The engine cannot start: ${data.failure}`);
      return;
    }
    if (data.failure !== undefined) {
      this.restart("The engine ran out of stack or memory. The input is nested too deeply or too large; use kubectl sunset preview.");
      return;
    }
    this.isReady = true;
    this.running = undefined;
    if (data.response) this.answered(data.response);
    this.next();
  }

  private restart(message: string): void {
    this.start();
    this.failed(message);
  }

  private next(): void {
    if (!this.isReady || this.running || !this.waiting) return;
    const { files, ...request } = (this.running = this.waiting);
    this.waiting = undefined;
    const objects = files === this.loaded ? undefined : files;
    this.loaded = files;
    this.worker?.postMessage({ request: { ...request, objects } });
    this.timer = window.setTimeout(() => {
      this.restart(`The evaluation took more than ${patience / 1000} seconds. Use fewer objects or simpler expressions.`);
    }, patience);
  }
}

/** Marks the URL of the worker as trusted. The page may load no other script. */
function trusted(url: string): string {
  const { trustedTypes } = window as { trustedTypes?: { createPolicy(name: string, rules: object): { createScriptURL(url: string): string } } };
  if (!trustedTypes) return url;
  return trustedTypes.createPolicy("sunset-worker", { createScriptURL: (of: string) => of }).createScriptURL(url);
}
