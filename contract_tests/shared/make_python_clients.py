"""More clients in Python tell the story of contract_tests/clients/python_story. See make_clients.py."""

import sys

import pytest

from contract_tests.clients import doc_programs
from contract_tests.clients.toolbox import CONTRACT
from contract_tests.harness import Gateway
from contract_tests.shared.make_clients import do_the_whole_job, new_folder, run
from contract_tests.shared.test_generated_clients import mypy

# The command of each generator, and its files.
DATAMODEL = doc_programs.command_of("datamodel-codegen")
GENERATORS: dict[str, tuple[str, list[str]]] = {
    "datamodel-code-generator": (
        DATAMODEL.replace("openapi.yaml", str(CONTRACT)),
        ["schemas.py"],
    ),
    # It generates nothing: it reads the served contract when the program runs.
    "aiopenapi3": (":", []),
}


@pytest.mark.parametrize("generator", GENERATORS)
def test_a_client_in_python_is_typed_and_does_the_whole_job(
    generator: str, gateway: Gateway
) -> None:
    folder = new_folder(generator)
    command, files = GENERATORS[generator]
    assert run(command, folder) == ""
    assert mypy(folder, "customer.py", *files) == ""
    do_the_whole_job(folder, [f"exec {sys.executable} main.py"], gateway)


def test_aiopenapi3_reads_the_contract_without_a_repair() -> None:
    folder = new_folder("aiopenapi3-alone")
    loading = (
        "OpenAPI.load_file('http://127.0.0.1', sys.argv[1], loader=FileSystemLoader(Path('/')))"
    )
    program = f"import sys; from pathlib import Path; from aiopenapi3 import *; {loading}"
    run(f'{sys.executable} -c "{program}" {CONTRACT}', folder)
