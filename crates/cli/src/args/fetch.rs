//! What `rorqual fetch` takes.

use clap::Args;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

const EXITS: &str = "\
Exit codes:
  0    done: the file is there, whole, and has the digest
  2    wrong usage, or the local file: it exists, no room, no permission, another fetch works on it
  3    no connection: unknown name, nobody listens, a certificate that is not to be trusted
  4    the server answers, and not with the file: an HTTP status, a refused redirect, an encoding
  5    the transfer broke and trying again did not help; FILE.part is kept
  6    the bytes have another digest; FILE.part is kept, and not made FILE
  7    a time limit; FILE.part is kept
  130  Ctrl-C; FILE.part is kept

FILE.part and FILE.part.json stay when something has arrived: the same command goes on from there, also after kill -9.";

/// Download a file: resumed, verified, whole or not at all
///
/// The bytes go to FILE.part, which becomes FILE when they are all there, have the digest and are
/// on the disk. A transfer that breaks is resumed, now or by the same command later, if the server
/// can prove that the file is the same (a strong ETag or Last-Modified); otherwise it starts over,
/// and says so. Proxies are taken from http_proxy, https_proxy, all_proxy and no_proxy.
#[derive(Debug, Clone, Args)]
#[command(after_help = EXITS)]
pub(crate) struct FetchArgs {
    /// The address: http or https, by HTTP/1.1 or HTTP/2
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// Where to; `-` is standard output, which can't be resumed later [default: the last part of
    /// the URL's path]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Put it into the store instead (see `rorqual store`), and print its digest; the store's
    /// folder may be given
    #[arg(long, value_name = "DIR", num_args = 0..=1, require_equals = true, default_missing_value = "", value_parser = clap::builder::OsStringValueParser::new(),
          conflicts_with_all = ["output", "force"])]
    pub(crate) store: Option<OsString>,
    /// A name for it in the store
    #[arg(long, value_name = "NAME", requires = "store")]
    pub(crate) name: Option<String>,
    /// Replace FILE if it exists
    #[arg(short, long)]
    pub(crate) force: bool,
    /// The SHA-256 that the file must have
    #[arg(long, value_name = "HEX")]
    pub(crate) sha256: Option<String>,
    /// The BLAKE3 that the file must have
    #[arg(long, value_name = "HEX")]
    pub(crate) blake3: Option<String>,
    /// Range requests at the same time, where the server offers them and one alone is slower than
    /// 128 MiB/s; 1 to 16
    #[arg(short, long, value_name = "N", default_value_t = rorqual_fetch::limits::PARALLEL_DEFAULT as u16,
          value_parser = clap::value_parser!(u16).range(1..=rorqual_fetch::limits::PARALLEL_MAX as i64))]
    pub(crate) parallel: u16,
    /// A further request header; may be repeated. A redirect to another host is not followed with
    /// it, but for credentials (which are not sent on), User-Agent and Accept
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE")]
    pub(crate) headers: Vec<String>,
    /// Failures in a row after which it gives up; 1 MiB of progress begins a new row
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub(crate) retries: u32,
    /// The pause before the first retry, on average; it doubles up to 30 s. A server's Retry-After
    /// is honoured
    #[arg(long, value_name = "SECONDS", default_value = "0.5", value_parser = seconds)]
    pub(crate) retry_delay: Duration,
    /// For a connection, with its name and TLS
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    pub(crate) connect_timeout: Duration,
    /// For the next byte
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = seconds)]
    pub(crate) idle_timeout: Duration,
    /// For everything together [default: none]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) max_time: Option<Duration>,
    /// Redirects to follow
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) max_redirects: usize,
    /// Follow a redirect from https to http
    #[arg(long)]
    pub(crate) allow_downgrade: bool,
    /// Trust the certificates in this PEM file, and no others; may be repeated [default: the
    /// system's]
    #[arg(long = "ca-cert", value_name = "FILE")]
    pub(crate) ca_certs: Vec<PathBuf>,
    /// Take a file that the server encodes (Content-Encoding) though asked not to, as it comes
    #[arg(long)]
    pub(crate) keep_encoding: bool,
    /// Print JSON about the download
    #[arg(long)]
    pub(crate) json: bool,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    // Longer than a year is no limit, and would overflow the clocks of some systems.
    let limit = Duration::from_secs(366 * 86_400);
    seconds.filter(|time| !time.is_zero() && *time <= limit).ok_or_else(|| "seconds, above 0 and at most a year".to_owned())
}
