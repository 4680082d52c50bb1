//! The browser, system or bot that a user agent names, and the site of a referrer.
//!
//! Both look at a text for as long as it takes (microseconds); the caller asks once per distinct
//! text.

use std::borrow::Cow;
use std::sync::LazyLock;

use aho_corasick::{AhoCorasick, AhoCorasickBuilder};
use woothee::parser::Parser;

/// A user agent, classified.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, serde::Serialize, serde::Deserialize)]
pub struct Agent {
    /// Browser such as `Firefox`, or `(unknown)`; empty for a bot.
    pub browser: Cow<'static, str>,
    /// Operating system such as `Windows 10`, or `(unknown)`; empty for a bot.
    pub os: Cow<'static, str>,
    /// Name of the program, if it is no person's browser: crawlers, feed readers, libraries,
    /// monitors.
    pub bot: Option<Cow<'static, str>>,
}

/// Bytes of a user agent that are looked at. Real ones are shorter; a longer one must not cost
/// more.
const AGENT_BYTES_MAX: usize = 2048;

/// Bytes of a bot's name taken from the user agent itself.
const BOT_NAME_BYTES_MAX: usize = 40;

/// Stands in [`BOTS`] for a text that looks like a bot's and is none.
const NO_BOT: &str = "-";

/// Texts in user agents (in any case) and the bot of each; of several the earlier in the
/// list. An empty name stands for the agent's own word that contains the text.
#[rustfmt::skip]
const BOTS: &[(&str, &str)] = &[
    // What AI companies send
    ("gptbot", "GPTBot"), ("oai-searchbot", "OAI-SearchBot"), ("chatgpt-user", "ChatGPT-User"),
    ("claudebot", "ClaudeBot"), ("claude-user", "Claude-User"), ("claude-searchbot", "Claude-SearchBot"),
    ("claude-web", "Claude-Web"), ("anthropic-ai", "anthropic-ai"), ("ccbot", "CCBot"),
    ("perplexitybot", "PerplexityBot"), ("perplexity-user", "Perplexity-User"), ("bytespider", "Bytespider"),
    ("tiktokspider", "TikTokSpider"), ("amazonbot", "Amazonbot"), ("applebot", "Applebot"),
    ("google-extended", "Google-Extended"), ("googleother", "GoogleOther"), ("google-cloudvertexbot", "Google-CloudVertexBot"),
    ("meta-externalagent", "Meta-ExternalAgent"), ("meta-externalfetcher", "Meta-ExternalFetcher"),
    ("facebookbot", "FacebookBot"), ("facebookexternalhit", "facebookexternalhit"), ("facebookcatalog", "facebookcatalog"),
    ("cohere-ai", "cohere-ai"), ("mistralai-user", "MistralAI-User"), ("diffbot", "Diffbot"), ("imagesiftbot", "ImagesiftBot"),
    ("omgili", "omgili"), ("youbot", "YouBot"), ("duckassistbot", "DuckAssistBot"), ("ai2bot", "AI2Bot"),
    ("timpibot", "Timpibot"), ("petalbot", "PetalBot"), ("deepseekbot", "DeepSeekBot"), ("webzio", "Webzio"),
    // Search engines
    ("adsbot-google", "AdsBot-Google"), ("mediapartners-google", "Mediapartners-Google"), ("googlebot", "Googlebot"),
    ("feedfetcher-google", "FeedFetcher-Google"), ("google-inspectiontool", "Google-InspectionTool"),
    ("storebot-google", "Storebot-Google"), ("apis-google", "APIs-Google"), ("bingbot", "bingbot"), ("bingpreview", "BingPreview"),
    ("msnbot", "msnbot"), ("adidxbot", "adidxbot"), ("yandex", ""), ("baiduspider", "Baiduspider"),
    ("duckduckbot", "DuckDuckBot"), ("duckduckgo", "DuckDuckGo"), ("slurp", "Yahoo! Slurp"), ("sogou", "Sogou"), ("exabot", "Exabot"),
    ("seznambot", "SeznamBot"), ("naverbot", "Naverbot"), ("yeti/", "Yeti"), ("mojeekbot", "MojeekBot"), ("qwantify", "Qwantify"),
    ("coccocbot", "coccocbot"), ("360spider", "360Spider"), ("yisouspider", "YisouSpider"), ("ia_archiver", "ia_archiver"),
    ("archive.org_bot", "archive.org_bot"), ("teoma", "Teoma"),
    // Search engine marketing
    ("ahrefsbot", "AhrefsBot"), ("ahrefssiteaudit", "AhrefsSiteAudit"), ("semrushbot", "SemrushBot"), ("mj12bot", "MJ12bot"),
    ("dotbot", "DotBot"), ("rogerbot", "rogerbot"), ("blexbot", "BLEXBot"), ("dataforseobot", "DataForSeoBot"),
    ("serpstatbot", "serpstatbot"), ("barkrowler", "Barkrowler"), ("seokicks", "SEOkicks"), ("siteauditbot", "SiteAuditBot"),
    ("screaming frog", "Screaming Frog SEO Spider"), ("megaindex", "MegaIndex"), ("linkdexbot", "linkdexbot"), ("ezooms", "Ezooms"),
    // Previews and feeds
    ("twitterbot", "Twitterbot"), ("linkedinbot", "LinkedInBot"), ("slackbot", "Slackbot"), ("slack-imgproxy", "Slack-ImgProxy"),
    ("discordbot", "Discordbot"), ("telegrambot", "TelegramBot"), ("whatsapp", "WhatsApp"), ("pinterestbot", "Pinterestbot"),
    ("redditbot", "redditbot"), ("mastodon", "Mastodon"), ("embedly", "Embedly"), ("tiny tiny rss", "Tiny Tiny RSS"),
    ("feedly", "Feedly"), ("feedburner", "FeedBurner"), ("netnewswire", "NetNewsWire"), ("newsblur", "NewsBlur"),
    ("inoreader", "Inoreader"), ("universalfeedparser", "UniversalFeedParser"), ("simplepie", "SimplePie"), ("magpierss", "MagpieRSS"),
    ("flipboard", "Flipboard"), ("netvibes", "Netvibes"), ("bloglovin", "Bloglovin"), ("feedparser", ""), ("freshrss", "FreshRSS"),
    // Monitors and scanners
    ("uptimerobot", "UptimeRobot"), ("pingdom", "Pingdom"), ("statuscake", "StatusCake"), ("site24x7", "Site24x7"),
    ("better uptime", "Better Uptime"), ("uptime-kuma", "Uptime-Kuma"), ("nagios", "Nagios check_http"), ("check_http", "Nagios check_http"),
    ("zabbix", "Zabbix"), ("datadog", "Datadog"), ("newrelic", "New Relic"), ("googlehc", "GoogleHC"), ("elb-healthchecker", "ELB-HealthChecker"),
    ("kube-probe", "kube-probe"), ("prometheus", "Prometheus"), ("blackbox exporter", "Prometheus blackbox"),
    ("censysinspect", "CensysInspect"), ("expanse", "Expanse"), ("zgrab", "zgrab"), ("masscan", "masscan"), ("nmap", "Nmap"),
    ("nikto", "Nikto"), ("sqlmap", "sqlmap"), ("nuclei", "Nuclei"), ("wpscan", "WPScan"), ("netcraft", "Netcraft"), ("l9explore", "l9explore"),
    ("internetmeasurement", "InternetMeasurement"), ("shodan", "Shodan"), ("lighthouse", "Lighthouse"), ("pagespeed", "PageSpeed"),
    ("headlesschrome", "HeadlessChrome"), ("phantomjs", "PhantomJS"), ("puppeteer", "Puppeteer"), ("playwright", "Playwright"),
    ("selenium", "Selenium"), ("scrapy", "Scrapy"), ("let's encrypt", "Let's Encrypt"),
    // Programs and libraries
    ("curl/", "curl"), ("libcurl", "libcurl"), ("wget", "Wget"), ("httpie", "HTTPie"), ("python-requests", "python-requests"),
    ("python-urllib", "Python-urllib"), ("python-httpx", "python-httpx"), ("aiohttp", "aiohttp"), ("go-http-client", "Go-http-client"),
    ("go 1.1 package http", "Go-http-client"), ("okhttp", "okhttp"), ("apache-httpclient", "Apache-HttpClient"),
    ("jakarta commons-httpclient", "Apache-HttpClient"), ("java/", "Java"), ("libwww-perl", "libwww-perl"), ("lwp::simple", "LWP::Simple"),
    ("lwp-trivial", "lwp-trivial"), ("www-mechanize", "WWW-Mechanize"), ("axios", "axios"), ("node-fetch", "node-fetch"), ("undici", "undici"),
    ("got (", "got"), ("guzzlehttp", "GuzzleHttp"), ("php/", "PHP"), ("wordpress/", "WordPress"), ("ruby", "Ruby"), ("faraday", "Faraday"),
    ("reqwest", "reqwest"), ("hyper/", "hyper"), ("postmanruntime", "PostmanRuntime"), ("insomnia", "Insomnia"), ("aria2", "aria2"),
    ("restsharp", "RestSharp"), ("winhttp", "WinHTTP"), ("powershell", "PowerShell"), ("colly", "Colly"), ("k6/", "k6"), ("apachebench", "ApacheBench"),
    ("wrk/", "wrk"), ("jmeter", "JMeter"), ("microsoft office", "Microsoft Office"), ("dalvik", ""), ("httrack", "HTTrack"), ("dnspod", "DNSPod"),
    // A maker of telephones
    ("cubot", NO_BOT),
    // Anything that says what it is
    ("crawler", ""), ("spider", ""), ("bot/", ""), ("bot;", ""), ("bot)", ""), ("bot ", ""), ("bot-", ""), ("robot", ""), ("scraper", ""),
    ("fetcher", ""), ("scanner", ""), ("monitor", ""), ("linkcheck", ""), ("validator", ""), ("feed", ""), ("rss", ""), ("archiver", ""),
];

