"""Emails and links of many families.

Mail servers or browsers accept some. None accepts or reaches the others.
"""

from itertools import product

# Of a name of people, with words of any script.
NAMES = (
    *("a", "contato", "first.last", "a+tag", "a_b", "a-b", "o'brien", "x=y", "1", "a!b#c"),
    *("A.B", "a/b", "user%example.com", "mailhost!user", "_", "a-", "jörg", "用户", "x" * 64),
)
ASCII_DOMAINS = (
    *("loja.com.br", "example.com", "mail.example.co.uk", "a-b.example", "x.museum", "1a.de"),
    *("xn--mnchen-3ya.de", "mail.local", "localhost", "ab--cd.de", "x" * 63 + ".de", "1.2.de"),
    *("example.1a", "1a", "example.1é", "1" * 62 + "a"),
)
IDN = (
    *("münchen.de", "例え.jp", "bücher.example.org", "пример.рф", "παράδειγμα.ελ", "مثال.إختبار"),
    *("דוגמה.com", "उदाहरण.भारत", "예시.한국", "ตัวอย่าง.ไทย", "例子.广告", "faß.de"),
)
BAD_NAMES = (
    *("", "a..b", ".a", "a.", "a b", "a,b", "a;b", "a:b", "a(b)", "a<b", "a>b", "a@b", 'a"b'),
    *("a\\b", "a[b]", "a\tb", "a\nb", "a\0b", "a\x7fb", "a\u00a0b", "a\u3000b", "x" * 65),
)
BAD_DOMAINS = (
    *("", ".", "x..de", ".x.de", "x.de.", "-x.de", "x-.de", "x_y.de", "x y.de", "x,y.de", "x.\nde"),
    *("x.de, b@y.de", "x.de>", "x/y.de", "x@y.de", "[1.2.3.4", "[x]", "x" * 64 + ".de", "x.de:25"),
    *("x!.de", "x\0.de", "x\u00a0y.de", "x\u3000y.de", "x\u2028y.de", "1.2.3.4", "-ü.de", "ü-.de"),
    *("example.1", "1", "example.1a1", "example.1-", "1" * 63 + "a"),
)
GOOD_EMAILS = [f"{name}@{domain}" for name, domain in product(NAMES, ASCII_DOMAINS + IDN)]
# The longest that a profile takes.
GOOD_EMAILS = [each for each in GOOD_EMAILS if len(each) <= 128]
BAD_EMAILS = [
    *(f"{name}@{domain}" for name, domain in product(BAD_NAMES, ASCII_DOMAINS[:8] + IDN[:2])),
    *(f"{name}@{domain}" for name, domain in product(NAMES[:5], BAD_DOMAINS)),
    *("a", "a.example.com", "@", "A <a@example.com>", "<a@example.com>", "mailto:a@example.com"),
    *(" a@example.com", "a@example.com ", "a@example.com\n", "a@@example.com", "a@b@c@example.com"),
]

SCHEMES = ("http://", "https://")
HOSTS = (
    *("example.com", "a.b.example.com", "xn--mnchen-3ya.de", "localhost", "example.com.", "1.de"),
    *("my_bucket.storage.example", "ab--cd.de", "x" * 63 + ".de", "EXAMPLE.com", "-a-.example"),
    *(
        "93.184.216.34",
        "255.255.255.255",
        "[::1]",
        "[2001:db8::1]",
        "[2001:DB8::192.0.2.7]",
        "[::]",
    ),
    *("[1:2:3:4:5:6:7:8]", "[1:2:3:4:5:6:7::]", "[::2:3:4:5:6:7:8]", "i❤.ws", *IDN),
)
LOGINS = ("user@", "user:secret@", "u%40x:p@", ":@", "a!$&'()*+,;=b@", "a@b@")
TAILS = (
    *("", "/", "/a?b=c#d", "/%C3%A9", "/%zz", "/é?q=ü", "#part", "?q", ":8443/x", ":/", ":0/"),
    *(":65535", ":00080/", "/a;b=1,2/(x)'", "/a//b/../c", "/?a[]=1&b={}|^`<>", "/" + "a" * 200),
)
BAD_HOSTS = (
    *("", ":80", "u@", "@", "a b.de", "a<b.de", "a>b.de", "a^b.de", "a|b.de", "a%b.de", "a[b.de"),
    *("a]b.de", 'a"b.de', "a`b.de", "a{b.de", "a\tb.de", "a\nb.de", "a\0b.de", "a\u3000b.de"),
    *("a.de:99999", "a.de:65536", "a.de:x", "a.de:-1", "a.de:8x", "a.de:80:80", "a.de:+80"),
    *(
        "[::g]",
        "[1.2.3.4]",
        "[::1",
        "[:::1]",
        "[1:2:3:4:5:6:7]",
        "[1::2::3]",
        "[12345::]",
        "[::1]x",
    ),
    *("[::1%25eth0]", "[::1%eth0]", "[]", "[v1.a]", "[::1.2.3.256]", "::1", "2001:db8::1"),
    *("1.2.3.256", "1.2.3.4.5", "999.1.1.1", "a..de", ".a.de", ".", ".."),
)
GOOD_LINKS = ["".join(parts) for parts in product(SCHEMES, HOSTS, TAILS)]
GOOD_LINKS = [
    "HTTPS://example.com",
    "Http://example.com/a",
    *(x for x in GOOD_LINKS if len(x) <= 256),
]
# For people: the network fetches no file with a password.
GOOD_LOGINS = ["".join(parts) for parts in product(SCHEMES, LOGINS, HOSTS)]
BAD_LINKS = [
    *(
        "".join(parts)
        for parts in product(SCHEMES, BAD_HOSTS, ("", "/", "/a?b=c#d", "?q", "#part"))
    ),
    *(f"{scheme}example.com" for scheme in ("", "//", "ftp://", "file://", "javascript:", "data:")),
    *(
        f"{scheme}example.com"
        for scheme in ("mailto:", "x:", "http:", "https:/", "htp://", "http//")
    ),
    *(f"https://example.com/{char}" for char in ("\0", "\n", " ", "\x7f")),
]
