"""The HTTP interface: the routes of the API."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Depends, FastAPI, Header, Path, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response, StreamingResponse
from starlette.exceptions import HTTPException

from towhom.readers import reader_class, readers
from towhom.samples import sample_chat
from towhom.serve import schemas, static
from towhom.serve.describe import describe
from towhom.serve.gate import Gate
from towhom.serve.problems import Problem, of_status, of_validation
from towhom.serve.service import Service
from towhom.serve.storage import Kept
from towhom.serve.uploads import LogResponse
from towhom.version import __version__

_ERRORS: dict[int | str, dict[str, Any]] = {
    "4XX": {"model": schemas.Error, "description": "The request is wrong."},
    "5XX": {"model": schemas.Error, "description": "The server cannot answer now."},
}
router = APIRouter(responses=_ERRORS)


async def _service(request: Request) -> Service:
    service: Service = request.app.state.service
    return service


Serving = Annotated[Service, Depends(_service)]
ChannelId = Annotated[str, Path(pattern=schemas.CHANNEL, max_length=128, description="The channel's id.")]
PersonId = Annotated[str, Path(min_length=1, description="Somebody, as in `speaker`.")]
Limit = Annotated[int, Query(ge=1, le=1000, description="How many at most.")]
After = Annotated[int, Query(ge=-1, le=2**53, description="Only messages with larger numbers.")]
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key", min_length=1, max_length=200,
        description="With the same key, the answer is the same, and no message is doubled.",
    ),
]  # fmt: skip


# -- whole chats in one request


@router.post("/v1/select", response_model=schemas.Selections | schemas.ManySelections)
async def select(body: schemas.SelectBody, service: Serving) -> Response:
    """Rank pairs of addressee and response: what does somebody say next, and to whom?"""
    many = isinstance(body, schemas.ChatQuestions)
    questions: Sequence[schemas.ChatQuestion] = (
        body.requests if isinstance(body, schemas.ChatQuestions) else [body]
    )
    _check_chats(service, questions, many)
    for number, question in enumerate(questions):
        service.limits.question(question, f"body.requests[{number}]" if many else "body")
    asked = [
        {**question.model_dump(mode="json", exclude={"messages"}), "messages": _records(question.messages)}
        for question in questions
    ]
    most = service.settings.max_answer
    found = await service.askers.idlest().ask("select", questions=asked, most=most)
    results = [{"selections": each} for each in service.limits.answer(found)]
    return JSONResponse({"results": results} if many else results[0])


@router.post("/v1/addressees", response_model=schemas.Observations | schemas.ManyObservations)
async def addressees(body: schemas.AddresseesBody, service: Serving) -> Response:
    """Say who every message of a chat is for, and what it answers."""
    many = isinstance(body, schemas.Chats)
    chats: Sequence[schemas.ChatOfPeople] = body.requests if isinstance(body, schemas.Chats) else [body]
    _check_chats(service, chats, many)
    asked = [{"messages": _records(chat.messages), "people": _whole(chat.people)} for chat in chats]
    results = [_observations(each) for each in await service.askers.idlest().ask("addressees", chats=asked)]
    return _json(f'{{"results":[{",".join(results)}]}}' if many else results[0])


@router.post("/v1/threads", response_model=schemas.Threads)
async def threads(body: schemas.Chat, service: Serving) -> Response:
    """Pull the conversations of a chat apart."""
    service.limits.chat(body.messages, "body.messages")
    placed = await service.askers.idlest().ask("threads", messages=_records(body.messages))
    return JSONResponse({"messages": placed})


@router.post("/v1/answered", response_model=schemas.Proposals)
async def answered(body: schemas.AskedBefore, service: Serving) -> Response:
    """Find what the server's response bank has that answered the like of a question before."""
    service.limits.texts(body.question, "body.question")
    question = {"bank": _bank(service), "top": body.top, "least": body.least}
    found = await service.askers.idlest().ask("answered", question=body.question, **question)
    return JSONResponse({"responses": found})


@router.post(
    "/v1/logs",
    response_model=schemas.LogLine,
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
        }
    },
)
async def logs(
    service: Serving,
    name: Annotated[str, Query(max_length=255, description="The file's name; it may have the date.")] = "log",
    format: Annotated[
        str | None,
        Query(
            max_length=1000,
            description="One of `/v1/formats`, where it is not found by looking; a table's columns and a "
            "text's pattern come after a colon: `table:speaker=from,text=body`, "
            "`pattern:[{time}] <{speaker}> {text}`.",
        ),
    ] = None,
    report: Annotated[
        bool, Query(description="Answer with a report, as the command `towhom report` writes it.")
    ] = False,
) -> Response:
    """Say who every message of a log is for, and what it answers, as lines that come while it is looked at.

    The body is the file as it is, in any format that is known: a log, an export, an archive of several. With
    `report`, the lines say how far it is, and then have a page of HTML, in pieces.
    """
    return LogResponse(service.uploads, name, format or None, report=report)


