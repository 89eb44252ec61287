"""Finds breaking changes outside of the operations of a contract. Part of ``tooling.contract_breaks``.

These are the servers, the tags and schemas, which name the classes of generated clients, and the ways to
authenticate.
"""

from collections.abc import Iterator

from tooling.contract_rules import Break, Node, changed, pointer

SENT = ("type", "scheme", "in", "name", "openIdConnectUrl", "flows")


def part(node: Node, *keys: str) -> Node:
    """A member of a node, empty if there is none."""
    for key in keys:
        node = node.get(key, {})
    return node


def breaks(old: Node, new: Node) -> Iterator[Break]:
    """Changes outside of the operations that break clients of the old contract."""
    yield from servers(old.get("servers", []), new.get("servers", []), "#/servers")
    yield from _tags(old, new)
    yield from _schemas(old, new)
    yield from _schemes(old, new)


def servers(old: list[Node], new: list[Node], place: str) -> Iterator[Break]:
    """Changes between two lists of servers. Generated clients call the first one."""
    offered = {server["url"]: server for server in new}
    for at, server in enumerate(old):
        here = pointer(place, str(at))
        if server["url"] in offered:
            yield from _variables(server, offered[server["url"]], pointer(here, "variables"))
        else:
            yield pointer(here, "url"), f"{server['url']} was removed"
    if old and old[0]["url"] in offered and old[0]["url"] != new[0]["url"]:
        yield pointer(place, "0"), f"{new[0]['url']} comes first now"


def _variables(old: Node, new: Node, place: str) -> Iterator[Break]:
    offered = part(new, "variables")
    for name, variable in part(old, "variables").items():
        here, after = pointer(place, name), offered.get(name)
        if after is None:
            yield here, "variable was removed"
            continue
        if variable["default"] != after["default"]:
            yield pointer(here, "default"), changed(variable, after, "default")
        for value in variable.get("enum", []):
            if value not in after.get("enum", [value]):
                yield pointer(here, "enum"), f"value {value!r} was removed"
        if "enum" in after and "enum" not in variable:
            yield pointer(here, "enum"), "values are restricted now"


def _tags(old: Node, new: Node) -> Iterator[Break]:
    offered = [tag["name"] for tag in new.get("tags", [])]
    for at, tag in enumerate(old.get("tags", [])):
        if tag["name"] not in offered:
            yield pointer("#/tags", str(at), "name"), f"tag {tag['name']!r} was removed"


def _schemas(old: Node, new: Node) -> Iterator[Break]:
    offered = part(new, "components", "schemas")
    for name in part(old, "components", "schemas"):
        if name not in offered:
            yield pointer("#/components/schemas", name), "schema was removed"


def _schemes(old: Node, new: Node) -> Iterator[Break]:
    place = "#/components/securitySchemes"
    offered = part(new, "components", "securitySchemes")
    for name, scheme in part(old, "components", "securitySchemes").items():
        if name not in offered:
            yield pointer(place, name), "scheme was removed"
            continue
        for key in SENT:
            if scheme.get(key) != offered[name].get(key):
                yield pointer(place, name, key), "was changed or removed"
