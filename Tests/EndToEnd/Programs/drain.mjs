// SIGTERM under a provider on Node's http2, with thousands of pushes in flight: each that was begun is answered.
//
// usage: node drain.mjs RELAY.json TOKEN BEARER burst|stream
//
// burst: 5000 at once, most of which wait in the client. stream: 400 at a time, each answer brings the next push, until the
// relay says that it takes no more. A request that waits in nghttp2 when the GOAWAY is read is never sent: Node reports a
// "frameError" of its HEADERS, and the push was not begun.

import { strict as assert } from "node:assert";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect } from "node:http2";

const BURST = 5000;
const AT_ONCE = 400;
const ANSWERS_BEFORE_THE_END = 300;
const [path, token, bearer, way] = process.argv.slice(2);
const relay = JSON.parse(readFileSync(path));
const session = connect(`https://${relay.host}:${relay.providerPort}`, { ca: readFileSync(relay.authorityFile) });
session.on("error", (error) => assert.fail(error));
await once(session, "remoteSettings");

const farewells = [];
session.on("goaway", (code, lastStream, data) => farewells.push([code, lastStream, Buffer.from(data ?? "").toString()]));

const statuses = new Map();
let answers = 0;
let begun = 0;
let unsent = 0;
const HEADERS = 1;

function push() {
  begun++;
  return new Promise((resolve, reject) => {
    const request = session.request({
      ":method": "POST", ":path": `/3/device/${token}`, authorization: bearer, "apns-topic": relay.topics[0],
    });
    let status;
    request.on("response", (head) => (status = head[":status"]));
    let isUnsent = false;
    request.on("frameError", (type) => (isUnsent = type === HEADERS));
    request.on("error", (error) => (isUnsent ? resolve() : reject(new Error(`a push fails: ${error.message}`))));
    request.on("end", () => (status ? resolve(status) : reject(new Error("a push gets no answer"))));
    request.resume();
    request.end('{"aps":{"alert":"in flight"}}');
  }).then((status) => {
    if (status === undefined) return unsent++;
    statuses.set(status, (statuses.get(status) ?? 0) + 1);
    if (++answers === ANSWERS_BEFORE_THE_END) process.kill(relay.process, "SIGTERM");
  });
}

async function pushOn() {
  while (!session.closed) await push();
}

const ended = once(session, "close");
await Promise.all(Array.from({ length: way === "burst" ? BURST : AT_ONCE }, way === "burst" ? push : pushOn));
await ended;
assert.equal(answers, begun - unsent);
assert.ok(farewells.length > 0 || unsent === 0, "only a GOAWAY holds a push back");
assert.ok((statuses.get(503) ?? 0) > 0, "some come too late");
assert.deepEqual([...statuses.keys()].filter((status) => ![200, 429, 503].includes(status)), []);
// Of the last one a session without a stream may not be told.
assert.deepEqual(farewells[0], [0, 2 ** 31 - 1, '{"reason":"Shutdown"}']);
console.log("every push that was begun is answered");
