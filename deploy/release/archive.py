"""Writes an image as an archive that `podman load` and `docker load` read, with the same bytes for the same image.

usage: archive.py BUILDAH.tar NAME:TAG OUTPUT.tar

buildah gives the container in which it makes an image of docker's format a random number and host name, and writes both into the
image's configuration, where they mean nothing.
"""

import hashlib
import io
import json
import sys
import tarfile


def main(source: str, name: str, output: str) -> None:
    with tarfile.open(source) as made:
        manifest = json.load(made.extractfile("manifest.json"))[0]
        config = json.load(made.extractfile(manifest["Config"]))
        layers = [made.extractfile(path).read() for path in manifest["Layers"]]
    config.pop("container", None)
    config.pop("container_config", None)
    config["config"].pop("Hostname", None)
    text = json.dumps(config, sort_keys=True, separators=(",", ":")).encode()
    files = {f"{hashlib.sha256(layer).hexdigest()}.tar": layer for layer in layers}
    description = {"Config": f"{hashlib.sha256(text).hexdigest()}.json", "RepoTags": [name], "Layers": list(files)}
    files = {description["Config"]: text, **files, "manifest.json": json.dumps([description], sort_keys=True).encode()}
    with tarfile.open(output, "w", format=tarfile.GNU_FORMAT) as archive:
        for path, content in files.items():
            entry = tarfile.TarInfo(path)
            entry.size = len(content)
            entry.mode = 0o444
            archive.addfile(entry, io.BytesIO(content))


main(*sys.argv[1:])
