#!/usr/bin/env bash
# Issues what a development relay, its provider and one device need: an authority and three certificates.
set -euo pipefail
umask 077

usage() {
    cat <<'TEXT'
Usage: certs/issue.sh [--output FOLDER] [--days DAYS] [--topic TOPIC] [--name NAME]...

Makes a development authority and, signed by it, certificates for a relay, a provider and a device (P-256).

  --output FOLDER  where to put them (default: issued, beside this script; must not exist)
  --days DAYS      how long they live (default: 365)
  --topic TOPIC    the app in the provider's certificate, its UID (default: com.example.app); its extensions list
                   TOPIC, TOPIC.voip and TOPIC.complication, for both environments, as Apple's do
  --name NAME      one more host name or IP address of the relay, besides localhost, 127.0.0.1 and ::1
  --help           this text

For each of authority, relay, provider, device there will be NAME.pem and NAME.key. The keys are readable by their
owner only; whoever has authority.key can be anybody to your relay.
TEXT
}

fail() {
    echo "issue.sh: $1" >&2
    exit 2
}

output="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/issued"
days=365
topic=com.example.app
names="DNS:localhost,IP:127.0.0.1,IP:::1"

while [ $# -gt 0 ]; do
    option="$1"
    case "$option" in
    --help)
        usage
        exit 0
        ;;
    --output | --days | --topic | --name)
        [ $# -ge 2 ] || fail "$option needs a value; see --help"
        value="$2"
        shift 2
        ;;
    *) fail "unknown argument $option; see --help" ;;
    esac
    case "$option" in
    --output) output="${value%/}" ;;
    --days)
        [[ "$value" =~ ^[1-9][0-9]{0,4}$ ]] || fail "--days takes a number from 1 to 99999, not $value"
        days="$value"
        ;;
    --topic)
        [[ "$value" =~ ^[A-Za-z0-9._-]+$ ]] || fail "--topic takes letters, digits, '.', '-' and '_', not $value"
        topic="$value"
        ;;
    --name)
        if [[ "$value" =~ ^[0-9.]+$ || ("$value" == *:* && "$value" =~ ^[0-9A-Fa-f:.]+$) ]]; then
            names+=",IP:$value"
        elif [[ "$value" =~ ^[A-Za-z0-9.*-]+$ ]]; then
            names+=",DNS:$value"
        else
            fail "--name takes a host name or an IP address, not $value"
        fi
        ;;
    esac
done

command -v openssl >/dev/null || fail "openssl is missing; install it (apt install openssl)"
[ ! -e "$output" ] || fail "$output exists and is not overwritten; move it away or name another with --output"

# Everything is made aside and appears at once, so that a failure leaves nothing behind that looks complete.
mkdir -p "$(dirname "$output")"
work="$(mktemp -d "$output.XXXXXX")"
trap 'rm -rf "$work"' EXIT

# new_key NAME
new_key() {
    openssl genpkey -quiet -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out "$work/$1.key"
}

# issue NAME SUBJECT PURPOSE [EXTENSIONS]
issue() {
    new_key "$1"
    printf '%s\n' 'basicConstraints=critical,CA:FALSE' 'keyUsage=critical,digitalSignature' \
        "extendedKeyUsage=$3" 'subjectKeyIdentifier=hash' 'authorityKeyIdentifier=keyid:always' \
        "${4:-}" >"$work/extensions"
    openssl req -new -sha256 -key "$work/$1.key" -subj "$2" |
        openssl x509 -req -sha256 -days "$days" -CA "$work/authority.pem" -CAkey "$work/authority.key" \
            -set_serial "0x$(openssl rand -hex 16 | sed 's/^./1/')" -extfile "$work/extensions" \
            -out "$work/$1.pem" 2>"$work/said" || fail "openssl did not issue $1: $(cat "$work/said")"
}

# Apple's extensions in a provider's certificate: development, production, and the topics with their labels.
push_extensions() {
    cat <<TEXT
1.2.840.113635.100.6.3.1=ASN1:NULL
1.2.840.113635.100.6.3.2=ASN1:NULL
1.2.840.113635.100.6.3.6=ASN1:SEQUENCE:topics
[topics]
1=UTF8:$topic
2=SEQUENCE:app
3=UTF8:$topic.voip
4=SEQUENCE:voip
5=UTF8:$topic.complication
6=SEQUENCE:complication
[app]
1=UTF8:app
[voip]
1=UTF8:voip
[complication]
1=UTF8:complication
TEXT
}

new_key authority
openssl req -x509 -new -sha256 -days "$days" -key "$work/authority.key" -subj '/CN=Postrider development authority' \
    -addext 'basicConstraints=critical,CA:TRUE,pathlen:0' -addext 'keyUsage=critical,keyCertSign,cRLSign' \
    -out "$work/authority.pem"
issue relay '/CN=relay' serverAuth "subjectAltName=$names"
issue provider "/CN=provider/UID=$topic" clientAuth "$(push_extensions)"
issue device '/CN=device' clientAuth

rm -f "$work/extensions" "$work/said"
chmod 644 "$work"/*.pem
chmod 600 "$work"/*.key
mv -T "$work" "$output"
trap - EXIT
echo "Issued into $output, for $days days:"
ls "$output"
