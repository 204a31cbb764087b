// SPDX-License-Identifier: Apache-2.0
// Builds the page in the working directory: node build.mjs REPOSITORY ENGINE WASM_EXEC FOLDER. The engine is compressed with
// zstd; WASM_EXEC is the script of Go that runs it.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";

const [root, engine, support, out] = process.argv.slice(2);

/** Returns a TypeScript file with everything that it imports, as one script. */
async function bundle(file) {
  const result = await build({ entryPoints: [join("src", file)], bundle: true, minify: true, format: "iife", target: "es2022", charset: "utf8", write: false, legalComments: "none" });
  return result.outputFiles[0].text;
}

/** Returns the samples: each directory with a want.yaml. */
function samples(dir = join(root, "samples")) {
  const found = [];
  for (const entry of readdirSync(dir, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(dir, entry.name);
    if (entry.isDirectory()) found.push(...samples(path));
    if (entry.name === "want.yaml") found.push(sample(dir, readFileSync(path, "utf8")));
  }
  return found;
}

function sample(dir, want) {
  const value = (field) => new RegExp(`^${field}: (.*)$`, "m").exec(want)?.[1];
  const list = (field) => value(field)?.replace(/[[\]]/g, "").split(/,\s*/);
  const texts = (field, file) => (list(field) ?? [file]).map((name) => readFileSync(join(dir, name), "utf8")).join("\n---\n");
  const policies = texts("policies", "policy.yaml");
  const title = /^# (.*)$/m.exec(policies)?.[1] ?? "";
  const name = relative(join(root, "samples"), dir).replaceAll("\\", "/");
  return { name, title, policies, objects: texts("objects", "objects.yaml"), at: value("at"), asWritten: value("modes") === "asWritten", allowKinds: list("allowKinds") };
}

const worker = readFileSync(support, "utf8") + (await bundle("worker.ts"));
const app = await bundle("main.ts");
const nonce = createHash("sha256").update(app).digest("base64url").slice(0, 22);
const files = {
  "index.html": readFileSync("index.html", "utf8").replaceAll("NONCE", nonce),
  "style.css": readFileSync("style.css", "utf8"),
  "samples.js": `var sunsetSamples = ${JSON.stringify(samples())};\n`,
  "app.js": app,
  "engine.js": `var sunsetEngine = ${JSON.stringify({ worker, wasm: readFileSync(engine, "base64") })};\n`,
};
for (const [name, text] of Object.entries(files)) writeFileSync(join(out, name), text);
