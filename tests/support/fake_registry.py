"""Apicurio's registry as a table of what was registered: answers the requests of the converters 2.x and 3.x, and keeps them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit


@dataclass(slots=True)
class FakeRegistry:
    """Numbers contents from 101 and versions from 201, so that the two kinds of id differ."""

    requests: list[list[Any]] = field(default_factory=list)
    contents: dict[str, int] = field(default_factory=dict)
    versions: dict[tuple[str, str, str], dict[str, Any]] = field(default_factory=dict)

    def answer(self, method: str, target: str, headers: dict[str, str], body: bytes) -> tuple[int, Any]:
        """Return status and JSON (bytes as they are)."""
        parts = urlsplit(target)
        path, query = parts.path.partition("/apis/registry/")[2], {name: found[0] for name, found in sorted(parse_qs(parts.query).items())}
        named = {name: headers[name] for name in sorted(headers) if name.startswith("x-registry-artifact")}
        self.requests.append([method, path, query, named, body.decode()])
        generation, _, rest = path.partition("/")
        if method == "POST" and rest.endswith("/artifacts"):
            return 200, self._register(generation, unquote(rest.split("/")[1]), headers, body)
        if generation == "v3" and rest == "search/versions":
            found = [
                known for (_, name, content), known in self.versions.items() if name == query["artifactId"] and content == body.decode()
            ]
            return 200, {"count": len(found), "versions": found}
        if generation == "v2" and method == "POST" and rest.endswith("/meta"):
            name = unquote(rest.split("/")[3])
            found = [known for (_, other, content), known in self.versions.items() if name == other and content == body.decode()]
            return (200, found[0]) if found else (404, {"error_code": 404, "message": "none"})
        return 404, {"error_code": 404, "message": "none"}

    def _register(self, generation: str, group: str, headers: dict[str, str], body: bytes) -> Any:
        if generation == "v3":
            reported = json.loads(body)
            name, content, kind = (
                reported["artifactId"],
                json.dumps(reported["firstVersion"]["content"], sort_keys=True),
                reported["artifactType"],
            )
            text = reported["firstVersion"]["content"]["content"]
        else:
            name, content, kind = headers["x-registry-artifactid"], body.decode(), headers["x-registry-artifacttype"]
            text = json.loads(content)["content"] if "extended" in headers.get("content-type", "") else content
        known = self.versions.get((group, name, text))
        if known is None:
            number = 1 + sum(1 for other in self.versions if other[:2] == (group, name))
            known = {
                "artifactId": name,
                "id": name,
                "version": str(number),
                "artifactType": kind,
                "type": kind,
                "contentId": self.contents.setdefault(content, 101 + len(self.contents)),
                "globalId": 201 + len(self.versions),
                "state": "ENABLED",
            }
            if group != "default":
                known["groupId"] = group
            self.versions[group, name, text] = known
        return {"artifact": known, "version": known} if generation == "v3" else known
