// Asks the relay. Everything goes to the console's own address.

/** What went wrong, as a sentence for the user; `status` is 0 if no relay answered. */
export class Failure extends Error {
  constructor(sentence, status) {
    super(sentence);
    this.status = status;
  }
}

/** What the last answer for each path lacks, such as what a node of the cluster that has not answered knows. */
const gaps = new Map();
addEventListener("hashchange", () => gaps.clear());

/** The answer to a request, with its status; throws only if no relay answers or the session is over. */
export async function request(method, path, { body, headers = {}, signal } = {}) {
  const fields = new Headers(headers);
  // No page of another site can send this field.
  if (method !== "GET") fields.set("x-postrider-console", "1");
  let response;
  let text;
  try {
    response = await fetch(path, { method, body, headers: fields, signal, cache: "no-store", redirect: "error" });
    text = await response.text();
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Failure("The relay does not answer.", 0);
  }
  let value;
  try { value = text ? JSON.parse(text) : {}; } catch { value = { sentence: text.slice(0, 500) }; }
  if (response.status === 401 && path !== "/session") {
    document.dispatchEvent(new CustomEvent("signed-out", { detail: value?.sentence }));
    throw new Failure(value?.sentence ?? "The session is over.", 401);
  }
  const [resource] = path.split("?");
  const gap = response.headers.get("postrider-incomplete");
  if (gap) gaps.set(resource, gap);
  else gaps.delete(resource);
  return { status: response.status, headers: response.headers, value };
}

/** The value of the answer; throws a ``Failure`` for every status but 200. */
export async function ask(method, path, options = {}) {
  const { body } = options;
  const answer = await request(method, path, { ...options, body: body === undefined ? body : JSON.stringify(body) });
  if (answer.status !== 200) {
    throw new Failure(answer.value?.sentence ?? `The relay answered with status ${answer.status}.`, answer.status);
  }
  return answer.value;
}

/** A path of the control interface, with each part and each value of the query escaped. */
export function path(parts, query = {}) {
  const words = Object.entries(query).filter(([, value]) => value !== undefined && value !== "" && value !== false).map(
    ([key, value]) => (value === true ? key : `${key}=${encodeURIComponent(value).replaceAll("%3A", ":")}`));
  return `/v1/${parts.map(encodeURIComponent).join("/")}${words.length ? `?${words.join("&")}` : ""}`;
}

export function sleep(milliseconds, signal) {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener("abort", () => { clearTimeout(timer); resolve(); }, { once: true });
  });
}

/**
 * Repeats an action until the page is left. While the page is hidden it waits; while the relay does not answer it
 * says so through `trouble` and tries again. The same place tells what is missing in an answer.
 */
export async function poll(seconds, { signal, trouble }, action) {
  while (!signal.aborted) {
    try {
      if (!document.hidden) await action();
      trouble(gaps.values().next().value ?? null);
    } catch (error) {
      if (signal.aborted || error.status === 401) return;
      if (!(error instanceof Failure)) throw error;
      trouble(error.status === 0 ? `${error.message} Trying again \u2026` : error.message);
    }
    await sleep(seconds * 1000, signal);
  }
}
