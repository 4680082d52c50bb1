//! Countries of client addresses, by a MaxMind database.

use crate::parse::address::address;
use maxminddb::{PathElement, Reader};
use std::fmt;

/// A database of countries, as GeoLite2-Country, GeoIP2-City or DB-IP's are; format at
/// <https://maxmind.github.io/MaxMind-DB/>.
pub struct Countries {
    reader: Reader<Vec<u8>>,
    bytes: u64,
}

/// The file is no MaxMind database, so there are no countries.
#[derive(Debug)]
pub struct CountriesError(String);

impl fmt::Display for CountriesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for CountriesError {}

/// The path of a country in a record: that of the network, or where that is missing the one that it
/// is registered in.
const CODES: [[PathElement<'static>; 2]; 2] = [
    [PathElement::Key("country"), PathElement::Key("iso_code")],
    [PathElement::Key("registered_country"), PathElement::Key("iso_code")],
];

impl Countries {
    /// The database that a file has in it.
    ///
    /// # Errors
    /// When it is none.
    pub fn new(content: Vec<u8>) -> Result<Self, CountriesError> {
        let bytes = content.len() as u64;
        let reader = Reader::from_source(content).map_err(|error| CountriesError(error.to_string()))?;
        Ok(Self { reader, bytes })
    }

    /// The client's country by its two letters of ISO 3166, such as `DE`; empty where it is in none
    /// that is known.
    #[must_use]
    pub fn of(&self, client: &[u8]) -> String {
        let found = address(client).and_then(|address| self.reader.lookup(address).ok());
        let code = |path: &[PathElement<'_>]| found.as_ref()?.decode_path::<&str>(path).ok().flatten();
        let code = CODES.iter().find_map(|path| code(path)).unwrap_or_default();
        if code.len() == 2 && code.bytes().all(|byte| byte.is_ascii_alphanumeric()) { code.to_owned() } else { String::new() }
    }

    /// Bytes in memory.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl fmt::Debug for Countries {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Countries").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}
