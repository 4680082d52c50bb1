//! The addresses of peers, and their tokens, which no message has.

use crate::http::secrets;
use crate::limits::{PEERS_MAX, PEERS_TOKENS_BYTES_MAX, TOKEN_CHARS};
use crate::setting::{PEERS, PEERS_TOKENS};
use reqwest::Url;
use std::fmt;
use std::net::IpAddr;
use std::path::Path;

/// A peer: where it is, and what it is shown.
#[derive(Clone)]
pub struct PeerAddress {
    /// Host and port, for people.
    name: String,
    /// Without a path.
    base: Url,
    token: String,
    /// The session that was named.
    session: Option<String>,
}

impl fmt::Debug for PeerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PeerAddress").field("name", &self.name).finish_non_exhaustive()
    }
}

impl PeerAddress {
    /// The peers of these addresses, `https://HOST:PORT` or, with one of its sessions,
    /// `https://HOST:PORT/#s=ID`. A line of `tokens` is the address of a peer as that prints it,
    /// with its token, or a token for all others; only its owner can read it.
    ///
    /// # Errors
    /// When an address is none, would show its token to others, or has none.
    pub fn all(addresses: &[String], tokens: Option<&Path>) -> Result<Vec<Self>, String> {
        let tokens = tokens.map(PeerTokens::read).transpose()?.unwrap_or_default();
        let peers: Vec<Self> = addresses.iter().map(|address| Self::new(address, &tokens)).collect::<Result<_, _>>()?;
        let alike = |place: usize| peers[..place].iter().any(|other| other.is_same(&peers[place]));
        if let Some(twice) = (0..peers.len()).find(|place| alike(*place)) {
            return Err(format!("{PEERS}: {} is given twice, and would be counted twice", peers[twice].name));
        }
        if peers.is_empty() || peers.len() > PEERS_MAX {
            return Err(format!("{PEERS}: {} addresses, and there are 1 to {PEERS_MAX}", peers.len()));
        }
        Ok(peers)
    }

    fn new(address: &str, tokens: &PeerTokens) -> Result<Self, String> {
        let (base, given) = origin(address).ok_or_else(|| format!("{PEERS}: an address is http(s)://HOST:PORT"))?;
        let name = name_of(&base);
        if given.is_none() && address.contains('?') {
            return Err(format!("{PEERS} {name}: an address is http(s)://HOST:PORT, and nothing follows it but #s=ID"));
        }
        if given.is_some() || address.contains('@') {
            return Err(format!("{PEERS} {name}: all users can see its token there: write the address into {PEERS_TOKENS}"));
        }
        if base.scheme() == "http" && !is_this_machine(&base) {
            return Err(format!("{PEERS} {name}: its token and rows would be sent for all to read: https is needed"));
        }
        let session = address.split_once("#s=").map(|(_, id)| id.to_owned());
        let is_id = |id: &String| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if session.as_ref().is_some_and(|id| !is_id(id)) {
            return Err(format!("{PEERS} {name}: after #s= comes the name of a session"));
        }
        let token = tokens.of(&base).ok_or_else(|| format!("{PEERS} {name}: {PEERS_TOKENS} has no token for it"))?.to_owned();
        Ok(Self { name, base, token, session })
    }

    fn is_same(&self, other: &Self) -> bool {
        self.base == other.base && (self.session == other.session || self.session.is_none() || other.session.is_none())
    }

    /// Host and port.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    pub(crate) fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    pub(crate) fn url(&self, path: &str) -> Url {
        let mut url = self.base.clone();
        url.set_path(path);
        url
    }
}

/// Tokens of peers.
#[derive(Default)]
struct PeerTokens {
    /// By the addresses that their lines have.
    own: Vec<(Url, String)>,
    all: Option<String>,
}

