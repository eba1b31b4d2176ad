"""What every document of the data contracts has in common."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, ClassVar, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    GetJsonSchemaHandler,
    ValidationError,
    model_serializer,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, ErrorDetails

from selfimprove.contracts.attribute_docs import attribute_docs
from selfimprove.errors import ContractError

Sha256 = str
"""A SHA-256 digest in hexadecimal."""

FAMILIES = (
    "architecture",
    "training_config",
    "data",
    "infrastructure",
    "optimization",
    "testing",
    "documentation",
    "other",
)
"""The approach family taxonomy (data contracts, section 6); harness.md may add its own."""

Direction = Literal["higher_is_better", "lower_is_better"]


class Record(BaseModel):
    """A frozen document: unknown fields are refused, additions left out when empty.

    `additions` names the optional fields that a document leaves out when they are None or empty,
    where the data contracts' own optional fields are written as null.
    """

    model_config = ConfigDict(
        frozen=True,
        defer_build=True,
        extra="forbid",
        allow_inf_nan=False,
        ser_json_inf_nan="null",
    )
    additions: ClassVar[frozenset[str]] = frozenset()

    @model_serializer(mode="wrap")
    def _leave_out_empty(self, handler: Any) -> dict[str, Any]:
        written: dict[str, Any] = handler(self)
        for name in self.additions:
            if written.get(name) in (None, [], {}, (), ""):
                written.pop(name, None)
        return written

    @classmethod
    def __get_pydantic_json_schema__(
        cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        schema = handler(core_schema)
        properties = handler.resolve_ref_schema(schema).get("properties", {})
        for name, said in attribute_docs(cls).items():
            written = cls.model_fields[name].alias or name if name in cls.model_fields else name
            if written in properties:
                properties[written].setdefault("description", said)
        return schema

    def document(self) -> dict[str, Any]:
        """This record as plain JSON values, fields in contract order."""
        return self.model_dump(mode="json")

    @classmethod
    def parse(cls, data: Any, where: str) -> Self:
        """Check `data` (plain JSON values) and raise ContractError naming file, field, remedy."""
        try:
            return cls.model_validate(data)
        except ValidationError as error:
            raise refusal(cls, error, where) from None

    @classmethod
    def parse_json(cls, text: str | bytes, where: str) -> Self:
        """Check a JSON text; raises ContractError."""
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ContractError(
                f"{where}: not JSON: {error}", "restore it from a copy, or delete it and rebuild"
            ) from None
        return cls.parse(data, where)


def refusal(record: type[BaseModel], error: ValidationError, where: str) -> ContractError:
    """Word a validation error as one line: file, field, what is wrong, what would fit."""
    first = error.errors(include_url=False)[0]
    field = ".".join(str(part) for part in first["loc"]) or record.__name__
    more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
    return ContractError(f"{where}: {field}: {first['msg']}{more}", remedy_for(record, first))


def remedy_for(record: type[BaseModel], detail: ErrorDetails) -> str:
    """Say what would mend one validation error."""
    kind = detail["type"]
    if kind == "extra_forbidden":
        from difflib import get_close_matches

        name = str(detail["loc"][-1])
        near = get_close_matches(name, record.model_fields, 1)
        return f"did you mean {near[0]!r}?" if near else f"remove {name!r}"
    if kind == "missing":
        return f"add {str(detail['loc'][-1])!r}"
    shown = repr(detail["input"])
    return f"it holds {shown if len(shown) <= 60 else shown[:57] + '...'}"


def utc_now() -> str:
    """The time now as ISO 8601 in UTC, to the millisecond."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
