"""Bodies and query strings: nothing unknown is taken, no "3" for a number, no 1 for true."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

LARGEST = 2_147_483_647


class StrictInteger(serializers.IntegerField):
    """A JSON number without a fraction, within what the database holds."""

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("max_value", LARGEST)
        kwargs.setdefault("min_value", 0)
        super().__init__(**kwargs)

    def to_internal_value(self, data: Any) -> int:
        if not isinstance(data, int) or isinstance(data, bool):
            self.fail("invalid")
        return int(data)


class StrictBoolean(serializers.BooleanField):
    """true or false, nothing like them."""

    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            self.fail("invalid", input=data)
        return bool(data)


class StrictText(serializers.CharField):
    """A JSON string."""

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return str(super().to_internal_value(data))


class Input(serializers.Serializer):
    """What a client sends: a field that is not described is refused, so that a slip of the pen is told."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, dict):
            unknown = sorted(set(data) - set(self.fields))
            if unknown:
                raise serializers.ValidationError(
                    {name: ["there is no such field here"] for name in unknown[:20]}
                )
        return super().to_internal_value(data)
