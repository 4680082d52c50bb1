//! Lists of checksums: each form by hand, and any name there and back.

use proptest::prelude::*;
use rorqual_digest::limits::LIST_LINE_BYTES_MAX;
use rorqual_digest::list::{ListLine, ListLines, ListParser, escape};
use rorqual_digest::{Algorithm, Digest, DigestForm};

const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

fn entry(algorithm: Algorithm, digest: &str, name: &[u8]) -> ListLine {
    ListLine::Entry { digest: Digest::parse(algorithm, digest).expect("a digest"), others: Vec::new(), name: name.to_vec() }
}

/// The same line, without the algorithms that the list may also be of.
fn first(line: ListLine) -> ListLine {
    match line {
        ListLine::Entry { digest, name, .. } => ListLine::Entry { digest, others: Vec::new(), name },
        other => other,
    }
}

fn one(line: &str) -> ListLine {
    first(ListParser::new(None).line(line.as_bytes()))
}

#[test]
fn every_form() {
    let abc = entry(Algorithm::Sha256, ABC, b"a b");
    for line in
        ["{}  a b", "{} *a b", "{} a b", "{}\ta b", " {}  a b\r", "SHA256 (a b) = {}", "SHA256(a b)= {}", "SHA256 (a b)={}"]
    {
        assert_eq!(one(&line.replace("{}", ABC)), abc, "{line}");
    }
    assert_eq!(one(&format!("BLAKE3 (a) = {ABC}")), entry(Algorithm::Blake3, ABC, b"a"));
    // As OpenSSL 3, perl's shasum and coreutils write their tags.
    for (tag, algorithm) in [
        ("SHA2-256", Algorithm::Sha256),
        ("SHA512/256", Algorithm::Sha512To256),
        ("SHA2-512/256", Algorithm::Sha512To256),
        ("BLAKE2b-256", Algorithm::Blake2b(32)),
    ] {
        assert_eq!(one(&format!("{tag}(a)= {ABC}")), entry(algorithm, ABC, b"a"), "{tag}");
    }
    assert_eq!(one(&format!("BLAKE2b-257 (a) = {ABC}")), ListLine::Improper);
    assert_eq!(one(&format!("\\{ABC}  a\\nb\\\\c\\rd")), entry(Algorithm::Sha256, ABC, b"a\nb\\c\rd"));
    assert_eq!(one("# text"), ListLine::Nothing);
    assert_eq!(one(""), ListLine::Nothing);
    for line in [
        "{}",
        "{} ",
        "x{}  a",
        "{}x  a",
        "SHA256 a = {}",
        "SHA256 (a) {}",
        "SHA256 () = {}",
        "SHA512 (a) = {}",
        "\\{}  a\\",
        "{}  a\0b",
    ] {
        assert_eq!(one(&line.replace("{}", ABC)), ListLine::Improper, "{line}");
    }
}

#[test]
fn a_list_may_be_of_any_algorithm_of_that_length() {
    let others = |text: String, algorithm| match ListParser::new(algorithm).line(text.as_bytes()) {
        ListLine::Entry { digest, others, .. } => {
            assert!(others.iter().all(|other| other.as_bytes() == digest.as_bytes()), "{text}");
            std::iter::once(&digest).chain(&others).map(|digest| digest.algorithm()).collect()
        }
        _ => Vec::new(),
    };
    let blake2b = |bits| Algorithm::blake2b(bits).expect("a length");
    let long = ABC.repeat(2);
    for (text, expected) in [
        (ABC, &[Algorithm::Sha256, Algorithm::Blake3, Algorithm::Sha512To256, blake2b(256)][..]),
        (&long, &[Algorithm::Sha512, blake2b(512)]),
        (&ABC[..56], &[Algorithm::Sha224, blake2b(224)]),
        (&ABC[..40], &[Algorithm::Sha1, blake2b(160)]),
        (&ABC[..32], &[Algorithm::Md5, blake2b(128)]),
        (&ABC[..48], &[blake2b(192)]),
        (&ABC[..24], &[]),
    ] {
        assert_eq!(others(format!("{text}  a"), None), expected, "{text}");
    }
    assert_eq!(others(format!("{ABC}  a"), Some(Algorithm::Blake3)), [Algorithm::Blake3]);
    assert_eq!(others(format!("SHA256 (a) = {ABC}"), None), [Algorithm::Sha256]);
}

