"""Certificates of an authority that only a test trusts, made by openssl."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from pathlib import Path

from tests.services import skip_test

CURVE = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


class Authority:
    """Signs certificates; `file` is its own certificate, for SSL_CERT_FILE."""

    def __init__(self, folder: Path):
        if not shutil.which("openssl"):
            skip_test("needs openssl: apt-get install openssl")
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self.file = folder, folder / "authority.pem"
        self._run(
            "req",
            "-x509",
            *CURVE,
            "-days",
            "2",
            "-subj",
            "/CN=authority",
            "-keyout",
            "authority.key",
            "-out",
            self.file,
        )

    def issue(self, name: str, *, days: int = 2) -> tuple[Path, Path]:
        """Return the files of a certificate and its key. `name`: as in `DNS:localhost`; `days`: -1 has expired."""
        stem = f"server{len(list(self._folder.iterdir()))}"
        certificate, key, request = (self._folder / f"{stem}.{end}" for end in ("pem", "key", "csr"))
        self._run(
            "req", *CURVE, "-subj", "/CN=server", "-addext", f"subjectAltName={name}", "-keyout", key, "-out", request
        )
        self._run(
            "x509",
            "-req",
            "-in",
            request,
            "-CA",
            self.file,
            "-CAkey",
            "authority.key",
            "-CAcreateserial",
            "-copy_extensions",
            "copy",
            "-days",
            str(days),
            "-out",
            certificate,
        )
        return certificate, key

    def _run(self, *arguments: str | Path) -> None:
        subprocess.run(["openssl", *arguments], cwd=self._folder, check=True, capture_output=True)


def server_context(certificate: Path, key: Path) -> ssl.SSLContext:
    """Return the SSL context of a server with this certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context
