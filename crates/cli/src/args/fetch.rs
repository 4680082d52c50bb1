//! Arguments of `rorqual fetch`.

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
    /// The URL: http or https, over HTTP/1.1 or HTTP/2
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// Output file; `-` is standard output, which can't be resumed later [default: the last part of
    /// the URL's path]
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Put the file into the store instead (see `rorqual store`) and print its digest; the store's
    /// folder may be given
    #[arg(long, value_name = "DIR", num_args = 0..=1, require_equals = true, default_missing_value = "", value_parser = clap::builder::OsStringValueParser::new(),
          conflicts_with_all = ["output", "force"])]
    pub(crate) store: Option<OsString>,
    /// Name of the file in the store
    #[arg(long, value_name = "NAME", requires = "store")]
    pub(crate) name: Option<String>,
    /// Replace FILE if it exists
    #[arg(short, long)]
    pub(crate) force: bool,
    /// SHA-256 that the file must have
    #[arg(long, value_name = "HEX")]
    pub(crate) sha256: Option<String>,
    /// BLAKE3 that the file must have
    #[arg(long, value_name = "HEX")]
    pub(crate) blake3: Option<String>,
    /// Number of range requests in parallel, 1 to 16; used if the server supports them and a single
    /// request is slower than 128 MiB/s
    #[arg(short, long, value_name = "N", default_value_t = rorqual_fetch::limits::PARALLEL_DEFAULT as u16,
          value_parser = clap::value_parser!(u16).range(1..=rorqual_fetch::limits::PARALLEL_MAX as i64))]
    pub(crate) parallel: u16,
    /// Additional request header; may be repeated. Redirects to another host are then not followed,
    /// except with User-Agent and Accept (sent on) or credentials (not sent on)
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE")]
    pub(crate) headers: Vec<String>,
    /// Consecutive failures before giving up; 1 MiB of progress resets the count
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub(crate) retries: u32,
    /// Average pause before the first retry; it doubles up to 30 s. A Retry-After of the server is
    /// honoured
    #[arg(long, value_name = "SECONDS", default_value = "0.5", value_parser = seconds)]
    pub(crate) retry_delay: Duration,
    /// Timeout for a connection, including name lookup and TLS
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    pub(crate) connect_timeout: Duration,
    /// Timeout for the next byte
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = seconds)]
    pub(crate) idle_timeout: Duration,
    /// Timeout for the whole download [default: none]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) max_time: Option<Duration>,
    /// Most redirects that are followed
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub(crate) max_redirects: usize,
    /// Follow a redirect from https to http
    #[arg(long)]
    pub(crate) allow_downgrade: bool,
    /// Trust only the certificates in this PEM file; may be repeated [default: the system's]
    #[arg(long = "ca-cert", value_name = "FILE")]
    pub(crate) ca_certs: Vec<PathBuf>,
    /// Accept a file that the server sends encoded (Content-Encoding) although it was asked not to,
    /// and keep it encoded
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
