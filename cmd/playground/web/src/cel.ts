// SPDX-License-Identifier: Apache-2.0
import { yamlLanguage } from "@codemirror/lang-yaml";
import { LanguageSupport, ParseContext, StreamLanguage, type StringStream } from "@codemirror/language";
import { type Input, parseMixed } from "@lezer/common";

const words = /^(true|false|null|in)\b/;

/** The tokens of CEL. Comments and all strings of CEL are one token each, except for triple quotes. */
const cel = StreamLanguage.define({
  name: "cel",
  token(stream: StringStream) {
    if (stream.eatSpace()) return null;
    if (stream.match(/^\/\/.*/)) return "comment";
    if (stream.match(/^[rRbB]{0,2}("([^"\\]|\\.)*"?|'([^'\\]|\\.)*'?)/)) return "string";
    if (stream.match(/^\d[\w.]*/)) return "number";
    if (stream.match(words)) return "keyword";
    if (stream.match(/^[A-Za-z_]\w*(?=\s*\()/)) return "variableName.function";
    if (stream.match(/^(object|node|references|variables)\b/)) return "variableName.special";
    if (stream.match(/^[A-Za-z_]\w*/)) return "variableName";
    if (stream.match(/^[-+*/%=!<>&|?:.]+/)) return "operator";
    stream.next();
    return null;
  },
});

/** The fields of policies that contain CEL. */
const fields = /^(eligible|startTime|ttlExpression|groupBy|outcome|bytes|expression|names)$/;

const celInFields = parseMixed((node, input) => {
  if (!["Literal", "QuotedLiteral", "BlockLiteralContent"].includes(node.name)) return null;
  const pair = node.name === "BlockLiteralContent" ? node.node.parent?.parent : node.node.parent;
  const key = pair?.name === "Pair" ? pair.getChild("Key") : null;
  if (!key || !fields.test(input.read(key.from, key.to))) return null;
  const quoted = node.name === "QuotedLiteral" ? 1 : 0;
  return { parser: cel.parser, overlay: [{ from: node.from + quoted, to: Math.max(node.from + quoted, node.to - quoted) }] };
});

/** Nesting that no object has. The parser may use up the stack for more, and the editor would then keep its old text. */
const deepest = 200;

/** Reports whether a text may be nested deeper than deepest: by brackets, or by what its lines begin with. */
function isTooDeep(input: Input): boolean {
  let depth = 0;
  for (const [token] of input.read(0, input.length).matchAll(/[[\]{}]|^[ \t?:-]+/gm)) {
    if (token === "[" || token === "{") depth++;
    else if (token === "]" || token === "}") depth = Math.max(0, depth - 1);
    if (depth > deepest || token.length > 2 * deepest) return true;
  }
  return false;
}

const noParser = ParseContext.getSkippingParser();

/** YAML with CEL in the fields of policies that contain it. A text that is nested too deeply has no colors. */
export function yamlWithCEL(): LanguageSupport {
  const language = yamlLanguage.configure({
    wrap: (parse, input, fragments, ranges) =>
      isTooDeep(input) ? noParser.startParse(input, fragments, ranges) : celInFields(parse, input, fragments, ranges),
  });
  return new LanguageSupport(language);
}
