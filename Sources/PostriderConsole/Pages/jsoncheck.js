// Checks a payload as it is typed. Unlike the errors of JSON.parse, this says the same in every browser.

/** The first mistake of a text as {line, column, sentence}; null if it is JSON. */
export function mistake(text) {
  let at = 0;

  class Mistake extends Error {}
  const fail = (sentence) => { throw new Mistake(sentence); };
  const skip = () => { while (" \t\n\r".includes(text[at]) && at < text.length) at += 1; };
  const found = () => (at >= text.length ? "the end" : `"${String.fromCodePoint(text.codePointAt(at))}"`);

  function string(what) {
    if (text[at] !== "\"") fail(`${what} in double quotes is missing; there is ${found()}`);
    const start = at;
    for (at += 1; text[at] !== "\""; at += 1) {
      if (at >= text.length || text[at] === "\n") { at = start; fail("this text has no closing quote"); }
      if (text[at] < " ") fail("a control character must be written as \\u and four digits");
      if (text[at] === "\\") {
        at += 1;
        if (text[at] === "u") {
          if (!/^[0-9a-fA-F]{4}/.test(text.slice(at + 1))) fail("\\u needs four hexadecimal digits");
          at += 4;
        } else if (!"\"\\/bfnrt".includes(text[at]
            ?? "x")) fail(`\\${text[at] ?? ""} means nothing; a backslash is written as \\\\`);
      }
    }
    at += 1;
    return text.slice(start, at);
  }

  function members(end, read) {
    at += 1;
    skip();
    if (text[at] === end) { at += 1; return; }
    for (;;) {
      read();
      skip();
      if (text[at] === end) { at += 1; return; }
      if (text[at] !== ",") fail(`a comma or ${end} is missing; there is ${found()}`);
      at += 1;
      skip();
      if (text[at] === end) fail(`after the comma another ${end === "}" ? "member" : "value"} is missing`);
    }
  }

  function object(depth) {
    const names = new Set();
    members("}", () => {
      const start = at;
      const name = string("a name");
      if (names.has(name)) { at = start; fail(`the name ${name} is there twice`); }
      names.add(name);
      skip();
      if (text[at] !== ":") fail(`a colon is missing after the name; there is ${found()}`);
      at += 1;
      value(depth);
    });
  }

  function value(depth) {
    if (depth > 64) fail("this is nested too deep");
    skip();
    const word = /^(true|false|null|-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?)(?![\w.])/.exec(text.slice(at,
        at + 400));
    if (text[at] === "{") object(depth + 1);
    else if (text[at] === "[") members("]", () => value(depth + 1));
    else if (text[at] === "\"") string("a text");
    else if (word) at += word[0].length;
    else fail(`a value is missing; there is ${found()}`);
  }

  try {
    value(0);
    skip();
    if (at < text.length) fail(`there is ${found()} after the end of the payload`);
    return null;
  } catch (error) {
    if (!(error instanceof Mistake)) throw error;
    const before = text.slice(0, at).split("\n");
    return { line: before.length, column: before.at(-1).length + 1, sentence: error.message };
  }
}

/** What is wrong with a payload, as {sentence, isError, line}; null if nothing is. */
export function judge(text, pushType) {
  const wrong = mistake(text);
  if (wrong) {
    const { line, column, sentence } = wrong;
    return { isError: true, line, sentence: `Line ${line}, column ${column}: ${sentence}.` };
  }
  const payload = JSON.parse(text);
  if (payload === null || typeof payload !== "object" || Array.isArray(payload)) {
    return { isError: true, line: 1, sentence: "The payload must be an object: {\"aps\": \u2026}." };
  }
  const bytes = new TextEncoder().encode(text).length;
  const limit = pushType === "voip" ? 5120 : 4096;
  if (bytes > limit) return { isError: true,
      sentence: `The payload has ${bytes} bytes; at most ${limit} are permitted.` };
  if (!("aps" in payload)) return { isError: false,
      sentence: `${bytes} bytes. There is no member "aps": nothing will be shown.` };
  return { isError: false, sentence: `${bytes} of ${limit} bytes.`, isFine: true };
}
