//! Address and names of a server, and its protection from others on the way.

use crate::setting::{BEHIND_PROXY, BIND, PUBLIC_URL, TLS_CERT, TLS_KEY};
use axum::http::Uri;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

/// Address of a server, and the clients that may reach it.
#[derive(Debug, Clone)]
pub struct Access {
    /// The address to listen on. One that is not of this machine alone takes a certificate, or a
    /// proxy that has one.
    pub bind: IpAddr,
    /// Certificate chain and private key, both PEM: the server speaks TLS.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// A proxy is before the server, and does the TLS.
    pub behind_proxy: bool,
    /// The address that browsers see: `https://name` or `https://name:port`.
    pub public_url: Option<String>,
    /// File of the token; without it there is a fresh one at each start.
    pub token_file: Option<PathBuf>,
    /// `/healthz` and `/readyz` need no token.
    pub open_probes: bool,
    /// Time for which requests may still run once the server is asked to end.
    pub grace: Duration,
}

impl Default for Access {
    /// This machine alone, with a fresh token.
    fn default() -> Self {
        Self {
            bind: IpAddr::V4(Ipv4Addr::LOCALHOST),
            tls: None,
            behind_proxy: false,
            public_url: None,
            token_file: None,
            open_probes: false,
            grace: Duration::from_secs(10),
        }
    }
}

/// The names by which a server is asked, as `Host` and `Origin` have them.
#[derive(Debug)]
pub(crate) struct HostNames {
    hosts: Vec<String>,
    origins: Vec<String>,
    /// Browsers come by `https://` alone.
    pub(crate) secure: bool,
    /// Address to open it by.
    pub(crate) url: String,
}

impl Access {
    /// True if others than this machine can reach it.
    pub(crate) fn remote(&self) -> bool {
        !self.bind.is_loopback() || self.behind_proxy
    }

    /// Refuses settings that would send the token in the clear, or would answer to no name.
    ///
    /// # Errors
    /// The missing setting, and the flag that gives it.
    pub(crate) fn check(&self) -> Result<(), String> {
        let bind = self.bind;
        if let Some(url) = &self.public_url {
            public_authority(url)?;
            if self.tls.is_none() && !self.behind_proxy {
                return Err(format!(
                    "{PUBLIC_URL}: nobody does the TLS of this address; give {TLS_CERT} and {TLS_KEY}, or {BEHIND_PROXY}"
                ));
            }
        }
        if self.behind_proxy && self.public_url.is_none() {
            return Err(format!("{BEHIND_PROXY}: give the address that browsers see by {PUBLIC_URL} https://NAME"));
        }
        if !bind.is_loopback() && self.tls.is_none() && !self.behind_proxy {
            return Err(format!(
                "{BIND} {bind}: others can reach this address, and would see logs and token in the clear; give {TLS_CERT} and {TLS_KEY}, or, where a \
                 proxy does the TLS, {BEHIND_PROXY} and {PUBLIC_URL} https://NAME"
            ));
        }
        if bind.is_unspecified() && self.public_url.is_none() {
            return Err(format!("{BIND} {bind} has no name that a browser could ask for; give one by {PUBLIC_URL} https://NAME"));
        }
        Ok(())
    }

    /// Names of this machine under which nobody else may listen on the same port: `[::1]` is
    /// another server where this one is at `127.0.0.1` alone.
    fn loopback_names(&self) -> &'static [&'static str] {
        match self.bind {
            IpAddr::V4(_) => &["127.0.0.1", "localhost"],
            IpAddr::V6(address) if address.is_unspecified() => &["127.0.0.1", "localhost", "[::1]"],
            IpAddr::V6(_) => &["localhost", "[::1]"],
        }
    }

    /// The names of a server that listens on `address`.
    pub(crate) fn names(&self, address: SocketAddr) -> HostNames {
        let port = address.port();
        let mut own = Vec::new();
        if !self.bind.is_unspecified() {
            own.push(SocketAddr::new(self.bind, port).to_string());
        }
        if self.bind.is_loopback() || self.bind.is_unspecified() {
            own.extend(self.loopback_names().iter().map(|host| format!("{host}:{port}")));
        }
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let mut own = with_bare_names(own, scheme);
        let mut origins: Vec<String> = own.iter().map(|host| format!("{scheme}://{host}")).collect();
        let public = self.public_url.as_deref().and_then(|url| public_authority(url).ok());
        let url = match &public {
            Some(public) => format!("https://{public}"),
            None => format!("{scheme}://{}", SocketAddr::new(self.bind, port)),
        };
        let public = with_bare_names(public.into_iter().collect(), "https");
        origins.extend(public.iter().map(|host| format!("https://{host}")));
        own.extend(public);
        HostNames { hosts: own, origins, secure: self.tls.is_some() || self.behind_proxy, url }
    }
}

impl HostNames {
    pub(crate) fn has_host(&self, host: &str) -> bool {
        self.hosts.iter().any(|own| own.eq_ignore_ascii_case(host))
    }

    pub(crate) fn has_origin(&self, origin: &str) -> bool {
        self.origins.iter().any(|own| own == origin)
    }
}

