//! Which proxies are believed when they say from where a request came.

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use ipnet::IpNet;

/// The networks of the proxies in front of the server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TrustedProxies(Vec<IpNet>);

/// Networks (`10.0.0.0/8`) and single addresses, separated by commas.
impl FromStr for TrustedProxies {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        let networks = parts.map(|part| {
            let single = || part.parse::<IpAddr>().map(IpNet::from);
            part.parse::<IpNet>()
                .or_else(|_| single())
                .map_err(|_| format!("`{part}` is not a network like 10.0.0.0/8"))
        });
        networks.collect::<Result<_, _>>().map(Self)
    }
}

impl TrustedProxies {
    fn trusts(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(&address))
    }

    /// From where a request came that `peer` has sent. Each proxy appends to `X-Forwarded-For` whom it got the request
    /// from, so what stands to the right of the first stranger, seen from the right, is said by trusted proxies, and
    /// what stands to the left of it can be anything. `forwarded` are the lines of that header in their order.
    pub fn origin<'a>(&self, peer: IpAddr, forwarded: impl DoubleEndedIterator<Item = &'a [u8]>) -> IpAddr {
        let mut origin = peer.to_canonical();
        for line in forwarded.rev() {
            for entry in line.rsplit(|byte| *byte == b',') {
                if !self.trusts(origin) {
                    return origin;
                }
                // Nothing to the left of what no proxy of ours would write is to be believed.
                let Some(address) = std::str::from_utf8(entry).ok().and_then(address) else { return origin };
                origin = address;
            }
        }
        origin
    }
}

/// An entry, as some proxies write it with the port.
fn address(entry: &str) -> Option<IpAddr> {
    let entry = entry.trim();
    let bare = entry.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(entry);
    let address = bare.parse().or_else(|_| entry.parse::<SocketAddr>().map(|with_port| with_port.ip()));
    address.ok().map(|address: IpAddr| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::TrustedProxies;

    #[test]
    fn the_origin_is_the_first_stranger_from_the_right() {
        let proxies: TrustedProxies = "10.0.0.0/8, 192.0.2.7,fd00::/8".parse().unwrap();
        let nobody = TrustedProxies::default();
        for (peer, lines, origin) in [
            // A peer that is no proxy is the origin, whatever it says.
            ("203.0.113.5", vec!["198.51.100.1"], "203.0.113.5"),
            ("10.0.0.1", vec![], "10.0.0.1"),
            ("10.0.0.1", vec!["198.51.100.1"], "198.51.100.1"),
            ("192.0.2.7", vec!["198.51.100.1"], "198.51.100.1"),
            ("192.0.2.8", vec!["198.51.100.1"], "192.0.2.8"),
            // What the caller itself has claimed stands to the left.
            ("10.0.0.1", vec!["1.2.3.4, 198.51.100.1"], "198.51.100.1"),
            ("10.0.0.1", vec!["1.2.3.4, 198.51.100.1 ,10.0.0.2"], "198.51.100.1"),
            ("10.0.0.1", vec!["1.2.3.4", "198.51.100.1, 10.0.0.3", "10.0.0.2"], "198.51.100.1"),
            ("10.0.0.1", vec!["198.51.100.1", "198.51.100.2"], "198.51.100.2"),
            // Only proxies: the one that is furthest away.
            ("10.0.0.1", vec!["10.0.0.3,10.0.0.2"], "10.0.0.3"),
            // Nothing to the left of garbage is believed.
            ("10.0.0.1", vec!["198.51.100.1, unknown"], "10.0.0.1"),
            ("10.0.0.1", vec!["198.51.100.1, garbage, 10.0.0.2"], "10.0.0.2"),
            ("10.0.0.1", vec!["198.51.100.1,"], "10.0.0.1"),
            ("10.0.0.1", vec![""], "10.0.0.1"),
            ("10.0.0.1", vec!["\u{e9}"], "10.0.0.1"),
            ("10.0.0.1", vec!["198.51.100.1:4711"], "198.51.100.1"),
            ("10.0.0.1", vec!["2001:db8::1"], "2001:db8::1"),
            ("10.0.0.1", vec!["[2001:db8::1]"], "2001:db8::1"),
            ("10.0.0.1", vec!["[2001:db8::1]:4711"], "2001:db8::1"),
            ("fd00::1", vec!["2001:db8::1"], "2001:db8::1"),
            // An IPv4 address is one in the clothes of IPv6 too.
            ("::ffff:10.0.0.1", vec!["::ffff:198.51.100.1"], "198.51.100.1"),
        ] {
            let found = proxies.origin(peer.parse().unwrap(), lines.iter().map(|line| line.as_bytes()));
            assert_eq!(found.to_string(), origin, "{peer} {lines:?}");
            let unbelieved = nobody.origin(peer.parse().unwrap(), lines.iter().map(|line| line.as_bytes()));
            assert_eq!(unbelieved, peer.parse::<std::net::IpAddr>().unwrap().to_canonical());
        }
    }

    #[test]
    fn what_is_no_network_is_refused() {
        assert_eq!("".parse(), Ok(TrustedProxies::default()));
        for wrong in ["proxy", "10.0.0.0/33", "10.0.0.0/8;10.0.0.1", "10.0.0"] {
            assert!(wrong.parse::<TrustedProxies>().unwrap_err().contains("10.0.0.0/8"), "{wrong}");
        }
    }
}
