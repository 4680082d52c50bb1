//! Databases of countries, sound and damaged.

use rorqual_accesslog::Countries;

fn fixture() -> Vec<u8> {
    std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/../testkit/fixtures/country.mmdb")).expect("a file")
}

#[test]
fn clients_are_where_the_database_says() {
    let countries = Countries::new(fixture()).expect("a database");
    assert_eq!(countries.bytes(), fixture().len() as u64);
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
    assert!(Countries::new(b"not a database".to_vec()).is_err());
    let sound = fixture();
    for at in 0..sound.len() {
        let mut damaged = sound.clone();
        damaged[at] ^= 0xff;
        if let Ok(countries) = Countries::new(damaged) {
            for client in ["192.0.2.1", "2001:db8:1::5", "203.0.113.9"] {
                let country = countries.of(client.as_bytes());
                assert!(country.is_empty() || country.len() == 2, "{country}");
            }
        }
    }
}
