//! As many threads as the memory has room for.

use crate::args::Common;
use rorqual_pipe::{Budget, BudgetError};

/// More threads than that, unless asked for, gain nothing over the memory's speed.
const THREADS_MAX_DEFAULT: usize = 64;

/// As many threads as asked for, or else one a core, as far as what `budget` adds up for them fits.
///
/// # Errors
/// When not even those asked for fit, or one.
pub(crate) fn threads(common: &Common, budget: impl Fn(usize) -> Budget) -> Result<usize, BudgetError> {
    if let Some(threads) = common.threads.map(usize::from) {
        return budget(threads).check().map(|()| threads);
    }
    let most = common.threads().min(THREADS_MAX_DEFAULT);
    let fitting = (2..=most).rev().find(|threads| budget(*threads).check().is_ok());
    fitting.map_or_else(|| budget(1).check().map(|()| 1), Ok)
}
