"""`lumos web`: serve the explorer, and add people who may use it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lumos_queue.cli import options as opt
from lumos_queue.cli import output
from lumos_queue.cli.serve import Host
from lumos_queue.util.model_loading import import_libraries


def web(
    context: typer.Context,
    host: Host = "127.0.0.1",
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="The port; 0: any that is free. Default: LUMOS_WEB_PORT, or 8642."),
    ] = None,
    who: Annotated[
        str,
        typer.Option("--as", help="The user's name if no passwords are required; default: LUMOS_USER, or user@host."),
    ] = "",
    passwords: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The people and their roles: the file of lumos web add-person.")
    ] = None,
    name: Annotated[
        list[str] | None,
        typer.Option(metavar="HOST", help="A host name that browsers may use for the explorer; may be repeated."),
    ] = None,
    certificate: Annotated[Path | None, typer.Option(metavar="FILE", help="Serve with TLS: the certificate.")] = None,
    key: Annotated[Path | None, typer.Option(metavar="FILE", help="The certificate's key.")] = None,
    flower: Annotated[
        str, typer.Option(metavar="URL", help="The address of Flower, for links to it; default: LUMOS_FLOWER_URL.")
    ] = "",
    proxy: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ADDRESS",
            help="The IP address or network of a reverse proxy, whose X-Forwarded headers state the client; may be "
            "repeated.",
        ),
    ] = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Let other machines send passwords without TLS.")
    ] = False,
    json: opt.Json = False,
) -> None:
    """Serve the explorer until Ctrl-C or TERM.

    The explorer shows jobs, episodes, labels and training sets in a browser. The printed address has a token and is for
    this machine only; for other machines give --passwords.
    """
    if context.invoked_subcommand:
        return
    from lumos_queue.models.folders import WEB_LIBRARIES, require_libraries
    from lumos_queue.settings import check_page_address, read_settings
    from lumos_queue.util.launch_folder import from_launch

    require_libraries(*WEB_LIBRARIES, extra="web")
    with import_libraries():
        from lumos_queue.web.server import Serving, serve

    settings = read_settings()
    if flower:
        check_page_address("--flower", flower)
    port, flower = settings.web_port if port is None else port, (flower or settings.flower_url).rstrip("/")
    files = [None if path is None else from_launch(path) for path in (passwords, certificate, key)]
    serving = Serving(host, port, files[0], name or (), files[1], files[2], flower, proxy or (), insecure)
    serve(settings.model_copy(update={"user": who}) if who else settings, serving, output.say)
    output.result({"stopped": True}, lambda _: None)


def add_person(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The password file; it is created where there is none.")],
    name: Annotated[str, typer.Argument(metavar="NAME", help="The person, without spaces.")],
    role: Annotated[str, typer.Option(help="reader, annotator or operator.")] = "annotator",
    json: opt.Json = False,
) -> None:
    """Write a person, a role and a password into a file for lumos web.

    The command asks for the password, or reads it from standard input. A running explorer uses the change at once.
    """
    import sys

    from lumos_queue.models.folders import require_libraries
    from lumos_queue.util.launch_folder import from_launch

    require_libraries("argon2", extra="web")
    from lumos_queue.web.access.passwords import add_person as write

    if sys.stdin.isatty():
        password = typer.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    else:
        password = sys.stdin.readline().rstrip("\r\n")
    is_new = write(from_launch(file), name, role, password)
    message = f"{name} is {role} now" if is_new else f"{name} is {role} and has a new password"
    output.result({"file": str(file), "name": name, "role": role, "new": is_new}, lambda _: output.show(message))
