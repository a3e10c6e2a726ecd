#!/bin/sh
# The handler of kiosk-refresh.yaml. It runs as the user of the kiosk's session.
set -eu

# A word of the payload chooses one of the addresses here. It is only compared, and never part of a command or an address.
case "${POSTRIDER_CATEGORY:-start}" in
start) page=https://kiosk.example.org/ ;;
menu) page=https://kiosk.example.org/menu ;;
closed) page=file:///usr/share/kiosk/closed.html ;;
*)
    echo "There is no page of this name."
    exit 1
    ;;
esac

# The browser's service reads its address from this file when it starts.
printf '%s\n' "$page" >"$XDG_RUNTIME_DIR/kiosk-page.new"
mv "$XDG_RUNTIME_DIR/kiosk-page.new" "$XDG_RUNTIME_DIR/kiosk-page"
exec systemctl --user restart kiosk-browser.service
