"""Each page of the console shows what is so, live; on a desk and on a phone, light and dark, by keyboard and without barriers."""

import base64

from selenium.webdriver.common.keys import Keys

from browser import DESK, PHONE
from relay import require, say

PAGES = ["Overview", "Pushes", "Devices", "Channels", "Send", "Access", "Captures"]


# Has the page get another answer of the relay than it gave.
CHANGED = """
const [path, change] = [arguments[0], new Function("value", arguments[1])];
const real = window.fetch;
window.fetch = async (where, options) => {
  const answer = await real(where, options);
  if (!String(where).startsWith(path)) return answer;
  const value = await answer.json();
  change(value);
  return new Response(JSON.stringify(value), { status: 200 });
};
"""


def signing_in(browser):
    browser.driver.get(browser.base)
    browser.until("the sign-in page", lambda: browser.heading() == "Sign in")
    browser.shows("postrider console login")
    require(not browser.all("nav:not([hidden])"), "the pages are offered without a session")
    browser.is_accessible("the sign-in page")
    link = browser.link()
    secret = link.rsplit("/", 1)[1]
    browser.driver.get(link)
    browser.until("the overview", lambda: browser.heading() == "Overview")
    require(browser.driver.current_url == f"{browser.base}#/overview", "the secret stays in the address")
    browser.driver.back()
    browser.driver.forward()
    require(secret not in browser.script("return location.href + document.documentElement.outerHTML"), "the page has the secret")
    require(not browser.script("return document.cookie + localStorage.length + sessionStorage.length").strip("0"),
            "a script could read the session")
    browser.driver.delete_all_cookies()
    browser.driver.get("about:blank")
    browser.driver.get(link)
    browser.until("the sign-in page", lambda: browser.heading() == "Sign in")
    require(browser.find(".error").text, "a used link is refused without a word")
    browser.sign_in()
    say("a link signs in once")


def each_page(browser):
    for size, is_dark in ((DESK, False), (DESK, True), (PHONE, False), (PHONE, True)):
        browser.look(size, is_dark)
        for name in PAGES:
            browser.click(name, "nav a")
            browser.until(f"the page {name}", lambda: browser.heading() == name)
            require(browser.driver.title == f"{name} - Postrider", f"the page {name} is called {browser.driver.title}")
            require(browser.find("nav a[aria-current=page]").text == name, f"the page {name} is not marked")
            browser.until(f"what {name} shows", lambda: browser.all("tbody tr, form.send"))
            browser.is_accessible(f"{name} ({size[0]}, {'dark' if is_dark else 'light'})")
            width = browser.script("return document.documentElement.scrollWidth")
            require(width <= size[0], f"the page {name} is {width} wide on a window of {size[0]}")
    browser.look()
    require(not browser.complaints(), f"the browser complains: {browser.complaints()}")
    say("each page has no barrier")


def overview(browser, stage, device):
    browser.open("overview")
    browser.shows("of 1 device")
    before = browser.ask("status")["counters"]["accepted"]
    stage.push(device.token)
    browser.until("another accepted push", lambda: browser.row("the relay answered 200").split("\n")[0].split()[1] == str(before + 1))
    browser.until("the plots", lambda: len(browser.all("figure svg[aria-label*='now']")) == 3)
    # A relay without a defect never gives the answer for which there is the alarm.
    browser.script(CHANGED, "/v1/status", "value.countersOfShards[1].isBalanced = false")
    browser.until("the alarm", lambda: browser.find("[role=alert].alarm").text.startswith("ALARM: the counters of shard 1 do not balance."))
    browser.is_accessible("the alarm")
    browser.driver.refresh()
    browser.until("its end", lambda: browser.heading() == "Overview" and not browser.find(".alarm").is_displayed())
    say("the overview is live")


