"""Each action of the console does what it says, and no more than the session's role permits."""

import json
import os
import signal
import subprocess

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from selenium.webdriver.common.keys import Keys

from relay import require, say


def listed(browser, what):
    return json.loads(browser.run(what, "list", "--json"))


def devices(browser, stage, device):
    browser.open("devices")
    browser.click(device.name)
    browser.click("Rename")
    browser.fill("New name", "no name")
    browser.keys(Keys.ENTER)
    browser.until("the refusal", lambda: "A device's name is" in browser.find("dialog .error").text)
    browser.fill("New name", "gate-1")
    browser.keys(Keys.ENTER)
    browser.until("the new name", lambda: browser.heading() == "gate-1")
    browser.click("Tags")
    browser.fill("Tags", "lobby berlin")
    browser.click("Store")
    browser.until("the tags", lambda: sorted(node.text for node in browser.all(".tag")) == ["berlin", "lobby"])
    browser.click("Tags")
    browser.fill("Tags", "berlin")
    browser.click("Store")
    browser.until("one tag", lambda: [node.text for node in browser.all(".tag")] == ["berlin"])
    known = listed(browser, "devices")[0]
    require((known["name"], known["tags"]) == ("gate-1", ["berlin"]), f"the relay has {known}")
    browser.click("Send to it")
    browser.until("the form", lambda: browser.control("Device token").get_attribute("value") == device.token)
    say("a device is renamed and tagged")


def sending(browser, stage, device):
    payload = browser.control("Payload (JSON)")
    require(browser.control("apns-topic").get_attribute("value") == stage.relay.topic, "the topic is not taken along")
    browser.fill("Payload (JSON)", '{\n  "aps": {\n    "alert": "x",\n  }\n}')
    browser.shows("Line 4, column 3: after the comma another member is missing.")
    require(browser.find(".lines .bad").text.strip() == "4", "the line is not marked")
    browser.click("Send", "button")
    require(browser.script("return document.activeElement === arguments[0]", payload), "the mistake has not got the focus")
    for text, sentence in (
            ("[1]", "The payload must be an object"), ('{"a": 01}', "Line 1, column 7:"), ('{"a": 1, "a": 2}', 'the name "a" is there twice'),
            ('{"a": "x}', "Line 1, column 7: this text has no closing quote"), ('{"a" 1}', "a colon is missing"), ("{}x", "after the end")):
        browser.fill("Payload (JSON)", text)
        browser.shows(sentence)
    text = '{"aps": {"alert": "It\'s \\"open\\" $HOME `id` é"}}'
    browser.fill("Payload (JSON)", text)
    browser.shows("of 4096 bytes")
    browser.fill("apns-collapse-id", "door")
    browser.click("Send", "button")
    browser.until("that the device has it", lambda: any(
        node.text == "The device has it" and "reached" in node.get_attribute("class") for node in browser.all(".stages li")))
    browser.until("its life", lambda: len(browser.all(".timeline li")) >= 3)
    arrived = list(device.arrivals.values())
    require(arrived[-1] == text.encode(), f"the device got {arrived[-1:]}")
    command = browser.find(".curl").text
    answer = curl(browser, stage, command)
    require("HTTP/2 200" in answer, f"curl says {answer} to {command}")
    stage.run(device.has(len(arrived) + 1))
    require(list(device.arrivals.values())[-1] == text.encode(), "curl sent something else")
    browser.fill("Device token", "ab" * 32)
    browser.click("Send", "button")
    browser.shows("400 BadDeviceToken")
    browser.fill("apns-collapse-id", "é→")
    browser.click("Send", "button")
    browser.shows("characters that HTTP does not permit")
    say("a push is sent, followed, and the same with curl")


def curl(browser, stage, command):
    """Runs the command that the page offers, as a person would: with a token, and with the relay's authority."""
    environment = os.environ | {"POSTRIDER_TOKEN": stage.bearer.split()[1], "CURL_CA_BUNDLE": stage.relay.ca}
    result = subprocess.run(["bash", "-c", command], capture_output=True, text=True, env=environment, timeout=60)
    return result.stdout + result.stderr


