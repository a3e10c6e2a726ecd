// Pushes with Node's http2, which leaves reconnecting to its user: a session that is closed is replaced. Usage in ../measure.py.
import { readFileSync } from "node:fs";
import { connect } from "node:http2";

const [file, bearer, token, count] = process.argv.slice(2);
const relay = JSON.parse(readFileSync(file));
let session;

function push(number) {
  if (!session || session.closed || session.destroyed) {
    session = connect(`https://${relay.host}:${relay.providerPort}`, { ca: readFileSync(relay.authorityFile) });
    session.on("error", () => {});
  }
  return new Promise((resolve, reject) => {
    const request = session.request({
      ":method": "POST", ":path": `/3/device/${token}`, authorization: `bearer ${bearer}`,
      "apns-topic": relay.topics[0], "apns-collapse-id": `${number}`,
    });
    let status;
    request.on("response", (head) => (status = head[":status"]));
    request.on("error", reject);
    request.on("end", () => (status ? resolve(status) : reject(new Error("no answer"))));
    request.resume();
    request.end('{"aps":{"alert":"Tea"}}');
  });
}

for (let number = 1; number <= count; number++) {
  try {
    console.log(number, await push(number));
  } catch (error) {
    console.log(number, "error", error.message);
  }
}
process.exit();
