// @ts-check
// A policy of the reader's own, and its name: a score of blocks, a stream of pages, or both, in a preset.

/** `base` is the preset that keeps the rest; empty for a plain log. @typedef {{ score: string, stream: string, base: string }} Own */

/** What to begin with: what it is, the score, the stream, the preset. @type {[string, string, string, string][]} */
export const EXAMPLES = [
  ["greedy", "valid", "", ""],
  ["cost-benefit", "valid / (invalid * age)", "", "cost-benefit"],
  ["cost-benefit, CAT paper", "valid / (invalid * (1 + log2(1 + age / tau)))", "", "cost-benefit"],
  ["CAT", "valid / invalid * (erases + 1) / (1 + log2(1 + age / tau))", "", "cat"],
  ["oldest first", "-age", "", ""],
  ["greedy, even wear", "valid + 5 * erases", "", ""],
  ["survivors apart", "", "survivor", ""],
  ["hot and cold by interval", "", "if(survivor, 0, if(interval < tau, 2, 1))", ""],
  ["up a level when written, down when copied", "", "if(survivor, max(stream - 1, 0), if(writes, stream + 1, 0))", ""],
];

/** Names with commas between, of which those in brackets belong to a name. @param {string} text */
export const split = (text) => {
  const names = [""];
  let depth = 0;
  for (const sign of text) {
    if (sign === "(") depth += 1;
    else if (sign === ")") depth = Math.max(0, depth - 1);
    if (sign === "," && depth === 0) names.push("");
    else names[names.length - 1] += sign;
  }
  return names.map((name) => name.trim()).filter(Boolean);
};

/** The name of a policy; empty if it says nothing. @param {Own} own */
export const named = ({ score, stream, base }) => {
  if (!score && !stream) return "";
  if (!base && !stream) return `score(${score})`;
  if (!base && !score) return `stream(${stream})`;
  const parts = [score && `victim=score(${score})`, stream && `placement=stream(${stream})`].filter(Boolean);
  return `${base || "greedy"}(${parts.join(", ")})`;
};

/** What a name says; null if it is no such name. @param {string} name @returns {Own | null} */
export const read = (name) => {
  const [, head, inner] = /^([\w-]+)\((.+)\)$/.exec(name) ?? [];
  if (inner === undefined) return null;
  const own = { score: "", stream: "", base: "" };
  if (head === "score" || head === "stream") own[head] = inner;
  else {
    own.base = head;
    for (const part of split(inner)) {
      const [, score] = /^victim=score\((.+)\)$/.exec(part) ?? [];
      const [, stream] = /^placement=stream\((.+)\)$/.exec(part) ?? [];
      own.score ||= score ?? "";
      own.stream ||= stream ?? "";
    }
  }
  return named(own) === name ? own : null;
};
