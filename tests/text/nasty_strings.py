"""Strings that tokenizers get wrong: over 280 picked ones, and any number of generated ones."""
import random

WORDS = ["Hello", "world", "don't", "WE'LL", "it's", "naïve", "façade", "Straße", "ÎLE", "résumé", "CamelCaseWord",
         "snake_case_word", "HTTPServer2", "e-mail", "foo.bar", "a", "I", "x86_64", "3.14159", "1,234,567",
         "0x1F600", "٣٤٥", "१२३", "½", "²", "Ⅷ", "ﬁne", "ſ", "K", "İstanbul", "ǆ"]
SCRIPTS = ["مرحبا بالعالم", "السَّلَامُ عَلَيْكُمْ", "你好，世界", "我爱北京天安门。", "日本語のテキスト", "ｱｲｳｴｵ", "안녕하세요 세계",
           "Привет, мир!", "Γειά σου Κόσμε", "שלום עולם", "नमस्ते दुनिया", "สวัสดีชาวโลก", "ሰላም ልዑል", "வணக்கம்", "ខ្មែរ",
           "𝔘𝔫𝔦𝔠𝔬𝔡𝔢", "𐍈𐌰𐌹", "ꙮ", "𠜎𠜱𠝹", "\u1e9e", "Tiếng Việt rất đẹp"]
EMOJI = ["😀", "👍🏽", "👨‍👩‍👧‍👦", "🇩🇪🇫🇷", "❤️", "🏳️‍🌈", "🧑🏿‍🚀", "☺", "🤷‍♀️", "😀😀😀😀😀😀😀😀", "a😀b", " 😀 ", "\U0001fae8"]
SPACES = [" ", "  ", "   ", "\t", "\n", "\r", "\r\n", "\n\n", "\r\n\r\n", " \n", "\n ", "\t\t\t", " \t ", "\v", "\f",
          "\x85", "\xa0", "\u1680", "\u180e", "\u2000", "\u2003", "\u200a", "\u200b", "\u2028", "\u2029", "\u202f",
          "\u205f", "\u2060", "\u3000", "\ufeff", "\x1c", "\x1f", "a\u180eb", "a \u3000 b", "\u2009x"]
CONTROLS = ["<|im_start|>", "<|im_end|>", "<|endoftext|>", "<bos>", "<eos>", "<pad>", "<unk>", "<mask>",
            "<start_of_turn>", "<end_of_turn>", "<unused0>", "<unused99>", "<unused6241>", "<repo_name>", "<jupyter_text>",
            "<empty_output>", "</s>", "<s>", "<table>", "<strong>", "</code>", "[multimodal]", "<0x41>", "<0x0A>",
            "<start_of_image>", "[INST]", "<|eot_id|>"]
CODE = ["int main(void) {\n\treturn 0;\n}\n", "for (int i=0;i<10;++i) { a[i] += b[i]*2; }", "def f(x):\n    return x ** 2\n",
        "SELECT * FROM t WHERE a != 'b';", "#!/bin/sh\nset -eu\n", "if(x==NULL)return!0;", "<div class=\"a\">&nbsp;</div>",
        "https://example.org/a?b=c&d=%20#e", "C:\\Users\\x\\", "\\frac{1}{2}", "{\"a\": [1, 2.5e-3, null, true]}",
        "//////////", "----------", "==========", "!!!???...", "(((((", "}}}}}", "$%^&*", "`~`~", "::<>()->{};"]
INVALID = [b"\x80", b"\xbf", b"\xc0\x80", b"\xc1\xbf", b"\xc3", b"\xc3(", b"\xe2\x82", b"\xe2\x82 x", b"\xe2(\xa1",
           b"\xe0\x80\x80", b"\xed\xa0\x80", b"\xed\xbf\xbf", b"\xf0\x9f\x98", b"\xf0\x9f\x98 a", b"\xf0\x80\x80\x80",
           b"\xf4\x90\x80\x80", b"\xf5\x80\x80\x80", b"\xf8\x88\x80\x80\x80", b"\xfe\xff", b"\xff", b"a\xffb\xfec",
           b"\xe4\xbd\xa0\xe5\xa5", b"ok \xf0\x9f\x98\x80 \xf0\x9f", b"\xe2\x96", b"\xc3\xa9\xc3"]
PLAIN = ["", "\x00", "\x01\x02\x03", "\x04\x06\x13\x14\x16\x1d", "\x7f", "\u2581", "\u2581\u2581a", "a\u2581b", " \u2581 ", "\ufffd", "\ufffe", "\uffff",
         "\U0010ffff", "\U000f0000", "\ue000", "e\u0301", "\u0301", "a" + "\u0301" * 50, "\u202eabc", "ab\u00adcd",
         "'s 't 're 've 'm 'll 'd", "'S 'T 'RE", "''''s", "I'M 'lld", "can''t", "1", "12", "123", "1234", "12345678901234567890",
         "a1b2c3", "1 2 3", "1  2", "a  b", "a   b", "  a", "a  ", "   a   ", "a\n\n\nb", "a \n b", "\n\n\n\n\n\n", "a\r\n b\r\n",
         "\ta", " \ta", "a\t", "...", ". . .", " .", "!", " !", "_", "__init__", "a_b", "-1", "+1", "1e10", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"]


def picked():
    out = [text.encode() for group in (WORDS, SCRIPTS, EMOJI, SPACES, CODE, PLAIN) for text in group]
    for control in CONTROLS:
        out += [(before + control + after).encode() for before, after in (("", ""), (" ", " x"), ("a", "b"))]
    out += [("<|im_start|>user\n" + text + "<|im_end|>\n").encode() for text in SCRIPTS[:5]]
    out += [b"<|im_", b"<|im_start|", b"im_end|>", b"<|im_start|><|im_start|>", b"<<|im_end|>>", b"<end_of_turn<end_of_turn>"]
    out += [b" " * n for n in range(2, 40)] + [b"\n" * n for n in (3, 30, 31, 32, 33, 64)] + [b"\t" * n for n in (4, 31, 33)]
    out += [(" " * n + "x").encode() for n in (2, 3, 16, 31, 32, 33, 64)]
    out += [b"x" * 5000, b" \r\n" * 2000, b" " * 5000, "中".encode() * 1000, "😀".encode() * 500, b"0" * 3000, b"\x00" * 500]
    return out + INVALID


def generated(count, seed):
    """Runs over few letters (ties between merges), words of every kind, any characters, any bytes."""
    random_source = random.Random(seed)
    pick, number = random_source.choice, random_source.randint
    pieces = WORDS + SCRIPTS + EMOJI + SPACES * 2 + CONTROLS + CODE
    for index in range(count):
        kind = index % 10
        if kind < 4:
            letters = [pick("abcdefghijklmnopqrstuvwxyzETAOIN  \n\t0123.,<>|_'-éß中") for _ in range(number(1, 4))]
            yield "".join(pick(letters) for _ in range(number(1, 60))).encode()
        elif kind < 8:
            yield "".join(pick(pieces) + pick(("", "", " ", "\n")) for _ in range(number(1, 8))).encode()
        elif kind == 8:
            points = (number(0, pick((0x7F, 0x7FF, 0xFFFF, 0x10FFFF))) for _ in range(number(1, 30)))
            # Unicode 15 and later gave some characters a category that PCRE2 10.42 does not know.
            yield "".join(chr(p) for p in points if not 0xD800 <= p < 0xE000 and is_old(p)).encode()
        else:
            yield random_source.randbytes(number(1, 30))


def is_old(point):
    import unicodedata
    return unicodedata.category(chr(point)) != "Cn"
