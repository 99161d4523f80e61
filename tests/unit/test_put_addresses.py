"""Which addresses and URLs may be fetched."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recalld.errors import RefusedError, UsageError
from recalld.put.addresses import refusal
from recalld.put.urls import is_url, target_of

REFUSED = [
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
    "192.0.2.0/24", "192.168.0.0/16", "198.18.0.0/15", "224.0.0.0/4", "240.0.0.0/4", "255.255.255.255/32",
    "::/128", "::1/128", "::ffff:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "2001::/32", "2001:db8::/32",
    "2002::/16", "3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8", "::/96",
]  # fmt: skip
SCHEMES = ("http", "https")


@given(st.sampled_from(REFUSED).map(ip_network), st.integers(0))
def test_no_address_of_a_special_range_is_public(network: IPv4Network | IPv6Network, offset: int) -> None:
    assert refusal(str(network.network_address + offset % network.num_addresses))


@given(st.ip_addresses(v=4))
def test_what_the_standard_library_calls_global_v4_is_all_that_is_public(address: IPv4Address) -> None:
    if not refusal(str(address)):
        assert address.is_global and not address.is_multicast


@given(st.ip_addresses(v=6))
def test_public_v6_is_global_and_carries_no_v4(address: IPv6Address) -> None:
    if not refusal(str(address)):
        assert address.is_global and not address.is_multicast
        assert address.ipv4_mapped is None and address.sixtofour is None and address.teredo is None


@given(st.ip_addresses(v=4))
def test_a_v4_address_in_disguise_is_refused(address: IPv4Address) -> None:
    number = int(address)
    for disguise in (0xFFFF << 32 | number, number, 0x64FF9B << 96 | number, 0x2002 << 112 | number << 80):
        assert refusal(str(IPv6Address(disguise)))


@pytest.mark.parametrize("address", ["93.184.215.14", "1.1.1.1", "2606:2800:21f:cb07:6820:80da:af6b:8b2c"])
def test_public_addresses_are_let_through(address: str) -> None:
    assert refusal(address) == ""


@pytest.mark.parametrize("address", ["", "localhost", "fe80::1%eth0", "1.1.1", "300.1.1.1"])
def test_what_is_no_public_address_is_refused(address: str) -> None:
    assert refusal(address)


@pytest.mark.parametrize(
    ("url", "usual"),
    [
        ("HTTP://Example.ORG:80/a b#x".replace(" ", "%20"), "http://example.org/a%20b"),
        ("https://example.org:8443?q=\u00fc", "https://example.org:8443/?q=%C3%BC"),
        ("https://b\u00fccher.example/", "https://xn--bcher-kva.example/"),
        ("http://[::1]:8080/", "http://[::1]:8080/"),
    ],
)
def test_urls_have_one_usual_form(url: str, usual: str) -> None:
    assert target_of(url, SCHEMES).url == usual
    assert target_of(usual, SCHEMES).url == usual


@pytest.mark.parametrize(
    "url",
    [
        "http://", "http:///x", "http://a b/", "http://a\\@b/", "http://a/\r\nX: y", "http://a:x/", "http://a:0/",
        "http://a:99999/", "http://[::1/", f"http://a/{'x' * 3_000}", "http://.../", "http://a<b/", "http://\u0660.x\u200b/\x00",
    ],
)  # fmt: skip
def test_what_is_no_url(url: str) -> None:
    with pytest.raises(UsageError):
        target_of(url, SCHEMES)


@pytest.mark.parametrize(
    "url",
    ["ftp://a/", "file:///etc/passwd", "gopher://a/", "javascript://a", "http://me@a/", "http://me:pw@a/", "//a/"],
)
def test_what_is_never_fetched(url: str) -> None:
    with pytest.raises(RefusedError):
        target_of(url, SCHEMES)


@given(st.text())
def test_any_text_is_a_url_that_reads_back_or_a_named_error(text: str) -> None:
    try:
        target = target_of(f"http://{text}", SCHEMES)
    except (UsageError, RefusedError):
        return
    assert target_of(target.url, SCHEMES) == target
    assert target.url.isascii() and " " not in target.url and "@" not in target.authority


def test_paths_are_no_urls() -> None:
    assert is_url("https://a/") and is_url("ftp://a")
    assert not any(map(is_url, ("/a/b", "a.md", "-", "C:\\x", "a:b", "x y://z")))
