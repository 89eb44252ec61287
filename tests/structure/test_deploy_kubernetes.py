"""deploy/kubernetes: valid for Kubernetes, complete and without rights that it does not need.

The manifests are not applied: the tests have no cluster.
"""

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from flask import Flask

from gateway.ops import health, metrics
from tests.deployment import (
    DEPLOY,
    STOP_SECONDS,
    authorities,
    encrypts_to_proven_servers,
    parse,
)
from webhooks.address import GLOBAL_UNICAST, SPECIAL

FOLDER = DEPLOY / "kubernetes"
EXAMPLE = Path("overlays/example")
KUSTOMIZATIONS = sorted(FOLDER.rglob("kustomization.yaml"))
# The oldest version with every field of the manifests, and the newest that the checker knows.
VERSIONS = ("1.30", "1.37")
# Not part of Kubernetes, so the checker has no schema for it.
FOREIGN = {"ScaledObject"}
KUBECTL = shutil.which("kubectl")


def _documents(path: Path) -> Iterator[dict[str, Any]]:
    yield from yaml.safe_load_all(path.read_text())


def _named(kustomization: Path) -> dict[str, list[Path]]:
    """The files and folders that a kustomization names, by the kind of use."""
    read = yaml.safe_load(kustomization.read_text())
    generated = [*read.get("configMapGenerator", []), *read.get("secretGenerator", [])]
    named = {
        "resources": read.get("resources", []),
        "components": read.get("components", []),
        "patches": [patch["path"] for patch in read.get("patches", []) if "path" in patch],
        "settings": [file for each in generated for file in each.get("envs") or each["files"]],
    }
    return {use: [kustomization.parent / name for name in names] for use, names in named.items()}


RESOURCES = [
    path for each in KUSTOMIZATIONS for path in _named(each)["resources"] if path.suffix == ".yaml"
]
MANIFESTS = [document for path in RESOURCES for document in _documents(path)]
WORKLOADS = [each for each in MANIFESTS if each["kind"] in {"Deployment", "Job"}]


def _name(manifest: dict[str, Any]) -> str:
    return str(manifest["metadata"]["name"])


def _of_kind(kind: str) -> list[dict[str, Any]]:
    return [manifest for manifest in MANIFESTS if manifest["kind"] == kind]


