// Parses files of a language without a compiler here with its grammar: node syntax.mjs GRAMMAR.wasm FOLDER SUFFIX.
// Prints the number of files, and each syntax error.
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Language, Parser } from "web-tree-sitter";

const [grammar, folder, suffix] = process.argv.slice(2);
await Parser.init();
const parser = new Parser();
parser.setLanguage(await Language.load(grammar));

/** The smallest node around the first error. */
function mistake(node) {
  const inner = node.children.find((child) => child.hasError || child.isMissing);
  return inner ? mistake(inner) : node;
}

const files = globSync(`**/*${suffix}`, { cwd: folder });
const mistakes = [];
for (const file of files) {
  const tree = parser.parse(readFileSync(join(folder, file), "utf8"));
  if (tree.rootNode.hasError) {
    const { startPosition, text } = mistake(tree.rootNode);
    mistakes.push(`${file}:${startPosition.row + 1}: ${text}`);
  }
  tree.delete();
}
console.log(JSON.stringify({ files: files.length, mistakes }));
