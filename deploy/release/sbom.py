"""Prints what is in the packages of a release, as SPDX 2.3 (https://spdx.github.io/spdx-spec/v2.3/) in JSON.

usage: sbom.py VERSION SECONDS PACKAGE.deb...

The programs in the packages are linked with Debian's libraries, which are installed beside them, and contain Swift's runtime and
library. The Debian packages of this machine with which they were built are named with their versions. SECONDS is the moment of the
release since 1970: the same release makes the same text.
"""

import datetime
import hashlib
import json
import pathlib
import platform
import re
import subprocess
import sys
import tempfile

# What is linked statically into the programs: the parts of Swift's toolchain, and their sources.
SWIFT = [
    ("swift", "Swift's standard library and runtime", "https://github.com/swiftlang/swift"),
    ("swift-corelibs-libdispatch", "Dispatch", "https://github.com/swiftlang/swift-corelibs-libdispatch"),
    ("swift-foundation", "FoundationEssentials", "https://github.com/swiftlang/swift-foundation"),
    ("swift-collections", "the collections in FoundationEssentials", "https://github.com/apple/swift-collections"),
]
SWIFT_LICENCE = "Apache-2.0 WITH Swift-exception"


def run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def identifier(*words: str) -> str:
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", "-".join(words))


def field(package: pathlib.Path, name: str) -> str:
    return run("dpkg-deb", "--field", str(package), name).strip()


def debian_package(name: str) -> dict:
    """The entry of a package that is installed on this machine."""
    version = run("dpkg-query", "--show", "--showformat=${Version}", name)
    return {
        "SPDXID": identifier("Debian", name),
        "name": name,
        "versionInfo": version,
        "supplier": "Organization: Debian",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": "NOASSERTION",
        "copyrightText": "NOASSERTION",
        "externalRefs": [
            {
                "referenceCategory": "PACKAGE-MANAGER",
                "referenceType": "purl",
                "referenceLocator": f"pkg:deb/debian/{name}@{version}",
            }
        ],
    }


def libraries(program: pathlib.Path) -> set[str]:
    """The packages of this machine that have the libraries of a program."""
    names = set()
    for path in re.findall(r"(/\S+) \(0x", run("ldd", str(program))):
        real = pathlib.Path(path).resolve()
        # dpkg knows a library by the path that its package names, with or without /usr.
        for known in (str(real), str(real).removeprefix("/usr")):
            found = subprocess.run(["dpkg-query", "--search", known], capture_output=True, text=True)
            if found.returncode == 0:
                names.add(found.stdout.split(":")[0])
                break
        else:
            sys.exit(f"sbom: no package of this machine has {path}")
    return names


def build_dependencies() -> list[str]:
    control = pathlib.Path("deploy/debian/control").read_text().replace("\n ", " ")
    words = re.search(r"^Build-Depends: (.*)$", control, re.M).group(1).split(",")
    names = [word.split("(")[0].strip() for word in words]
    return [name for name in names if name.endswith("-dev")]


def document(version: str, seconds: int, packages: list[pathlib.Path]) -> dict:
    created = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    swift_version = re.search(r"Swift version (\S+)", run("swift", "--version")).group(1)
    entries, relations, debian = [], [], set()
    for name, part, source in SWIFT:
        entries.append(
            {
                "SPDXID": identifier("Swift", name),
                "name": name,
                "versionInfo": swift_version,
                "supplier": "Organization: Swift.org",
                "downloadLocation": f"{source}/tree/swift-{swift_version}-RELEASE" if name == "swift" else source,
                "filesAnalyzed": False,
                "licenseConcluded": SWIFT_LICENCE,
                "licenseDeclared": SWIFT_LICENCE,
                "copyrightText": "NOASSERTION",
                "comment": f"{part}, from the toolchain that builds the programs; linked statically.",
            }
        )
    digests = hashlib.sha256()
    for package in packages:
        name = field(package, "Package")
        digest = hashlib.sha256(package.read_bytes()).hexdigest()
        digests.update(digest.encode())
        own = identifier("Package", name)
        entries.append(
            {
                "SPDXID": own,
                "name": name,
                "versionInfo": version,
                "packageFileName": package.name,
                "supplier": "NOASSERTION",
                "downloadLocation": "NOASSERTION",
                "filesAnalyzed": False,
                "checksums": [{"algorithm": "SHA256", "checksumValue": digest}],
                "licenseConcluded": "Apache-2.0",
                "licenseDeclared": "Apache-2.0",
                "copyrightText": "NOASSERTION",
            }
        )
        relations.append(("SPDXRef-DOCUMENT", "DESCRIBES", own))
        with tempfile.TemporaryDirectory() as folder:
            run("dpkg-deb", "--extract", str(package), folder)
            linked = libraries(pathlib.Path(folder) / "usr/bin" / name)
        debian |= linked
        relations += [(own, "DYNAMIC_LINK", identifier("Debian", library)) for library in sorted(linked)]
        relations += [(own, "STATIC_LINK", identifier("Swift", part)) for part, _, _ in SWIFT]
        relations += [
            (identifier("Debian", needed), "BUILD_DEPENDENCY_OF", own) for needed in build_dependencies()
        ]
    entries += [debian_package(name) for name in sorted(debian | set(build_dependencies()))]
    return {
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"postrider-{version}-{platform.machine()}",
        "documentNamespace": f"https://spdx.org/spdxdocs/postrider-{version}-{digests.hexdigest()[:32]}",
        "creationInfo": {"created": created, "creators": ["Tool: postrider-deploy-release-sbom.py"]},
        "packages": entries,
        "relationships": [
            {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other}
            for one, kind, other in relations
        ],
    }


if __name__ == "__main__":
    json.dump(
        document(sys.argv[1], int(sys.argv[2]), sorted(map(pathlib.Path, sys.argv[3:]))),
        sys.stdout, indent=2, sort_keys=True)
    print()