def key_pair():
    key = ec.generate_private_key(ec.SECP256R1())
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return private.decode(), public.decode()


def keys_and_topics(browser):
    private, public = key_pair()
    browser.open("access")
    browser.click("Add a key")
    browser.fill("Key identifier", "ABCDE12345")
    browser.fill("Team", "DEVTEAM001")
    browser.fill("Public key", private)
    browser.click("Add the key")
    browser.until("the refusal", lambda: "private key" in browser.find("dialog .error").text)
    browser.fill("Public key", public)
    browser.choose("Environment", "production")
    browser.click("Add the key")
    browser.until("the key", lambda: "valid" in (browser.row("ABCDE12345") or ""))
    browser.click("Revoke key ABCDE12345")
    browser.click("Revoke")
    browser.until("that it is revoked", lambda: "revoked" in (browser.row("ABCDE12345") or ""))
    browser.click("Remove key ABCDE12345")
    browser.click("Cancel")
    require(browser.row("ABCDE12345"), "Cancel has removed the key")
    browser.click("Remove key ABCDE12345")
    browser.click("Remove")
    browser.until("that it is removed", lambda: not browser.row("ABCDE12345"))
    require(len(listed(browser, "keys")) == 1, "the relay still has the key")
    browser.click("Add a topic")
    browser.fill("Topic", "com.example.second")
    browser.fill("Team", "DEVTEAM001")
    browser.click("Add the topic")
    browser.until("the topic", lambda: "no" in (browser.row("com.example.second") or ""))
    browser.click("Remove topic com.example.second")
    browser.click("Remove")
    browser.until("that it is removed", lambda: not browser.row("com.example.second"))
    say("keys and topics are added, revoked and removed")


def enrolment_keys(browser, stage):
    browser.open("access")
    browser.click("Add an enrolment key")
    browser.fill("Name", "tour")
    browser.fill("Tags", "lobby tour")
    browser.fill("Number of devices", "2")
    browser.click("Make the key")
    secret = browser.until("the secret", lambda: browser.find("dialog .secret").text)
    require(secret.startswith("enrol-"), f"the secret is {secret}")
    browser.click("I have stored it")
    browser.until("the key", lambda: "0 of 2" in (browser.row("tour") or ""))
    require(secret not in browser.script("return document.documentElement.outerHTML"), "the secret stays in the page")
    stage.relay.__dict__["enrolment_key"] = secret
    stage.device("visitor")
    browser.until("that it was used", lambda: "1 of 2" in (browser.row("tour") or ""))
    browser.click("Remove enrolment key tour")
    browser.click("Remove")
    browser.until("that it is removed", lambda: not browser.row("tour"))
    visitor = next(device for device in listed(browser, "devices") if device["name"] == "visitor")
    require(visitor["tags"] == ["lobby", "tour"], f"the visitor has the tags {visitor['tags']}")
    say("an enrolment key is shown once")


def removal(browser):
    browser.open("devices")
    browser.click("visitor")
    browser.click("Remove")
    browser.shows("This cannot be undone.")
    browser.keys(Keys.ESCAPE)
    browser.until("the end of the question", lambda: not browser.all("dialog"))
    require(any(device["name"] == "visitor" for device in listed(browser, "devices")), "Escape has removed the device")
    browser.click("Remove")
    browser.click("Remove the device")
    browser.until("the list", lambda: browser.heading() == "Devices" and browser.all("tbody tr") and not browser.row("visitor"))
    require(all(device["name"] != "visitor" for device in listed(browser, "devices")), "the relay has the device")
    say("a device is removed")