/// The same names without the port that a scheme has anyway, and with it.
fn with_bare_names(mut hosts: Vec<String>, scheme: &str) -> Vec<String> {
    let port = if scheme == "https" { ":443" } else { ":80" };
    let bare: Vec<String> = hosts.iter().filter_map(|host| host.strip_suffix(port)).map(str::to_owned).collect();
    let has_port = |host: &str| host.rsplit_once(':').is_some_and(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
    let full: Vec<String> = hosts.iter().filter(|host| !has_port(host)).map(|host| format!("{host}{port}")).collect();
    hosts.extend(bare);
    hosts.extend(full);
    hosts
}

/// `name` or `name:port` of the address that browsers see, in small letters as browsers have it.
fn public_authority(url: &str) -> Result<String, String> {
    let wrong = |what: &str| format!("{PUBLIC_URL} {url}: {what}; it is as https://logs.example or https://logs.example:8443");
    let parsed: Uri = url.parse().map_err(|_| wrong("is no address"))?;
    if parsed.scheme_str() != Some("https") {
        return Err(wrong("does not begin with https://"));
    }
    if !matches!(parsed.path(), "" | "/") || parsed.query().is_some() {
        return Err(wrong("has a path, and this server takes all of a name"));
    }
    let authority = parsed.authority().ok_or_else(|| wrong("has no name"))?;
    if authority.as_str().contains('@') {
        return Err(wrong("has a user"));
    }
    Ok(authority.as_str().to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::Access;
    use std::net::SocketAddr;
    use std::path::PathBuf;

    fn access(bind: &str, tls: bool, behind_proxy: bool, public_url: Option<&str>) -> Access {
        let tls = tls.then(|| (PathBuf::from("cert"), PathBuf::from("key")));
        Access {
            bind: bind.parse().expect("an address"),
            tls,
            behind_proxy,
            public_url: public_url.map(str::to_owned),
            ..Access::default()
        }
    }

    #[test]
    fn what_others_can_reach_needs_tls_and_a_name() {
        let name = Some("https://logs.example");
        for (bind, tls, proxy, url, word) in [
            ("127.0.0.1", false, false, None, None),
            ("127.0.0.2", false, false, None, None),
            ("::1", false, false, None, None),
            ("::1", true, false, None, None),
            ("10.0.0.1", true, false, None, None),
            ("0.0.0.0", true, false, name, None),
            ("127.0.0.1", false, true, name, None),
            ("0.0.0.0", false, true, name, None),
            ("10.0.0.1", false, false, None, Some("in the clear")),
            ("0.0.0.0", false, false, None, Some("in the clear")),
            ("::", false, false, None, Some("in the clear")),
            ("::ffff:127.0.0.1", false, false, None, Some("in the clear")),
            ("0.0.0.0", true, false, None, Some("\"public_url\"")),
            ("127.0.0.1", false, true, None, Some("\"public_url\"")),
            ("127.0.0.1", false, false, name, Some("\"behind_proxy\"")),
            ("127.0.0.1", false, true, Some("http://logs.example"), Some("https://")),
            ("127.0.0.1", false, true, Some("logs.example"), Some("https://")),
            ("127.0.0.1", false, true, Some("https://logs.example/logs"), Some("path")),
            ("127.0.0.1", false, true, Some("https://a@logs.example"), Some("user")),
        ] {
            let checked = access(bind, tls, proxy, url).check();
            match word {
                None => assert_eq!(checked, Ok(()), "{bind} {tls} {proxy} {url:?}"),
                Some(word) => assert!(checked.as_ref().is_err_and(|said| said.contains(word)), "{bind} {url:?}: {checked:?}"),
            }
        }
    }

    #[test]
    fn names_are_those_that_browsers_use() {
        let names = access("0.0.0.0", true, false, Some("https://Logs.example")).names("0.0.0.0:8631".parse().expect("one"));
        assert_eq!(names.url, "https://logs.example");
        for host in ["logs.example", "LOGS.example:443", "127.0.0.1:8631", "localhost:8631"] {
            assert!(names.has_host(host), "{host}");
        }
        for host in ["logs.example:8631", "0.0.0.0:8631", "[::1]:8631", "evil.example", "logs.example.evil", ""] {
            assert!(!names.has_host(host), "{host}");
        }
        assert!(names.has_origin("https://logs.example") && names.has_origin("https://localhost:8631"));
        for origin in ["http://logs.example", "http://localhost:8631", "null", "https://evil.example", ""] {
            assert!(!names.has_origin(origin), "{origin}");
        }
        let plain = access("::1", false, false, None).names("[::1]:80".parse().expect("one"));
        assert_eq!(plain.url, "http://[::1]:80");
        assert!(plain.has_host("[::1]") && plain.has_host("localhost") && plain.has_origin("http://localhost"));
        assert!(!plain.secure);
        let both = access("::", true, false, Some("https://logs.example")).names("[::]:8631".parse().expect("one"));
        assert!(["127.0.0.1:8631", "[::1]:8631", "localhost:8631"].iter().all(|host| both.has_host(host)));
        // Somebody else may listen at the other family's address.
        for (bind, own, foreign) in [("127.0.0.1", "127.0.0.1:8631", "[::1]:8631"), ("::1", "[::1]:8631", "127.0.0.1:8631")] {
            let bound = SocketAddr::new(bind.parse().expect("an address"), 8631);
            let names = access(bind, false, false, None).names(bound);
            assert!(names.has_host(own) && names.has_host("localhost:8631") && names.has_origin(&format!("http://{own}")));
            assert!(!names.has_host(foreign) && !names.has_origin(&format!("http://{foreign}")), "{bind}");
        }
        let proxied = access("127.0.0.1", false, true, Some("https://logs.example:8443"));
        let proxied = proxied.names("127.0.0.1:8631".parse().expect("one"));
        assert!(proxied.has_host("logs.example:8443") && !proxied.has_host("logs.example") && proxied.secure);
        assert!(proxied.has_origin("https://logs.example:8443") && proxied.has_origin("http://127.0.0.1:8631"));
    }
}
