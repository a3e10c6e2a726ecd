"""Completes command lines of postrider in bash, zsh and fish, as their users do.

usage: completed.py POSTRIDER FOLDER

Says `all shells complete alike` at the end.
"""

import os
import pty
import re
import select
import subprocess
import sys
from pathlib import Path

PROGRAM, FOLDER = Path(sys.argv[1]), Path(sys.argv[2])
# What is typed, and what the shells offer or write for it. A path is completed within FOLDER.
CASES = [
    ("postrider sta", ["status"]),
    ("postrider keys re", ["remove", "revoke"]),
    ("postrider keys add --t", ["--team-id", "--topic"]),
    ("postrider evidence v", ["verify"]),
    ("postrider send --relay s", []),
    ("postrider send --ca author", ["authority.pem"]),
    ("postrider keys add AuthK", ["AuthKey_1.p8"]),
]


def bash(script, line):
    words = line.split(" ")
    call = ('source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _postrider; '
            'printf "%s\\n" "${COMPREPLY[@]}"')
    done = subprocess.run(["bash", "-c", call, "bash", script, *words], cwd=FOLDER, text=True, check=True,
                          stdout=subprocess.PIPE)
    return done.stdout.split()


def fish(script, line):
    done = subprocess.run(["fish", "-N", "-c", 'source $argv[1]; complete -C $argv[2]', script, line],
                          cwd=FOLDER, text=True, check=True, stdout=subprocess.PIPE)
    return [offer.split("\t")[0] for offer in done.stdout.splitlines()]


class Zsh:
    """zsh completes only at a terminal: this is one."""

    def __init__(self, folder):
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.chdir(FOLDER)
            # A terminal without control sequences. No file of a user is read.
            os.environ.update(TERM="dumb", COLUMNS="200", ZDOTDIR=str(FOLDER))
            os.execvp("zsh", ["zsh", "-f", "-i"])
        self.say(f"fpath=({folder} $fpath); autoload -U compinit; compinit -u -D; PS1='ready> '\n")
        self.read_until(r"\rready> ")

    def say(self, text):
        os.write(self.terminal, text.encode())

    def read_until(self, pattern):
        text = ""
        while not re.search(pattern, text):
            if not select.select([self.terminal], [], [], 60)[0]:
                sys.exit(f"zsh says no more than {text!r}")
            text += os.read(self.terminal, 65536).decode()
        return text

    def offers(self, line):
        """All that zsh shows: a list of candidates, or the line with the only one, which is printed in the end."""
        self.say(line + "\t")
        control_a, control_e = "\x01", "\x05"
        self.say(f"{control_a}print -r -- {control_e}; print over\n")
        return self.read_until(r"\nover\r")


def main():
    (FOLDER / "authority.pem").touch()
    (FOLDER / "AuthKey_1.p8").touch()
    scripts = {}
    for shell, name in (("bash", "postrider.bash"), ("zsh", "_postrider"), ("fish", "postrider.fish")):
        text = subprocess.run([PROGRAM, "completion", shell], text=True, check=True, stdout=subprocess.PIPE).stdout
        scripts[shell] = FOLDER / shell / name
        scripts[shell].parent.mkdir()
        scripts[shell].write_text(text)
    zsh = Zsh(scripts["zsh"].parent)
    for line, expected in CASES:
        for name, offers in (("bash", bash(scripts["bash"], line)), ("fish", fish(scripts["fish"], line))):
            if sorted(offers) != sorted(expected):
                sys.exit(f"{name} offers {offers} for {line!r}, not {expected}")
        text = zsh.offers(line)
        for word in expected:
            if word not in text:
                sys.exit(f"zsh does not offer {word} for {line!r}: {text!r}")
    print("all shells complete alike")


main()
