# SPDX-License-Identifier: Apache-2.0
"""Options of a command as fields of a dataclass, which several commands can share. Methods of the dataclass combine its options."""

import dataclasses
import functools
import inspect
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar, get_type_hints

Options = TypeVar("Options")
Own = ParamSpec("Own")


def with_options(
    options: type[Options], **defaults: object
) -> Callable[[Callable[Concatenate[Options, Own], None]], Callable[..., None]]:
    """Return a decorator for a command whose first parameter is `options`, a dataclass. Typer sees its fields as options, before the command's own.

    `defaults` replace the defaults of the fields.
    """
    fields = _parameters(options, defaults)

    def decorator(command: Callable[Concatenate[Options, Own], None]) -> Callable[..., None]:
        @functools.wraps(command)
        def spread(**values: Any) -> None:
            command(options(**{one.name: values.pop(one.name) for one in fields}), **values)  # type: ignore[call-arg]

        hints = get_type_hints(command, include_extras=True)
        _, *own = inspect.signature(command).parameters.values()
        parameters = [*fields, *(one.replace(annotation=hints[one.name]) for one in own)]
        spread.__signature__ = inspect.Signature(  # type: ignore[attr-defined]  # Typer reads it
            [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in parameters], return_annotation=None
        )
        spread.__annotations__ = {one.name: one.annotation for one in parameters} | {"return": None}
        return spread

    return decorator


def _parameters(options: type, defaults: dict[str, object]) -> list[inspect.Parameter]:
    hints = get_type_hints(options, include_extras=True)
    return [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=defaults.get(
                field.name, inspect.Parameter.empty if field.default is dataclasses.MISSING else field.default
            ),
            annotation=hints[field.name],
        )
        for field in dataclasses.fields(options)
    ]
