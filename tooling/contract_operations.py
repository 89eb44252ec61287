"""Finds breaking changes of the operations of a contract. Part of ``tooling.contract_breaks``."""

from collections.abc import Iterator
from fnmatch import fnmatchcase

from tooling.contract_names import part, servers
from tooling.contract_rules import Break, Direction, Node, changed, pointer
from tooling.contract_schemas import Schemas, resolved

METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
# Keys are the place (query, path, header) and the name. Values are the node and its JSON pointer.
Parameters = dict[tuple[str, str], tuple[Node, str]]
IN, OUT = Direction.REQUEST, Direction.RESPONSE
# What a key needs for an operation.
SCOPE = "x-scope"
# The style of a parameter that states none.
STYLES = {"query": "form", "cookie": "form", "path": "simple", "header": "simple"}


class Operations:
    """Compares two contracts, operation by operation."""

    def __init__(self, old: Node, new: Node) -> None:
        self._old, self._new = old, new
        self._schemas = Schemas(old, new)

    def breaks(self) -> Iterator[Break]:
        """Changes of the operations that break clients of the old contract."""
        yield from self._paths(self._old["paths"], self._new["paths"], "#/paths", IN)

    def _paths(self, old: Node, new: Node, place: str, sent: Direction) -> Iterator[Break]:
        for path, item in old.items():
            here = pointer(place, path)
            if path not in new:
                yield here, "path was removed"
                continue
            for method in (method for method in METHODS if method in item):
                there = pointer(here, method)
                if method in new[path]:
                    yield from self._operation(item, new[path], method, there, sent)
                else:
                    yield there, "operation was removed"

    def _operation(
        self, old_item: Node, new_item: Node, method: str, place: str, sent: Direction
    ) -> Iterator[Break]:
        """``sent`` is the direction of the request. The gateway sends the requests of callbacks."""
        old, new = old_item[method], new_item[method]
        if old.get("operationId") != new.get("operationId"):
            yield pointer(place, "operationId"), f"{old.get('operationId')} was renamed or removed"
        for tag in (tag for tag in old.get("tags", []) if tag not in new.get("tags", [])):
            yield pointer(place, "tags"), f"tag {tag!r} was removed"
        yield from self._security(old, new, place)
        yield from self._servers({**old_item, **old}, {**new_item, **new}, place)
        before = self._parameters_of(self._old, old_item, old, place)
        after = self._parameters_of(self._new, new_item, new, place)
        yield from self._parameters(before, after, sent)
        yield from self._body(old, new, place, sent)
        yield from self._responses(old["responses"], new["responses"], place, sent)
        yield from self._callbacks(old, new, place)

    def _security(self, old: Node, new: Node, place: str) -> Iterator[Break]:
        accepted = new.get("security", self._new.get("security", [])) or [{}]
        for way in old.get("security", self._old.get("security", [])) or [{}]:
            if not any(_asks_no_more(other, way) for other in accepted):
                yield pointer(place, "security"), f"{way or 'no authentication'} is refused now"
        if old.get(SCOPE) not in (None, new.get(SCOPE)):
            yield pointer(place, SCOPE), changed(old, new, SCOPE)

    def _servers(self, old: Node, new: Node, place: str) -> Iterator[Break]:
        """Those of an operation or its path, which replace those of the contract."""
        if old.get("servers") != new.get("servers"):
            lists = (
                node.get("servers") or whole.get("servers", [])
                for node, whole in ((old, self._old), (new, self._new))
            )
            yield from servers(*lists, pointer(place, "servers"))

    def _parameters_of(self, contract: Node, item: Node, operation: Node, place: str) -> Parameters:
        """The parameters of an operation, its own before those of its path."""
        found: Parameters = {}
        of_path = pointer(place.rpartition("/")[0], "parameters")
        of_operation = pointer(place, "parameters")
        for owner, here in ((item, of_path), (operation, of_operation)):
            for at, listed in enumerate(owner.get("parameters", [])):
                node = resolved(contract, listed)
                key = (node["in"], node["name"])
                found[key] = node, listed.get("$ref", pointer(here, str(at)))
        return found

    def _parameters(self, old: Parameters, new: Parameters, sent: Direction) -> Iterator[Break]:
        for key, (node, place) in new.items():
            if key not in old and node.get("required") and sent is IN:
                yield place, f"{key[0]} parameter {key[1]!r} is new and required"
        for key, (before, place) in old.items():
            if key in new:
                yield from self._parameter(before, new[key][0], place, sent)
            else:
                yield place, f"{key[0]} parameter {key[1]!r} was removed"

    def _parameter(self, old: Node, new: Node, place: str, sent: Direction) -> Iterator[Break]:
        yield from self._presence(old, new, place, sent)
        yield from self._serialized(old, new, place)
        if part(old, "schema") and not part(new, "schema"):
            yield pointer(place, "schema"), "was removed"
            return
        yield from self._content(old, new, place, sent)
        schemas = (part(old, "schema"), part(new, "schema"))
        yield from self._schemas.breaks(*schemas, pointer(place, "schema"), sent)

    def _presence(self, old: Node, new: Node, place: str, sent: Direction) -> Iterator[Break]:
        before, after = bool(old.get("required")), bool(new.get("required"))
        if before != after and after is (sent is IN):
            what = "is required" if after else "can be absent"
            yield pointer(place, "required"), f"parameter {old['name']!r} {what} now"

    def _serialized(self, old: Node, new: Node, place: str) -> Iterator[Break]:
        before, after = _style(old), _style(new)
        for key in (key for key in before if before[key] != after[key]):
            yield pointer(place, key), changed(before, after, key)

    def _body(self, old: Node, new: Node, place: str, sent: Direction) -> Iterator[Break]:
        place = pointer(place, "requestBody")
        before, after = part(old, "requestBody"), part(new, "requestBody")
        if before and not after:
            yield place, "body was removed"
            return
        before, after, place = self._schemas.both(before, after, place)
        if sent is IN and after.get("required") and not before.get("required"):
            yield pointer(place, "required"), "body is required now"
        if sent is OUT and before.get("required") and not after.get("required"):
            yield pointer(place, "required"), "body can be absent now"
        yield from self._content(before, after, place, sent)

    def _content(self, old: Node, new: Node, place: str, direction: Direction) -> Iterator[Break]:
        offered = new.get("content", {})
        for kind, before in old.get("content", {}).items():
            here = pointer(place, "content", kind)
            if kind in offered:
                schemas = (before.get("schema", {}), offered[kind].get("schema", {}))
                yield from self._schemas.breaks(*schemas, pointer(here, "schema"), direction)
                yield from self._encodings(before, offered[kind], here, direction)
            else:
                yield here, "media type was removed"

    def _encodings(self, old: Node, new: Node, place: str, direction: Direction) -> Iterator[Break]:
        """The content types of the parts of a form, of the properties that the old one has."""
        for name in resolved(self._old, part(old, "schema")).get("properties", {}):
            before, after = part(old, "encoding", name), part(new, "encoding", name)
            wide, narrow = (after, before) if direction is IN else (before, after)
            if not _accepts(wide, narrow):
                here = pointer(place, "encoding", name, "contentType")
                yield here, changed(before, after, "contentType")

    def _responses(self, old: Node, new: Node, place: str, sent: Direction) -> Iterator[Break]:
        read = OUT if sent is IN else IN
        for status, response in old.items():
            here = pointer(place, "responses", status)
            if status in new:
                nodes = self._schemas.both(response, new[status], here)
                yield from self._content(*nodes, read)
                yield from self._headers(*nodes, read)
            elif status.startswith(("2", "3")):
                yield here, "successful status was removed"

    def _headers(self, old: Node, new: Node, place: str, read: Direction) -> Iterator[Break]:
        offered = new.get("headers", {})
        for name, header in old.get("headers", {}).items():
            here = pointer(place, "headers", name)
            if name not in offered:
                yield here, "header was removed"
                continue
            before, after, here = self._schemas.both(header, offered[name], here)
            if before.get("required") and not after.get("required"):
                yield pointer(here, "required"), f"header {name!r} can be absent now"
            schemas = (before.get("schema", {}), after.get("schema", {}))
            yield from self._schemas.breaks(*schemas, pointer(here, "schema"), read)

    def _callbacks(self, old: Node, new: Node, place: str) -> Iterator[Break]:
        offered = new.get("callbacks", {})
        for name, paths in old.get("callbacks", {}).items():
            here = pointer(place, "callbacks", name)
            if name in offered:
                yield from self._paths(paths, offered[name], here, OUT)
            else:
                yield here, "callback was removed"


def _asks_no_more(new: Node, old: Node) -> bool:
    """Whether a client that satisfies the old requirement satisfies the new one."""
    return all(name in old and set(scopes) <= set(old[name]) for name, scopes in new.items())


def _accepts(wide: Node, narrow: Node) -> bool:
    """Whether a part of a form may have each content type of another. Without any, it may have all."""
    ranges, types = (
        [each.strip().lower() for each in encoding.get("contentType", "*/*").split(",")]
        for encoding in (wide, narrow)
    )
    return all(any(_is_in(each, of) for of in ranges) for each in types)


def _is_in(type_: str, of: str) -> bool:
    """Whether a media type, perhaps with parameters, belongs to a range such as image/*."""
    return fnmatchcase(type_, of) or fnmatchcase(type_.partition(";")[0].strip(), of)


def _style(parameter: Node) -> Node:
    style = parameter.get("style", STYLES[parameter["in"]])
    return {"style": style, "explode": parameter.get("explode", style == "form")}