def captures(browser, stage, device):
    stage.push(device.token, {"aps": {"alert": "captured words"}})
    browser.open("captures")
    browser.until("the request", lambda: browser.all("tbody tr"))
    browser.choose("Outcome", "accepted")
    browser.click("Search")
    browser.until("the request", lambda: browser.row("accepted"))
    browser.all("tbody tr a")[0].click()
    browser.until("its fields", lambda: browser.row("apns-topic"))
    browser.shows("captured words")
    browser.click("All captures")
    browser.click("Remove all")
    dialog = browser.until("the question", lambda: browser.find("dialog[open] .danger"))
    dialog.click()
    browser.shows("No request was captured.")
    require(browser.ask("captures")["captures"] == [], "the relay has captures")
    say("captures are shown and removed")


# What a script of the page itself can get from the relay.
TRY = """
const [method, path, done] = [arguments[0], arguments[1], arguments[2]];
fetch(path, { method, headers: { "x-postrider-console": "1" }, body: method === "GET" ? undefined : "{}" })
  .then((answer) => done(answer.status), (error) => done(String(error)));
"""


def roles(browser, device):
    for role, may_send in (("look", False), ("send", True)):
        browser.click("Sign out")
        browser.shows("You have signed out.")
        browser.sign_in(role)
        require(browser.has("Send", "nav a") == may_send, f"{role}: the page Send is wrong")
        browser.open(f"devices/{device.identity.hex()}")
        browser.until("the device", lambda: browser.row(stage_topic(device)))
        require(not browser.has("Remove") and not browser.has("Rename"), f"{role} may change a device")
        require(browser.has(f"Send to {stage_topic(device)}") == may_send, f"{role}: the link to send is wrong")
        browser.open("access")
        browser.until("the keys", lambda: browser.row("DEVKEY0001"))
        require(not browser.has("Add a key") and not browser.has("Revoke key DEVKEY0001"), f"{role} may change keys")
        browser.open("send")
        browser.until("the page", lambda: browser.heading() == "Send")
        if not may_send:
            browser.shows("may not use this page")
        for method, path in (
                ("DELETE", f"/v1/devices/{device.identity.hex()}"), ("PATCH", f"/v1/devices/{device.identity.hex()}"),
                ("PUT", "/v1/topics/com.example.more"), ("PUT", "/v1/revoked-keys/DEVKEY0001"),
                ("PUT", "/v1/rules"), ("DELETE", "/v1/captures"), ("PUT", "/v1/enrolment-keys/mine")):
            status = browser.driver.execute_async_script(TRY, method, path)
            require(status == 403, f"{role}: {method} {path} answers {status}")
        for path in ("/v1/backup", "/v1/console-links/me"):
            status = browser.driver.execute_async_script(TRY, "PUT", path)
            require(status == 404, f"{role}: PUT {path} answers {status}")
        status = browser.driver.execute_async_script(TRY, "POST", f"/3/device/{device.token}")
        require(status != 403 if may_send else status == 403, f"{role}: a push answers {status}")
        require(browser.driver.execute_async_script(TRY, "GET", "/v1/status") == 200, f"{role} may not look")
    require(len(listed(browser, "keys")) == 1 and listed(browser, "devices"), "something was changed")
    say("roles hold")


def stage_topic(device):
    return device.relay.topic


def endings(browser):
    browser.click("Sign out")
    browser.sign_in()
    browser.open("access")
    browser.until("the keys", lambda: browser.row("DEVKEY0001"))
    # Another window signs out: this one notices.
    require(browser.driver.execute_async_script(TRY, "DELETE", "/session") == 200, "signing out fails")
    browser.until("the sign-in page", lambda: browser.heading() == "Sign in")
    browser.sign_in()
    browser.open("devices")
    browser.until("the devices", lambda: browser.all("tbody tr"))
    os.kill(browser.description["process"], signal.SIGTERM)
    browser.shows("The relay does not answer. Trying again")
    say("the end of a session and of the relay are told")


def run(browser, stage):
    device = stage.device("door-1")
    browser.sign_in()
    devices(browser, stage, device)
    sending(browser, stage, device)
    keys_and_topics(browser)
    enrolment_keys(browser, stage)
    removal(browser)
    captures(browser, stage, device)
    roles(browser, device)
    require(not browser.complaints(), f"the browser complains: {browser.complaints()}")
    endings(browser)
