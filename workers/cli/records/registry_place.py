"""Where the schemas of records are: the address of a registry, as a command or a configuration gives it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from connector.config.keys.versions import BadVersionError, select_version
from connector.configdef.options import Options
from connector.emulation import DEFAULT, emulation_of
from workers.cli.failure import CommandError
from workers.cli.records.decoding import KINDS, IdKind
from workers.cli.records.registry import Registry
from workers.settings.worker_address import AddressError, check_url

if TYPE_CHECKING:
    from workers.cli.records.apicurio import ApicurioSchemas

_APICURIO: Final = "apicurio.registry"
_OWN_API: Final = "/apis/registry/v"


@dataclass(frozen=True, slots=True)
class RegistryPlace:
    """The address of a registry. ``use_id`` is Apicurio's kind of id where records do not tell it; None: that of its version."""

    url: str
    use_id: IdKind | None = None

    @staticmethod
    def of(config: Mapping[str, str]) -> RegistryPlace | None:
        """Return the place that the converters of values or keys in ``config`` use; None without one."""
        for prefix in ("value.converter.", "key.converter."):
            if url := config.get(f"{prefix}schema.registry.url", "").partition(",")[0].strip():
                return RegistryPlace(url)
            if url := config.get(f"{prefix}{_APICURIO}.url", "").strip().rstrip("/"):
                named = config.get(f"{prefix}{_APICURIO}.use-id", "").strip()
                return RegistryPlace(_with_version(url, config), next((kind for kind in KINDS if kind == named), None))
        return None

    def open(self) -> Registry | ApicurioSchemas:
        """Return a client. It connects when a schema is needed. Raises CommandError for an address that cannot be used."""
        try:
            check_url(self.url)
        except AddressError as problem:
            raise CommandError(f"The registry's address cannot be used: {problem}", "Give --registry URL.") from None
        if _OWN_API not in urlsplit(self.url).path:
            return Registry(self.url)
        from workers.cli.records.apicurio import ApicurioSchemas  # noqa: PLC0415 (it imports httpx, which takes 0.1 seconds)

        return ApicurioSchemas(self.url, self.use_id)


def _with_version(url: str, config: Mapping[str, str]) -> str:
    """The address of the API that the converter adds to an address without a path: its version is that of the converter."""
    try:
        if "/apis/" in urlsplit(url).path:
            return url
    except ValueError:
        # open() refuses it.
        return url
    # Most calls do not need these modules.
    from connector.converters.apicurio import generation_of  # noqa: PLC0415
    from connector.converters.apicurio_keys import APICURIO_KEYS  # noqa: PLC0415

    try:
        emulation = emulation_of(select_version(config.get("connector.plugin.version")))
    except BadVersionError:
        emulation = DEFAULT
    options = Options(APICURIO_KEYS, {f"{_APICURIO}.url": url}, emulation)
    return f"{url}{_OWN_API}{generation_of(options)}"