@router.get("/v1/formats")
def formats() -> schemas.Formats:
    """List the formats of logs that are read."""
    found = [schemas.Format(name=name, title=reader_class(name).title) for name in readers()]
    return schemas.Formats(formats=found)


@router.get("/v1/sample")
def sample() -> schemas.Sample:
    """The chat that comes with towhom."""
    with sample_chat() as path:
        return schemas.Sample(log=path.read_text("utf-8"), name=path.name)


# -- channels


@router.get("/v1/channels")
async def channels(
    service: Serving,
    after: Annotated[str, Query(max_length=128, description="Only ids that come after this one.")] = "",
    limit: Limit = 100,
) -> schemas.Channels:
    """List the channels, in the order of their ids."""
    found, next_id = await service.channels.all(after, limit)
    return schemas.Channels(channels=[_channel(kept) for kept in found], next=next_id)


@router.put(
    "/v1/channels/{id}/messages",
    response_model=schemas.Observations,
    responses={201: {"model": schemas.Observations, "description": "The channel is new."}},
)
async def replace(id: ChannelId, body: schemas.Chat, service: Serving) -> Response:
    """Give a channel a history, instead of the one that it has, or a new channel its first."""
    service.limits.chat(body.messages, "body.messages")
    found, new = await service.channels.replace(id, _records(body.messages))
    return _json(_observations(found), 201 if new else 200)


@router.post("/v1/channels/{id}/messages", status_code=201, response_model=schemas.Observations)
async def observe(id: ChannelId, body: schemas.NextBody, service: Serving, key: Key = None) -> Response:
    """Add the next message, or messages, to a channel. What has been answered is saved."""
    if isinstance(body, schemas.OneMessage):
        messages: Sequence[schemas.Line] = [body.message]
        service.limits.message(body.message, "body.message")
    else:
        messages = body.messages
        service.limits.chat(messages, "body.messages")
    return _json(_observations(await service.channels.observe(id, _records(messages), key)), 201)


@router.post("/v1/gate", response_model=schemas.GateVerdict)
async def gate(body: schemas.GateBody, service: Serving, key: Key = None) -> Response:
    """Take the next message of a room, or a raw event of a platform; says whether a bot should speak."""
    return JSONResponse(await service.bots.hear(body, key))


@router.get("/v1/channels/{id}/messages", response_model=schemas.ObservationsPage)
async def messages(id: ChannelId, service: Serving, after: After = -1, limit: Limit = 100) -> Response:
    """The messages of a channel, with what was observed when they came."""
    found, next_number = await service.channels.messages(id, after, limit)
    return _json(f'{_observations(found)[:-1]},"next":{json.dumps(next_number)}}}')


@router.delete("/v1/channels/{id}/messages", status_code=204)
async def empty(id: ChannelId, service: Serving) -> Response:
    """Delete the messages of a channel; the channel stays."""
    await service.channels.empty(id)
    return Response(status_code=204)


@router.delete("/v1/channels/{id}", status_code=204)
async def delete(id: ChannelId, service: Serving) -> Response:
    """Delete a channel with all its messages."""
    await service.channels.delete(id)
    return Response(status_code=204)


@router.put(
    "/v1/channels/{id}/people",
    response_model=schemas.KnownPeople,
    responses={201: {"model": schemas.KnownPeople, "description": "The channel is new."}},
)
async def introduce(id: ChannelId, body: schemas.People, service: Serving) -> Response:
    """Make people known to a channel, instead of those who were: a bot, with all its names."""
    service.limits.people(body.people, "body.people")
    people = _whole(body.people)
    new = await service.channels.introduce(id, people)
    return JSONResponse({"people": people}, 201 if new else 200)


@router.get("/v1/channels/{id}/people", response_model=schemas.KnownPeople)
async def people(id: ChannelId, service: Serving) -> Response:
    """Those who were made known to a channel."""
    return JSONResponse({"people": await service.channels.people(id)})


@router.delete("/v1/channels/{id}/people/{person:path}")
async def forget_in(id: ChannelId, person: PersonId, service: Serving) -> schemas.Forgotten:
    """Delete what somebody said in a channel, and what is known of them; their lines stay as empty ones."""
    service.limits.name(person, "path.person")
    lines = await service.channels.forget(id, person)
    return schemas.Forgotten(channels=int(lines is not None), messages=lines or 0)


@router.delete("/v1/people/{person:path}")
async def forget(person: PersonId, service: Serving) -> schemas.Forgotten:
    """Delete what somebody said in any channel, and what is known of them."""
    service.limits.name(person, "path.person")
    counts = [await service.forget(name, person) async for name in service.channels.naming(person)]
    return schemas.Forgotten(
        channels=sum(channels for channels, _ in counts), messages=sum(messages for _, messages in counts)
    )


