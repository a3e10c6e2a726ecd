"""A real browser (Chromium, driven by selenium) that uses the console of a relay."""

import json
import re
import subprocess
import time
from importlib import resources

from selenium import webdriver
from selenium.common.exceptions import (
    ElementClickInterceptedException, ElementNotInteractableException, JavascriptException, NoSuchElementException,
    StaleElementReferenceException)
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from relay import require

PATIENCE = 120
PHONE = (390, 844)
DESK = (1280, 900)
# While a page is drawn again, elements are replaced: whoever looks then looks again.
FLEETING = (StaleElementReferenceException, NoSuchElementException, ElementNotInteractableException,
            ElementClickInterceptedException, JavascriptException)
# axe-core, which knows the rules of WCAG 2.2, at the levels A and AA.
AXE = resources.files("axe_core_python") / "axe.min.js"
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}


class Browser:
    """A window of the console. `description` is what `postrider dev --json` printed, or its `controlAddress` alone."""

    def __init__(self, description, postrider, size=DESK, is_dark=False):
        self.description, self.postrider = description, postrider
        self.base = self.link().split("#")[0]
        options = Options()
        options.binary_location = "/usr/bin/chromium"
        for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--hide-scrollbars", "--lang=en-GB"):
            options.add_argument(argument)
        # The relay's authority is one that only this test knows.
        options.accept_insecure_certs = True
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))
        self.driver.set_script_timeout(PATIENCE)
        self.look(size, is_dark)

    def look(self, size=DESK, is_dark=False):
        """Changes the size of the window, and whether it is dark."""
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {
            "width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": size == PHONE})
        value = "dark" if is_dark else "light"
        # Without motion, so that no colour is between two when axe looks.
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [
            {"name": "prefers-color-scheme", "value": value}, {"name": "prefers-reduced-motion", "value": "reduce"}]})

    def run(self, *words):
        """Runs a command of postrider for this relay, and returns its output."""
        result = subprocess.run(
            [self.postrider, *words, "--control", self.description["controlAddress"]],
            capture_output=True, text=True, timeout=PATIENCE)
        require(result.returncode == 0, f"postrider {' '.join(words)} ended with {result.returncode}: {result.stderr}")
        return result.stdout

    def ask(self, *words):
        return json.loads(self.run(*words, "--json"))

    def link(self, role="administer"):
        """A link that is good once."""
        output = self.run("console", "login", "--role", role)
        found = re.search(r"https?://\S+#/login/\S+", output)
        require(found, f"console login printed no link: {output}")
        return found[0]

    def sign_in(self, role="administer"):
        self.driver.get(self.link(role))
        self.until("the overview", lambda: self.heading() == "Overview")

    def open(self, path):
        self.driver.get(f"{self.base}#/{path}")

    def until(self, what, condition):
        """Waits until something is so, and returns it."""
        end = time.monotonic() + PATIENCE
        while True:
            try:
                if found := condition():
                    return found
            except FLEETING:
                pass
            if time.monotonic() > end:
                require(False, f"waited too long for {what}; the page is {self.driver.current_url}:\n{self.text()}")
            time.sleep(0.05)

    def script(self, text, *arguments):
        return self.driver.execute_script(text, *arguments)

    def find(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def all(self, selector):
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def heading(self):
        return self.find("h1").text

    def text(self):
        return self.script("return document.body.innerText")

    def shows(self, text):
        self.until(f"'{text}'", lambda: text in self.text())

    def hides(self, text):
        self.until(f"the end of '{text}'", lambda: text not in self.text())

    def _named(self, tag, name):
        """The visible control with this name; in the dialog, if there is one."""
        place = self.all("dialog[open]")
        for node in (place[0] if place else self.driver).find_elements(By.CSS_SELECTOR, tag):
            if node.is_displayed() and name in (node.text, node.get_attribute("aria-label")):
                return node
        return None

    def has(self, name, tag="button, a"):
        try:
            return self._named(tag, name) is not None
        except FLEETING:
            return self.has(name, tag)

    def click(self, name, tag="button, a"):
        def press():
            node = self._named(tag, name)
            if node:
                node.click()
            return node
        self.until(f"a control named {name}", press)

    def control(self, label):
        """The control that a label names."""
        def look():
            node = self._named("label", label)
            return node and self.driver.find_element(By.ID, node.get_attribute("for"))
        return self.until(f"a field named {label}", look)

    def fill(self, label, text):
        node = self.control(label)
        node.send_keys(Keys.CONTROL, "a")
        node.send_keys(Keys.DELETE)
        node.send_keys(text)

    def choose(self, label, value):
        node = self.control(label)
        node.find_element(By.CSS_SELECTOR, f"option[value='{value}']").click()

    def row(self, text):
        """The text of the row of a table that has this text, or None."""
        for row in self.all("tbody tr"):
            if text in row.text:
                return row.text
        return None

    def keys(self, *keys):
        self.driver.switch_to.active_element.send_keys(*keys)

    def focus(self):
        """The name of what has the focus."""
        return self.script("const node = document.activeElement; return node.ariaLabel || node.innerText || node.id || node.tagName")

    def is_accessible(self, name):
        """Has axe-core look at the page as it is."""
        if not self.script("return typeof window.axe === 'object'"):
            self.script(AXE.read_text(encoding="utf-8"))
        result = self.driver.execute_async_script(
            "const done = arguments[1]; axe.run(document, arguments[0]).then(done, (error) => done({error: String(error)}))", RULES)
        require("error" not in result, f"axe failed on {name}: {result.get('error')}")
        findings = [f"{one['id']}: {one['help']} {[node['html'][:200] for node in one['nodes'][:3]]}" for one in result["violations"]]
        require(not findings, f"{name} has barriers:\n" + "\n".join(findings))
        require(len(result["passes"]) > 10, f"axe looked at nothing on {name}")

    def complaints(self):
        """What the browser itself reported since the last call: scripts that failed, and what the policy forbade."""
        return [entry["message"] for entry in self.driver.get_log("browser")
                if entry["level"] == "SEVERE" and "Failed to load resource" not in entry["message"]]

    def cookies(self):
        return {cookie["name"]: cookie for cookie in
                self.driver.execute_cdp_cmd("Network.getAllCookies", {})["cookies"]}

    def quit(self):
        self.driver.quit()
