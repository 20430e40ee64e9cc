"""What the HTTP backends share: the address, the key, the extra fields, one POST per request.

A backend adds the request body and the reader of the answer.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from markscheme.config import RunConfig
from markscheme.errors import UsageError, option
from markscheme.models.addresses import check_addresses
from markscheme.models.base import Completion, Model, Request, RequestFailed
from markscheme.models.fields import api_key, extra_fields, header_fields
from markscheme.models.secrets import hide_spec, known_secrets
from markscheme.models.streams import Fold, Stream
from markscheme.models.transport import Transport
from markscheme.types import Sampling


class Served(Model):
    """Asks one or more servers."""

    ending = "/v1"  # usual end of such a server's address, for hints
    fold: type[Fold] | None = None  # assembles the events of a stream into an answer, for backends with streams
    stream_fields: Mapping[str, Any] = {"stream": True}

    def __init__(
        self,
        name: str,
        urls: Sequence[str],
        config: RunConfig,
        key_variable: str,
        *,
        sampling_names: Mapping[str, str] | None = None,
        key_required: bool = False,
        key_header: str = "Authorization",
        key_form: str = "Bearer {}",
        key: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        self.name = hide_spec(name)
        self._sampling_names = sampling_names or {}
        """The request field of each part of `Sampling` on this backend; an extra field can replace it."""
        self.extra = {**self.options(config), **extra_fields(config.extra_field)}
        variable = config.api_key_env or key_variable
        keyed = api_key(variable, urls, required=key_required, header=key_header, form=key_form, known=key)
        own = header_fields(config.header)
        secrets = {*known_secrets(config), key or ""}
        self.streams = self.fold is not None and not config.no_stream and "stream" not in self.extra
        silence = config.request_timeout if self.streams else None
        check_addresses(config.base_url, self.ending)
        self._transport = Transport(urls, {**keyed, **(headers or {}), **own}, variable, secrets, self.ending, silence)
        self._keyed = variable if keyed and not key else None
        self._encoder = msgspec.json.Encoder()

    def options(self, config: RunConfig) -> dict[str, Any]:
        """Return request fields for options that only some backends support; the default supports none."""
        for name in ("chat_template_kwarg", "reasoning_effort", "reasoning_summary", "thinking_budget", "background"):
            if getattr(config, name) not in (None, (), False):
                raise UsageError(
                    f"{self.name} does not support {option(name)}; if the server has a field for it, set it with {option('extra_field')}"
                )
        return {}

    @property
    def reached(self) -> bool:
        return self._transport.reached

    def route(self) -> str:
        return self._transport.route(self._keyed)

    @abstractmethod
    def body(self, request: Request) -> dict[str, Any]:
        """Return the JSON to send."""

    @abstractmethod
    def read(self, answer: Any, request: Request, /) -> list[Completion]:
        """Return the completions in a decoded answer; may raise `KeyError` and similar if its form is wrong."""

    def sampling_fields(self, sampling: Sampling) -> dict[str, Any]:
        """Return the sampling options that are set, under this backend's names."""
        names = self._sampling_names.items()
        return {theirs: value for ours, theirs in names if (value := getattr(sampling, ours)) not in (None, ())}

    async def generate(self, request: Request) -> Sequence[Completion]:
        # Encoding 8 kB of prompt takes 3 µs, the rest of a request about 250: caching bodies would gain nothing.
        body, stream = self.body(request), None
        if self.streams and self.fold is not None:
            body, stream = {**body, **self.stream_fields}, Stream(self.fold)
        try:
            completions = await self._transport.ask(
                self._encoder.encode(body), lambda answer: self.read(answer, request)[: len(request.samples)], stream
            )
        except RequestFailed as failure:
            if stream is None or failure.kind != "bad_request" or "stream" not in str(failure):
                raise
            self.streams = False  # the server does not support streams, or not with these fields
            return await self.generate(request)
        if stream is None or stream.first_token is None:
            return completions
        return [msgspec.structs.replace(one, first_token=stream.first_token) for one in completions]

    async def close(self) -> None:
        await self._transport.close()

    def as_sent(self, sampling: Sampling) -> Sampling:
        """Apply extra fields that replace an option, so that the manifest is accurate."""
        sampling = super().as_sent(sampling)
        replaced = {ours: self.extra[name] for ours, name in self._sampling_names.items() if name in self.extra}
        merged = {**msgspec.to_builtins(sampling), **replaced}
        if isinstance(merged.get("stop"), str):
            merged["stop"] = (merged["stop"],)
        try:
            return msgspec.convert({name: value for name, value in merged.items() if value is not None}, Sampling)
        except msgspec.ValidationError as error:
            raise UsageError(
                f"{option('extra_field')} replaces a sampling option with something else: {error}"
            ) from None


def same_names(*names: str, **others: str) -> dict[str, str]:
    """Map parts of `Sampling` to a backend's names: those with the same name, and the others."""
    return {name: name for name in names} | others


def present(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Drop fields that are not set."""
    return {name: value for name, value in fields.items() if value is not None}
