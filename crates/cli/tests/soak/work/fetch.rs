//! Downloads from a server that breaks off now and then.

use super::{Kit, Outcome};
use rorqual_digest::Algorithm;
use rorqual_fetch::{ExpectedDigest, Fetch, FetchErrorKind, FetchEvent, FetchTarget};
use rorqual_pipe::{Control, Semaphore};
use rorqual_testkit::generate::Rng;
use rorqual_testkit::http::{GeneratedContent, ResponseEnd, TestServer};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const SIZE_BYTES_MAX: usize = 3 << 20;
const TIME_MAX: Duration = Duration::from_secs(60);
const RETRIES: u32 = 2;

/// Behaviour of the server.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Manner {
    Honest,
    /// The first answer is cut in its middle.
    CutOnce,
    CutAlways,
}

pub(super) fn once(kit: &Kit, random: &mut Rng) -> Outcome {
    let sample = kit.sample(random);
    let content = GeneratedContent::new(1 + random.below(SIZE_BYTES_MAX) as u64, random.next());
    let (manner, stopping) = match random.below(6) {
        0 => (Manner::CutAlways, false),
        1 => (Manner::Honest, true),
        2 | 3 => (Manner::CutOnce, false),
        _ => (Manner::Honest, false),
    };
    let server = serve(&content, manner);
    let path = kit.folder().join("fetched").join(random.next().to_string());
    let control = Control::default();
    let mut observe = |event: FetchEvent| {
        if stopping && matches!(event, FetchEvent::Started { .. }) {
            control.stop();
        }
    };
    // The soak's own gate is passed already.
    let result = settings(server.url("/file"), &path).run(&Semaphore::new(1), &control, &mut observe);
    let outcome = match result {
        Ok(_) if std::fs::read(&path).is_ok_and(|bytes| bytes == content.all()) => Outcome::Done,
        Err(error) if path.exists() => Outcome::wrong(format!("{error}, and the file is there"), sample),
        Err(error) if manner == Manner::CutAlways && error.kind == FetchErrorKind::Broken => Outcome::Cut,
        Err(error) if stopping && error.kind == FetchErrorKind::Stopped => Outcome::Cancelled,
        other => Outcome::wrong(format!("{other:?}"), sample),
    };
    clear(&path);
    outcome
}

fn serve(content: &GeneratedContent, manner: Manner) -> TestServer {
    let (content, answers) = (content.clone(), AtomicUsize::new(0));
    TestServer::start(move |request| {
        let reply = content.answer(request);
        let first = answers.fetch_add(1, Ordering::Relaxed) == 0;
        match manner {
            // Nothing but the head: an answer to a range that has some of it would bring the file
            // after all.
            Manner::CutAlways => reply.cut(0, ResponseEnd::Close),
            Manner::CutOnce if first => reply.cut(content.size_bytes / 2, ResponseEnd::Close),
            _ => reply,
        }
    })
}

fn settings(url: String, path: &Path) -> Fetch {
    Fetch {
        url,
        target: FetchTarget::File { path: path.to_owned(), replace: false },
        digests: vec![ExpectedDigest { algorithm: Algorithm::Sha256, expected: None }],
        headers: Vec::new(),
        parallel: 2,
        piece_bytes: 1 << 20,
        help_after: Duration::ZERO,
        connect_timeout: TIME_MAX,
        idle_timeout: TIME_MAX,
        time_max: Some(TIME_MAX),
        retries: RETRIES,
        retry_delay: Duration::from_millis(1),
        redirects_max: 0,
        allow_downgrade: false,
        ca_certs: Vec::new(),
        keep_encoding: false,
    }
}

/// Removes the file, and the parts that a fetch keeps to resume from.
fn clear(path: &Path) {
    for suffix in ["", ".part", ".part.json"] {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        let _ = std::fs::remove_file(PathBuf::from(name));
    }
}
