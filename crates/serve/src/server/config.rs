//! Settings of a server, and the reasons for which it does not start with them.

use crate::explore::view_page::ViewPage;
use crate::fleet::FleetSettings;
use crate::http::access::Access;
use crate::render::Rendering;
use crate::session::TableOpener;
use crate::setting::PORT;
use crate::state::CacheSettings;
use rorqual_accesslog::analyze::AnalyzeSettings;
use rorqual_pipe::BudgetError;
use rorqual_store::Store;
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;

/// Settings of a server.
pub struct Config {
    /// Port to listen on; 0 takes a free one.
    pub port: u16,
    /// Address, and the clients that may reach it.
    pub access: Access,
    /// Analyses that may run at the same time; the memory is shared out among them at the start.
    pub sessions_max: usize,
    /// Connections at a time that have shown the token; further ones wait.
    pub connections_max: usize,
    /// Time without a request after which a session is forgotten.
    pub idle_max: Duration,
    /// Most bytes a second that each session takes in.
    pub rate_limit: Option<u64>,
    /// Files that the server reads at a time, each by a run of its own: one where files are opened,
    /// and all that are followed.
    pub reading: usize,
    /// Files that are open at the same time, of logs that are several.
    pub files_open: usize,
    /// Files that are followed as one log: an unfinished line of each is held.
    pub followed_together: usize,
    /// Files that are opened have tables among them: there is memory apart to read tables, one
    /// after another. Without it an uploaded table is read in the memory of its session.
    pub has_tables: bool,
    /// Opens uploads that are tables; without it only logs are taken.
    pub table_opener: Option<Arc<dyn TableOpener>>,
    /// Memory, threads, line limit and formats. `feed_buffers` is set by the server.
    pub settings: AnalyzeSettings,
    /// Folder for rows that do not fit the memory, and its most bytes. Without it they are not
    /// kept, and views say so.
    pub spill: Option<(PathBuf, u64)>,
    /// A folder in which uploads outlive the server: they are offered again by the next one.
    pub state: Option<PathBuf>,
    /// A cache for rows of files that are opened, for the next time. Without [`Config::spill`]
    /// there is none.
    pub cache: Option<CacheSettings>,
    /// Templates to be rendered at `/render/NAME`.
    pub rendering: Option<Rendering>,
    /// A store, to be served below `/store`.
    pub store: Option<Store>,
    /// Other servers whose logs are shown as one session.
    pub fleet: Option<FleetSettings>,
    /// Makes a page of a view.
    pub page: ViewPage,
    /// Runtimes over which connections are spread; where there is none, all are of the one that
    /// runs the server.
    pub carriers: Vec<Handle>,
}

/// The reason for which a server could not start.
#[derive(Debug)]
pub enum StartError {
    /// Too little memory for these settings; the message prints the sum.
    Budget(BudgetError),
    /// The settings are unsafe, or a file for them is unfit.
    Refused(String),
    /// The port could not be had.
    Listen {
        /// The address asked for.
        address: SocketAddr,
        /// The system's word.
        cause: std::io::Error,
    },
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Budget(error) => error.fmt(f),
            Self::Refused(why) => f.write_str(why),
            Self::Listen { address, cause } => {
                write!(f, "cannot listen on {address}: {cause} (another {PORT}, or 0 for a free one?)")
            }
        }
    }
}

impl std::error::Error for StartError {}