@router.post("/v1/channels/{id}/select", response_model=schemas.Selections)
async def select_next(id: ChannelId, body: schemas.Question, service: Serving) -> Response:
    """Rank pairs of addressee and response for what comes next in a channel."""
    service.limits.question(body, "body")
    question = {"candidates": body.candidates, "top": body.top, "most": service.settings.max_answer}
    found = await service.channels.select(id, responder=body.responder, **question)
    return JSONResponse({"selections": service.limits.answer(found)})


@router.post("/v1/channels/{id}/respond", response_model=schemas.Proposals)
async def respond(id: ChannelId, body: schemas.BankQuestion, service: Serving) -> Response:
    """Find what somebody could say next in a channel, and to whom, in the server's response bank."""
    service.limits.name(body.responder, "body.responder")
    question = {"bank": _bank(service), "top": body.top, "least": body.least}
    found = await service.channels.respond(id, responder=body.responder, **question)
    return JSONResponse({"responses": found})


@router.get(
    "/v1/channels/{id}/events",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
)
async def events(
    id: ChannelId,
    service: Serving,
    after: After = -1,
    last: Annotated[int | None, Header(alias="Last-Event-ID", ge=-1, le=2**53)] = None,
) -> StreamingResponse:
    """Follow a channel as server-sent events: `event: message`, `id:` its number, `data:` the observation.

    If the channel gets another history, the numbers begin again at 0.
    """
    stream = _as_events(service.channels.follow(id, after if last is None else last))
    await anext(stream)  # the first heartbeat; a problem can still become an error response here
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(stream, media_type="text/event-stream", headers=headers)


# -- the server itself


@router.get("/healthz")
async def health() -> schemas.Status:
    """Whether the server runs."""
    return schemas.Status(status="alive")


@router.get("/readyz")
async def ready(service: Serving) -> schemas.Status:
    """Whether it can answer: workers are up, and the storage can be written."""
    await service.check()
    return schemas.Status(status="ready")


@router.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
async def metrics(service: Serving) -> Response:
    """Figures for Prometheus."""
    return Response(service.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


def create_app(service: Service, tokens: Sequence[str]) -> FastAPI:
    """Create the application.

    Args:
        service: Answers the requests; the caller starts and stops it.
        tokens: The tokens that the server accepts.
    """
    app = FastAPI(version=__version__, docs_url=None, redoc_url=None, redirect_slashes=False)
    app.state.service = service
    app.include_router(router)
    app.include_router(static.router)
    app.add_exception_handler(Problem, _answer_problem)
    app.add_exception_handler(RequestValidationError, _answer_invalid)
    app.add_exception_handler(HTTPException, _answer_status)
    secret = None
    if service.peers is not None:
        from towhom.serve.peers import PassOn

        app.add_middleware(PassOn, service.peers)
        secret = service.peers.secret
    app.add_middleware(Gate, service.settings, tokens, service.metrics, secret)
    described = describe(app, service.settings)
    app.openapi = lambda: described  # type: ignore[method-assign]
    return app


async def _answer_problem(_: Request, problem: Exception) -> Response:
    assert isinstance(problem, Problem)  # noqa: S101
    return problem.response()


async def _answer_invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)  # noqa: S101
    return of_validation(error.errors()).response()


async def _answer_status(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101
    return of_status(error.status_code, error.headers).response()


def _check_chats(service: Service, chats: Sequence[schemas.ChatOfPeople], many: bool) -> None:
    if many:
        service.limits.batch(chats)
    for number, chat in enumerate(chats):
        where = f"body.requests[{number}]" if many else "body"
        service.limits.chat(chat.messages, f"{where}.messages")
        service.limits.people(chat.people, f"{where}.people")


def _bank(service: Service) -> str:
    """The folder of the server's response bank."""
    if service.settings.bank is None:
        raise Problem(404, "no-bank", "This server has no response bank; its setting `bank` names one.")
    return str(service.settings.bank.resolve())


def _channel(kept: Kept) -> schemas.Channel:
    updated = datetime.fromtimestamp(kept.updated, UTC)
    count = kept.messages - kept.first
    return schemas.Channel(id=kept.name, messages=count, first=kept.first, updated=updated)


def _records(messages: Sequence[schemas.Line]) -> list[dict[str, Any]]:
    """Messages as they are stored; fields with default values are left out."""
    return [message.model_dump(mode="json", exclude_defaults=True) for message in messages]


def _whole(people: Sequence[schemas.Person]) -> list[dict[str, Any]]:
    return [person.model_dump(mode="json") for person in people]


def _observations(texts: Sequence[str]) -> str:
    """Joins observations, which are already JSON, into a response body."""
    return f'{{"observations":[{",".join(texts)}]}}'


def _json(text: str, status: int = 200) -> Response:
    return Response(text, status, media_type="application/json")


async def _as_events(found: AsyncIterator[tuple[int, str] | None]) -> AsyncIterator[str]:
    async for each in found:
        yield ":\n\n" if each is None else f"event: message\nid: {each[0]}\ndata: {each[1]}\n\n"
