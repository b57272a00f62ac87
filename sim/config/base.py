"""What every configuration has in common: frozen, keyword-only, strict, and errors that say how to mend the value."""

import difflib
import hashlib
import json
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, ValidationError

_BOUNDS = {"ge": ">=", "gt": ">", "le": "<=", "lt": "<"}


class ConfigError(ValueError):
    """A configuration was refused; the message names each field, its value, and what is allowed.

    Parameters
    ----------
    problems : list of str
        One text for each field that was refused.
    """

    def __init__(self, problems: list[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


class Config(BaseModel):
    """Base of all configurations.

    Construct with keywords only. Values are checked strictly (no silent conversion of text to numbers); a configuration
    never changes once made: use `replace` for a variant.

    Raises
    ------
    ConfigError
        A field is missing, unknown, of the wrong type or out of range.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        allow_inf_nan=False,
        validate_default=True,
        use_attribute_docstrings=True,
    )

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            raise ConfigError(_explain(error, type(self))) from None

    def replace(self, **changes: Any) -> Self:
        """Return a copy with some fields changed, checked anew; a dotted name reaches into a part.

        Parameters
        ----------
        **changes
            Field names with new values; nested as ``{"nme.interval": 32}`` by way of ``replace(**{...})``.

        Returns
        -------
        Self
            The changed copy.
        """
        values = self.model_dump()
        for name, value in changes.items():
            target = values
            *parents, leaf = name.split(".")
            for parent in parents:
                if parent not in target:
                    raise ConfigError([f"{name}: {_unknown_key(parent, target)}"])
                if not isinstance(target[parent], dict):
                    raise ConfigError([f"{name}: {parent} is a value, nothing is below it"])
                target = target[parent]
            target[leaf] = value
        return type(self)(**values)

    def content_hash(self) -> str:
        """Return a hash of every value, the same on every machine.

        Returns
        -------
        str
            The first 16 hexadecimal digits of the SHA-256 of the canonical JSON text.
        """
        text = json.dumps(self.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def _unknown_key(key: str, known: Any) -> str:
    near = difflib.get_close_matches(key, list(known), n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return f"key {key!r} is not known; {hint}the keys here are {', '.join(known)}"


def _model_at(model: type[BaseModel], path: tuple[int | str, ...]) -> type[BaseModel]:
    for part in path:
        field = model.model_fields.get(str(part))
        inner = field.annotation if field else None
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            model = inner
    return model


def _allowed(model: type[BaseModel], path: tuple[int | str, ...]) -> str:
    field = _model_at(model, path[:-1]).model_fields.get(str(path[-1])) if path else None
    if field is None:
        return ""
    bounds = [
        f"{sign} {getattr(m, name)}" for m in field.metadata for name, sign in _BOUNDS.items() if hasattr(m, name)
    ]
    return f" (allowed: {' and '.join(bounds)})" if bounds else ""


def _explain(error: ValidationError, model: type[BaseModel]) -> list[str]:
    lines = []
    for problem in error.errors():
        path = problem["loc"]
        name = ".".join(map(str, path)) or model.__name__
        inner = problem.get("ctx", {}).get("error")
        if isinstance(inner, ConfigError):  # a part that was refused when it was made: its own texts, with their place
            lines += [f"{name}.{text}" for text in inner.problems]
        elif problem["type"] == "extra_forbidden":
            parent = _model_at(model, path[:-1])
            lines.append(f"{name}: {_unknown_key(str(path[-1]), parent.model_fields)}")
        elif problem["type"] == "missing":
            lines.append(f"{name}: missing; add it")
        else:
            message = problem["msg"].removeprefix("Value error, ")
            value = "" if isinstance(problem["input"], dict) else f" is {problem['input']!r}"
            lines.append(f"{name}{value}: {message}{_allowed(model, path)}")
    return lines
