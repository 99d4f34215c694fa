"""Whatever people write: no exception, and answers that are answers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.costs import check_growth, seconds
from tests.live.conftest import by_name, ruled_model, saved_model, talk
from towhom.chat import Kind, Message
from towhom.hearing.spelling import shown_name
from towhom.live import Audience, How, Model, Observation, Session

NAMES = (
    "ada",
    "bob",
    "hélène",
    "李雷",
    "🫖",
    "Grace Hopper",
    ".*",
    "[a-z]+",
    "a|b",
    "(",
    "\\",
    "@",
    "@ada",
    ":",
    "",
    " ",
)

names = st.sampled_from(NAMES) | st.text(max_size=8)
texts = (
    st.text(max_size=40)
    | st.builds("{}{} {}".format, names, st.sampled_from(":,; "), st.text(max_size=20))
    | st.sampled_from(("", " ", "\t\n", "?", ": :", "tea " * 50))
)
times = st.none() | st.datetimes(timezones=st.none() | st.sampled_from((UTC, timezone(timedelta(hours=9)))))
messages = st.builds(
    Message,
    names,
    texts,
    st.none() | names,
    times,
    kind=st.sampled_from((Kind.MESSAGE, Kind.ACTION, Kind.SYSTEM)),
)

MODELS = Model(ruled_model()), Model(saved_model(1)), Model(saved_model(2, scale=0.15))


def assert_sensible(found: Observation, speaker: str) -> None:
    people = {each.id: each.probability for each in found.addressees}
    assert len(people) == len(found.addressees)
    # Several people may be called, each for sure; all others and nobody share what the surest leaves.
    values = list(people.values())
    assert sum(values) >= 1 or sum(values) == pytest.approx(1, abs=0.02)
    assert all(0 <= value <= 1 for value in values)
    assert None in people
    assert speaker not in people
    assert found.reason
    if found.how is How.NAMED:
        assert found.addressees[0].id == found.message.addressee
        assert found.audience is Audience.SOMEBODY
    else:
        assert sum(values) == pytest.approx(1, abs=0.02)
        assert values == sorted(values, reverse=True)
    for each in found.addressees:
        assert each.name is None or each.name == shown_name(each.name)
    placed = found.placed
    assert 0 <= placed.probability <= 1
    assert placed.starts == (placed.thread == placed.line) == (placed.replies_to == (placed.line,))


@settings(max_examples=120, deadline=None)
@given(
    model=st.sampled_from(MODELS),
    chat=st.lists(messages, max_size=12),
    candidates=st.lists(texts, min_size=1, max_size=3),
)
def test_any_chat(model: Model, chat: list[Message], candidates: list[str]) -> None:
    session = model.session()
    session.introduce("helper", "hb", "ada")
    for message in chat:
        found = session.observe(message)
        assert_sensible(found, message.speaker)
        pairs = session.select(message.speaker, candidates)
        assert sum(each.probability for each in pairs) == pytest.approx(1)
        assert message.speaker not in {each.addressee for each in pairs}
        assert {each.candidate for each in pairs} == set(range(len(candidates)))
        assert session.is_for("helper").probability <= 1


class TestOddMessages:
    @pytest.fixture
    def session(self, model: Model) -> Session:
        session = model.session()
        talk(session, "ada> tea", "bob> milk")
        return session

    @pytest.mark.parametrize("text", ["", "   ", "\n\t", "\u200b", "?", "...", ":", "🫖", "Ça va ? いいえ"])
    def test_texts(self, session: Session, text: str) -> None:
        found = session.observe(Message("ada", text))
        assert_sensible(found, "ada")
        assert found.message.text == text
        assert set(by_name(found.addressees)) <= {"bob", None}

    @pytest.mark.parametrize(
        "text",
        [
            "x" * 100_000,
            "tea " * 25_000,
            " " * 100_000,
            "x:" * 50_000,
            "bob: " * 20_000,
            "?" * 100_000,
            "'" * 100_000,
        ],
        ids=lambda text: text[:5],
    )
    def test_very_long(self, session: Session, text: str) -> None:
        assert_sensible(session.observe(Message("ada", text)), "ada")
        check_growth(lambda times: seconds(lambda: session.observe(Message("ada", text[: 25_000 * times]))))

    @pytest.mark.parametrize(
        "name", ["hélène", "李雷", "🫖", "Grace Hopper", ".*", "[x]", "a|b", "(", "\\", "c++", "^$"]
    )
    def test_names(self, session: Session, name: str) -> None:
        talk(session, f"{name}> tea")
        found = session.observe(Message("ada", f"{name}: milk"))
        assert (found.addressee, found.message.text) == (name, "milk")
        assert_sensible(found, "ada")
        found = session.observe(Message("ada", "nobody: milk"))
        assert found.how is How.INFERRED

    def test_a_name_is_no_pattern(self, session: Session) -> None:
        talk(session, ".*> tea", "b.b and co> tea")
        for text in ("anything: milk", "bxb and co: milk"):
            assert session.observe(Message("ada", text)).how is How.INFERRED


class TestManySpeakers:
    def test_five_hundred(self, model: Model) -> None:
        session = model.session()
        for number in range(500):
            found = session.observe(Message(f"guest{number}", "tea"))
        assert_sensible(found, "guest499")
        found = session.observe(Message("ada", "guest3: are you there?"))
        assert (found.addressee, found.how) == ("guest3", How.NAMED)


class TestTime:
    NOON = datetime(2024, 5, 31, 12)

    def test_a_clock_that_goes_backwards(self, soft: Model) -> None:
        """Counts as no time at all between them."""
        back, still = soft.session(), soft.session()
        for session, second in ((back, self.NOON - timedelta(hours=3)), (still, self.NOON)):
            session.observe(Message("ada", "tea", time=self.NOON))
            found = session.observe(Message("bob", "milk", time=second))
            assert_sensible(found, "bob")
        assert back.is_for("ada") == still.is_for("ada")
        assert back.is_for("ada").probability > 0

    def test_zones_do_not_matter(self, soft: Model) -> None:
        tokyo = timezone(timedelta(hours=9))
        answers = []
        for later in (self.NOON.replace(tzinfo=UTC), self.NOON.replace(hour=21, tzinfo=tokyo), self.NOON):
            session = soft.session()
            session.observe(Message("ada", "tea", time=self.NOON - timedelta(minutes=5)))
            answers.append(session.observe(Message("bob", "milk", time=later)).addressees)
        assert answers[0] == answers[1] == answers[2]

    def test_time_matters(self, soft: Model) -> None:
        answers = []
        for minutes in (1, 600):
            session = soft.session()
            session.observe(Message("ada", "tea", time=self.NOON))
            later = self.NOON + timedelta(minutes=minutes)
            answers.append(session.observe(Message("bob", "milk", time=later)).addressees)
        assert answers[0] != answers[1]

    def test_known_only_of_some(self, mixed: Model) -> None:
        session = mixed.session()
        for message_time in (
            None,
            self.NOON,
            None,
            datetime.min,
            datetime.max,
            self.NOON.replace(tzinfo=UTC),
        ):
            assert_sensible(session.observe(Message("ada", "tea", time=message_time)), "ada")
            assert_sensible(session.observe(Message("bob", "tea", time=message_time)), "bob")
