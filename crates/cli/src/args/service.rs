//! Arguments of `rorqual serve` for use from other machines, and for monitoring.

use clap::{Args, ValueEnum};
use std::net::IpAddr;
use std::path::PathBuf;

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "As a service")]
pub(crate) struct ServiceArgs {
    /// Address to listen on; an address that other machines can reach needs --tls-cert and
    /// --tls-key, or --behind-proxy
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub(crate) bind: IpAddr,
    /// Speak TLS with this certificate chain (PEM); read again at SIGHUP
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// Private key of --tls-cert (PEM); the file must not be readable by everybody
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// TLS is done by a proxy: allow --bind without TLS on an address that others can reach, and
    /// answer to the name of --public-url
    #[arg(long, requires = "public_url")]
    pub(crate) behind_proxy: bool,
    /// Address that browsers use, `https://NAME` or `https://NAME:PORT`; requests for another name
    /// are refused
    #[arg(long, value_name = "URL")]
    pub(crate) public_url: Option<String>,
    /// Keep the token in this file, which is created with mode 0600 if missing; changing the file
    /// changes the token
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Answer /healthz and /readyz without the token, with the status code only
    #[arg(long)]
    pub(crate) probes: bool,
    /// Seconds that running requests may still take after Ctrl-C or SIGTERM; a second signal ends
    /// the server at once
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u32).range(0..=86400))]
    pub(crate) grace: u32,
    /// Form of the server's own log on stderr
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) log_format: LogStyle,
    /// Level of the server's own log: `info` adds starts and ends, `debug` every request; it never
    /// has a token, a path or a line of a log
    #[arg(long, value_name = "LEVEL", default_value = "warn")]
    pub(crate) log_level: LogLevel,
}

impl ServiceArgs {
    pub(crate) fn access(&self) -> rorqual_serve::Access {
        rorqual_serve::Access {
            bind: self.bind,
            tls: self.tls_cert.clone().zip(self.tls_key.clone()),
            behind_proxy: self.behind_proxy,
            public_url: self.public_url.clone(),
            token_file: self.token_file.clone(),
            open_probes: self.probes,
            grace: std::time::Duration::from_secs(self.grace.into()),
        }
    }

    /// True if there are files that SIGHUP makes it read again.
    pub(crate) fn reloads(&self) -> bool {
        self.tls_cert.is_some() || self.token_file.is_some()
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogStyle {
    Text,
    Json,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogLevel {
    Off,
    Error,
    Warn,
    Info,
    Debug,
}
