"""A model in this process, on the CPU: `local:DIR`, a Hugging Face folder with safetensors weights.

One thread per folder decodes, in float32. The batch is continuous: a request joins between two tokens and leaves when
its reply is complete, so that no request waits for the longest reply. Endpoints on the same folder share model and
batch. Requests with a constraint, candidates or beams, and all requests to an encoder-decoder, are searches: they run
beside the batch, one after the other (search.py); forward passes of batch and search alternate.

Greedy replies do not depend on the other rows of the batch. The size of the batch changes the rounding of logits (about
1e-6), which only matters if two tokens nearly tie; the model then runs that sequence alone to decide. Sampled replies
depend on the seed only, up to the same rounding.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import queue
import random
import threading
import time
from collections import deque
from collections.abc import Generator
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lumos_queue.endpoints.base import ModelCall, Sampling
from lumos_queue.endpoints.candidates import choose_reply
from lumos_queue.endpoints.drawing import sample_token
from lumos_queue.endpoints.loaded_model import LoadedModel, load_model
from lumos_queue.endpoints.model_folder import check_folder, encodes_prompts, identity, weights
from lumos_queue.endpoints.prefixes import Layers, PrefixCache
from lumos_queue.endpoints.replies import completion
from lumos_queue.endpoints.search import ConstraintCache, ReplySearch, SearchResult, check_search
from lumos_queue.endpoints.stop_strings import StopStrings
from lumos_queue.endpoints.vision import refuse_images
from lumos_queue.errors import EpisodeError, InfrastructureError, LumosError
from lumos_queue.records import Completion, Ending, Json
from lumos_queue.util.model_loading import import_libraries

if TYPE_CHECKING:
    import torch

    from lumos_queue.endpoints.row_cache import RowCache

MAX_ROWS = 64  #: sequences decoded together
MAX_PREFILL_TOKENS = 4096  #: prompt tokens read in one forward pass, padding included
MAX_PREFIX_BYTES = 512 * 2**20  #: of cached keys and values, for prompts with the same beginning
NEAR_TIE = 1e-3  #: logits closer than this are a tie that rounding could change; far above float32 noise


class Local:
    """The endpoint of a model folder. It passes requests to the thread that runs the model."""

    admission = None  #: the thread accepts all requests

    def __init__(self, url: str, folder: Path):
        check_folder(folder)
        self.url = url
        self._folder = folder
        self._encodes = encodes_prompts(folder)
        self._batcher: Batcher | None = _share(folder)

    async def generate(self, call: ModelCall) -> Completion:
        """Return a completion, as `Endpoint.generate` does.

        Raises EpisodeError for images and for a prompt longer than the model's context; SpecError for a folder that
        cannot be loaded, for a constraint that the tokenizer cannot write, and for contradictory settings of a search;
        and InfrastructureError when a forward pass fails, for example for lack of memory.
        """
        refuse_images(self.url, call.images)
        sampling = call.sampling
        if self._batcher is None:
            raise InfrastructureError(f"the endpoint {self.url} is closed")
        start = time.perf_counter()
        if call.constraint is not None or call.candidates > 1 or sampling.beams or self._encodes:
            check_search(call)
            search_future: Future[SearchResult] = Future()
            self._batcher.arrivals.put((call, search_future))
            return choose_reply(call, await asyncio.wrap_future(search_future), start)
        row = Row(call.prompt, sampling, random.Random(call.seed))
        self._batcher.arrivals.put(row)
        text, is_truncated = await asyncio.wrap_future(row.reply)
        return completion(
            text,
            sampling.stop,
            truncated=is_truncated,
            prompt_tokens=row.prompt_tokens,
            completion_tokens=len(row.tokens) - row.prompt_tokens,
            seconds=time.perf_counter() - start,
            rules=sampling.rules,
        )

    async def identity(self) -> dict[str, Json]:
        return {**await asyncio.to_thread(identity, self._folder)}

    async def close(self) -> None:
        if self._batcher is not None:
            self._batcher.users -= 1
            self._batcher = None


@dataclass(eq=False, slots=True)
class Row:
    """A sequence of tokens in the batch: a prompt and the reply so far."""

    prompt: str
    sampling: Sampling
    random: random.Random
    #: Text, and whether the token limit ended it.
    reply: Future[tuple[str, bool]] = field(default_factory=Future[tuple[str, bool]])
    tokens: list[int] = field(default_factory=list[int])  #: the prompt's, then the reply's
    prompt_tokens: int = 0
    limit: int = 0  #: length of `tokens` at which the row ends
    cached_tokens: int = 0  #: tokens of the prompt that were read before
    layers: Layers = field(default_factory=Layers)  #: keys and values, which begin with those of the known tokens


class Batcher:
    """A loaded model, the thread that runs it, and the rows of the batch."""

    def __init__(self, folder: Path):
        self.users = 0
        self.arrivals: queue.SimpleQueue[Row | tuple[ModelCall, Future[SearchResult]] | None] = queue.SimpleQueue()
        self._folder = folder
        self._model: Any = None  #: not loaded yet
        self._loaded_model: LoadedModel
        self._prefixes = PrefixCache(MAX_PREFIX_BYTES)
        self._searches: deque[tuple[ModelCall, Future[SearchResult]]] = deque()  #: the first is running
        self._passes: Generator[None, None, SearchResult] | None = None  #: the remaining passes of the first search
        self._constraints = ConstraintCache()
        self._forget()
        self._is_closed = False
        self._thread = threading.Thread(target=self._run, name=f"decode {folder.name}", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Stop the thread, and wait for the end of its current forward pass."""
        self._is_closed = True
        self.arrivals.put(None)
        self._thread.join()

    def _forget(self) -> None:
        self._rows: list[Row] = []
        self._cache: RowCache | None = None  #: of the rows, in their order; None: there are none

    def _run(self) -> None:
        while (new_rows := self._take_arrivals()) is not None and not self._is_closed:
            try:
                with import_libraries("torch"):
                    import torch

                if self._model is None and new_rows:
                    self._load()
                with torch.inference_mode():
                    if new_rows:
                        self._admit(new_rows)
                    if self._rows:
                        self._step()
            except Exception as error:
                for row in {*self._rows, *new_rows}:
                    if not row.reply.done():
                        row.reply.set_exception(_as_own(error))
                self._forget()
            if self._searches:
                self._search()
        for reply in (*(row.reply for row in self._rows), *(reply for _, reply in self._searches)):
            reply.set_exception(InfrastructureError("the model was closed while it wrote the reply"))

    def _take_arrivals(self) -> list[Row] | None:
        """Return waiting rows for which the batch has room, oldest first, or None to stop. Queue new searches."""
        new_rows: list[Row] = []
        while len(self._rows) + len(new_rows) < MAX_ROWS:
            try:
                arrival = self.arrivals.get(block=not (self._rows or new_rows or self._searches))
            except queue.Empty:
                break
            if arrival is None:
                return None
            if isinstance(arrival, Row):
                if arrival.reply.set_running_or_notify_cancel():
                    new_rows.append(arrival)
            elif arrival[1].set_running_or_notify_cancel():
                self._searches.append(arrival)
        return new_rows

    def _load(self) -> None:
        self._loaded_model = load_model(self._folder)
        self._model, self._tokenizer = self._loaded_model.model, self._loaded_model.tokenizer
        self._stops = StopStrings(self._tokenizer)

    def _search(self) -> None:
        """Run one forward pass of the oldest search."""
        with import_libraries("torch"):
            import torch

        call, reply = self._searches[0]
        try:
            if self._model is None:
                self._load()
            if self._passes is None:
                search = ReplySearch(call, self._loaded_model, self._stops, self._prefixes, self._constraints)
                self._passes = search.run()
            with torch.inference_mode():
                next(self._passes)
            return
        except StopIteration as stop:
            reply.set_result(stop.value)
        except Exception as error:
            reply.set_exception(_as_own(error))
        self._searches.popleft()
        self._passes = None

    def _admit(self, new_rows: list[Row]) -> None:
        """Read the prompts of new rows, in groups of similar lengths, and add them to the batch."""
        ready: list[Row] = []
        loaded_model = self._loaded_model
        for row in new_rows:
            row.tokens = loaded_model.tokenize(row.prompt, row.sampling.bos)
            row.prompt_tokens = len(row.tokens)
            row.limit = min(loaded_model.context, row.prompt_tokens + row.sampling.max_tokens)
            if 0 < row.prompt_tokens < row.limit:
                row.cached_tokens, row.layers = self._prefixes.find(row.tokens)
                ready.append(row)
            else:
                problem = (
                    f"a prompt of {row.prompt_tokens} tokens and a context of {loaded_model.context} leave no reply"
                )
                row.reply.set_exception(EpisodeError(Ending.LIMIT, problem))
        ready.sort(key=lambda row: len(row.tokens) - row.cached_tokens)
        while ready:
            width = len(ready[-1].tokens) - ready[-1].cached_tokens
            group = ready[-max(1, MAX_PREFILL_TOKENS // width) :]
            del ready[-len(group) :]
            self._prefill(group, width)

    def _prefill(self, group: list[Row], width: int) -> None:
        with import_libraries("torch", "lumos_queue.endpoints.row_cache.RowCache"):
            import torch

            from lumos_queue.endpoints.row_cache import RowCache

        if self._cache is None:
            self._cache = RowCache()
        unread = [row.tokens[row.cached_tokens :] for row in group]
        mask, positions = self._cache.join(
            [(row.cached_tokens, row.layers) for row in group], [len(new) for new in unread]
        )
        for row in group:
            row.layers = []
        logits = self._model(
            torch.tensor([[0] * (width - len(new)) + new for new in unread]),
            attention_mask=mask,
            position_ids=positions,
            cache=self._cache,
            logits_to_keep=1,
        ).logits[:, -1]
        first = len(self._rows)
        self._rows.extend(group)
        self._extend(group, logits, first)

    def _step(self) -> None:
        """Run one forward pass, which adds a token to every row of the batch."""
        with import_libraries("torch"):
            import torch

        assert self._cache
        logits = self._model(
            torch.tensor([row.tokens[-1:] for row in self._rows]),
            attention_mask=self._cache.advance(),
            position_ids=torch.tensor([[len(row.tokens) - 1] for row in self._rows]),
            cache=self._cache,
        ).logits[:, -1]
        self._extend(self._rows, logits, 0)

    def _extend(self, rows: list[Row], logits: torch.Tensor, first: int) -> None:
        """Add the next token to `rows`, which are the batch's rows from `first` on. Remove the rows that end."""
        remaining_rows, ends = list(range(first)), self._loaded_model.ends
        for index, (row, token) in enumerate(zip(rows, self._choose(rows, logits), strict=True), first):
            row.tokens.append(token)
            has_ended = token in ends or self._stops.end_reply(row.tokens[row.prompt_tokens :], row.sampling)
            if has_ended or len(row.tokens) >= row.limit:
                text = self._tokenizer.decode(row.tokens[row.prompt_tokens :], skip_special_tokens=True)
                self._remember(row, index)
                row.reply.set_result((text, not has_ended))
            else:
                remaining_rows.append(index)
        if not remaining_rows:
            self._forget()
        elif len(remaining_rows) < len(self._rows):
            assert self._cache
            self._rows = [self._rows[index] for index in self._cache.keep(remaining_rows)]

    def _remember(self, row: Row, index: int) -> None:
        """Cache the keys and values of a row that has ended, for prompts with the same beginning."""
        assert self._cache
        self._prefixes.add(row.tokens[:-1], self._cache.read(index))

    def _choose(self, rows: list[Row], logits: Any) -> list[int]:
        with import_libraries("torch"):
            import torch

        best = logits.topk(2)
        ties = (best.values[:, 0] - best.values[:, 1] < NEAR_TIE).tolist()
        tokens = best.indices[:, 0].tolist()
        for index, row in enumerate(rows):
            if row.sampling.temperature > 0:
                tokens[index] = sample_token(
                    logits[index], row.sampling.temperature, row.sampling.top_p, row.random.random()
                )
            elif ties[index]:
                alone = self._model(torch.tensor([row.tokens]), use_cache=False, logits_to_keep=1).logits
                tokens[index] = int(alone[0, -1].argmax())
        return tokens


def _as_own(error: Exception) -> LumosError:
    """Return the error itself if it is a LumosError, else an InfrastructureError with its message."""
    if isinstance(error, LumosError):
        return error
    return InfrastructureError("the local model failed: " + str(error).partition("\n")[0])


_batchers: dict[tuple[tuple[str, float, int], ...], Batcher] = {}
_share_lock = threading.Lock()
# A forked child has the dictionary but not the threads.
os.register_at_fork(after_in_child=_batchers.clear)


@atexit.register
def _end_all() -> None:
    """End all threads: the interpreter's end in the middle of a forward pass would abort the process."""
    for batcher in list(_batchers.values()):
        batcher.end()


def _share(folder: Path) -> Batcher:
    """Return the batcher of a folder's current weights, which endpoints share. End unused batchers of other weights."""
    key = tuple((str(path), path.stat().st_mtime_ns, path.stat().st_size) for path in weights(folder.resolve()))
    with _share_lock:
        for other_key, batcher in list(_batchers.items()):
            if other_key != key and not batcher.users:
                _batchers.pop(other_key).arrivals.put(None)
        if key not in _batchers:
            _batchers[key] = Batcher(folder)
        _batchers[key].users += 1
        return _batchers[key]
