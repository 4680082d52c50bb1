//! Names and written forms.

use rorqual_digest::{Algorithm, Digest, DigestForm, Hasher};

fn abc() -> Digest {
    let mut hasher = Hasher::new(Algorithm::Sha256);
    hasher.update(b"abc");
    hasher.finish()
}

/// By Python's hashlib and base64.
const HEX: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
const BASE32: &str = "xj4bnp4pahh6uqkbidpf3lrceoyagyndsylxvhfucd7wd4qacwwq";
const BASE64: &str = "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=";

#[test]
fn three_encodings_there_and_back() {
    for (encoding, text) in [(DigestForm::Hex, HEX), (DigestForm::Base32, BASE32), (DigestForm::Base64, BASE64)] {
        assert_eq!(abc().encode(encoding), text);
        assert_eq!(Digest::parse(Algorithm::Sha256, text), Some(abc()));
    }
    assert_eq!(Digest::parse(Algorithm::Sha256, &HEX.to_uppercase()), Some(abc()));
    assert_eq!(Digest::parse(Algorithm::Sha256, &BASE32.to_uppercase()), Some(abc()));
    // RFC 4648's own padding and bits beyond the end are refused: there is one text for a digest.
    for wrong in
        ["", "ab", &HEX[1..], &HEX.replace('b', "g"), &format!("{BASE32}===="), &BASE64.replace("0=", "1="), &BASE64[..43]]
    {
        assert_eq!(Digest::parse(Algorithm::Sha256, wrong), None, "{wrong:?}");
    }
}

#[test]
fn every_algorithm_reads_what_it_writes() {
    for algorithm in Algorithm::ALL {
        let digest = Hasher::new(algorithm).finish();
        for encoding in DigestForm::ALL {
            assert_eq!(Digest::parse(algorithm, &digest.encode(encoding)), Some(digest));
        }
        assert_eq!(Digest::from_bytes(algorithm, digest.as_bytes()), Some(digest));
        assert_eq!(Digest::from_bytes(algorithm, &digest.as_bytes()[1..]), None);
    }
}

#[test]
fn digests_of_two_algorithms_differ() {
    let bytes = [7; 32];
    let [sha256, blake3] = [Algorithm::Sha256, Algorithm::Blake3].map(|algorithm| Digest::from_bytes(algorithm, &bytes));
    assert_ne!(sha256, blake3);
}

#[test]
fn names() {
    for algorithm in Algorithm::ALL {
        assert_eq!(algorithm.name().parse(), Ok(algorithm));
        assert_eq!(algorithm.tag().parse(), Ok(algorithm));
    }
    for text in ["sha-256", "SHA256", "SHA2-256", "Sha256"] {
        assert_eq!(text.parse(), Ok(Algorithm::Sha256), "{text}");
    }
    assert_eq!("SHA-1".parse(), Ok(Algorithm::Sha1));
    assert_eq!("b3".parse(), Ok(Algorithm::Blake3));
    for text in ["", "sha", "sha225", "blake2b-12", "sha3-256", "md4"] {
        assert!(text.parse::<Algorithm>().is_err(), "{text}");
    }
}
