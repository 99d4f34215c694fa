"""Words of any script, and whether a text asks."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.costs import check_growth, seconds
from towhom.hearing.words import asks, normalized, words
from towhom.text.tokenizer import tokenize


class TestScripts:
    @pytest.mark.parametrize(
        ("text", "tokens"),
        [
            pytest.param("Wo ist der Schlüssel?", ["wo", "ist", "der", "schlüssel", "?"], id="de"),
            pytest.param("¿Dónde está, señor?", ["¿dónde", "está", ",", "señor", "?"], id="es"),
            pytest.param("Ça marche très bien", ["ça", "marche", "très", "bien"], id="fr"),
            pytest.param("Não sei, você viu?", ["não", "sei", ",", "você", "viu", "?"], id="pt"),
            pytest.param("İyi misin, Ömer?", ["iyi", "misin", ",", "ömer", "?"], id="tr"),
            pytest.param("Где ключ, Мария?", ["где", "ключ", ",", "мария", "?"], id="ru"),
            pytest.param("مرحبا، كيف الحال؟", ["مرحبا", ",", "كيف", "الحال", "?"], id="ar"),
            pytest.param("איפה המפתח?", ["איפה", "המפתח", "?"], id="he"),
            pytest.param("서버를 다시 켜 주세요.", ["서버를", "다시", "켜", "주세요", "."], id="ko"),
            pytest.param("चाबी कहाँ है?", ["चाबी", "कहाँ", "है", "?"], id="hi"),
            pytest.param("サーバーを再起動", ["サーバー", "を", "再起動"], id="ja"),
        ],
    )
    def test_tokens(self, text: str, tokens: list[str]) -> None:
        assert words(text) == tokens

    @pytest.mark.parametrize(
        "text",
        [
            "打印机坏了吗",
            "我们明天去看电影",
            "服务器为什么又重启了",
            "ปิดเครื่องแล้วเปิดใหม่",
            "วันนี้ไปดูหนังไหม",
            "今日は映画を見に行きますか",
        ],
    )
    def test_without_spaces_are_cut(self, text: str) -> None:
        """Into several parts, of which nothing is lost."""
        found = words(text)
        assert len(found) > 1
        assert "".join(found) == normalized(text)

    def test_where_scripts_meet(self) -> None:
        assert words("robo重启nginx") == ["robo", "重启", "nginx"]
        assert words("nginxを再起動") == ["nginx", "を", "再起動"]

    def test_words_of_two_texts_are_the_same(self) -> None:
        assert set(words("打印机坏了")) & set(words("打印机坏了吗？"))

    def test_a_long_run(self) -> None:
        assert "".join(words("打印机坏了" * 2000)) == "打印机坏了" * 2000
        check_growth(lambda times: seconds(lambda: words("打印机坏了" * 500 * times)))


class TestPlainForms:
    @pytest.mark.parametrize(
        ("text", "plain"),
        [
            ("Ｒｏｂｏ，重启一下？", "robo,重启一下?"),
            ("ｱﾝﾅ", "アンナ"),
            ("ﬁne", "fine"),
            ("“it’s” – „so“ «x»", '"it\'s" - "so" "x"'),
            ("مَرْحَبًا", "مرحبا"),
            ("مـــرحبا", "مرحبا"),
            ("שָׁלוֹם", "שלום"),
            ("a\u200bb\u202ec\u00ad", "abc"),
            ("İSTANBUL", "istanbul"),
            ("e\u0301", "é"),
            ("「茶」。", '"茶".'),
            ("Tea", "tea"),
        ],
    )
    def test_normalized(self, text: str, plain: str) -> None:
        assert normalized(text) == plain

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("Ｈｅｌｌｏ　ｗｏｒｌｄ", "hello world"),
            ("مَرْحَبًا بكم", "مرحبا بكم"),
            ("שָׁלוֹם לכם", "שלום לכם"),
            ("Cafe\u0301 Müller", "café mu\u0308ller"),
            ("don’t", "don't"),
            ("１２３ apples", "123 apples"),
        ],
    )
    def test_the_same_words(self, one: str, other: str) -> None:
        assert words(one) == words(other)

    @settings(max_examples=300, deadline=None)
    @given(st.text(max_size=40))
    def test_once_is_enough(self, text: str) -> None:
        assert normalized(normalized(text)) == normalized(text)

    def test_of_characters_that_stand_for_many(self) -> None:
        assert len(normalized("\ufdfa" * 4000)) <= 8000
        assert normalized("\ufdfa").startswith("صلى")

    @settings(max_examples=300, deadline=None)
    @given(st.text(max_size=40))
    def test_of_anything(self, text: str) -> None:
        found = words(text)
        assert all(found)
        assert not any(word != word.strip() for word in found)


class TestEmoji:
    @pytest.mark.parametrize("emoji", ["👍", "👍🏽", "👩\u200d👩\u200d👧", "🇩🇪", "❤️", "🫖"])
    def test_stand_alone(self, emoji: str) -> None:
        assert words(f"tea{emoji}milk") == ["tea", emoji, "milk"]
        assert words(f"{emoji}{emoji}") == [emoji, emoji]

    @pytest.mark.parametrize("code", [":tada:", ":+1:", ":-1:", ":thumbs_up:", ":man-shrugging:"])
    def test_shortcodes(self, code: str) -> None:
        assert words(f"well done {code} thanks") == ["well", "done", code, "thanks"]
        assert words(f"茶 {code}") == ["茶", code]
        assert words(code.upper()) == [code]

    @pytest.mark.parametrize("text", ["12:30:45", "std::string::npos", "a:b:c", "http://a.org:80/x:y:z"])
    def test_no_shortcodes(self, text: str) -> None:
        assert words(text) == tokenize(text)


class TestAsBefore:
    @pytest.mark.parametrize(
        "text",
        [
            "Don't panic, it's fine.",
            "see http://example.org/page?id=3&x=[1] for more",
            "sudo apt-get install libfoo-dev && ./configure --prefix=/usr",
            "`x = f(y)` raises TypeError: 'int'",
            'he said "no" (twice)...',
            "",
            "   ",
        ],
    )
    def test_links_and_code(self, text: str) -> None:
        assert words(text) == tokenize(text)

    @settings(max_examples=500, deadline=None)
    @given(st.text(st.characters(max_codepoint=127), max_size=60))
    def test_ascii(self, text: str) -> None:
        """All but what has two colons, between which something may be a shortcode."""
        plain = text if text.count(":") < 2 else text.replace(":", ";")
        assert words(plain) == tokenize(plain)

    @settings(max_examples=200, deadline=None)
    @given(st.lists(st.sampled_from(("tea", "don't", "a:b", ":)", "12:30", "x::y", "?", "bob:")), max_size=8))
    def test_colons_that_are_no_shortcodes(self, parts: list[str]) -> None:
        text = " ".join(parts)
        assert words(text) == tokenize(text)


class TestQuestions:
    @pytest.mark.parametrize(
        "text",
        [
            "is it up?",
            "is it up ?!",
            "(is it up?)",
            '"is it up?" she said',
            "打印机坏了吗？",
            "動きますか？",
            "كيف الحال؟",
            "τι κάνεις\u037e",
            "ինչպես ես՞",
            "እንዴት ነህ፧",
            "¿está abierto?",
            "ça marche ?",
            "動きますか",
            "打印机坏了吗",
            "ไปดูหนังไหม",
            "갈까요",
            "really??",
            "up?👍",
        ],
    )
    def test_asks(self, text: str) -> None:
        assert asks(text)

    @pytest.mark.parametrize(
        "text",
        [
            "it is up",
            "",
            "see http://a.org/page?id=3",
            "see a.org/?q=tea and more",
            "茶です",
            "it is up!",
            "x?y:z",
        ],
    )
    def test_does_not_ask(self, text: str) -> None:
        assert not asks(text)

    def test_a_link_and_a_question(self) -> None:
        assert asks("is http://a.org/page?id=3 up?")
