//! State shared by all clients.

use crate::documented::Documented;
use crate::inputs::Input;
use crate::lives::Lives;
use crate::tallies::Tallies;
use rorqual_testkit::generate::Rng;
use rorqual_testkit::proxy::Proxy;
use std::sync::{Arc, RwLock};

pub(crate) struct Kit {
    pub(crate) seed: u64,
    pub(crate) inputs: Vec<Input>,
    pub(crate) lives: Arc<Lives>,
    pub(crate) proxy: Proxy,
    pub(crate) documented: Documented,
    pub(crate) tallies: Tallies,
    /// True if `serve` keeps sessions over its end.
    pub(crate) state: bool,
    /// Held shared by each operation; held alone, it shows the server at rest.
    pub(crate) gate: RwLock<()>,
    /// Do the wrongs on purpose that the checks have to find.
    pub(crate) leak: bool,
    /// There are only seconds.
    pub(crate) fast: bool,
}

impl Kit {
    /// Random numbers of one operation of a client: the same whatever became of those before.
    pub(crate) fn random(&self, client: u64, operation: u64) -> Rng {
        Rng::new(Rng::new(self.seed ^ client.rotate_left(32) ^ operation).next())
    }
}
