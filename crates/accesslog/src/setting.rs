//! Settings that messages of this crate name.

use rorqual_pipe::Setting;

/// Database of countries.
pub(crate) const GEOIP: Setting = Setting::new("geoip");
