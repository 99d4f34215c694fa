"""Rooms of a chat server on the page of `towhom serve`, fed by `towhom join`: as a person sees it."""

from __future__ import annotations

import signal
from collections.abc import Callable
from urllib.parse import quote

from tests.rooms.servers import NgIRCd
from tests.rooms.test_join import Join, Talker, join  # noqa: F401 - a fixture
from tests.serve.conftest import Server, server, texts  # noqa: F401 - a fixture
from tests.serve.test_page import Open, browser, expect, open_page  # noqa: F401 - fixtures

PEOPLE = ("ann6", "bob6", "cid6")
FIRST = (
    ("ann6", "is the parser merged?", None),
    ("bob6", "ann6: since noon", "ann6"),
    ("cid6", "bob6: and the tests?", "bob6"),
)
LATER = (("bob6", "cid6: they are green", "cid6"), ("ann6", "bob6: then I tag it", "bob6"))


def test_a_room_is_seen_live(
    ngircd: NgIRCd,
    join: Callable[..., Join],  # noqa: F811
    server: Server,  # noqa: F811
    open_page: Open,  # noqa: F811
) -> None:
    address = f"irc://watcher6@127.0.0.1:{ngircd.port}/#watched"
    channel = f"#watched@127.0.0.1:{ngircd.port}"
    arguments = (address, "--server", str(server.client.base_url).rstrip("/"))
    running = join(*arguments)
    running.wait_until_following()
    talkers = {name: Talker(ngircd.port, name, "#watched") for name in PEOPLE}
    page = open_page(f"#channel={quote(channel, safe='')}", of=server)
    rows = page.locator(".message")

    def talk(lines: tuple[tuple[str, str, str | None], ...], first: int) -> None:
        """Each message appears below the ones before, with whom it is for."""
        for number, (who, text, to) in enumerate(lines, first):
            talkers[who].line(f"PRIVMSG #watched :{text}")
            expect(rows).to_have_count(number + 1)
            row = rows.nth(number)
            expect(row).to_contain_text(who)
            expect(row).to_contain_text(text.partition(": ")[2] or text)
            if to is not None:
                expect(row).to_contain_text(f"→ {to}", use_inner_text=True)

    talk(FIRST, 0)
    expect(page.get_by_text("live", exact=True)).to_be_visible()
    # Killed: what is said meanwhile is gone, as the server has no history; what was there is not there twice.
    running.end(signal.SIGKILL)
    talkers["ann6"].line("PRIVMSG #watched :is anybody there?")
    talkers["bob6"].until("is anybody there?")
    again = join(*arguments)
    again.wait_until_following()
    talk(LATER, len(FIRST))
    talkers["cid6"].line("NICK cid6_away")
    expect(page.get_by_text("cid6 is now called cid6_away")).to_be_visible()
    assert again.end() == 0
    for talker in talkers.values():
        talker.close()
    said = [text.partition(": ")[2] or text for _, text, _ in (*FIRST, *LATER)]
    kept = texts(server.client, f"/v1/channels/{quote(channel, safe='')}")
    assert [each for each in kept if each != "cid6_away"] == said
