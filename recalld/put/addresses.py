"""Which addresses a URL may lead to: public ones alone. Pure.

The special ranges are those of IANA's registries for IPv4 and IPv6 (RFC 6890 and its updates). Ranges that carry an
IPv4 address within an IPv6 one are refused whole: what a gateway makes of them cannot be known here.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

_V4 = {
    IPv4Network(net): why
    for net, why in {
        "0.0.0.0/8": "this network",
        "10.0.0.0/8": "private",
        "100.64.0.0/10": "shared by a provider (CGNAT)",
        "127.0.0.0/8": "loopback",
        "169.254.0.0/16": "link-local",
        "172.16.0.0/12": "private",
        "192.0.0.0/24": "reserved",
        "192.0.2.0/24": "for documentation",
        "192.88.99.0/24": "a 6to4 relay",
        "192.168.0.0/16": "private",
        "198.18.0.0/15": "for benchmarks",
        "198.51.100.0/24": "for documentation",
        "203.0.113.0/24": "for documentation",
        "224.0.0.0/4": "multicast",
        "240.0.0.0/4": "reserved",
    }.items()
}
_V6 = {
    IPv6Network(net): why
    for net, why in {
        "::1/128": "loopback",
        "::/128": "unspecified",
        "::ffff:0:0/96": "an IPv4 address in disguise",
        "::/96": "an IPv4 address in disguise",
        "64:ff9b::/96": "translated to IPv4 (NAT64)",
        "64:ff9b:1::/48": "translated to IPv4 (NAT64)",
        "2001::/23": "reserved",
        "2001:db8::/32": "for documentation",
        "2002::/16": "an IPv4 address in disguise (6to4)",
        "3fff::/20": "for documentation",
        "fc00::/7": "private",
        "fe80::/10": "link-local",
        "fec0::/10": "private",
        "ff00::/8": "multicast",
    }.items()
}
_GLOBAL_V6 = IPv6Network("2000::/3")


def refusal(address: str) -> str:
    """Return why an address is not public; empty where it is. What is no address is not public."""
    try:
        ip = ip_address(address.partition("%")[0])
    except ValueError:
        return "no address"
    if isinstance(ip, IPv4Address):
        return next((why for net, why in _V4.items() if ip in net), "" if ip.is_global else "reserved")
    return _refusal_v6(ip)


def _refusal_v6(ip: IPv6Address) -> str:
    found = next((why for net, why in _V6.items() if ip in net), "")
    return found or ("" if ip in _GLOBAL_V6 and ip.is_global else "reserved")
