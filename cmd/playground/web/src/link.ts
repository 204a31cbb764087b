// SPDX-License-Identifier: Apache-2.0
import type { ObjectName } from "./protocol";

/** What a link of the page contains. */
export interface State {
  sample?: string; // with the unchanged texts of a sample, which are then left out
  policies?: string;
  objects?: string;
  at?: string;
  asWritten?: boolean;
  explain?: ObjectName; // the selected object
}

/** Longer links do not work in all programs. */
const longest = 100_000;

/** Longest text that a link may unpack to: a link may be hostile. */
const unpacked = 4_000_000;

/** Returns data as a stream. */
function streamOf(data: string | Uint8Array<ArrayBuffer>): ReadableStream<Uint8Array<ArrayBuffer>> {
  return new Response(data).body!;
}

/** Returns the fragment of a link: base64url of deflate of JSON; undefined if it would be too long. */
export async function pack(state: State): Promise<string | undefined> {
  if ((state.policies ?? "").length + (state.objects ?? "").length > unpacked / 2) return undefined; // JSON of text can be longer
  const stream = streamOf(JSON.stringify(state)).pipeThrough(new CompressionStream("deflate-raw"));
  const bytes = new Uint8Array(await new Response(stream).arrayBuffer());
  const text = Array.from(bytes, (byte) => String.fromCharCode(byte)).join("");
  const fragment = btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  return fragment.length > longest ? undefined : fragment;
}

/** Returns the state of a fragment; undefined if it is damaged or too large. */
export async function unpack(fragment: string): Promise<State | undefined> {
  try {
    const bytes = Uint8Array.from(atob(fragment.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
    const stream = streamOf(bytes).pipeThrough(new DecompressionStream("deflate-raw")).pipeThrough(new TextDecoderStream());
    let text = "";
    for (const reader = stream.getReader(); ; ) {
      const { done, value } = await reader.read();
      if (done) return clean(JSON.parse(text));
      text += value;
      if (text.length > unpacked) {
        void reader.cancel();
        return undefined;
      }
    }
  } catch {
    return undefined;
  }
}

function nameOf(value: unknown): ObjectName | undefined {
  const { apiVersion, kind, namespace, name } = (value ?? {}) as Record<string, unknown>;
  if (typeof apiVersion !== "string" || typeof kind !== "string" || typeof namespace !== "string" || typeof name !== "string") return undefined;
  return { apiVersion, kind, namespace, name };
}

/** Keeps the known fields with the right types. */
function clean(state: Record<string, unknown>): State {
  const text = (value: unknown) => (typeof value === "string" ? value : undefined);
  return {
    sample: text(state.sample),
    policies: text(state.policies),
    objects: text(state.objects),
    at: text(state.at),
    asWritten: state.asWritten === true,
    explain: nameOf(state.explain),
  };
}