def pushes(browser, stage, device):
    browser.open("pushes")
    _, identity = stage.push(device.token)
    browser.until("the push", lambda: "delivered" in (browser.row(identity[:8]) or ""))
    _, refused = stage.push("ab" * 32)
    browser.until("the refusal", lambda: "BadDeviceToken" in (browser.row(refused[:8]) or ""))
    browser.fill("Reason or cause", "baddevice")
    browser.click("Search")
    browser.until("only refusals", lambda: browser.row(refused[:8]) and not browser.row(identity[:8]))
    browser.fill("Reason or cause", "")
    browser.fill("Device", device.name)
    browser.click("Search")
    browser.until("only the device's", lambda: browser.row(identity[:8]) and not browser.row(refused[:8]))
    browser.fill("Device", "")
    browser.choose("Outcome", "refused")
    browser.click("Search")
    browser.until("only refusals", lambda: browser.row(refused[:8]) and not browser.row(identity[:8]))
    browser.choose("Outcome", "")
    browser.fill("Topic", "com.example.nobody")
    browser.click("Search")
    browser.shows("No push matches.")
    browser.open(f"pushes?id={identity}")
    browser.until("one push", lambda: len(browser.all("tbody tr")) == 1)
    browser.click(f"push {identity}")
    browser.until("its life", lambda: len(browser.all(".timeline li")) >= 3)
    steps = [node.text for node in browser.all(".timeline .what")]
    require(steps[0].startswith("Accepted: "), f"the life begins with {steps[0]}")
    require("Acknowledged: the device has it" in steps, f"the life is {steps}")
    browser.is_accessible("the life of a push")
    say("pushes are found, and have their lives")


def devices(browser, stage, device):
    browser.open("devices")
    browser.until("the device", lambda: "connected" in (browser.row(device.name) or ""))
    stage.away(device)
    browser.until("that it is away", lambda: "away" in (browser.row(device.name) or ""))
    stage.push(device.token)
    browser.click(device.name)
    browser.until("what waits for it", lambda: "Pending\n1" in browser.text())
    browser.shows("its agent stopped")
    browser.is_accessible("the page of a device")
    stage.run(device.connect())
    browser.until("that it is back", lambda: "Connected since" in browser.text() and "Pending\n0" in browser.text())
    browser.click("All devices")
    browser.fill("Tag", "nowhere")
    browser.click("Search")
    browser.shows("No device matches.")
    browser.script(CHANGED, "/v1/status", "value.devices = 200000")
    browser.fill("Tag", "")
    browser.click("Search")
    browser.shows("This relay has 200,000 devices. Give a name, a tag or an app.")
    browser.driver.refresh()
    say("devices come and go")


def channels(browser, stage, device):
    browser.open("channels")
    browser.shows("No channel: a provider creates one")
    plain, storing = stage.channel(stores=False), stage.channel(stores=True)
    browser.until("the channels", lambda: "stores none" in (browser.row(plain) or "") and "empty" in (browser.row(storing) or ""))
    stage.run(device.subscribe(base64.b64decode(storing)))
    browser.until("the subscriber", lambda: "Subscribers\n1" in browser.row(storing) or " 1 " in f" {browser.row(storing)} ")
    stage.broadcast(storing)
    browser.until("what is stored", lambda: "stored" in browser.row(storing).split("accepted")[0].split())
    browser.fill("App (topic)", "com.example.nobody")
    browser.click("Search")
    browser.shows("No channel: a provider creates one")
    say("channels are listed")


def keyboard(browser):
    """Only keys: to the second page, into its form, into a dialog and out of it."""
    browser.driver.get(browser.base)
    browser.until("the overview", lambda: browser.heading() == "Overview")
    browser.keys(Keys.TAB)
    require(browser.focus() == "Skip to the page", f"the first stop is {browser.focus()}")
    for _ in range(3):
        browser.keys(Keys.TAB)
    require(browser.focus() == "Pushes", f"the fourth stop is {browser.focus()}")
    browser.keys(Keys.ENTER)
    browser.until("the pushes, with the focus on the heading", lambda: browser.focus() == "Pushes" and browser.heading() == "Pushes")
    browser.open("access")
    browser.until("the button", lambda: browser.has("Remove topic com.example.app"))
    # The list is asked for again all the time; the focus stays where it is.
    browser.script("document.querySelector('[aria-label=\"Remove topic com.example.app\"]').focus()")
    browser.keys(Keys.ENTER)
    browser.until("the question", lambda: browser.all("dialog[open]"))
    require(browser.focus() == "Cancel", f"the question's focus is on {browser.focus()}")
    browser.is_accessible("a question")
    browser.keys(Keys.ESCAPE)
    browser.until("the end of the question", lambda: not browser.all("dialog"))
    require(browser.focus() == "Remove topic com.example.app", f"the focus went to {browser.focus()}")
    say("the keyboard is enough")


def run(browser, stage):
    device = stage.device("door-1")
    signing_in(browser)
    overview(browser, stage, device)
    pushes(browser, stage, device)
    devices(browser, stage, device)
    channels(browser, stage, device)
    each_page(browser)
    keyboard(browser)
