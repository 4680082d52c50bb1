//! The test vectors of the standards.

use rorqual_digest::{Algorithm, Hasher};

fn hash(algorithm: Algorithm, pieces: &[&[u8]]) -> String {
    let mut hasher = Hasher::new(algorithm);
    pieces.iter().for_each(|piece| hasher.update(piece));
    assert_eq!(hasher.algorithm(), algorithm);
    let digest = hasher.finish();
    assert_eq!((digest.algorithm(), digest.as_bytes().len()), (algorithm, algorithm.digest_bytes()));
    digest.to_string()
}

#[test]
fn of_the_standards() {
    use Algorithm::{Blake2b, Blake3, Md5, Sha1, Sha224, Sha256, Sha384, Sha512, Sha512To256};
    let million = [b'a'; 1_000_000];
    let pattern: Vec<u8> = (0..102_400).map(|index| (index % 251) as u8).collect();
    let two_blocks = b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    let cases: [(Algorithm, &[u8], &str); 28] = [
        // FIPS 180-4's examples and NIST's long message.
        (Sha256, b"", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        (Sha256, b"abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (Sha256, two_blocks, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"),
        (Sha256, &million, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
        (
            Sha512,
            b"abc",
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
        ),
        (
            Sha512,
            b"",
            "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e",
        ),
        (Sha224, b"abc", "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7"),
        (Sha224, two_blocks, "75388b16512776cc5dba5da1fd890150b0c6455cb4f58b1952522525"),
        (Sha384, b"abc", "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7"),
        (Sha512To256, b"abc", "53048e2681941ef99b2e29b76b4c7dabe4c2d0c634fc6d46e0e2f13107e7af23"),
        // RFC 7693, appendix A; the others as b2sum of coreutils 9.1 prints them.
        (
            Blake2b(64),
            b"abc",
            "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d17d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923",
        ),
        (Blake2b(32), b"abc", "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319"),
        (Blake2b(16), b"abc", "cf4ab791c62b8d2b2109c90275287816"),
        (Blake2b(1), b"", "2e"),
        (Blake2b(32), &million, "0741850f36cba4259628355d1073e24ddb9ca0e1bfac36fd39ae5dc2101e23a4"),
        // RFC 3174, 7.3.
        (Sha1, b"abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
        (Sha1, two_blocks, "84983e441c3bd26ebaae4aa1f95129e5e54670f1"),
        (Sha1, &million, "34aa973cd4c4daa4f61eeb2bdbad27316534016f"),
        // RFC 1321, A.5.
        (Md5, b"", "d41d8cd98f00b204e9800998ecf8427e"),
        (Md5, b"abc", "900150983cd24fb0d6963f7d28e17f72"),
        (Md5, b"message digest", "f96b697d7cb7938d525a2f31aaf161d0"),
        (Md5, b"abcdefghijklmnopqrstuvwxyz", "c3fcd3d76192e4007dfb496cca67e13b"),
        // test_vectors.json of BLAKE3.
        (Blake3, b"", "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"),
        (Blake3, &pattern[..1], "2d3adedff11b61f14c886e35afa036736dcd87a74d27b5c1510225d0f592e213"),
        (Blake3, &pattern[..1_024], "42214739f095a406f3fc83deb889744ac00df831c10daa55189b5d121c855af7"),
        (Blake3, &pattern[..1_025], "d00278ae47eb27b34faecf67b4fe263f82d5412916c1ffd97c8cb7fb814b8444"),
        (Blake3, &pattern[..31_744], "62b6960e1a44bcc1eb1a611a8d6235b6b4b78f32e7abc4fb4c6cdcce94895c47"),
        (Blake3, &pattern, "bc3e3d41a1146b069abffad3c0d44860cf664390afce4d9661f7902e7943e085"),
    ];
    for (algorithm, bytes, expected) in cases {
        let (head, tail) = bytes.split_at(bytes.len() / 3);
        assert_eq!(hash(algorithm, &[bytes]), expected, "{algorithm} of {} bytes", bytes.len());
        assert_eq!(hash(algorithm, &[head, b"", tail]), expected, "{algorithm} of {} bytes in pieces", bytes.len());
    }
}

#[test]
fn a_clone_goes_on_by_itself() {
    for algorithm in Algorithm::ALL {
        let mut one = Hasher::new(algorithm);
        one.update(b"a");
        let mut other = one.clone();
        other.update(b"b");
        one.update(b"bc");
        assert_eq!(one.finish().to_string(), hash(algorithm, &[b"abc"]));
        assert_eq!(other.finish().to_string(), hash(algorithm, &[b"ab"]));
    }
}
