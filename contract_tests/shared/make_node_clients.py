"""More clients in TypeScript tell the story of contract_tests/clients/node/story.ts. See make_clients.py."""

from pathlib import Path

import pytest

from contract_tests.clients.toolbox import CONTRACT
from contract_tests.harness import Gateway
from contract_tests.shared.make_clients import do_the_whole_job, new_folder, run

# The command of each generator, with its default flags.
GENERATORS = {
    "swagger-typescript-api": f"swagger-typescript-api generate --silent --path {CONTRACT} --output client",
    "kubb": f"CONTRACT={CONTRACT} kubb generate --silent",
    "openapi-zod-client": f"openapi-zod-client {CONTRACT} --output client.ts",
}
# Lines of their progress. Every other line is a warning.
OF_PROGRESS = (
    *("Kubb CLI", "Generation ", "Plugins: ", "Generated: ", "Output: ", "───"),
    *("Retrieving OpenAPI document from ", "Done generating "),
    # A list without an operation. No flag that leaves the responses as they are omits it.
    "The following endpoints have no status code other than `default`",
)
COMPILE = "node_modules/.bin/tsc --project ."


def generated(generator: str) -> Path:
    """The folder of a program with its client, which was generated without a warning."""
    folder = new_folder(generator)
    said = run(f"PATH=node_modules/.bin:$PATH && {GENERATORS[generator]}", folder)
    assert [line for line in said.splitlines() if not line.startswith(OF_PROGRESS)] == []
    return folder


@pytest.mark.parametrize("generator", GENERATORS)
def test_a_client_in_typescript_is_typed_and_does_the_whole_job(
    generator: str, gateway: Gateway
) -> None:
    folder = generated(generator)
    do_the_whole_job(folder, [COMPILE, "exec node out/main.js"], gateway)
