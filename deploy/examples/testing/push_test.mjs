// A test of code that pushes, in Node: docs/start/test-in-any-language.md.
import { strict as assert } from "node:assert";
import { readFileSync } from "node:fs";
import { connect } from "node:http2";

const { APNS = "https://127.0.0.1:2197", CAPTURES = "http://127.0.0.1:2196", CA = ".postrider/authority.pem", BEARER } = process.env;
const token = "ab".repeat(32);

// The code under test.
function push(payload) {
  return new Promise((resolve, reject) => {
    const session = connect(APNS, { ca: readFileSync(CA) });
    session.on("error", reject);
    const request = session.request({
      ":method": "POST", ":path": `/3/device/${token}`,
      authorization: `bearer ${BEARER}`, "apns-topic": "com.example.app", "apns-push-type": "alert",
    });
    request.on("response", (head) => resolve(head[":status"])).on("error", reject).on("end", () => session.close()).resume();
    request.end(JSON.stringify(payload));
  });
}

// The test.
await push({ aps: { alert: { title: "Tea" } } });
const { captures } = await (await fetch(`${CAPTURES}/v1/captures?wait=5s&token=${token}`)).json();
assert.equal(captures[0].payload.aps.alert.title, "Tea");
console.log("passed");
