//! Proxies, as the environment names them.

use crate::error::{FetchError, FetchErrorKind};
use crate::name::shown;
use reqwest::Url;
use std::env::VarError;
use std::net::IpAddr;
use std::sync::Arc;

/// Schemes of proxies.
const SCHEMES: [&str; 6] = ["http", "https", "socks4", "socks4a", "socks5", "socks5h"];

/// The proxies of `http_proxy`, `https_proxy` and `all_proxy`, in small or large letters, and the
/// hosts of `no_proxy`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Proxies {
    http: Option<Arc<ProxySetting>>,
    https: Option<Arc<ProxySetting>>,
    without: Arc<[ProxyException]>,
}

/// A proxy and the variable that names it.
#[derive(Debug)]
pub(crate) struct ProxySetting {
    variable: &'static str,
    pub(crate) url: Url,
}

/// An entry of `no_proxy`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct ProxyException {
    host: ExceptedHost,
    port: Option<u16>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum ExceptedHost {
    All,
    /// This name and all below it.
    Name(String),
    /// Addresses with the same first bits.
    Network(IpAddr, u32),
}

impl Proxies {
    /// The proxies of the environment.
    ///
    /// # Errors
    /// When a variable names something that is no proxy.
    pub(crate) fn from_env() -> Result<Proxies, FetchError> {
        // A server that starts programs for its clients sets HTTP_PROXY by their header Proxy.
        let is_cgi = std::env::var_os("REQUEST_METHOD").is_some();
        let all = setting(&["ALL_PROXY", "all_proxy"])?.map(Arc::new);
        let http = if is_cgi { None } else { setting(&["HTTP_PROXY", "http_proxy"])?.map(Arc::new) };
        let https = setting(&["HTTPS_PROXY", "https_proxy"])?.map(Arc::new);
        let without = given(&["NO_PROXY", "no_proxy"])?.map_or(String::new(), |(_, list)| list);
        Ok(Proxies { http: http.or_else(|| all.clone()), https: https.or(all), without: exceptions(&without) })
    }

    /// The proxy that a URL is fetched by.
    pub(crate) fn of(&self, url: &Url) -> Option<&ProxySetting> {
        let proxy = if url.scheme() == "https" { &self.https } else { &self.http };
        proxy.as_deref().filter(|_| !self.without.iter().any(|exception| exception.has(url)))
    }
}

impl std::fmt::Display for ProxySetting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the proxy {} ({})", shown(&self.url), self.variable)
    }
}

/// The first of the variables that says something.
fn given(names: &[&'static str]) -> Result<Option<(&'static str, String)>, FetchError> {
    for name in names {
        match std::env::var(name) {
            Ok(value) if !value.trim().is_empty() => return Ok(Some((name, value.trim().to_owned()))),
            Err(VarError::NotUnicode(_)) => return Err(FetchError::new(FetchErrorKind::Local, format!("{name}: not UTF-8"))),
            Ok(_) | Err(VarError::NotPresent) => {}
        }
    }
    Ok(None)
}

fn setting(names: &[&'static str]) -> Result<Option<ProxySetting>, FetchError> {
    let Some((variable, value)) = given(names)? else { return Ok(None) };
    // Without a scheme it is that of most.
    let text = if value.contains("://") { value } else { format!("http://{value}") };
    let wrong = |what: &str| FetchError::new(FetchErrorKind::Local, format!("{variable}: {what}"));
    // The text may have a password in it.
    let url = Url::parse(&text).map_err(|error| wrong(&format!("not the URL of a proxy: {error}")))?;
    if !SCHEMES.contains(&url.scheme()) {
        let what = format!("{} is not a proxy that can be used: {} are", shown(&url), SCHEMES.join(", "));
        return Err(wrong(&what));
    }
    Ok(Some(ProxySetting { variable, url }))
}

fn exceptions(list: &str) -> Arc<[ProxyException]> {
    list.split([',', ' ']).map(str::trim).filter(|part| !part.is_empty()).map(ProxyException::of).collect()
}

impl ProxyException {
    fn of(part: &str) -> ProxyException {
        // An IPv6 address has colons of its own.
        let is_bare = part.parse::<IpAddr>().is_ok() || part.contains('/');
        let (host, port) = match part.rsplit_once(':').filter(|_| !is_bare) {
            Some((host, port)) => match port.parse() {
                Ok(port) => (host, Some(port)),
                Err(_) => (part, None),
            },
            None => (part, None),
        };
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
        let (address, bits) = host.split_once('/').map_or((host, None), |(address, bits)| (address, bits.parse().ok()));
        let host = match address.parse::<IpAddr>() {
            Ok(address) => ExceptedHost::Network(address, bits.unwrap_or(u32::MAX)),
            Err(_) if host == "*" => ExceptedHost::All,
            Err(_) => {
                let name = host.strip_prefix('*').unwrap_or(host);
                ExceptedHost::Name(name.strip_prefix('.').unwrap_or(name).to_ascii_lowercase())
            }
        };
        ProxyException { host, port }
    }

    fn has(&self, url: &Url) -> bool {
        let host = url.host_str().unwrap_or_default();
        let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host).to_ascii_lowercase();
        let is_host = match &self.host {
            ExceptedHost::All => true,
            ExceptedHost::Name(name) => {
                host.strip_suffix(&**name).is_some_and(|before| before.is_empty() || before.ends_with('.'))
            }
            ExceptedHost::Network(network, bits) => host.parse().is_ok_and(|address| begin_alike(*network, address, *bits)),
        };
        is_host && self.port.is_none_or(|port| url.port_or_known_default() == Some(port))
    }
}

/// True if the first so many bits are the same, or all where there are fewer.
fn begin_alike(left: IpAddr, right: IpAddr, bits: u32) -> bool {
    match (left, right) {
        (IpAddr::V4(left), IpAddr::V4(right)) => (left.to_bits() ^ right.to_bits()).leading_zeros() >= bits.min(32),
        (IpAddr::V6(left), IpAddr::V6(right)) => (left.to_bits() ^ right.to_bits()).leading_zeros() >= bits.min(128),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(list: &str, url: &str) -> bool {
        let url = Url::parse(url).expect("a URL");
        exceptions(list).iter().any(|exception| exception.has(&url))
    }

    #[test]
    fn what_no_proxy_excepts() {
        for (list, url) in [
            ("*", "http://10.0.0.1/"),
            ("other.example, files.example", "http://files.example/"),
            (".files.example", "http://a.FILES.example/"),
            ("*.files.example", "http://a.files.example/"),
            ("files.example:8080", "http://files.example:8080/"),
            ("files.example:443", "https://files.example/"),
            ("127.0.0.1:81", "http://127.0.0.1:81/"),
            ("[::1]:81", "http://[::1]:81/"),
            ("::1", "http://[::1]:81/"),
            ("10.0.0.0/8", "http://10.255.0.1/"),
            ("2001:db8::/32", "http://[2001:db8:1::1]/"),
        ] {
            assert!(has(list, url), "{list} {url}");
        }
        for (list, url) in [
            ("", "http://files.example/"),
            ("files.example", "http://notfiles.example/"),
            ("files.example:8080", "http://files.example/"),
            ("files.example:80", "https://files.example/"),
            ("127.0.0.1:81", "http://127.0.0.1:82/"),
            ("10.0.0.0/8", "http://11.0.0.1/"),
            ("10.0.0.1", "http://10.0.0.1.example/"),
        ] {
            assert!(!has(list, url), "{list} {url}");
        }
    }
}