#[test]
fn the_lengths_of_blake2b_are_those_of_the_digests() {
    let mut parser = ListParser::new(Some(Algorithm::Blake2b(64)));
    assert_eq!(parser.line(format!("{ABC}  a").as_bytes()), entry(Algorithm::Blake2b(32), ABC, b"a"));
    assert_eq!(parser.line(format!("{}  a", &ABC[..16]).as_bytes()), entry(Algorithm::Blake2b(8), &ABC[..16], b"a"));
}

#[test]
fn the_blanks_of_the_first_line_hold_for_all() {
    let (one, two, name) = (format!("{ABC} a"), format!("{ABC}  a"), |name: &[u8]| entry(Algorithm::Sha256, ABC, name));
    let mut parser = ListParser::new(None);
    assert_eq!([one.as_bytes(), two.as_bytes()].map(|line| first(parser.line(line))), [name(b"a"), name(b" a")]);
    let mut parser = ListParser::new(None);
    assert_eq!([two.as_bytes(), one.as_bytes()].map(|line| first(parser.line(line))), [name(b"a"), ListLine::Improper]);
}

#[test]
fn hexadecimal_comes_before_base32_of_the_same_length() {
    let both = "a2b3c4d5e6f7a2b3c4d5e6f7a2b3c4d5";
    assert_eq!(one(&format!("{both}  a")), entry(Algorithm::Md5, both, b"a"));
    let only = "z2b3c4d5e6f7a2b3c4d5e6f7a2b3c4d5";
    assert_eq!(one(&format!("{only}  a")), entry(Algorithm::Sha1, only, b"a"));
}

#[test]
fn a_line_that_is_too_long_is_improper_and_the_next_is_read() {
    let longest = format!("{ABC}  {}", "x".repeat(LIST_LINE_BYTES_MAX - ABC.len() - 2));
    let text = format!("{longest}\n{longest}y\n{ABC}  a");
    let lines: Vec<(u64, ListLine)> =
        ListLines::new(text.as_bytes(), ListParser::new(None)).map(|line| line.expect("a slice")).collect();
    let name = &longest.as_bytes()[ABC.len() + 2..];
    let expected = [entry(Algorithm::Sha256, ABC, name), ListLine::Improper, entry(Algorithm::Sha256, ABC, b"a")];
    assert!(lines.into_iter().map(|(number, line)| (number, first(line))).eq((1..).zip(expected)));
}

proptest! {
    #[test]
    fn any_name_there_and_back(name in prop::collection::vec(prop::sample::select(b"ab \\\n\r*()=#\t\xff".to_vec()), 1..20), bytes: [u8; 64]) {
        for algorithm in Algorithm::ALL {
            let digest = Digest::from_bytes(algorithm, &bytes[..algorithm.digest_bytes()]).expect("its length");
            let (escaped, marked) = escape(&name);
            let mark = if marked { "\\" } else { "" };
            let expected = ListLine::Entry { digest, others: Vec::new(), name: name.clone() };
            for encoding in DigestForm::ALL {
                let gnu = [format!("{mark}{}  ", digest.encode(encoding)).as_bytes(), &escaped].concat();
                prop_assert_eq!(&ListParser::new(Some(algorithm)).line(&gnu), &expected);
                let bsd = [format!("{mark}{} (", algorithm.tag()).as_bytes(), &escaped, format!(") = {}", digest.encode(encoding)).as_bytes()].concat();
                prop_assert_eq!(&ListParser::new(None).line(&bsd), &expected);
            }
        }
    }

    #[test]
    fn no_bytes_are_too_foreign(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = ListParser::new(None).line(&bytes);
    }
}