static BOT_FINDER: LazyLock<Option<AhoCorasick>> =
    LazyLock::new(|| AhoCorasickBuilder::new().ascii_case_insensitive(true).build(BOTS.iter().map(|(text, _name)| text)).ok());

/// The name of a browser or a system that is not recognised.
pub(crate) const UNKNOWN: &str = "(unknown)";

/// Classifies a user agent as in the log. An empty one has neither browser nor system, and is no
/// bot.
pub fn classify(agent: &[u8]) -> Agent {
    if agent.is_empty() {
        return Agent::default();
    }
    let text = String::from_utf8_lossy(&agent[..agent.len().min(AGENT_BYTES_MAX)]);
    if let Some(name) = bot(&text) {
        return Agent { bot: Some(name), ..Agent::default() };
    }
    let Some(found) = Parser::new().parse(&text) else {
        return Agent { browser: UNKNOWN.into(), os: UNKNOWN.into(), bot: None };
    };
    if found.category == "crawler" {
        return Agent { bot: Some(Cow::Owned(known(found.name).to_owned())), ..Agent::default() };
    }
    let owned = |text: &str| Cow::Owned(known(text).to_owned());
    Agent { browser: owned(found.name), os: owned(found.os), bot: None }
}

/// Ours for woothee's word for what it does not know.
fn known(text: &str) -> &str {
    if text == "UNKNOWN" { UNKNOWN } else { text }
}

