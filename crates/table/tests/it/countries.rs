//! Databases of countries, sound and damaged.

use rorqual_table::Countries;
use std::path::PathBuf;

fn fixture() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../testkit/fixtures/country.mmdb")
}

#[test]
fn clients_are_where_the_database_says() {
    let countries = Countries::open(&fixture(), 1 << 20).expect("a database");
    assert_eq!(countries.bytes(), std::fs::metadata(fixture()).expect("a file").len());
    // As Python's maxminddb reads it.
    for (client, country) in [
        ("192.0.2.1", "DE"),
        ("::ffff:192.0.2.1", "DE"),
        ("198.51.100.127", "NZ"),
        ("198.51.100.128", ""),
        ("203.0.113.9", "US"),
        ("2001:db8:1::5", "JP"),
        ("2001:db8:2::5", ""),
        ("10.1.1.1", ""),
        ("host.example", ""),
        ("", ""),
    ] {
        assert_eq!(countries.of(client.as_bytes()), country, "{client}");
    }
}

#[test]
fn what_is_no_database_is_an_error_and_a_damaged_one_is_no_harm() {
    let folder = std::env::temp_dir().join(format!("rorqual-countries-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join("test.mmdb");
    let error = Countries::open(&path, 1 << 20).expect_err("there is no file").to_string();
    assert!(error.contains("test.mmdb") && error.contains("--geoip"), "{error}");
    let sound = std::fs::read(fixture()).expect("a file");
    let error = Countries::open(&fixture(), sound.len() as u64 - 1).expect_err("too large").to_string();
    assert!(error.contains("--memory"), "{error}");
    std::fs::write(&path, b"not a database").expect("written");
    assert!(Countries::open(&path, 1 << 20).is_err());
    for at in 0..sound.len() {
        let mut damaged = sound.clone();
        damaged[at] ^= 0xff;
        std::fs::write(&path, &damaged).expect("written");
        if let Ok(countries) = Countries::open(&path, 1 << 20) {
            for client in ["192.0.2.1", "2001:db8:1::5", "203.0.113.9"] {
                let country = countries.of(client.as_bytes());
                assert!(country.is_empty() || country.len() == 2, "{country}");
            }
        }
    }
    std::fs::remove_dir_all(&folder).expect("removed");
}
