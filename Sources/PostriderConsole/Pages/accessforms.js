// The forms with which keys, topics and enrolment keys are added.

import { ask, Failure, path } from "./api.js";
import { choice, element, field, input } from "./elements.js";
import { form, showSecret } from "./dialogs.js";

function words(text) {
  return text.split(/[\s,]+/).filter(Boolean);
}

/** A text that must be given. */
function needed(data, name, what) {
  const text = String(data.get(name) ?? "").trim();
  if (!text) throw new Failure(`${what} is missing.`, 400);
  return text;
}

function tick(name, text) {
  return element("label", { class: "check" }, element("input", { type: "checkbox", name }), text);
}

/** Each form returns the name of what was stored, or nothing if the user has cancelled. */
export async function addKey() {
  let identifier;
  const isStored = await form({
    title: "Add a provider key", submit: "Add the key",
    content: [
      field("Key identifier", input("identifier", { maxlength: 64 }),
          "As in the name of the file AuthKey_IDENTIFIER.p8"),
      field("Team", input("team", { maxlength: 64 })),
      field("Public key",
          element("textarea", { name: "publicKey", rows: 5, class: "mono", spellcheck: "false",
          placeholder: "-----BEGIN PUBLIC KEY-----" }),
        "openssl ec -in AuthKey_IDENTIFIER.p8 -pubout prints it. The private key stays with the provider."),
      field("Environment",
          choice("environment", [["", "both"], ["production", "production"], ["development", "development"]])),
      field("Topics", input("topics"), "For a topic-specific key, with spaces between them; empty: all of its team"),
      field("Related key", input("relatedKey"), "The identifier of the key that it follows; empty if there is none"),
      tick("replaces", "Replace another key that has this identifier"),
    ],
    action: async (data) => {
      const publicKey = needed(data, "publicKey", "The public key");
      if (publicKey.includes("PRIVATE KEY")) {
        throw new Failure("That is a private key, which nobody but the provider may have. Give the public one: openssl ec -in FILE -pubout.", 400);
      }
      const name = needed(data, "identifier", "The key identifier");
      const body = { team: needed(data, "team", "The team"), publicKey: `${publicKey}\n` };
      if (data.get("environment")) body.environment = data.get("environment");
      if (words(data.get("topics")).length) body.topics = words(data.get("topics"));
      if (data.get("relatedKey").trim()) body.relatedKey = data.get("relatedKey").trim();
      if (data.get("replaces")) body.replaces = true;
      await ask("PUT", path(["keys", name]), { body });
      identifier = name;
    },
  });
  return isStored && `Key ${identifier}`;
}

export async function addTopic() {
  let topic;
  const isStored = await form({
    title: "Add a topic", submit: "Add the topic",
    content: [field("Topic", input("topic", { placeholder: "com.example.app" }), "The app's bundle identifier"),
      field("Team", input("team", { maxlength: 64 }), "Keys of this team may push to it"),
      tick("takesBroadcasts", "It takes broadcasts")],
    action: async (data) => {
      const name = needed(data, "topic", "The topic");
      const body = { team: needed(data, "team", "The team"), takesBroadcasts: data.get("takesBroadcasts") !== null };
      await ask("PUT", path(["topics", name]), { body });
      topic = name;
    },
  });
  return isStored && `Topic ${topic}`;
}

export async function addEnrolmentKey() {
  let made;
  const isStored = await form({
    title: "Add an enrolment key", submit: "Make the key",
    content: [field("Name", input("name", { maxlength: 64 }), "Letters, digits, ., - and _"),
      field("Tags", input("tags"), "For the devices that enrol with it, with spaces between them"),
      field("Number of devices", input("uses", { type: "number", min: 1 }), "Empty: any number"),
      field("Ends", input("endsAt", { type: "datetime-local" }), "By this browser's time zone; empty: never"),
      field("Names of the devices", input("namePattern", { placeholder: "kiosk-*" }),
          "* stands for any characters; empty: any name")],
    action: async (data) => {
      const body = {};
      if (words(data.get("tags")).length) body.tags = words(data.get("tags"));
      if (data.get("uses")) body.uses = Number(data.get("uses"));
      if (data.get("endsAt")) body.endsAt = new Date(data.get("endsAt")).getTime();
      if (data.get("namePattern").trim()) body.namePattern = data.get("namePattern").trim();
      made = await ask("PUT", path(["enrolment-keys", needed(data, "name", "The name")]),
        { body: Object.keys(body).length ? body : undefined });
    },
  });
  if (!isStored) return undefined;
  await showSecret({ title: `The enrolment key ${made.name}`, secret: made.key,
    text: "This is the only time that the key is shown. Whoever has it can enrol a device." });
  return `Enrolment key ${made.name}`;
}