/// Name of the bot that the text names.
fn bot(text: &str) -> Option<Cow<'static, str>> {
    let finder = BOT_FINDER.as_ref()?;
    // "…Bot" at the very end counts as "bot;" would.
    let ends_in_bot = text.len() >= 3 && text.as_bytes()[text.len() - 3..].eq_ignore_ascii_case(b"bot");
    let first = finder.find_overlapping_iter(text).min_by_key(|found| found.pattern().as_usize());
    match first {
        Some(found) => {
            let (_text, name) = BOTS[found.pattern().as_usize()];
            match name {
                NO_BOT => None,
                "" => Some(own_name(text, found.start())),
                name => Some(Cow::Borrowed(name)),
            }
        }
        None if ends_in_bot => Some(own_name(text, text.len() - 1)),
        None => None,
    }
}

/// The word of the user agent that stands at `at`, without version: `FooBot` of `(compatible;
/// FooBot/1.0)`.
fn own_name(text: &str, at: usize) -> Cow<'static, str> {
    let is_end = |byte: &u8| matches!(byte, b' ' | b'/' | b';' | b'(' | b')' | b',' | b':' | b'+' | b'@' | b'"');
    let bytes = text.as_bytes();
    let start = bytes[..at].iter().rposition(is_end).map_or(0, |end| end + 1);
    let end = bytes[at..].iter().position(is_end).map_or(bytes.len(), |end| at + end);
    let word = bytes.get(start..end.min(start + BOT_NAME_BYTES_MAX)).unwrap_or_default();
    if word.is_empty() { Cow::Borrowed("other bot") } else { Cow::Owned(String::from_utf8_lossy(word).into_owned()) }
}

