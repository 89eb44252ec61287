"""Emails and links of many families.

Mail servers or browsers accept some. None accepts or reaches the others.
"""

from itertools import product

NAMES = (
    "a",
    "contato",
    "first.last",
    "a+tag",
    "a_b",
    "a-b",
    "o'brien",
    "x=y",
    "1",
    "a!b#c",
    "A.B",
    "a/b",
)
DOMAINS = (
    *(
        "loja.com.br",
        "example.com",
        "mail.example.co.uk",
        "münchen.de",
        "例え.jp",
        "xn--mnchen-3ya.de",
    ),
    *("a-b.example", "x.museum", "1a.de", "mail.local", "localhost", "bücher.example.org"),
)
BAD_NAMES = (
    *(
        "",
        "a..b",
        ".a",
        "a.",
        "a b",
        "a,b",
        "a;b",
        "a:b",
        "a(b)",
        "a<b",
        "a@b",
        'a"b',
        "a\\b",
        "a[b]",
    ),
    *("a\tb", "a\nb", "a\0b", "x" * 65),
)
BAD_DOMAINS = (
    *(
        "",
        ".",
        "x..de",
        ".x.de",
        "-x.de",
        "x-.de",
        "x_y.de",
        "x y.de",
        "x,y.de",
        "x.\nde",
        "x.de, b@y.de",
    ),
    *(
        "x.de>",
        "x/y.de",
        "x@y.de",
        "[1.2.3.4",
        "[x]",
        "x" * 64 + ".de",
        "x.de:25",
        "x!.de",
        "x\0.de",
    ),
)
GOOD_EMAILS = [f"{name}@{domain}" for name, domain in product(NAMES, DOMAINS)]
BAD_EMAILS = [
    *(f"{name}@{domain}" for name, domain in product(BAD_NAMES, DOMAINS[:4])),
    *(f"{name}@{domain}" for name, domain in product(NAMES[:4], BAD_DOMAINS)),
    *("a", "a.example.com", "@", "ä@example.com", "A <a@example.com>", "mailto:a@example.com"),
]

SCHEMES = ("http://", "https://")
HOSTS = (
    *(
        "example.com",
        "a.b.example.com",
        "münchen.de",
        "xn--mnchen-3ya.de",
        "ドメイン.example",
        "localhost",
    ),
    *(
        "my_bucket.storage.example",
        "93.184.216.34",
        "[::1]",
        "[2001:db8::1]",
        "example.com.",
        "1.de",
    ),
)
LOGINS = ("user@", "user:secret@", "u%40x:p@")
TAILS = ("", "/", "/a?b=c#d", "/%C3%A9", "/é?q=ü", "#part", ":8443/x", "/a;b=1,2/(x)'")
BAD_HOSTS = (
    *(":80", "u@", "a b.de", "a<b.de", "a>b.de", "a^b.de", "a|b.de", "a%b.de", "a[b.de", "a]b.de"),
    *(
        "a.de:99999",
        "a.de:65536",
        "a.de:x",
        "a.de:-1",
        "a.de:8x",
        "a.de:80:80",
        "a\tb.de",
        "a\0b.de",
    ),
    *(
        "[::g]",
        "[1.2.3.4]",
        "[::1",
        "[:::1]",
        "[1:2:3:4:5:6:7]",
        "[::1%25eth0]",
        "[]",
        "[::1]x",
        "::1",
    ),
    *("1.2.3.256", "1.2.3.4.5", "999.1.1.1", "a..de", ".a.de", "x" * 64 + ".de"),
)
GOOD_LINKS = ["".join(parts) for parts in product(SCHEMES, HOSTS, TAILS)]
# For people: the network fetches no file with a password.
GOOD_LOGINS = ["".join(parts) for parts in product(SCHEMES, LOGINS, HOSTS)]
BAD_LINKS = [
    *("".join(parts) for parts in product(SCHEMES, BAD_HOSTS, TAILS[:5])),
    *("http://", "https://", "http:///", "https://?q", "https://#part"),
    *(
        scheme + HOSTS[0]
        for scheme in ("", "ftp://", "file://", "javascript:", "data:", "mailto:", "x:")
    ),
    *(f"{SCHEMES[1]}{HOSTS[0]}/{char}" for char in ("\0", "\n", " ")),
]