def _validate(*paths: Path) -> None:
    """Fail for an error, an unknown property, or an unknown kind."""
    versions = [part for version in VERSIONS for part in ("-k", version)]
    command = [sys.executable, "-m", "kubernetes_validate", "--strict", *versions, *map(str, paths)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    passed = done.stdout.count(" passed for resource ")
    assert passed == len(VERSIONS) * sum(len(list(_documents(path))) for path in paths)


def test_every_manifest_is_valid_for_kubernetes() -> None:
    ours = [path for path in RESOURCES if not FOREIGN & {d["kind"] for d in _documents(path)}]
    assert len(ours) > 5
    _validate(*ours)


def test_every_file_is_named_by_a_kustomization_and_every_name_has_a_file() -> None:
    named = {path for each in KUSTOMIZATIONS for paths in _named(each).values() for path in paths}
    # The operator creates the file of secrets from its example.
    found = {path.with_name(path.name.removesuffix(".example")) for path in FOLDER.rglob("*.*")}
    files = found - set(KUSTOMIZATIONS)
    assert {path for path in named if path.suffix} == files
    folders = {path.resolve() for path in named if not path.suffix}
    assert folders | {FOLDER / EXAMPLE} == {path.parent for path in KUSTOMIZATIONS}


def test_a_patch_changes_a_manifest_that_exists() -> None:
    read = [patch for each in KUSTOMIZATIONS for patch in next(_documents(each)).get("patches", [])]
    targets = [
        (patch["target"]["kind"], patch["target"]["name"]) for patch in read if "target" in patch
    ]
    files = [path for each in KUSTOMIZATIONS for path in _named(each)["patches"]]
    targets += [(patch["kind"], _name(patch)) for path in files for patch in _documents(path)]
    assert targets
    assert set(targets) <= {(manifest["kind"], _name(manifest)) for manifest in MANIFESTS}


@pytest.mark.skipif(KUBECTL is None, reason="kubectl is not installed")
def test_the_example_can_be_built(tmp_path: Path) -> None:
    copy = shutil.copytree(FOLDER, tmp_path / "kubernetes")
    example = copy / EXAMPLE
    for name in ("secret.env", "authorities.pem"):
        shutil.copy(example / f"{name}.example", example / name)
    command = [str(KUBECTL), "kustomize", str(example)]
    built = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    documents = [d for d in yaml.safe_load_all(built) if d["kind"] not in FOREIGN]
    assert len(documents) > len(MANIFESTS) - len(FOREIGN)
    (tmp_path / "built.yaml").write_text(yaml.safe_dump_all(documents))
    _validate(tmp_path / "built.yaml")


@pytest.mark.parametrize("workload", WORKLOADS, ids=_name)
def test_a_pod_has_no_rights_that_it_does_not_need(workload: dict[str, Any]) -> None:
    pod = workload["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    user = pod["securityContext"]["runAsUser"]
    assert f"USER {user}:{user}\n" in (DEPLOY / "Containerfile").read_text()


@pytest.mark.parametrize("workload", WORKLOADS, ids=_name)
def test_a_container_starts_a_command_that_exists_and_has_its_resources(
    workload: dict[str, Any],
) -> None:
    (container,) = workload["spec"]["template"]["spec"]["containers"]
    parse(container["args"])
    assert container["resources"]["requests"].keys() == {"cpu", "memory"}
    assert container["resources"]["limits"].keys() == {"memory"}
    mounts = container["volumeMounts"]
    written = {mount["mountPath"] for mount in mounts if not mount.get("readOnly")}
    assert written == {"/var/lib/gateway", "/tmp"}  # noqa: S108 - of a container


def test_a_pod_waits_for_a_stop_as_long_as_it_may_take() -> None:
    for deployment in _of_kind("Deployment"):
        pod = deployment["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        sleep = container.get("lifecycle", {}).get("preStop", {}).get("sleep", {"seconds": 0})
        assert pod["terminationGracePeriodSeconds"] - sleep["seconds"] > STOP_SECONDS


def test_probes_ask_paths_that_exist() -> None:
    app = Flask("probe")
    for blueprint in (health.blueprint, metrics.blueprint):
        app.register_blueprint(blueprint)
    exist = {rule.rule for rule in app.url_map.iter_rules()}
    text = "".join(path.read_text() for path in RESOURCES)
    asked = set(re.findall(r"httpGet:\n +path: (\S+)", text))
    assert asked == {"/healthz", "/readyz", "/metrics"}
    assert asked <= exist


def test_each_deployment_has_an_autoscaler_a_disruption_budget_and_a_network_policy() -> None:
    deployments = sorted(map(_name, _of_kind("Deployment")))
    scalers = _of_kind("HorizontalPodAutoscaler") + _of_kind("ScaledObject")
    assert sorted(each["spec"]["scaleTargetRef"]["name"] for each in scalers) == deployments
    assert sorted(map(_name, _of_kind("PodDisruptionBudget"))) == deployments
    policies = set(map(_name, _of_kind("NetworkPolicy")))
    assert policies >= {*deployments, "gateway-migrate"}


def _policy(name: str) -> dict[str, Any]:
    (found,) = (each["spec"] for each in _of_kind("NetworkPolicy") if _name(each) == name)
    return dict(found)


def test_web_and_worker_reach_exactly_the_addresses_that_a_webhook_may_have() -> None:
    policy = _policy("gateway-internet")
    [of] = policy["podSelector"]["matchExpressions"]
    assert {f"gateway-{value}" for value in of["values"]} == set(map(_name, _of_kind("Deployment")))
    [rule] = policy["egress"]
    blocks = {block["ipBlock"]["cidr"]: block["ipBlock"]["except"] for block in rule["to"]}
    special = {6: list[str](), 4: list[str]()}
    for network in SPECIAL:
        special[network.version].append(str(network))
    assert blocks == {"0.0.0.0/0": special[4], str(GLOBAL_UNICAST): special[6]}


def test_private_addresses_are_reached_at_the_ports_of_servers_only() -> None:
    rules = _policy("gateway-servers")["egress"]
    ports = [{port["port"] for port in rule["ports"]} for rule in rules]
    assert ports == [{53}, {5432, 6432, 6379}]
    assert all(rule["to"] for rule in rules)


@pytest.mark.parametrize("name", ["postgresql", "pgbouncer", "redis"])
def test_only_the_gateway_reaches_its_servers(name: str) -> None:
    policy = _policy(name)
    assert policy["podSelector"] == {"matchLabels": {"app.kubernetes.io/name": name}}
    assert set(policy["policyTypes"]) == {"Ingress", "Egress"}
    [rule] = policy["ingress"]
    assert "messaging-gateway" in str(rule["from"])
    assert all("podSelector" in peer for peer in rule["from"])


def test_the_example_encrypts_connections_and_checks_who_answers() -> None:
    lines = (FOLDER / EXAMPLE / "secret.env.example").read_text().splitlines()
    given = dict(line.split("=", 1) for line in lines if not line.startswith("#"))
    assert encrypts_to_proven_servers(given)
    for workload in WORKLOADS:
        (container,) = workload["spec"]["template"]["spec"]["containers"]
        (mount,) = (m for m in container["volumeMounts"] if m["name"] == "authorities")
        assert authorities(given) == {f"{mount['mountPath']}/authorities.pem"}