/// Host of the URL that a referrer is: without user and port, with `www.`, in small letters, as
/// names of hosts are the same in any. Empty if there is none.
pub fn referring_site(referrer: &[u8]) -> Cow<'_, [u8]> {
    site_of_host(host_of(referrer))
}

/// The site of a host as a referrer has it.
pub(crate) fn site_of_host(host: &[u8]) -> Cow<'_, [u8]> {
    if host.iter().any(u8::is_ascii_uppercase) { Cow::Owned(host.to_ascii_lowercase()) } else { Cow::Borrowed(host) }
}

/// Host of an absolute URL, as it stands there. Empty if there is none.
pub(crate) fn host_of(referrer: &[u8]) -> &[u8] {
    let is_scheme = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    let scheme = referrer.iter().take_while(|byte| is_scheme(byte)).count();
    let Some(rest) = referrer[scheme..].strip_prefix(b"://").filter(|_| scheme > 0) else {
        return &[];
    };
    let end = rest.iter().position(|byte| matches!(byte, b'/' | b'?' | b'#' | b'\\')).unwrap_or(rest.len());
    let authority = &rest[..end];
    let host = memchr::memrchr(b'@', authority).map_or(authority, |at| &authority[at + 1..]);
    if host.first() == Some(&b'[') {
        return memchr::memchr(b']', host).map_or(host, |close| &host[..=close]);
    }
    memchr::memchr(b':', host).map_or(host, |colon| &host[..colon])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(agent: &str) -> (String, String, Option<String>) {
        let found = classify(agent.as_bytes());
        (found.browser.into_owned(), found.os.into_owned(), found.bot.map(Cow::into_owned))
    }

    fn bot_name(agent: &str) -> Option<String> {
        names(agent).2
    }

    #[test]
    fn browsers() {
        let chrome =
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36";
        assert_eq!(names(chrome), ("Chrome".into(), "Windows 10".into(), None));
        let firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:121.0) Gecko/20100101 Firefox/121.0";
        assert_eq!(names(firefox), ("Firefox".into(), "Linux".into(), None));
        let safari = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_2 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.2 Mobile/15E148 Safari/604.1";
        assert_eq!(names(safari), ("Safari".into(), "iPhone".into(), None));
        assert_eq!(names(""), (String::new(), String::new(), None));
        assert_eq!(names("\u{1}\u{2}"), (UNKNOWN.into(), UNKNOWN.into(), None));
    }

    #[test]
    fn bots() {
        let claude = "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; ClaudeBot/1.0; +claudebot@anthropic.com)";
        let google = "Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/41 Mobile Safari/537.36 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)";
        let expected = [
            (claude, "ClaudeBot"),
            (google, "Googlebot"),
            ("Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)", "GPTBot"),
            ("CCBot/2.0 (https://commoncrawl.org/faq/)", "CCBot"),
            ("curl/8.5.0", "curl"),
            ("python-requests/2.31.0", "python-requests"),
            ("Go-http-client/1.1", "Go-http-client"),
            ("Mozilla/5.0 (compatible; FooBot/1.0; +http://foo.example/)", "FooBot"),
            ("ExampleBot", "ExampleBot"),
            ("my-crawler (admin@example.org)", "my-crawler"),
        ];
        for (agent, name) in expected {
            assert_eq!(bot_name(agent).as_deref(), Some(name), "{agent}");
        }
    }

    #[test]
    fn sites() {
        let expected: [(&[u8], &[u8]); 8] = [
            (b"http://www.Example.com:8080/a?b", b"www.example.com"),
            (b"https://user:pass@example.com", b"example.com"),
            (b"https://[::1]:80/x", b"[::1]"),
            (b"android-app://com.google.android.gm", b"com.google.android.gm"),
            (b"example.com/x", b""),
            (b"/a?u=http://x/", b""),
            (b"", b""),
            (b"://x", b""),
        ];
        for (referrer, site) in expected {
            assert_eq!(*referring_site(referrer), *site);
        }
    }
}
