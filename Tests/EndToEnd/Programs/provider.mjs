// A provider on Node's http2, which moves as node-apn does: one session, an empty SETTINGS frame, PINGs, a deadline of
// five seconds for each request, headers as numbers, the error read from the body.
//
// usage: node provider.mjs RELAY.json TOKEN BEARER

import { strict as assert } from "node:assert";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect } from "node:http2";

const REQUEST_TIMEOUT_MILLISECONDS = 5000;
const [path, token, bearer] = process.argv.slice(2);
const relay = JSON.parse(readFileSync(path));

function write(session, headers, device, payload) {
  return new Promise((resolve, reject) => {
    const request = session.request({
      ":method": "POST",
      ":path": `/3/device/${device}`,
      ":scheme": "https",
      ":authority": relay.host,
      authorization: bearer,
      ...headers,
    });
    let response;
    let body = "";
    request.setEncoding("utf8");
    request.setTimeout(REQUEST_TIMEOUT_MILLISECONDS, () => request.close());
    request.on("response", (head) => (response = head));
    request.on("data", (data) => (body += data));
    request.on("error", reject);
    request.on("end", () => {
      if (!response) return reject(new Error("the stream ended without an answer"));
      // node-apn calls a refusal without a body an unexpected end.
      if (response[":status"] !== 200 && body === "") return reject(new Error("the stream ended unexpectedly"));
      resolve({ status: response[":status"], id: response["apns-id"], ...(body && JSON.parse(body)) });
    });
    request.end(payload);
  });
}

const session = connect(`https://${relay.host}:${relay.providerPort}`, { ca: readFileSync(relay.authorityFile) });
session.on("error", (error) => assert.fail(error));
const [settings] = await once(session, "remoteSettings");
assert.equal(session.alpnProtocol, "h2");
assert.ok(settings.maxConcurrentStreams >= 1, `the stream limit is ${settings.maxConcurrentStreams}`);
assert.equal(settings.maxHeaderListSize, 8000);

await new Promise((done) => session.settings({}, done));
console.log("an empty SETTINGS frame is acknowledged");

for (let round = 0; round < 3; round++) {
  await new Promise((done, fail) => session.ping((error) => (error ? fail(error) : done())));
}
console.log("PINGs are answered");

const payload = JSON.stringify({ aps: { alert: { title: "from", body: "Node" } } });
const id = randomUUID();
const expiry = Math.floor(Date.now() / 1000) + 600;
const headers = { "apns-topic": relay.topics[0], "apns-priority": 10, "apns-push-type": "alert" };
assert.deepEqual(await write(session, { ...headers, "apns-id": id, "apns-expiration": expiry }, token, payload), {
  status: 200,
  id,
});
console.log(`pushed ${id}`);

const refusals = [
  [{}, "00", payload, 400, "BadDeviceToken"],
  [{ "apns-priority": 11 }, token, payload, 400, "BadPriority"],
  [{ "apns-expiration": 1.5 }, token, payload, 400, "BadExpirationDate"],
  [{}, token, "", 400, "PayloadEmpty"],
  [{}, token, JSON.stringify({ aps: { alert: "x".repeat(5000) } }), 413, "PayloadTooLarge"],
  [{ authorization: undefined }, token, payload, 403, "MissingProviderToken"],
];
for (const [more, device, text, status, reason] of refusals) {
  const answer = await write(session, { ...headers, ...more, "apns-id": id }, device, text);
  assert.deepEqual(answer, { status, id, reason });
}
console.log("every refusal has a body that says why");

const answers = await Promise.all(Array.from({ length: 200 }, () => write(session, headers, token, payload)));
assert.equal(new Set(answers.map((answer) => answer.id)).size, 200);
assert.ok(answers.every((answer) => answer.status === 200));
console.log("two hundred at once are accepted");
session.close();
await once(session, "close");