impl PeerTokens {
    fn read(path: &Path) -> Result<Self, String> {
        let (text, _) = secrets::private(path, PEERS_TOKENS_BYTES_MAX)?;
        let mut tokens = Self::default();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            // The line itself is a secret.
            let wrong = || format!("{}:{number}: is no token, and no address with ?token=", path.display());
            match origin(line) {
                Some((base, Some(token))) if is_token(&token) => tokens.own.push((base, token)),
                None if is_token(line) && tokens.all.is_none() => tokens.all = Some(line.to_owned()),
                _ => return Err(wrong()),
            }
        }
        Ok(tokens)
    }

    fn of(&self, base: &Url) -> Option<&str> {
        let own = self.own.iter().find(|(other, _)| other == base).map(|(_, token)| token);
        own.or(self.all.as_ref()).map(String::as_str)
    }
}

fn is_token(text: &str) -> bool {
    let (least, most) = TOKEN_CHARS;
    (least..=most).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte))
}

/// Scheme, host and port of an address, and the token in it; `None` of anything else.
fn origin(address: &str) -> Option<(Url, Option<String>)> {
    let url = Url::parse(address).ok()?;
    let is_http = ["http", "https"].contains(&url.scheme()) && url.has_host() && url.path() == "/";
    let token = url.query_pairs().find(|(name, _)| name == "token").map(|(_, token)| token.into_owned());
    let mut base = url.clone();
    base.set_query(None);
    base.set_fragment(None);
    base.set_username("").ok()?;
    base.set_password(None).ok()?;
    is_http.then_some((base, token))
}

fn name_of(base: &Url) -> String {
    let host = base.host_str().unwrap_or("");
    base.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
}

fn is_this_machine(base: &Url) -> bool {
    let host = base.host_str().unwrap_or("").trim_matches(['[', ']']);
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;

    const TOKEN: &str = "0123456789abcdef0123456789abcdef";

    fn all(addresses: &[&str], tokens: &str) -> Result<Vec<PeerAddress>, String> {
        let mut file = tempfile::NamedTempFile::new().expect("a file");
        file.write_all(tokens.as_bytes()).expect("it is written");
        std::fs::set_permissions(file.path(), std::fs::Permissions::from_mode(0o600)).expect("its owner's");
        let addresses: Vec<String> = addresses.iter().map(|address| (*address).to_owned()).collect();
        PeerAddress::all(&addresses, Some(file.path()))
    }

    #[test]
    fn each_peer_has_the_token_of_its_line_or_that_of_all() {
        let other = TOKEN.replace('0', "9");
        let lines = format!("# two\n{TOKEN}\nhttp://127.0.0.1:2/?token={other}\n");
        let peers = all(&["https://a.example", "http://127.0.0.1:2", "https://b.example:7/#s=abc"], &lines).expect("three");
        let shown: Vec<_> = peers.iter().map(|peer| (peer.name(), peer.token(), peer.session())).collect();
        let expected = [("a.example", TOKEN, None), ("127.0.0.1:2", &*other, None), ("b.example:7", TOKEN, Some("abc"))];
        assert_eq!(shown, expected);
        assert_eq!(peers[2].url("/api/x").as_str(), "https://b.example:7/api/x");
        assert!(!format!("{peers:?}").contains(TOKEN));
    }

    #[test]
    fn what_would_show_a_token_is_refused_and_the_message_has_none() {
        let with = format!("http://127.0.0.1:1/?token={TOKEN}");
        let named = format!("http://{TOKEN}@127.0.0.1:1");
        let refused: [(&[&str], &str); 8] = [
            (&[&with], "all users"),
            (&[&named], "all users"),
            (&["http://a.example"], "https is needed"),
            (&["ftp://a.example"], "an address is"),
            (&["a.example"], "an address is"),
            (&["https://a.example/x"], "an address is"),
            (&["https://a.example", "https://a.example/#s=1"], "twice"),
            (&["https://a.example/#s=../x"], "a session"),
        ];
        for (addresses, said) in refused {
            let error = all(addresses, TOKEN).expect_err("refused");
            assert!(error.contains(said) && !error.contains(TOKEN), "{error}");
        }
        let error = all(&["https://a.example"], "").expect_err("no token");
        assert!(error.contains("no token"), "{error}");
        let error = all(&["https://a.example"], &format!("{TOKEN} more\n")).expect_err("no line");
        assert!(error.contains(":1: ") && !error.contains(TOKEN), "{error}");
    }
}
